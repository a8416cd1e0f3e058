"""What a person should know of a file's device code before trusting its list.

These are observations, without a verdict: what is wrong about them depends on what
the file is for, which is the checks' affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from archbuild.model.image import Compression, DeviceFile, Flag, Image, ImageKind, Linkage

_UNREAD = (ImageKind.UNKNOWN, ImageKind.UNFINISHED, ImageKind.CONCATENATED)


def oddities(file: DeviceFile) -> tuple[str, ...]:
    """What is odd about a file, each as a few words.

    Empty images are known only where the kernels were read.

    Args:
        file: With its kernels read or not.
    """
    return tuple(_about_file(file)) + tuple(_about_images(file)) + file.notes


def _about_file(file: DeviceFile) -> Iterator[str]:
    if file.hip:
        beside = "HIP code beside it" if file.regions else "HIP code, not CUDA"
        yield f"{beside}: it runs on AMD's GPUs"
    if not file.regions:
        return
    kinds = {image.kind for image in file.images}
    if kinds == {ImageKind.LTOIR}:
        yield "LTO-IR only: no GPU runs it before a link with nvcc -dlto"
    elif all(region.linkage is Linkage.RELOCATABLE for region in file.regions):
        yield "relocatable only: no GPU runs it before a device link"
    elif not any(image.is_loadable for image in file.images):
        yield "nothing that a driver can load as it is"


def _about_images(file: DeviceFile) -> Iterator[str]:
    images = file.images
    # Thousands of images look alike in all that matters here but for their kernels.
    kinds = {(id(i.kind), id(i.arch), i.flags, id(i.compression)): i for i in images}.values()
    if debug := [image for image in kinds if image.has(Flag.DEBUG)]:
        yield f"debug code (-G), several times slower: {_names(debug)}"
    # LTO-IR bears that mark always.
    if hidden := [i for i in kinds if i.has(Flag.OBFUSCATED) and i.kind is not ImageKind.LTOIR]:
        yield f"obfuscated, kernels not read: {_names(hidden)}"
    yield from _about_empty(file)
    if any(map(is_unknown, kinds)):
        count = _counted(sum(map(is_unknown, images)), "entry", "entries")
        yield f"{count} that archbuild doesn't know"
    if any(map(_is_old, kinds)):
        count = _counted(sum(map(_is_old, images)), "image", "images")
        yield f"{count} in a compression that only old CUDA knows"


def _about_empty(file: DeviceFile) -> Iterator[str]:
    empty = [i for i in file.images if i.kernels is not None and i.is_empty]
    if empty:
        whole = sum(all(i.is_empty for i in region.images) for region in file.regions)
        where = f", {_counted(whole, 'region', 'regions')} with nothing else" if whole else ""
        yield f"{_counted(len(empty), 'empty image', 'empty images')}{where}: {_names(empty)}"


def _is_old(image: Image) -> bool:
    return image.compression is Compression.OLD


def is_unknown(image: Image) -> bool:
    """Whether something about an entry is not known here."""
    if image.arch is None and image.kind is not ImageKind.INDEX:
        return True
    return image.kind in _UNREAD or bool(image.unknown_flags)


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _names(images: Iterable[Image]) -> str:
    archs = {image.arch for image in images}
    known = ", ".join(str(arch) for arch in sorted(a for a in archs if a is not None))
    return known or "unknown architecture"
