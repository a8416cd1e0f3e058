"""The one grammar of architecture lists: what a person types, as targets. Pure.

Pieces stand between ``;`` or ``,``. A piece which is wholly the name of a
product or of a generation is one item; any other is split at blanks as well.
Each item is a number (``9.0``, ``90``, ``sm_90a``, ``compute_90``,
``90-real``, ``90-virtual``), a generation as torch names it, a product, or one
of the words ``native``, ``all``, ``all-major``. ``+PTX`` may follow all but
those that already say whether they mean SASS or PTX.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from archbuild.errors import ArchListError
from archbuild.facts.architectures import CAPABILITIES, GENERATIONS, generation_expansion
from archbuild.facts.products import Product, find_product, similar_products
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix


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
            for PTX of every GPU that is found; to ``all`` and ``all-major``
            it adds nothing, since they bring PTX of the highest major.
    """

    text: str
    targets: tuple[Arch, ...]
    word: Word | None = None
    ptx: bool = False


_FORMS = "Write 9.0 or sm_90 for SASS, compute_90 for PTX, 9.0+PTX for both."
_NUMBER = re.compile(
    r"((?P<prefix>sm_|compute_)?(?P<digits>\d{2,3})|(?P<dotted>\d{1,2}\.\d))(?P<suffix>[af]?)"
)
_KIND = re.compile(r"(?P<number>.+)-(?P<kind>real|virtual)")
_LOOKS_NUMERIC = re.compile(r"(sm|compute|lto|cc)?[-_]?\d+([.]\d*)?[a-z]?(-real|-virtual)?(\+ptx)?")
_AMD = re.compile(r"gfx\d+[0-9a-f]*(:.*)?")
_WORDS_IN_A_NAME = 10  # no product's name has more
_QUOTED = 60  # characters of a bad piece that are shown


def parse_arch_list(text: str, where: str = "the architecture list") -> tuple[ArchItem, ...]:
    """Read an architecture list.

    Args:
        text: What was typed, such as ``"8.6; 12.0+PTX"`` or ``"RTX 4090, H100"``.
        where: Where it was typed, for the message: ``"TORCH_CUDA_ARCH_LIST"``.

    Returns:
        The items in the order they were typed, at least one. Whether a number
        exists is not asked here: nvcc decides, and tables may be old.

    Raises:
        ArchListError: If a piece cannot be read, or if there is none.

    Examples:
        >>> [str(arch) for arch in parse_arch_list("8.6; 12.0+PTX")[1].targets]
        ['sm_120', 'compute_120']
    """
    _refuse_lookalikes(text, where)
    items = tuple(item for piece in re.split("[;,]", text) for item in _read_piece(piece, where))
    if not items:
        message = f"No architecture stands in {where}: {_quote(text)} holds only separators."
        if not text.strip():
            message = f"No architecture stands in {where}: it is empty."
        raise ArchListError(message, "Name at least one, such as 9.0, or leave the list out.")
    return items


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


def _refuse_lookalikes(text: str, where: str) -> None:
    """All that a list can hold is ASCII, but for the blanks that people paste."""
    odd = next((c for c in text if not c.isascii() and not c.isspace()), None)
    if odd is None:
        return
    plain = {"、": ",", "؛": ";", "،": ","}.get(odd, unicodedata.normalize("NFKC", odd))
    name = unicodedata.name(odd, "a character without a name").lower()
    message = f"{_quote(text)} in {where} holds {_quote(odd)} ({name}, U+{ord(odd):04X})."
    cure = f"Write {plain!r} instead." if plain.isascii() and plain.strip() else "Leave it out."
    raise ArchListError(message, f"{cure} Pieces are separated by ; or , or a blank.")


def _read_piece(piece: str, where: str) -> Iterator[ArchItem]:
    words = piece.split()
    whole = " ".join(words)
    if len(words) > 1 and not all(_looks_simple(word) for word in words):
        item = _read_name(whole, where)
        if item is not None:
            yield item
            return
        _refuse_broken_name(whole, words, where)
    for word in words:
        yield _read_item(word, where)


def _looks_simple(word: str) -> bool:
    """Whether it is an item of its own, for which no product need be looked up."""
    lowered = word.lower()
    return _LOOKS_NUMERIC.fullmatch(lowered) is not None or lowered in _WORDS


def _read_item(text: str, where: str) -> ArchItem:
    """An item that holds no blank."""
    item = _read_word(text) or _read_number(text, where) or _read_name(text, where)
    if item is None:
        raise _unreadable(text, where)
    return item


def _split_ptx(text: str) -> tuple[str, bool]:
    """The text without ``+PTX``, and whether that was there."""
    head = text[:-4] if text.lower().endswith("+ptx") else text
    return head.rstrip(), head != text


