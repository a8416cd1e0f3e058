"""What several commands are given: lists, recorded machines, tools."""

from __future__ import annotations

import argparse

from archbuild.errors import NotKnownError, NoToolkitError, UsageError

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from archbuild.model.machine import Machine, Toolkit
    from archbuild.model.version import CudaVersion
    from archbuild.rules.covering.places import Member

# What a command needs is imported when it runs: `archbuild --version` has to be
# quick, and no command needs everything.
# ruff: noqa: PLC0415

ARCH_HELP = 'an architecture list, such as "8.6;9.0a;12.0+PTX", "RTX 4090", native or all-major'


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add ``--machine FILE``."""
    parser.add_argument("--machine", metavar="FILE", help="a recorded machine instead of this one")


def recorded_machine(options: argparse.Namespace) -> Machine | None:
    """The machine that ``--machine`` names, None where it names none.

    Raises:
        RecordError: If the file is no machine record.
    """
    from archbuild.probe.machine import read_machine

    return read_machine(options.machine) if options.machine is not None else None


def add_machines(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--machines PATH...``."""
    parser.add_argument("--machines", nargs="+", metavar="RECORD", default=(), help=what)


def recorded_machines(options: argparse.Namespace) -> tuple[Member, ...]:
    """The machines that ``--machines`` names, in order.

    Raises:
        RecordError: If one of them is no machine record.
    """
    if not options.machines:
        return ()
    from archbuild.probe.fleet import read_fleet

    return read_fleet(options.machines)


def parse_cuda(text: str | None) -> CudaVersion | None:
    """The value of ``--cuda``.

    Raises:
        UsageError: If it is no CUDA version.
    """
    from archbuild.model.version import CudaVersion

    if text is None:
        return None
    try:
        return CudaVersion.parse(text)
    except ValueError as error:
        raise UsageError(f"--cuda: {error}.", "Write --cuda 13.0") from None


def require_cuobjdump(machine: Machine) -> str:
    """The cuobjdump of this machine.

    Raises:
        NotKnownError: If there is none.
    """
    if machine.cuobjdump is None:
        reason = machine.absence("cuobjdump") or "it was not found"
        raise NotKnownError(
            f"There is no cuobjdump here: {reason}.",
            'Install it with: pip install "nvidia-cuda-cuobjdump>=13.2"',
        )
    return machine.cuobjdump


def require_toolkit(machine: Machine) -> Toolkit:
    """The toolkit that builds would take.

    Raises:
        NoToolkitError: If there is none.
    """
    from archbuild.rules.selecting.torch_match import toolkit_cure

    if machine.toolkit is None:
        cuda = machine.torch.cuda if machine.torch is not None else None
        reason = machine.absence("toolkit") or "no nvcc was found"
        cure = toolkit_cure(cuda) if cuda else 'Install one with: pip install "archbuild[toolkit]"'
        raise NoToolkitError(f"There is no CUDA Toolkit here: {reason}.", cure)
    return machine.toolkit
