"""What a build says about a library: ``<module>.archbuild.json`` beside it."""

from __future__ import annotations

from dataclasses import dataclass

from archbuild.model.arch import Arch

MANIFEST_SCHEMA = "archbuild.manifest/1"
MANIFEST_SUFFIX = ".archbuild.json"


@dataclass(frozen=True)
class SourceManifest:
    """One CUDA source of a library.

    Args:
        path: Relative to the project, with forward slashes.
        targets: The images that its region holds.
        meant_for: The architecture list of its own, as written; None for all wanted.
        left_out: Why it was not built; empty where it was.
        define: The macro that stands for it.
    """

    path: str
    targets: tuple[Arch, ...]
    meant_for: str | None = None
    left_out: str = ""
    define: str | None = None


@dataclass(frozen=True)
class ImageDigest:
    """One image of the library.

    Args:
        arch: ``sm_90a``, ``compute_90``.
        sha256: Of its bytes as the container stores them, in hexadecimal.
        kernels: How many entry functions it has.
    """

    arch: Arch
    sha256: str
    kernels: int


@dataclass(frozen=True)
class Manifest:
    """What one library was built for, from and with. It holds no path and no name of a person.

    Args:
        library: The file's name.
        targets: The images that the library holds.
        sources: Its CUDA sources.
        toolkit: ``13.0.88``, nvcc's release and build.
        torch: The version that it was compiled against; None without torch.
        torch_cuda: The CUDA of that torch.
        cxx11_abi: torch's; None without torch.
        python: ``cp311``, or ``abi3`` where the limited API was used.
        host_compiler: ``g++ 12.2.0``.
        flags: nvcc's flags that matter to device code, in order, without paths.
        relocatable: Whether a device link was made.
        lean_headers: Whether any source used the lean headers.
        development: Whether one virtual architecture served all: not to be shipped.
        images: A digest for each image.
        archbuild: The version that built it.
    """

    library: str
    targets: tuple[Arch, ...]
    sources: tuple[SourceManifest, ...]
    toolkit: str
    torch: str | None
    torch_cuda: str | None
    cxx11_abi: bool | None
    python: str
    host_compiler: str
    flags: tuple[str, ...]
    relocatable: bool
    lean_headers: bool
    development: bool
    images: tuple[ImageDigest, ...]
    archbuild: str


def manifest_name(library: str) -> str:
    """The name of the file beside a library that tells how it was built.

    Args:
        library: The library's name, without a folder.

    Examples:
        >>> manifest_name("_C.cpython-311-x86_64-linux-gnu.so")
        '_C.archbuild.json'
    """
    module = library.partition(".")[0]
    return f"{module or library}{MANIFEST_SUFFIX}"