_WORDS = {word.value: word for word in Word}


def _read_word(text: str) -> ArchItem | None:
    head, ptx = _split_ptx(text)
    word = _WORDS.get(head.lower())
    return ArchItem(text, (), word, ptx) if word else None


def _read_number(text: str, where: str) -> ArchItem | None:
    head, ptx = _split_ptx(text.lower())
    kind = _KIND.fullmatch(head)
    match = _NUMBER.fullmatch(kind["number"] if kind else head)
    if match is None or (kind and match["prefix"]):
        return None
    capability = _capability(match["digits"] or match["dotted"], text, where)
    real = Arch(Stage.REAL, capability, Suffix(match["suffix"]))
    is_virtual = match["prefix"] == "compute_" or (kind is not None and kind["kind"] == "virtual")
    if ptx and (kind or is_virtual):
        raise _pointless_ptx(text, real, is_virtual=is_virtual, where=where)
    if is_virtual:
        return ArchItem(text, (real.virtual,))
    return ArchItem(text, (real, real.virtual) if ptx else (real,), ptx=ptx)


def _capability(digits: str, text: str, where: str) -> ComputeCapability:
    """The last digit is the minor; a number below 20 is a major by itself."""
    major, dot, minor = digits.partition(".")
    if not dot:
        major, minor = digits[:-1], digits[-1]
    if digits.startswith("0"):
        raise _no_such_number(text, where)
    if not dot and int(digits) < 20:
        raise _bare_major(digits, text, where)
    return ComputeCapability(int(major), int(minor))


def _read_name(text: str, where: str) -> ArchItem | None:
    """A generation or a product, with or without ``+PTX``."""
    head, ptx = _split_ptx(text)
    expansion = generation_expansion(head)
    if expansion is not None:
        highest = expansion[-1].virtual
        extra = (highest,) if ptx and highest not in expansion else ()
        return ArchItem(text, expansion + extra, ptx=ptx)
    product = find_product(head)
    if product is None:
        return None
    if len(product.capabilities) > 1:
        raise _ambiguous(text, product, where)
    real = Arch(Stage.REAL, product.capabilities[0])
    return ArchItem(text, (real, real.virtual) if ptx else (real,), ptx=ptx)


# What is wrong with a piece that cannot be read, the most telling first.


def _quote(text: str) -> str:
    shown = text if len(text) <= _QUOTED else text[: _QUOTED - 3] + "..."
    return repr(shown)


def _error(text: str, where: str, wrong: str, cure: str) -> ArchListError:
    return ArchListError(f"{_quote(text)} in {where} {wrong}.", cure)


def _pointless_ptx(text: str, real: Arch, *, is_virtual: bool, where: str) -> ArchListError:
    kind = "PTX" if is_virtual else "SASS and nothing else"
    wrong = f"asks for +PTX, but its first part means {kind}"
    return _error(text, where, wrong, f"Write {real.dotted}+PTX for both SASS and PTX.")


def _no_such_number(text: str, where: str) -> ArchListError:
    return _error(text, where, "is no architecture: a number never begins with 0", _FORMS)


def _bare_major(digits: str, text: str, where: str) -> ArchListError:
    major = int(digits)
    small = f"{digits[:-1] or '0'}.{digits[-1]}"
    wrong = f"can be read as {major}.0 or, since the last digit is the minor, as {small}"
    known = [str(r.capability) for r in CAPABILITIES if r.capability.major == major]
    if not known:
        return _error(text, where, wrong, _FORMS)
    others = f" There are {', '.join(known)}." if len(known) > 1 else ""
    return _error(text, where, wrong, f"Write {major}.0 or sm_{major}0 if you mean that.{others}")


def _ambiguous(text: str, product: Product, where: str) -> ArchListError:
    numbers = [str(capability) for capability in product.capabilities]
    listed = f"{', '.join(numbers[:-1])} and {numbers[-1]}"
    wrong = f"is a name that several chips bear, of compute capability {listed}"
    cure = "Write the number instead; `archbuild gpus` shows that of a GPU in this machine."
    return _error(text, where, wrong, cure)


def _refuse_broken_name(whole: str, words: list[str], where: str) -> None:
    """Blame the whole piece where its words would make no sense one by one."""
    if all(_looks_simple(word) or _read_name(word, where) is not None for word in words):
        return
    wrong = "is no product, and its words are no list of architectures"
    for i in range(1, min(len(words), _WORDS_IN_A_NAME)):
        first, rest = " ".join(words[:i]), " ".join(words[i:])
        if find_product(first) or find_product(rest):
            raise _error(whole, where, wrong, f"Put a ; between: {_quote(f'{first}; {rest}')}.")
    similar = similar_products(whole)
    if similar:
        raise _error(whole, where, wrong, _did_you_mean(similar))


