"""The wheels there are for a system, the installed torch among them in its own words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archbuild.facts.drivers import find_cuda_row
from archbuild.facts.torch_cudnn import cudnn_of
from archbuild.facts.torch_releases import ReleaseRow, TorchRelease, find_release
from archbuild.facts.torch_wheels import LibraryRow, Standing, WheelRow, wheels_for
from archbuild.model.arch import Arch
from archbuild.model.image import Image, ImageKind, Region
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.code import ANY_KERNEL
from archbuild.rules.recommending.result import InstalledTorch, Library, Wish


@dataclass(frozen=True)
class Candidate:
    """A wheel that could be recommended.

    Args:
        torch: The release.
        cuda: Its CUDA.
        libraries: What it holds, the main one first.
        promised: PTX that it may hold besides.
        standing: How sure it is that there is such a wheel.
        release: What is known of the release; None: nothing.
        cudnn: The cuDNN that it brings; None: unknown.
        installed: Whether it is what is installed.
    """

    torch: TorchRelease
    cuda: CudaVersion
    libraries: tuple[Library, ...]
    promised: tuple[Arch, ...]
    standing: Standing
    release: ReleaseRow | None
    cudnn: str | None
    installed: bool = False


def find_candidates(wish: Wish) -> tuple[Candidate, ...]:
    """Every wheel that fits system and processor, and what else was asked for.

    Args:
        wish: Of it the GPUs, the driver and Python don't matter here.
    """
    rows = wheels_for(wish.system, wish.processor)
    found = {(row.torch, row.cuda): _of_row(row) for row in rows}
    if wish.installed is not None:
        own = wish.installed.torch, wish.installed.cuda
        found[own] = _of_installed(wish.installed, found.get(own))
    return tuple(c for c in found.values() if c.libraries and _is_asked_for(c, wish))


def _is_asked_for(candidate: Candidate, wish: Wish) -> bool:
    return wish.cuda in (None, candidate.cuda) and wish.torch in (None, candidate.torch)


def _of_row(row: WheelRow) -> Candidate:
    return Candidate(
        row.torch,
        row.cuda,
        tuple(_library(library, row.cuda) for library in row.libraries),
        row.promised,
        row.standing,
        find_release(row.torch),
        cudnn_of(row.torch, row.cuda),
    )


def _library(row: LibraryRow, cuda: CudaVersion) -> Library:
    return Library(row.name, (region_of(row.archs, cuda),), row.inferred)


def region_of(archs: Iterable[Arch], cuda: CudaVersion) -> Region:
    """A region that holds code of these architectures, made by one CUDA.

    Args:
        archs: Real ones are SASS, virtual ones PTX.
        cuda: The CUDA that made them.
    """
    return Region(tuple(_image(arch, cuda) for arch in archs))


def _image(arch: Arch, cuda: CudaVersion) -> Image:
    """One that is known not to be empty, though nobody listed its kernels."""
    kind, isa = (ImageKind.SASS, None) if arch.is_real else (ImageKind.PTX, isa_of(cuda))
    return Image(kind, arch, isa=isa, kernels=(ANY_KERNEL,), toolkit=cuda)


def isa_of(cuda: CudaVersion) -> tuple[int, int] | None:
    """The PTX ISA that nvcc of this CUDA stamps; None where it is not known."""
    row = find_cuda_row(cuda)
    return None if row is None else row.isa


def _of_installed(own: InstalledTorch, row: Candidate | None) -> Candidate:
    """The installed torch: its own libraries where they were asked, else the table's."""
    libraries = own.libraries or (row.libraries if row is not None else ())
    promised = row.promised if row is not None and not own.libraries else ()
    cudnn = cudnn_of(own.torch, own.cuda) or own.cudnn
    release = find_release(own.torch)
    standing = Standing.READ
    return Candidate(own.torch, own.cuda, libraries, promised, standing, release, cudnn, True)
