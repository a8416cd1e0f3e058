"""Torch's published wheels: which code each of them holds, and for which systems.

``torch_wheels.tsv`` beside this module has a row for each torch, CUDA, system and
processor. It was gathered from PyTorch's build scripts and support matrices; where the
libraries of a wheel were read, every fatbin of them, the row holds what was found there.
A missing row is "unknown", never "there is no such wheel".

Two things those readings showed: the wheels 2.8 to 2.15 for x86_64 hold no PTX, whatever
the release notes promise, and ``libtorch_cuda_linalg`` of CUDA 13 has nothing for 7.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cache
from importlib.resources import files

from archbuild.facts.torch_releases import TorchRelease
from archbuild.model.arch import Arch, ComputeCapability, Stage
from archbuild.model.version import CudaVersion


class Standing(Enum):
    """How sure it is that there is such a wheel, holding that.

    Args:
        READ: Its libraries were read.
        STATED: PyTorch's release names it.
        SCRIPTS: Only the scripts that would build it do.
    """

    READ = "read"
    STATED = "stated"
    SCRIPTS = "scripts"


@dataclass(frozen=True)
class LibraryRow:
    """One library of a wheel.

    Args:
        name: ``libtorch_cuda``.
        archs: What it holds, upwards.
        inferred: Whether that is taken over from the wheels of the same CUDA whose
            library was read.
    """

    name: str
    archs: tuple[Arch, ...]
    inferred: bool = False


@dataclass(frozen=True)
class WheelRow:
    """One wheel, for all Pythons.

    Args:
        torch: The release.
        cuda: The CUDA it was built with.
        system: ``linux`` or ``windows``.
        processor: ``x86_64`` or ``aarch64``.
        libraries: The main one first.
        promised: PTX that the build scripts or notes name, where nobody read the library.
        standing: How sure it is.
        source: Where it was read.
        date: When it was read there.
    """

    torch: TorchRelease
    cuda: CudaVersion
    system: str
    processor: str
    libraries: tuple[LibraryRow, ...]
    promised: tuple[Arch, ...]
    standing: Standing
    source: str
    date: date

    @property
    def tag(self) -> str:
        """The name of its CUDA in PyTorch's index, ``cu130``."""
        return f"cu{self.cuda.major}{self.cuda.minor}"


#: PyTorch's own index, one folder for each CUDA.
INDEX = "https://download.pytorch.org/whl"
_MAIN, _LINALG = "libtorch_cuda", "libtorch_cuda_linalg"


def _archs(text: str, stage: Stage = Stage.REAL) -> tuple[Arch, ...]:
    return tuple(Arch(stage, ComputeCapability.parse(number)) for number in text.split())


def _libraries(sass: str, linalg: str) -> tuple[LibraryRow, ...]:
    main = LibraryRow(_MAIN, _archs(sass))
    if not linalg:
        return (main,)
    return (main, LibraryRow(_LINALG, _archs(linalg.lstrip("~")), linalg.startswith("~")))


def _parse_row(line: str) -> WheelRow:
    torch, cuda, system, processor, sass, linalg, promised, standing, day, source = line.split("\t")
    return WheelRow(
        TorchRelease.parse(torch),
        CudaVersion.parse(cuda),
        system,
        processor,
        _libraries(sass, linalg),
        _archs(promised, Stage.VIRTUAL),
        Standing(standing),
        source,
        date.fromisoformat(day),
    )


@cache
def torch_wheels() -> tuple[WheelRow, ...]:
    """Every row, the newest torch first."""
    table = files(__package__).joinpath("torch_wheels.tsv").read_text(encoding="utf-8")
    return tuple(_parse_row(line) for line in table.splitlines()[1:])


def wheels_for(system: str, processor: str) -> tuple[WheelRow, ...]:
    """The rows of one system and processor; empty where none is known.

    Args:
        system: ``linux`` or ``windows``.
        processor: ``x86_64`` or ``aarch64``.
    """
    return tuple(r for r in torch_wheels() if (r.system, r.processor) == (system, processor))