def _unreadable(text: str, where: str) -> ArchListError:
    for explain in _EXPLANATIONS:
        error = explain(text, where)
        if error is not None:
            return error
    near = _similar(text)
    cure = _did_you_mean(near) if near else f"{_FORMS} Names of products and generations work too."
    return _error(text, where, "is no architecture, generation or product that is known", cure)


def _similar(text: str) -> tuple[str, ...]:
    names = {row.name.lower(): row.name for row in GENERATIONS} | {w: w for w in _WORDS}
    head, _ = _split_ptx(text[:_QUOTED])
    near = get_close_matches(head.lower().replace("_", "-"), list(names), n=2, cutoff=0.6)
    return tuple(dict.fromkeys((*(names[n] for n in near), *similar_products(head))))[:3]


def _did_you_mean(names: tuple[str, ...]) -> str:
    return f"Did you mean {' or '.join(names)}?"


def _explain_amd(text: str, where: str) -> ArchListError | None:
    if _AMD.fullmatch(text.lower()) is None:
        return None
    cure = "Set PYTORCH_ROCM_ARCH for a ROCm build; here stand NVIDIA's only, such as 9.0."
    return _error(text, where, "is an architecture of AMD's GPUs, not of NVIDIA's", cure)


def _explain_lonely_ptx(text: str, where: str) -> ArchListError | None:
    if not text.startswith("+"):
        return None
    return _error(text, where, "stands alone", "Write it right behind a number: 9.0+PTX.")


def _explain_lto(text: str, where: str) -> ArchListError | None:
    if not text.lower().startswith("lto_"):
        return None
    cure = "Give nvcc -gencode=arch=compute_90,code=lto_90 for LTO-IR; a list names SASS and PTX."
    return _error(text, where, "names LTO-IR, which no architecture list can ask for", cure)


def _explain_tegra(text: str, where: str) -> ArchListError | None:
    match = re.fullmatch(r"([a-z]+)\+tegra(\+ptx)?", text.lower())
    rows = [r for r in CAPABILITIES if match and r.generation.lower() == match[1]]
    if not rows:
        return None
    name = rows[0].generation
    numbers = [str(r.capability) for r in rows if r.tegra]
    cure = f"Write {numbers[-1]}." if numbers else f"No Tegra is of that generation: write {name}."
    return _error(text, where, "is no name that torch knows", cure)


def _explain_separator(text: str, where: str) -> ArchListError | None:
    odd = next((c for c in text if c in ":/|&"), None)
    if odd is None:
        return None
    return _error(text, where, f"holds {odd!r}", "Separate pieces by ; or , or a blank.")


def _explain_number(text: str, where: str) -> ArchListError | None:
    """A number in a form that is not quite one, with the form that is."""
    lowered = text.lower()
    match = re.match(
        r"(?P<stage>sm|compute|cc)?[-_]?(?P<whole>\d+)(?P<dot>\.?)(?P<after>\d*)", lowered
    )
    if match is None:
        return None
    stage, whole, after = match["stage"], match["whole"], match["after"]
    rest = _split_ptx(lowered[match.end() :])[0]
    if len(after) > 1:
        return _error(text, where, "has more than one digit behind the dot", _FORMS)
    if match["dot"] and not after:
        return _error(text, where, "has no digit behind the dot", _FORMS)
    if len(whole) > (2 if after else 3):
        return _too_long(text, where)
    if not after and len(whole) == 1:
        return _bare_major(whole, text, where) if whole != "0" else _no_such_number(text, where)
    if rest and rest not in {"a", "f", "-real", "-virtual"}:
        wrong = f"ends in {rest!r}; an architecture ends in nothing, a or f"
        return _error(text, where, wrong, _FORMS)
    number = (whole + after) + (rest if rest in {"a", "f"} else "")
    right = f"compute_{number}" if stage == "compute" else f"sm_{number}"
    return _error(text, where, "is not quite an architecture", f"Write {right}.")


def _too_long(text: str, where: str) -> ArchListError:
    near = similar_products(text)
    cure = f"{_did_you_mean(near)} {_FORMS}" if near else _FORMS
    return _error(text, where, "has too many digits for an architecture", cure)


_EXPLANATIONS: tuple[Callable[[str, str], ArchListError | None], ...] = (
    _explain_amd,
    _explain_separator,
    _explain_lonely_ptx,
    _explain_lto,
    _explain_tegra,
    _explain_number,
)
