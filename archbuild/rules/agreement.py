"""Whether two independent readers see the same images in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from archbuild.model.finding import Finding
from archbuild.model.image import DeviceFile, FileFormat, Image, ImageKind
from archbuild.rules.codes import READERS_DISAGREE, finding_of

#: The kinds that both readers tell apart; of others cuobjdump says little or nothing.
_TOLD_BY_BOTH = (ImageKind.SASS, ImageKind.PTX, ImageKind.LTOIR, ImageKind.TILEIR)
#: Where cuobjdump looks: what lies elsewhere it doesn't see.
_SECTIONS = (".nv_fatbin", "__nv_relfatbin")


def is_told_by_both(image: Image) -> bool:
    """Whether native reader and cuobjdump both tell of an image of this kind."""
    return image.kind in _TOLD_BY_BOTH


def must_be_seen(file: DeviceFile) -> bool:
    """Whether cuobjdump can't be blind to the images that the native reader saw."""
    elf = file.format in (FileFormat.ELF, FileFormat.ARCHIVE)
    return elf and any(r.section in _SECTIONS and _countable(r.images) for r in file.regions)


def _countable(images: Iterable[Image]) -> bool:
    return any(map(is_told_by_both, images))


def check_readers(
    one: DeviceFile,
    two: DeviceFile,
    comparable: Callable[[Image], bool] = is_told_by_both,
) -> Iterable[Finding]:
    """Images that one reader saw and the other did not.

    Args:
        one: By the first reader.
        two: The same file by the second.
        comparable: Whether both readers can see an image of this kind; what one
            of them is blind to is no disagreement.
    """
    first, second = _counted(one, comparable), _counted(two, comparable)
    if first == second:
        return
    only = [f"{n} more {name} by {one.reader}" for name, n in sorted((first - second).items())]
    only += [f"{n} more {name} by {two.reader}" for name, n in sorted((second - first).items())]
    message = f"{one.reader} and {two.reader} see other images in {one.path}."
    advice = "Report it: one of the two is wrong."
    yield finding_of(READERS_DISAGREE, message, one.path, evidence=tuple(only), advice=advice)


def _counted(file: DeviceFile, comparable: Callable[[Image], bool]) -> Counter[str]:
    return Counter(_words(image) for image in file.images if comparable(image))


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
        agreed: Files with code in which both see the same.
        images: How many images those are.
        unread: Files with code that cuobjdump can't read, each with the reason.
    """

    findings: tuple[Finding, ...] = ()
    agreed: int = 0
    images: int = 0
    unread: tuple[str, ...] = ()


def compare_readers(answers: Iterable[Answer], reader: str) -> Agreement:
    """Hold the answers of both readers together; what one can't read is no disagreement.

    Args:
        answers: One for each file.
        reader: The second reader, for messages.
    """
    findings: list[Finding] = []
    agreed = images = 0
    unread: list[str] = []
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
        if answer.one.images and not found:
            agreed += 1
            images += sum(map(is_told_by_both, answer.one.images))
    return Agreement(tuple(findings), agreed, images, tuple(unread))
