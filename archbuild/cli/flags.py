"""Which flags serve these GPUs with this nvcc?"""

from __future__ import annotations

import argparse
import sys

from archbuild.cli.inputs import (
    ARCH_HELP,
    add_machine,
    add_machines,
    parse_cuda,
    recorded_machine,
    recorded_machines,
)
from archbuild.cli.terminal import say, width

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from archbuild.services.select import Selected

# ruff: noqa: PLC0415  (see inputs.py)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.description = "Flags on standard output, notes and warnings on standard error."
    parser.epilog = 'nvcc -c $(archbuild flags) k.cu; eval "$(archbuild flags --format env)"'
    parser.add_argument("--arch", metavar="LIST", help=ARCH_HELP)
    parser.add_argument("--toolkit", metavar="DIR", help="the CUDA Toolkit to use")
    parser.add_argument("--cuda", metavar="X.Y", help="plan for this CUDA, with no nvcc at hand")
    parser.add_argument(
        "--format",
        choices=("nvcc", "torch", "cmake", "env", "json"),
        default="nvcc",
        help="what to print (default: %(default)s)",
    )
    parser.add_argument("--link", action="store_true", help="add what nvcc -shared needs")
    parser.add_argument("--why", action="store_true", help="the reasons, on standard error")
    add_machines(parser, "records of machines: one list for the GPUs of all of them")
    add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code."""
    from archbuild.probe.project import read_config
    from archbuild.services.select import select_archs

    selected = select_archs(
        options.arch,
        toolkit=options.toolkit,
        cuda=parse_cuda(options.cuda),
        config=read_config(),
        machine=recorded_machine(options),
        only_best=True,
        machines=recorded_machines(options),
    )
    from archbuild.report.flags import new_to_cmake, render_flags, render_reasons, torch_refuses

    selection = selected.selection
    for note in selection.notes:
        say("note", note)
    if options.why:
        print(render_reasons(selection), file=sys.stderr)
    if selected.outlooks:
        _tell_machines(selected)
    for warning in selection.warnings:
        say("warning", warning)
    refused = torch_refuses(selection) if options.format in ("torch", "env", "cmake") else ()
    if refused:
        say("note", f"torch's own BuildExtension and CMake files do not take {refused[0]}.")
    new = new_to_cmake(selection) if options.format in ("env", "cmake") else ()
    if new:
        say("note", f"CMake takes {new[0]} from 3.31.10 and from 4.0.2 on, not before.")
    print(render_flags(selection, options.format, link=options.link, outlooks=selected.outlooks))
    return 0


def _tell_machines(selected: Selected) -> None:
    """What the build will do on each of several machines, on standard error."""
    from archbuild.report.fleet import render_outlooks

    print(render_outlooks(selected.outlooks, selected.members, width()), file=sys.stderr)
