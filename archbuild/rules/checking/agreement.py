"""Whether two independent readers see the same images in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from archbuild.model.finding import Finding
from archbuild.model.image import DeviceFile, FileFormat, Image, ImageKind, Region
from archbuild.rules.checking.codes import READERS_DISAGREE, finding_of

#: The kinds that both readers tell apart; of others cuobjdump says little or nothing.
_TOLD_BY_BOTH = (ImageKind.SASS, ImageKind.PTX, ImageKind.LTOIR, ImageKind.TILEIR)
#: The only sections of an ELF file that cuobjdump looks into (13.5). NVIDIA's own libraries
#: hold fatbins elsewhere: .rodata (cuSPARSE), .ldata (cuFFT), .cask_resource (cuBLASLt).
_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_ELF = (FileFormat.ELF, FileFormat.ARCHIVE)


def is_told_by_both(image: Image) -> bool:
    """Whether native reader and cuobjdump both tell of an image of this kind."""
    return image.kind in _TOLD_BY_BOTH


def must_be_seen(file: DeviceFile) -> bool:
    """Whether cuobjdump can't be blind to the images that the native reader saw."""
    return file.format in _ELF and any(map(is_told_by_both, _split(file)[0]))


def _split(file: DeviceFile) -> tuple[list[Image], list[Image]]:
    """The images where cuobjdump looks, and those in sections that it passes over."""
    seen: list[Image] = []
    passed: list[Image] = []
    for region in file.regions:
        (passed if _is_passed_over(file, region) else seen).extend(region.images)
    return seen, passed


def _is_passed_over(file: DeviceFile, region: Region) -> bool:
    return file.format in _ELF and region.section not in _SECTIONS


def passed_over(file: DeviceFile, reader: str) -> str:
    """What cuobjdump can't see of a file into which it can see otherwise.

    Args:
        file: By the native reader.
        reader: The second reader, for the message.

    Returns:
        One sentence; empty where nothing lies outside the sections that it reads.
    """
    passed = _split(file)[1]
    if not passed:
        return ""
    names = sorted({r.section for r in file.regions if _is_passed_over(file, r)} - {""})
    place = f"elsewhere ({', '.join(names)})" if names else "elsewhere"
    looks = f"{reader} looks only into {' and '.join(_SECTIONS)} of {file.path}"
    return f"{looks}: {len(passed)} of its {len(file.images)} images lie {place}."


def check_readers(
    one: DeviceFile,
    two: DeviceFile,
    comparable: Callable[[Image], bool] = is_told_by_both,
) -> Iterable[Finding]:
    """Images that one reader saw and the other did not.

    Args:
        one: By the native reader. What it found outside the sections into which
            cuobjdump looks is held against the second only if that has more than
            the sections hold: then it must have all of it.
        two: The same file by the second.
        comparable: Whether both readers can see an image of this kind; what one
            of them is blind to is no disagreement.
    """
    seen, passed = (_counted(images, comparable) for images in _split(one))
    second = _counted(two.images, comparable)
    if second in (seen, seen + passed):
        return
    only = [f"{n} more {name} by {one.reader}" for name, n in sorted((seen - second).items())]
    only += [f"{n} more {name} by {two.reader}" for name, n in sorted((second - seen).items())]
    message = f"{one.reader} and {two.reader} see other images in {one.path}."
    advice = "Report it: one of the two is wrong."
    yield finding_of(READERS_DISAGREE, message, one.path, evidence=tuple(only), advice=advice)


def _counted(images: Iterable[Image], comparable: Callable[[Image], bool]) -> Counter[str]:
    return Counter(_words(image) for image in images if comparable(image))


def _words(image: Image) -> str:
    isa = "" if image.isa is None else f" of ISA {image.isa[0]}.{image.isa[1]}"
    return f"{image.kind.value} {image.arch or 'of unknown architecture'}{isa}"


@dataclass(frozen=True)
class Answer:
    """What both readers say of one file.

    Args:
        one: By the native reader.
        two: By cuobjdump; None where it can't read the file, or was not asked.
        reason: Why it can't; empty where it was not asked.
        is_blind: Whether it says that there is nothing, without having looked.
    """

    one: DeviceFile
    two: DeviceFile | None = None
    reason: str = ""
    is_blind: bool = False


@dataclass(frozen=True)
class Agreement:
    """What came of it over several files.

    Args:
        findings: Where they disagree.
        agreed: Files with code in which both see the same, as far as cuobjdump looks.
        images: How many images both see there.
        unread: Files with code that cuobjdump can't read, each with the reason.
        partly: Files that cuobjdump reads only in part, each with what it passes
            over, which nobody compared.
    """

    findings: tuple[Finding, ...] = ()
    agreed: int = 0
    images: int = 0
    unread: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()


def compare_readers(answers: Iterable[Answer], reader: str) -> Agreement:
    """Hold the answers of both readers together; what one can't read is no disagreement.

    Args:
        answers: One for each file.
        reader: The second reader, for messages.
    """
    findings: list[Finding] = []
    agreed = images = 0
    unread: list[str] = []
    partly: list[str] = []
    for answer in answers:
        two = answer.two
        if two is None and answer.is_blind and must_be_seen(answer.one):
            two = DeviceFile(answer.one.path, (), reader)
        if two is None:
            if answer.one.images:
                unread.append(answer.reason or f"{reader} does not read {answer.one.path}.")
            continue
        found = list(check_readers(answer.one, two))
        findings += found
        told = sum(map(is_told_by_both, two.images))
        less = told < sum(map(is_told_by_both, answer.one.images))
        if less and (part := passed_over(answer.one, reader)):
            (partly if two.images else unread).append(part)
        if two.images and not found:
            agreed += 1
            images += told
    return Agreement(tuple(findings), agreed, images, tuple(unread), tuple(partly))
