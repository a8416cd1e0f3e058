"""After a compile and after a link: is every target really in the file?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.binary.reader import read
from archbuild.errors import BuildError
from archbuild.model.arch import Arch
from archbuild.model.image import Image, Region
from archbuild.rules.checking.agreement import check_readers
from archbuild.rules.covering.coverage import loadable_images


@dataclass(frozen=True)
class Lack:
    """A file and the targets that are not in it.

    Args:
        file: The object or library.
        source: What it was made from, for people.
        missing: Wanted and not there.
        present: What is there.
    """

    file: str
    source: str
    missing: tuple[Arch, ...]
    present: tuple[Arch, ...]

    def __str__(self) -> str:
        there = ", ".join(map(str, self.present)) or "no device code at all"
        return f"{self.source}: {', '.join(map(str, self.missing))} missing (there: {there})"


def find_lack(
    file: Path,
    source: str,
    targets: Sequence[Arch],
    cuobjdump: str | None,
    *,
    relocatable: bool = False,
    is_object: bool = False,
    device_linked: bool = False,
) -> Lack | None:
    """What a file should hold and doesn't, by both readers, which must agree.

    Args:
        file: An object or a library.
        source: What it was made from.
        targets: What it must hold.
        cuobjdump: The second reader; None: the native one alone.
        relocatable: Whether images that still need a device link count: they
            do in an object, never in a library.
        is_object: Whether it is one translation unit, each region of which must
            hold every target.
        device_linked: Whether nvcc linked its device code: such a link leaves an
            empty image for a target that got lost before. A compile does not;
            there a guard on ``__CUDA_ARCH__`` makes images without kernels.

    Raises:
        BinaryError: If a reader can't read the file.
        BuildError: If the readers disagree.
    """
    mine = read(str(file), kernels=True)[0]
    if cuobjdump is not None:
        other = read_with_cuobjdump(str(file), cuobjdump, everything=True)
        for finding in check_readers(mine, other):
            raise BuildError(f"{finding.message} {'; '.join(finding.evidence)}.", finding.advice)
    regions = [_counting(region, relocatable=relocatable) for region in mine.regions]
    if device_linked:
        regions = [_with_kernels(images) for images in regions]
    present = _present(regions, is_object=is_object)
    missing = tuple(target for target in targets if target not in present)
    return Lack(str(file), source, missing, tuple(sorted(present))) if missing else None


def find_empty(file: Path) -> tuple[Arch, ...]:
    """The architectures of an object whose image holds no kernel beside others that do.

    Args:
        file: An object made from one source.

    Raises:
        BinaryError: If it can't be read.
    """
    regions = [list(region.images) for region in read(str(file), kernels=True)[0].regions]
    empty = {i.arch for images in regions for i in images if i not in _with_kernels(images)}
    return tuple(sorted(arch for arch in empty if arch is not None))


def _present(regions: Sequence[Sequence[Image]], *, is_object: bool) -> frozenset[Arch]:
    """The architectures of all regions together, or those that every region has."""
    held = [frozenset(i.arch for i in images if i.arch is not None) for images in regions if images]
    if not held:
        return frozenset()
    return frozenset.intersection(*held) if is_object else frozenset.union(*held)


def _counting(region: Region, *, relocatable: bool) -> list[Image]:
    return list(region.images) if relocatable else loadable_images(region)


def _with_kernels(images: list[Image]) -> list[Image]:
    """These images without those that are empty beside others with kernels."""
    if any(image.kernels for image in images):
        return [image for image in images if image.kernels != ()]
    return images


_REFUSED = (
    "Look for flags or variables that change the architectures (NVCC_PREPEND_FLAGS, a "
    "compiler wrapper, a stale cache), and build again."
)


def refuse(lacks: Sequence[Lack], what: str, advice: str = _REFUSED) -> None:
    """Fail a build whose files lack targets.

    Args:
        lacks: What was found; empty is well.
        what: ``"axpy._C, compiled"``, for the message.
        advice: Where the cause is known, the cure.

    Raises:
        BuildError: Naming each file and what is missing in it.
    """
    if lacks:
        raise BuildError(f"{what}: {'; '.join(map(str, lacks))}.", advice)
