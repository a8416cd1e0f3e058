"""The one grammar of architecture lists: what a person types, as targets. Pure.

Pieces stand between ``;`` or ``,``. A piece which is wholly the name of a
product or of a generation is one item; any other is split at blanks as well.
Each item is a number (``9.0``, ``90``, ``sm_90a``, ``compute_90``,
``90-real``, ``90-virtual``), a generation as torch names it, a product, or one
of the words ``native``, ``all``, ``all-major``. ``+PTX`` may follow all but
those that already say whether they mean SASS or PTX. In the list of one source
a plain number may end in a bare ``+``: ``8.0+``, this one and newer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix
from archbuild.rules.selecting import archlist_advice as advice


class Word(Enum):
    """A word whose meaning depends on the machine or on nvcc."""

    NATIVE = "native"
    ALL = "all"
    ALL_MAJOR = "all-major"


@dataclass(frozen=True)
class ArchItem:
    """One item of an architecture list.

    Args:
        text: As it was typed.
        targets: What it stands for, SASS before PTX; empty for a word.
        word: The word, if it is one.
        ptx: Whether ``+PTX`` was typed behind it. Of a number, a product or a
            generation the targets then hold that PTX. Of ``native`` it asks
            for PTX of the newest GPU that is found; to ``all`` and ``all-major``
            it adds nothing, since they bring PTX of the highest major.
        newer: Whether a bare ``+`` was typed behind it: it stands for the plain
            architecture in ``targets`` and for all that are newer.
    """

    text: str
    targets: tuple[Arch, ...]
    word: Word | None = None
    ptx: bool = False
    newer: bool = False


_NUMBER = re.compile(
    r"((?P<prefix>sm_|compute_)?(?P<digits>\d{2,3})|(?P<dotted>\d{1,2}\.\d))(?P<suffix>[af]?)"
)
_KIND = re.compile(r"(?P<number>.+)-(?P<kind>real|virtual)")
_LOOKS_NUMERIC = re.compile(
    r"(sm|compute|lto|cc)?[-_]?\d+([.]\d*)?[a-z]?(-real|-virtual)?(\+(ptx)?)?"
)
_OLDEST_MAJOR = 2  # 1.x ended with CUDA 6.5, and 12 is not meant to be 1.2
_MOST_WORDS = 12  # beyond that nobody looks for names among the words


def parse_arch_list(
    text: str, where: str = "the architecture list", *, newer: bool = False
) -> tuple[ArchItem, ...]:
    """Read an architecture list.

    Args:
        text: What was typed, such as ``"8.6; 12.0+PTX"`` or ``"RTX 4090, H100"``.
        where: Where it was typed, for the message: ``"TORCH_CUDA_ARCH_LIST"``.
        newer: Whether ``8.0+`` may stand in it, as in the list of one source.

    Returns:
        The items in the order they were typed, at least one. Whether a number
        exists is not asked here: nvcc decides, and tables may be old.

    Raises:
        ArchListError: If a piece cannot be read, or if there is none.

    Examples:
        >>> [str(arch) for arch in parse_arch_list("8.6; 12.0+PTX")[1].targets]
        ['sm_120', 'compute_120']
    """
    odd = next((c for c in text if not c.isascii() and not c.isspace()), None)
    if odd is not None:
        raise advice.lookalike(odd, text, where)
    items = tuple(item for piece in re.split("[;,]", text) for item in _read_piece(piece, where))
    if not items:
        raise advice.nothing(text, where)
    for item in items:
        if item.newer and not (newer and _is_plain_real(item.targets)):
            raise advice.misplaced_newer(item.text, item.targets[0], where, may=newer)
    return items


def _is_plain_real(targets: tuple[Arch, ...]) -> bool:
    return all(target.is_real and target.suffix is Suffix.PLAIN for target in targets)


def targets_of(items: Iterable[ArchItem]) -> tuple[Arch, ...]:
    """The targets of these items, upwards and each once; words are left out."""
    return tuple(sorted({target for item in items for target in item.targets}))


def render_arch_list(targets: Iterable[Arch]) -> str:
    """The one spelling of these targets, upwards: ``8.6;9.0a;12.0+PTX``.

    It is torch's own wherever torch can say it. PTX without the SASS of the
    same number, which torch cannot say, is spelled ``compute_90``: that is
    what nvcc, its messages and cuobjdump call it.

    Args:
        targets: Real and virtual architectures, in any order.

    Raises:
        ValueError: If one is LTO-IR, which no architecture list can name.

    Examples:
        >>> render_arch_list([Arch.parse("compute_90"), Arch.parse("sm_90")])
        '9.0+PTX'
    """
    wanted = set(targets)
    if any(target.stage is Stage.LTO for target in wanted):
        message = "an architecture list cannot name LTO-IR"
        raise ValueError(message)
    return ";".join(_spellings(wanted))


def _spellings(wanted: set[Arch]) -> Iterator[str]:
    for target in sorted(wanted):
        if target.is_real:
            yield target.dotted + ("+PTX" if target.virtual in wanted else "")
        elif target.real not in wanted:
            yield str(target)


def _read_piece(piece: str, where: str) -> Iterator[ArchItem]:
    words = piece.split()
    whole = " ".join(words)
    if len(words) > 1 and not all(_looks_simple(word) for word in words):
        item = _read_name(whole, where)
        if item is not None:
            yield item
            return
        if not all(_looks_simple(word) or _read_name(word, where) for word in words):
            _refuse_piece(words, where)
    for word in words:
        yield _read_item(word, where)


def _refuse_piece(words: list[str], where: str) -> None:
    """Blame the whole piece where its words would make no sense one by one."""
    whole = " ".join(words)
    groups = _groups(words, where) if len(words) <= _MOST_WORDS else None
    error = (
        advice.missing_separators(whole, groups, where)
        if groups
        else advice.misspelt_product(whole, where)
    )
    if error is not None:
        raise error


def _groups(words: list[str], where: str) -> list[str] | None:
    """These words as items, the longest names first; None where they are none."""
    if not words:
        return []
    for count in range(len(words), 0, -1):
        head = " ".join(words[:count])
        if _looks_simple(head) or _read_name(head, where):
            rest = _groups(words[count:], where)
            if rest is not None:
                return [head, *rest]
    return None


def _looks_simple(word: str) -> bool:
    """Whether it is an item of its own, for which no product need be looked up."""
    lowered = word.lower()
    return _LOOKS_NUMERIC.fullmatch(lowered) is not None or lowered in _WORDS


def _read_item(text: str, where: str) -> ArchItem:
    """An item that holds no blank."""
    item = _read_word(text) or _read_number(text, where) or _read_name(text, where)
    if item is None:
        raise advice.unreadable(text, where, _WORDS)
    return item


_WORDS = {word.value: word for word in Word}


def _read_word(text: str) -> ArchItem | None:
    head, ptx = advice.split_ptx(text)
    word = _WORDS.get(head.lower())
    return ArchItem(text, (), word, ptx) if word else None


def _read_number(text: str, where: str) -> ArchItem | None:
    head, ptx = advice.split_ptx(text.lower())
    newer = not ptx and head.endswith("+")
    head = head[:-1] if newer else head
    kind = _KIND.fullmatch(head)
    match = _NUMBER.fullmatch(kind["number"] if kind else head)
    if match is None or (kind and match["prefix"]):
        return None
    capability = _capability(match["digits"] or match["dotted"], text, where)
    real = Arch(Stage.REAL, capability, Suffix(match["suffix"]))
    is_virtual = match["prefix"] == "compute_" or (kind is not None and kind["kind"] == "virtual")
    if ptx and (kind or is_virtual):
        raise advice.pointless_ptx(text, real, is_virtual=is_virtual, where=where)
    if is_virtual:
        return ArchItem(text, (real.virtual,), newer=newer)
    return ArchItem(text, (real, real.virtual) if ptx else (real,), ptx=ptx, newer=newer)


def _capability(digits: str, text: str, where: str) -> ComputeCapability:
    """The last digit is the minor; a number below 20 may be a major by itself."""
    major, dot, minor = digits.partition(".")
    if not dot:
        major, minor = digits[:-1], digits[-1]
    if digits.startswith("0") or (dot and int(major) < _OLDEST_MAJOR):
        raise advice.no_such_number(text, where)
    if not dot and int(digits) < 10 * _OLDEST_MAJOR:
        raise advice.bare_major(digits, text, where)
    return ComputeCapability(int(major), int(minor))


def _read_name(text: str, where: str) -> ArchItem | None:
    """A generation or a product, with or without ``+PTX``."""
    head, ptx = advice.split_ptx(text)
    # Tables are loaded where they are used: numbers need none of them.
    from archbuild.facts.architectures import generation_expansion  # noqa: PLC0415

    expansion = generation_expansion(head)
    if expansion is not None:
        highest = expansion[-1].virtual
        extra = (highest,) if ptx and highest not in expansion else ()
        return ArchItem(text, expansion + extra, ptx=ptx)
    from archbuild.facts.products import find_product  # noqa: PLC0415  (a large table)

    product = find_product(head)
    if product is None:
        return None
    if len(product.capabilities) > 1:
        raise advice.ambiguous(text, product, where)
    real = Arch(Stage.REAL, product.capabilities[0])
    return ArchItem(text, (real, real.virtual) if ptx else (real,), ptx=ptx)
