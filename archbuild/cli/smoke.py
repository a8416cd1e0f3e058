"""Does this toolchain really build for every target?"""

from __future__ import annotations

import argparse

from archbuild.cli.inputs import ARCH_HELP, require_cuobjdump, require_toolkit
from archbuild.cli.terminal import say, width

# ruff: noqa: PLC0415  (see inputs.py)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = "Compile a kernel for every target, check the binary, run it on each GPU."
    parser.add_argument("--arch", metavar="LIST", help=ARCH_HELP)
    parser.add_argument("--toolkit", metavar="DIR", help="the CUDA Toolkit to use")
    parser.add_argument("--no-run", action="store_true", help="build and check only")
    parser.add_argument("--keep", metavar="DIR", help="leave the library in this folder")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.probe.project import read_config
    from archbuild.report.smoke import render_smoke, smoke_json
    from archbuild.services.select import select_archs
    from archbuild.services.smoke import smoke

    selected = select_archs(
        options.arch,
        toolkit=options.toolkit,
        config=read_config(),
        gpus=not options.no_run,
    )
    selection, machine = selected.selection, selected.machine
    for warning in selection.warnings:
        say("warning", warning)
    report = smoke(
        require_toolkit(machine),
        selection.gencodes,
        cuobjdump=require_cuobjdump(machine),
        gpus=machine.gpus,
        run=not options.no_run,
        keep=options.keep,
    )
    print(smoke_json(report) if options.json else render_smoke(report, width()).rstrip("\n"))
    return report.exit_code
