"""Which GPUs are in this machine?"""

from __future__ import annotations

import argparse

from archbuild.cli.inputs import add_machine, recorded_machine
from archbuild.cli.terminal import width

# ruff: noqa: PLC0415  (see inputs.py)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = "Every GPU of this machine, also those that CUDA_VISIBLE_DEVICES hides."
    parser.add_argument("--json", action="store_true", help="print the whole machine as JSON")
    parser.add_argument("--save", metavar="FILE", help="write the machine to a file as well")
    add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.model.config import Config
    from archbuild.model.record import render_machine
    from archbuild.probe.machine import query_machine, write_machine
    from archbuild.report.gpus import render_gpus
    from archbuild.services.select import with_torch_archs

    machine = recorded_machine(options) or query_machine()
    if options.save is not None or options.json:
        # A record answers elsewhere, where this torch cannot be asked.
        machine = with_torch_archs(machine, None, Config())
    if options.save is not None:
        write_machine(machine, options.save)
    text = render_machine(machine) if options.json else render_gpus(machine, width())
    print(text.rstrip("\n"))
    return 0
