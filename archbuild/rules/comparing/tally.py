"""How many bytes the images of each architecture take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from archbuild.model.arch import Arch
from archbuild.model.image import Image, ImageKind, Linkage, Region


@dataclass(frozen=True)
class Tally:
    """Images that are alike, counted together.

    Args:
        kind: SASS, PTX and so on.
        arch: Their architecture; None where it is unknown.
        linkage: Executable or relocatable.
        isa: The PTX ISA, of PTX only.
        images: How many they are.
        stored: Their bytes in the file.
        size: Their bytes when inflated.
    """

    kind: ImageKind
    arch: Arch | None
    linkage: Linkage
    isa: tuple[int, int] | None
    images: int
    stored: int
    size: int


_Shared = tuple[Image, int]


def tally(regions: Iterable[Region]) -> tuple[Tally, ...]:
    """The images of these regions by architecture, kind, linkage and PTX ISA.

    Args:
        regions: Of one file or of several.

    Returns:
        In the order of architectures, those of unknown architecture last.
    """
    groups: dict[object, list[_Shared]] = {}
    for alike in _alike(regions):
        image = alike[0][0]
        key = (image.kind, image.arch, image.linkage, image.isa)
        groups.setdefault(key, []).extend(alike)
    return tuple(sorted(map(_tallied, groups.values()), key=_order))


def _alike(regions: Iterable[Region]) -> Iterable[list[_Shared]]:
    """Images whose fields are one and the same object: quick, since nothing is hashed."""
    groups: dict[object, list[_Shared]] = {}
    for region in regions:
        for image, stored in stored_shares(region):
            key = (id(image.kind), id(image.arch), id(image.linkage), image.isa)
            if key in groups:
                groups[key].append((image, stored))
            else:
                groups[key] = [(image, stored)]
    return groups.values()


def _tallied(group: list[_Shared]) -> Tally:
    first = group[0][0]
    stored = sum(share for _, share in group)
    size = sum(image.size or 0 for image, _ in group)
    return Tally(first.kind, first.arch, first.linkage, first.isa, len(group), stored, size)


def _order(row: Tally) -> tuple[bool, list[Arch], str, str, tuple[int, int]]:
    known = [] if row.arch is None else [row.arch]
    return not known, known, row.kind.value, row.linkage.value, row.isa or (0, 0)


def stored_shares(region: Region) -> Iterable[_Shared]:
    """Each image of a region with the bytes that it takes in the file.

    Images that are compressed together each tell the bytes of all of them; here each
    gets its part, by its inflated size.
    """
    images = region.images
    if len({image.offset for image in images}) == len(images):
        return [(image, image.stored or 0) for image in images]
    return _split_shares(images)


def _split_shares(images: tuple[Image, ...]) -> Iterator[_Shared]:
    inflated: dict[int | None, int] = {}
    for image in images:
        inflated[image.offset] = inflated.get(image.offset, 0) + (image.size or 0)
    for image in images:
        stored, whole = image.stored or 0, inflated[image.offset]
        if image.offset is not None and whole:
            stored = stored * (image.size or 0) // whole
        yield image, stored
