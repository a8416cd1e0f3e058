"""What libraries hold, as little of it as decides where it runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from archbuild.binary.dating import read_toolkits
from archbuild.model.image import DeviceFile, Image, Linkage, Region
from archbuild.model.installed import CodeGroup, CodeImage
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.coverage import is_empty


def dated_groups(path: Path, file: DeviceFile) -> tuple[CodeGroup, ...]:
    """The groups of a file, with the CUDA that made it where that is cheap to know."""
    groups = group_regions(file)
    if any(image.toolkit for group in groups for image in group.images):
        return groups
    first = next((r.offset for r in file.regions if r.offset is not None and r.images), None)
    told = read_toolkits(path, [first]) if first is not None else {}
    return tuple(_with_toolkit(group, told.get(first or 0)) for group in groups)


def _with_toolkit(group: CodeGroup, toolkit: CudaVersion | None) -> CodeGroup:
    if toolkit is None:
        return group
    images = (
        image if image.toolkit is not None else replace(image, toolkit=toolkit)
        for image in group.images
    )
    return replace(group, images=tuple(images))


def group_regions(file: DeviceFile) -> tuple[CodeGroup, ...]:
    """The regions of a file, those that hold the same kinds of images as one."""
    groups: dict[tuple[tuple[int, ...], bool | None], int] = {}
    kinds = _Kinds()
    for region in file.regions:
        key = kinds.numbers(region), _emptiness(region)
        if key[0]:
            groups[key] = groups.get(key, 0) + 1
    return tuple(
        CodeGroup(tuple(kinds.images[number] for number in numbers), count, empty)
        for (numbers, empty), count in groups.items()
    )


class _Kinds:
    """Gives a number to each kind of image: a library has thousands, of a dozen kinds."""

    def __init__(self) -> None:
        self.images: list[CodeImage] = []
        self._by_image: dict[CodeImage, int] = {}
        self._by_parts: dict[tuple[object, ...], int] = {}

    def numbers(self, region: Region) -> tuple[int, ...]:
        """The kinds of images in a region, each once, in its order."""
        return tuple(dict.fromkeys(self._number(image, region) for image in region.images))

    def _number(self, image: Image, region: Region) -> int:
        whole = region.linkage is Linkage.EXECUTABLE
        linkage = image.linkage if whole else region.linkage
        # To hash an architecture takes longer than all the rest; the file keeps them alive.
        parts = (id(image.kind), id(image.arch), image.isa, id(image.toolkit), id(linkage))
        number = self._by_parts.get(parts)
        if number is None:
            kind = CodeImage(image.kind, image.arch, image.isa, image.toolkit, linkage)
            number = self._by_image.setdefault(kind, len(self.images))
            if number == len(self.images):
                self.images.append(kind)
            self._by_parts[parts] = number
        return number


def _emptiness(region: Region) -> bool | None:
    if any(image.kernels for image in region.images):
        return False
    return True if is_empty(region) else None
