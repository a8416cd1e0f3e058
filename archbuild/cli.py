"""The command line: arguments in, services called, results printed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from archbuild._version import __version__
from archbuild.errors import ArchbuildError, NotKnownError, NoToolkitError, UsageError

if TYPE_CHECKING:
    from archbuild.model.machine import Machine, Toolkit
    from archbuild.model.version import CudaVersion

# What a command needs is imported when it runs: `archbuild --version` has to be
# quick, and no command needs everything.
# ruff: noqa: PLC0415

_ARCH_HELP = 'an architecture list, such as "8.6;9.0a;12.0+PTX", "RTX 4090", native or all-major'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Without the program's name; None: those of the process.

    Returns:
        0 nothing wrong; 1 findings; 2 wrong usage; 3 something can't be read;
        4 not enough is known to say.
    """
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        code = command(options)
        sys.stdout.flush()
    except ArchbuildError as error:
        _say("error", str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has had enough of it; that is no fault.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="archbuild",
        description="Build CUDA extensions for the GPUs they will run on, and prove it.",
    )
    parser.add_argument("--version", action="version", version=f"archbuild {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_gpus(commands)
    _add_flags(commands)
    _add_smoke(commands)
    _add_verify(commands)
    return parser


if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001


def _add_gpus(commands: _Commands) -> None:
    parser = commands.add_parser(
        "gpus",
        help="which GPUs are in this machine, and which of them CUDA sees",
        description="Every GPU of this machine, also those that CUDA_VISIBLE_DEVICES hides.",
    )
    parser.add_argument("--json", action="store_true", help="print the whole machine as JSON")
    parser.add_argument("--save", metavar="FILE", help="write the machine to a file as well")
    _add_machine(parser)
    parser.set_defaults(command=_gpus)


def _add_flags(commands: _Commands) -> None:
    parser = commands.add_parser(
        "flags",
        help="which -gencode flags serve these GPUs with this nvcc, and why",
        description="Flags on standard output, notes and warnings on standard error.",
        epilog='nvcc -c $(archbuild flags) k.cu; eval "$(archbuild flags --format env)"',
    )
    parser.add_argument("--arch", metavar="LIST", help=_ARCH_HELP)
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
    _add_machine(parser)
    parser.set_defaults(command=_flags)


def _add_smoke(commands: _Commands) -> None:
    parser = commands.add_parser(
        "smoke",
        help="does this toolchain really build for every target?",
        description="Compile a kernel for every target, check the binary, run it on each GPU.",
    )
    parser.add_argument("--arch", metavar="LIST", help=_ARCH_HELP)
    parser.add_argument("--toolkit", metavar="DIR", help="the CUDA Toolkit to use")
    parser.add_argument("--no-run", action="store_true", help="build and check only")
    parser.add_argument("--keep", metavar="DIR", help="leave the library in this folder")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=_smoke)


def _add_verify(commands: _Commands) -> None:
    parser = commands.add_parser(
        "verify",
        help="does this library or wheel hold every target?",
        description="Hold libraries, objects, wheels or folders against a list of targets.",
    )
    parser.add_argument("path", nargs="+", help="a library, object, wheel or folder")
    parser.add_argument("--targets", metavar="LIST", help="what every file must hold, exactly")
    parser.add_argument("--file", metavar="GLOB", help="judge only files of this name")
    parser.add_argument("--strict", action="store_true", help="warnings fail as well")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=_verify)


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--machine", metavar="FILE", help="a recorded machine instead of this one")


# --- commands ---------------------------------------------------------------------------


def _gpus(options: argparse.Namespace) -> int:
    from archbuild.model.record import render_machine
    from archbuild.probe.machine import query_machine, write_machine
    from archbuild.report.gpus import render_gpus

    machine = _recorded(options) or query_machine()
    if options.save is not None:
        write_machine(machine, options.save)
    text = render_machine(machine) if options.json else render_gpus(machine, _width())
    print(text.rstrip("\n"))
    return 0


def _flags(options: argparse.Namespace) -> int:
    from archbuild.probe.project import read_config
    from archbuild.report.flags import render_flags, render_reasons, torch_refuses
    from archbuild.services.select import select_archs

    selected = select_archs(
        options.arch,
        toolkit=options.toolkit,
        cuda=_cuda(options.cuda),
        config=read_config(),
        machine=_recorded(options),
    )
    selection = selected.selection
    for note in selection.notes:
        _say("note", note)
    if options.why:
        print(render_reasons(selection), file=sys.stderr)
    for warning in selection.warnings:
        _say("warning", warning)
    refused = torch_refuses(selection) if options.format in ("torch", "env", "cmake") else ()
    if refused:
        _say("note", f"torch's own BuildExtension and CMake files do not take {refused[0]}.")
    print(render_flags(selection, options.format, link=options.link))
    return 0


def _smoke(options: argparse.Namespace) -> int:
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
        _say("warning", warning)
    report = smoke(
        _toolkit(machine),
        selection.gencodes,
        cuobjdump=_cuobjdump(machine),
        gpus=machine.gpus,
        run=not options.no_run,
        keep=options.keep,
    )
    print(smoke_json(report) if options.json else render_smoke(report, _width()).rstrip("\n"))
    return report.exit_code


def _verify(options: argparse.Namespace) -> int:
    from archbuild.probe.machine import query_machine
    from archbuild.probe.project import read_config
    from archbuild.report.verify import render_verify, verify_json
    from archbuild.rules.expectation import expect
    from archbuild.services.verify import verify_targets

    native = "native" in (options.targets or "").lower()
    machine = query_machine(gpus=native, torch=False)
    expected = expect(machine, option=options.targets, config=read_config().archs)
    if expected.source != "--targets":
        _say("note", f"Held against {expected.source}.")
    report = verify_targets(
        options.path,
        expected.targets,
        cuobjdump=_cuobjdump(machine),
        file_glob=options.file,
        strict=options.strict,
    )
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print(verify_json(report) if options.json else render_verify(report, _width(), color=color))
    return report.exit_code


# --- what several commands need ------------------------------------------------------------


def _say(kind: str, text: str) -> None:
    print(f"archbuild: {kind}: {text}", file=sys.stderr)


def _width() -> int:
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def _recorded(options: argparse.Namespace) -> Machine | None:
    from archbuild.probe.machine import read_machine

    return read_machine(options.machine) if options.machine is not None else None


def _cuda(text: str | None) -> CudaVersion | None:
    from archbuild.model.version import CudaVersion

    if text is None:
        return None
    try:
        return CudaVersion.parse(text)
    except ValueError as error:
        raise UsageError(f"--cuda: {error}.", "Write --cuda 13.0") from None


def _cuobjdump(machine: Machine) -> str:
    if machine.cuobjdump is None:
        reason = machine.absence("cuobjdump") or "it was not found"
        raise NotKnownError(
            f"There is no cuobjdump here: {reason}.",
            'Install it with: pip install "nvidia-cuda-cuobjdump>=13.2"',
        )
    return machine.cuobjdump


def _toolkit(machine: Machine) -> Toolkit:
    from archbuild.rules.torch_match import toolkit_cure

    if machine.toolkit is None:
        cuda = machine.torch.cuda if machine.torch is not None else None
        reason = machine.absence("toolkit") or "no nvcc was found"
        cure = toolkit_cure(cuda) if cuda else 'Install one with: pip install "archbuild[toolkit]"'
        raise NoToolkitError(f"There is no CUDA Toolkit here: {reason}.", cure)
    return machine.toolkit
