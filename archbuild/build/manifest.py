"""The record of a build: what a library was built for, from and with."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from archbuild._version import __version__
from archbuild.binary.reader import read_digested
from archbuild.errors import UnreadableError
from archbuild.model.arch import Arch
from archbuild.model.image import DeviceFile
from archbuild.model.manifest import ImageDigest, Manifest, SourceManifest
from archbuild.model.manifest_record import render_manifest
from archbuild.model.source import Source
from archbuild.probe.writing import write_whole
from archbuild.rules.selecting.sources import ServedSource

# Options that name places; their value may be a word of its own.
_TAKE_A_PLACE = (
    "-I -L -isystem -include -ccbin --compiler-bindir -o -odir -MF -keep-dir --keep-dir "
    "--include-path --system-include --library-path --output-file --output-directory "
    "--pre-include --options-file -optf --time -time --dependency-output"
)
_PLACES = frozenset(_TAKE_A_PLACE.split())
# Options that hand the next word on.
_TAKE_A_WORD = (
    "-Xcompiler -Xptxas -Xcudafe -Xnvlink -Xlinker -Xarchive "
    "--compiler-options --ptxas-options --nvlink-options --linker-options"
)
_HAND_ON = frozenset(_TAKE_A_WORD.split())


def make_manifest(
    library: Path,
    *,
    targets: Sequence[Arch],
    sources: Sequence[SourceManifest],
    toolkit: str,
    python: str,
    host_compiler: str,
    torch: str | None = None,
    torch_cuda: str | None = None,
    cxx11_abi: bool | None = None,
    flags: Iterable[str] = (),
    relocatable: bool = False,
    lean_headers: bool = False,
    development: bool = False,
) -> Manifest:
    """The manifest of a library that was just linked; its images are read and digested.

    Args:
        library: The library.
        targets: The images that it should hold.
        sources: Its CUDA sources, by :func:`source_manifest`.
        toolkit: nvcc's release and build, ``13.0.88``.
        python: ``cp311``, or ``abi3``.
        host_compiler: ``g++ 12.2.0``.
        torch: The version compiled against; None without torch.
        torch_cuda: That torch's CUDA.
        cxx11_abi: That torch's ABI.
        flags: nvcc's; those with places in them are left out here.
        relocatable: Whether a device link was made.
        lean_headers: Whether any source used the lean headers.
        development: Whether one virtual architecture served all.

    Raises:
        BinaryError: If the library can't be read.
    """
    return Manifest(
        library=library.name,
        targets=tuple(targets),
        sources=tuple(sources),
        toolkit=toolkit,
        torch=torch,
        torch_cuda=torch_cuda,
        cxx11_abi=cxx11_abi,
        python=python,
        host_compiler=host_compiler,
        flags=flags_without_places(flags),
        relocatable=relocatable,
        lean_headers=lean_headers,
        development=development,
        images=image_digests(read_digested(library)),
        archbuild=__version__,
    )


def source_manifest(source: Source, served: ServedSource, root: Path) -> SourceManifest:
    """What the manifest says of one CUDA source.

    Args:
        source: The source, expanded.
        served: What it was compiled for.
        root: The project's folder.
    """
    return SourceManifest(
        path=path_in_project(source.path, root),
        targets=served.targets,
        meant_for=source.archs,
        left_out=served.left_out,
        define=source.define,
    )


def path_in_project(path: str, root: Path) -> str:
    """A path from the project's folder, with forward slashes.

    Of what lies elsewhere only the name is told: the way there could name a person.
    """
    whole = Path(os.path.normpath(root / path))
    if whole.is_relative_to(root):
        return whole.relative_to(root).as_posix()
    return whole.name


def image_digests(file: DeviceFile) -> tuple[ImageDigest, ...]:
    """A digest for each image of a file that was read with digests, in order."""
    return tuple(
        ImageDigest(image.arch, image.digest, len(image.kernels or ()))
        for image in file.images
        if image.arch is not None and image.digest is not None
    )


def flags_without_places(flags: Iterable[str]) -> tuple[str, ...]:
    """The flags without those that name a folder or file, in order."""
    return tuple(_without_places(iter(flags)))


def _without_places(flags: Iterator[str]) -> Iterator[str]:
    for flag in flags:
        words = (flag, *(next(flags, "") for _ in range(flag in _HAND_ON)))
        if flag in _PLACES:
            next(flags, None)
        elif not any(_names_a_place(word) for word in words):
            yield from words


def _names_a_place(word: str) -> bool:
    return "/" in word or "\\" in word or word.startswith(("-I", "-L"))


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest; a file that is there stays whole until the new one is.

    Args:
        path: Where; ``manifest_path`` tells it for a library.
        manifest: What to write.

    Raises:
        UnreadableError: If it can't be written.
    """
    try:
        write_whole(path, render_manifest(manifest).encode("ascii"))
    except OSError as error:
        raise UnreadableError(
            f"{path} cannot be written: {error.strerror}.", "Make room, or the folder writable."
        ) from None
