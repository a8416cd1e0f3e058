"""Rebuild an installed extension for these GPUs, verify it, and only then install it."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from archbuild.cli.inputs import ARCH_HELP, add_machine, recorded_machine
from archbuild.cli.terminal import color, say, width

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from archbuild.rules.rebuilding.plan import RebuildPlan

# ruff: noqa: PLC0415  (see inputs.py)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = (
        "Work out how an installed package is built again for the GPUs of this machine, and "
        "print the commands. With --yes: build the wheel aside, verify it, and only then install."
    )
    parser.epilog = "Exit: 0 planned, or done; 1 it failed; 2 wrong usage; 4 it can't be said."
    parser.add_argument("package", metavar="PACKAGE", help="an installed package")
    parser.add_argument("--yes", action="store_true", help="do it; pip may use the network")
    parser.add_argument("--arch", metavar="LIST", help=ARCH_HELP)
    parser.add_argument("--source", metavar="X", help="a folder or address to build it from")
    parser.add_argument("--keep", metavar="DIR", help="leave the wheel there as well")
    parser.add_argument("--json", action="store_true", help="the plan as JSON")
    add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.report.rebuild import rebuild_json, render_plan
    from archbuild.services.rebuild import plan

    planned = plan(
        options.package,
        archs=options.arch,
        source=options.source,
        machine=recorded_machine(options),
    )
    print(rebuild_json(planned) if options.json else render_plan(planned, acts=options.yes))
    return _act(planned, options) if options.yes else 0


def _act(planned: RebuildPlan, options: argparse.Namespace) -> int:
    from archbuild.report.verify import render_verify
    from archbuild.services.rebuild import build_wheel, install_wheel, keep_wheel
    from archbuild.services.verify import verify

    with tempfile.TemporaryDirectory(prefix="archbuild-rebuild-") as folder:
        wheel = build_wheel(planned, Path(folder))
        devices = [str(arch.capability) for arch in planned.archs]
        report = verify(wheel, runs_on=devices)
        print(render_verify(report, width(), color=color()))
        if options.keep is not None:
            say("note", f"The wheel is {keep_wheel(wheel, Path(options.keep))}.")
        if not report.ok:
            say("error", f"{planned.package} was built, and is not good: it was not installed.")
            return 1
        install_wheel(wheel, planned)
    say("note", f"{planned.package} is installed, for {', '.join(devices)}.")
    return 0
