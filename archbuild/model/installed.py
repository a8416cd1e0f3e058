"""What is installed that holds or loads device code: packages, libraries, trials on GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archbuild.model.arch import Arch
from archbuild.model.image import ImageKind, Linkage
from archbuild.model.version import CudaVersion


@dataclass(frozen=True)
class CodeImage:
    """One kind of image: what of it decides where it runs.

    Args:
        kind: SASS, PTX and so on.
        arch: None where it is unknown.
        isa: The PTX ISA, of PTX.
        toolkit: The CUDA that made it; None: unknown.
        linkage: Executable or relocatable.
    """

    kind: ImageKind
    arch: Arch | None
    isa: tuple[int, int] | None = None
    toolkit: CudaVersion | None = None
    linkage: Linkage = Linkage.EXECUTABLE


@dataclass(frozen=True)
class CodeGroup:
    """Regions of a library that hold the same kinds of images.

    Args:
        images: What each of them holds, in the order of the first.
        regions: How many there are.
        empty: Whether they hold neither kernels nor device variables, as what ``nvcc
            -shared`` adds does; None: not read.
    """

    images: tuple[CodeImage, ...]
    regions: int = 1
    empty: bool | None = None


@dataclass(frozen=True)
class CodeFile:
    """A library with device code, read by the native reader.

    Args:
        path: Below the folder of the environment's packages, or absolute.
        size: Bytes.
        groups: What it holds; empty with ``trouble``.
        hip: Whether it holds HIP code.
        trouble: Why it could not be read; empty: it could.
    """

    path: str
    size: int
    groups: tuple[CodeGroup, ...] = ()
    hip: bool = False
    trouble: str = ""


@dataclass(frozen=True)
class CodePackage:
    """An installed package, and what its libraries hold.

    Args:
        name: The distribution's name, ``flash-attn``.
        version: Its version.
        files: Its libraries with device code.
        built_for: Version of torch that its manifest or name states; None: not stated.
        installer: ``pip``, ``uv``, ``conda``; None: unknown.
        direct_url: Where it was installed from, when from no index.
        editable: Whether it is an editable install.
        requires_torch: Whether it depends on torch.
    """

    name: str
    version: str
    files: tuple[CodeFile, ...] = ()
    built_for: str | None = None
    installer: str | None = None
    direct_url: str | None = None
    editable: bool = False
    requires_torch: bool = False


@dataclass(frozen=True)
class Distribution:
    """An installed package that has to do with CUDA, with or without device code.

    Args:
        name: As its metadata names it.
        version: Its version.
        folder: The folder of packages in which it lies.
        same_files: Names of other packages that own some of the same files.
    """

    name: str
    version: str
    folder: str = ""
    same_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedLibrary:
    """A CUDA library as a process would load it.

    Args:
        soname: ``libnvJitLink.so.13``.
        path: The real file that was mapped; None: none was found.
        version: By its file name or its own function; None: unknown.
        found_by: ``package``, ``LD_LIBRARY_PATH``, ``LD_PRELOAD``, ``RPATH``,
            ``ldconfig``, ``conda``, ``wsl``; None: unknown.
        expected: The file that its package would have had loaded, where another one
            came first; None: it is the one, or nothing was expected.
        stub: Whether it is a stub made for linking.
        compat: Whether it is of a cuda-compat package.
        trouble: Why it could not be loaded, the loader's words; empty: it could.
        others: Further files of that name in folders of packages, of variables, of conda
            and of the system.
    """

    soname: str
    path: str | None
    version: str | None = None
    found_by: str | None = None
    expected: str | None = None
    stub: bool = False
    compat: bool = False
    trouble: str = ""
    others: tuple[str, ...] = ()


class TrialOutcome(Enum):
    """What became of a trial."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    CRASHED = "crashed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Trial:
    """One thing that was really run on one GPU, in a process of its own.

    Args:
        name: ``kernel``, ``torch``, ``matmul``, ``linalg``, ``forced jit``, ``no jit``.
        gpu: The GPU's UUID.
        outcome: What became of it.
        error: The CUDA error, where one was given.
        said: The error's words, or why it was skipped.
        seconds: How long it took.
    """

    name: str
    gpu: str
    outcome: TrialOutcome
    error: int | None = None
    said: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class HostCompilerFit:
    """The host compiler that builds would take, against the first toolkit.

    Args:
        path: The compiler; None: none is installed that fits.
        version: ``13.2``.
        most: The highest that the toolkit allows, ``gcc 15``.
        others: Compilers that are installed and don't fit.
    """

    path: str | None
    version: str | None = None
    most: str | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Installed:
    """All of it.

    Args:
        packages: With device code; torch is among them.
        distributions: That have to do with CUDA.
        loaded: The CUDA libraries that would be loaded.
        trials: What was run on the GPUs.
        host: The host compiler; None: not asked, or there is no toolkit.
        cudnn: The version of the cuDNN that torch would load; None: none.
    """

    packages: tuple[CodePackage, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    loaded: tuple[LoadedLibrary, ...] = ()
    trials: tuple[Trial, ...] = ()
    host: HostCompilerFit | None = None
    cudnn: str | None = None
