"""Where a build's wanted architectures come from, and which nvcc answers for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archbuild.errors import NoToolkitError
from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.machine import Absence, Machine, Toolkit
from archbuild.model.version import CudaVersion

DETECTED = "the GPUs of this machine"
TORCH = "what the installed torch holds"
NVCC = "nvcc's all-major"

#: Variables that name a list, the first wins.
TYPED = ("ARCHBUILD_ARCHS", "TORCH_CUDA_ARCH_LIST")


@dataclass(frozen=True)
class Request:
    """What was asked for, and by what.

    Args:
        source: The option, the variable, the table, or what was detected.
        text: The architecture list as typed; None: nothing was typed.
        passed_over: Other sources that also named a list, and lost.
        homes: In which machines GPUs of a capability are, where it is several machines
            that are built for.
    """

    source: str
    text: str | None = None
    passed_over: tuple[str, ...] = ()
    homes: tuple[tuple[ComputeCapability, str], ...] = ()


@dataclass(frozen=True)
class Compiler:
    """The nvcc that decides what can be built, or the table that stands for it.

    Args:
        version: Its CUDA version.
        archs: Every architecture it takes, real and virtual.
        origin: For people: ``nvcc 13.0 (/path/to/nvcc)``.
        toolkit: None where the table stands for an nvcc.
    """

    version: CudaVersion
    archs: frozenset[Arch]
    origin: str
    toolkit: Toolkit | None = None


def choose_request(
    machine: Machine,
    *,
    option: str | None = None,
    config: str | None = None,
    name: str = "--arch",
) -> Request:
    """The request that wins: option, variables, pyproject, GPUs, torch, nvcc.

    Args:
        machine: With its variables, GPUs and torch.
        option: The value of ``--arch``, or an argument.
        config: ``archs`` of ``[tool.archbuild]``, joined with ``;``.
        name: What ``option`` is called where it was written.
    """
    typed = [
        (name, option),
        *((variable, machine.variable(variable)) for variable in TYPED),
        ("[tool.archbuild] archs", config),
    ]
    named = [(source, text) for source, text in typed if text is not None]
    if named:
        (source, text), *losers = named
        others = tuple(f"{loser}={value}" for loser, value in losers if value != text)
        return Request(source, text, others)
    if any(gpu.capability is not None for gpu in machine.gpus):
        return Request(DETECTED)
    torch = machine.torch
    if torch is not None and torch.cuda is not None and torch.archs:
        return Request(TORCH)
    return Request(NVCC)


def needs_gpus(
    variables: Mapping[str, str], *, option: str | None = None, config: str | None = None
) -> bool:
    """Whether the GPUs have to be asked: a typed list without ``native`` needs none.

    Args:
        variables: The environment.
        option: The value of ``--arch``, or an argument.
        config: ``archs`` of ``[tool.archbuild]``.
    """
    typed = [option, config, *(variables.get(name) for name in TYPED)]
    added = [variables.get(name) for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")]
    native = any("native" in text.lower() for text in (*typed, *added) if text)
    return native or not any(text and text.strip() for text in typed)


def needs_torch_archs(
    machine: Machine, *, option: str | None = None, config: str | None = None
) -> bool:
    """Whether torch has to be asked for its architectures (about two seconds)."""
    torch = machine.torch
    if torch is None or torch.cuda is None or torch.archs is not None:
        return False
    return choose_request(machine, option=option, config=config).source == NVCC


def choose_compiler(machine: Machine, cuda: CudaVersion | None = None) -> Compiler:
    """The nvcc of the machine, or the table for a CUDA version.

    Args:
        machine: Its first toolkit is taken.
        cuda: ``--cuda X.Y``: the table's row instead of any nvcc here.

    Raises:
        NoToolkitError: If there is neither an nvcc nor a version with a row.
    """
    if cuda is None and machine.toolkit is not None:
        toolkit = machine.toolkit
        origin = f"nvcc {toolkit.version} ({toolkit.nvcc})"
        return Compiler(toolkit.version, frozenset(toolkit.archs), origin, toolkit)
    torch = machine.torch
    version, named_by = cuda, "--cuda"
    if version is None and torch is not None:
        version, named_by = torch.cuda, f"torch {torch.version}"
    if version is None:
        reason = machine.absence("toolkit") or "no nvcc was found"
        raise NoToolkitError(
            f"There is no CUDA Toolkit here: {reason}.",
            'Install one with: pip install "archbuild[cu130]" (or name a version: --cuda 13.0)',
        )
    from archbuild.facts.toolkits import find_toolkit_row  # noqa: PLC0415  (only without an nvcc)

    row = find_toolkit_row(version)
    if row is None:
        raise NoToolkitError(
            f"The table of toolkits has no CUDA {version} (from {named_by}), so it cannot stand "
            "for an nvcc.",
            _nearest_rows(version),
        )
    archs = frozenset(row.archs) | frozenset(arch.virtual for arch in row.archs)
    return Compiler(version, archs, f"the table for CUDA {version} (from {named_by})")


def unheeded(machine: Machine) -> tuple[str, ...]:
    """A sentence on each variable that names a toolkit and is not followed.

    Args:
        machine: Its first toolkit is the one taken. Where a person named that
            with ``--toolkit``, no variable needs a word.
    """
    taken = machine.toolkit
    if taken is None or "--toolkit" in taken.found_by:
        return ()
    return tuple(
        _unheeded(absence, taken)
        for absence in machine.absences
        if absence.what in ("CUDA_HOME", "CUDA_PATH")
    )


def _unheeded(absence: Absence, taken: Toolkit) -> str:
    named = absence.reason.startswith(absence.what)
    said = absence.reason if named else f"{absence.what}: {absence.reason}"
    # One that works and fits less well is told with what was preferred to it.
    return f"{said}." if taken.root in said else f"{said}; {taken.root} is taken."


def _nearest_rows(version: CudaVersion) -> str:
    """The versions of the table on both sides of one that it lacks."""
    from archbuild.facts.toolkits import TOOLKITS  # noqa: PLC0415  (only without an nvcc)

    known = [row.version for row in TOOLKITS]
    beside = (
        max((v for v in known if v < version), default=None),
        min((v for v in known if v > version), default=None),
    )
    names = " or ".join(f"--cuda {v}" for v in beside if v is not None)
    return f'Name another: {names}. Or install a toolkit: pip install "archbuild[cu130]"'
