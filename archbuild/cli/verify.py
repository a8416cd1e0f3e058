"""Does this library or wheel hold every target?"""

from __future__ import annotations

import argparse

from archbuild.cli.inputs import require_cuobjdump
from archbuild.cli.terminal import color, say, width
from archbuild.errors import UsageError

# ruff: noqa: PLC0415  (see inputs.py)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = "Hold libraries, objects, wheels or folders against a list of targets."
    parser.add_argument("path", nargs="+", help="a library, object, wheel or folder")
    parser.add_argument("--targets", metavar="LIST", help="what every file must hold, exactly")
    parser.add_argument("--file", metavar="GLOB", help="judge only files of this name")
    parser.add_argument("--strict", action="store_true", help="warnings fail as well")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.probe.machine import query_machine
    from archbuild.probe.project import read_config
    from archbuild.report.verify import render_verify, verify_json
    from archbuild.rules.expectation import expect
    from archbuild.services.verify import verify_targets

    if not all(options.path):
        raise UsageError("A path is empty.", "Look at the variable that should have held it.")
    native = "native" in (options.targets or "").lower()
    machine = query_machine(gpus=native, torch=False)
    expected = expect(machine, option=options.targets, config=read_config().archs)
    if expected.source != "--targets":
        say("note", f"Held against {expected.source}.")
    report = verify_targets(
        options.path,
        expected.targets,
        cuobjdump=require_cuobjdump(machine),
        file_glob=options.file,
        strict=options.strict,
    )
    print(verify_json(report) if options.json else render_verify(report, width(), color=color()))
    return report.exit_code
