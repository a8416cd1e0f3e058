"""What is wrong with a piece of an architecture list, and the cure. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from archbuild.errors import ArchListError
from archbuild.model.arch import Arch

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load

if TYPE_CHECKING:
    from archbuild.facts.products import Product

# The tables are loaded where they are used: most lists need none of them, and a command
# has to start quickly.
# ruff: noqa: PLC0415

_FORMS = "Write 9.0 or sm_90 for SASS, compute_90 for PTX, 9.0+PTX for both."
_AMD = re.compile(r"gfx\d+[0-9a-f]*(:.*)?")
_QUOTED = 60  # characters of a bad piece that are shown


def split_ptx(text: str) -> tuple[str, bool]:
    """The text without ``+PTX``, and whether that was there."""
    head = text[:-4] if text.lower().endswith("+ptx") else text
    return head.rstrip(), head != text


def lookalike(odd: str, text: str, where: str) -> ArchListError:
    """A character beyond ASCII, of which a list holds none but pasted blanks."""
    plain = {"、": ",", "؛": ";", "،": ","}.get(odd, unicodedata.normalize("NFKC", odd))
    name = unicodedata.name(odd, "a character without a name").lower()
    message = f"{_quote(text)} in {where} holds {_quote(odd)} ({name}, U+{ord(odd):04X})."
    cure = f"Write {plain!r} instead." if plain.isascii() and plain.strip() else "Leave it out."
    return ArchListError(message, f"{cure} Pieces are separated by ; or , or a blank.")


def nothing(text: str, where: str) -> ArchListError:
    """A list with no item."""
    message = f"No architecture stands in {where}: {_quote(text)} holds only separators."
    if not text.strip():
        message = f"No architecture stands in {where}: it is empty."
    return ArchListError(message, "Name at least one, such as 9.0, or leave the list out.")


def _quote(text: str) -> str:
    shown = text if len(text) <= _QUOTED else text[: _QUOTED - 3] + "..."
    return repr(shown)


def _error(text: str, where: str, wrong: str, cure: str) -> ArchListError:
    return ArchListError(f"{_quote(text)} in {where} {wrong}.", cure)


def pointless_ptx(text: str, real: Arch, *, is_virtual: bool, where: str) -> ArchListError:
    """``+PTX`` behind a piece that says already what it means."""
    kind = "PTX" if is_virtual else "SASS and nothing else"
    wrong = f"asks for +PTX, but its first part means {kind}"
    return _error(text, where, wrong, f"Write {real.dotted}+PTX for both SASS and PTX.")


def misplaced_newer(text: str, arch: Arch, where: str, *, may: bool) -> ArchListError:
    """``8.0+`` in a list that is not a source's, or behind what has nothing newer.

    Args:
        text: As it was typed.
        arch: What stands before the ``+``.
        where: Where it was typed.
        may: Whether the list may hold such pieces.
    """
    plain = arch.capability
    if may:
        wrong = "asks for newer ones, but only a plain number such as 8.0 has newer ones"
        return _error(text, where, wrong, f"Write {plain}+, or leave the + out.")
    wrong = "means it and newer ones, which only the list of one source can ask for"
    return _error(text, where, wrong, f"Name each, or write {plain}+PTX for SASS and PTX of it.")


def no_such_number(text: str, where: str) -> ArchListError:
    """A number with a zero in front, or of 1.x."""
    return _error(text, where, "is no architecture: their numbers begin with 2.0", _FORMS)


def bare_major(digits: str, text: str, where: str) -> ArchListError:
    """A number which may be a major without its minor."""
    from archbuild.facts.architectures import CAPABILITIES

    major = int(digits)
    small = f"{digits[:-1] or '0'}.{digits[-1]}"
    wrong = f"can be read as {major}.0 or, since the last digit is the minor, as {small}"
    known = [str(r.capability) for r in CAPABILITIES if r.capability.major == major]
    if not known:
        return _error(text, where, wrong, _FORMS)
    others = f" There are {', '.join(known)}." if len(known) > 1 else ""
    return _error(text, where, wrong, f"Write {major}.0 or sm_{major}0 if you mean that.{others}")


def ambiguous(text: str, product: Product, where: str) -> ArchListError:
    """A product of several capabilities."""
    numbers = [str(capability) for capability in product.capabilities]
    listed = f"{', '.join(numbers[:-1])} and {numbers[-1]}"
    wrong = f"is a name that several chips bear, of compute capability {listed}"
    cure = "Write the number instead; `archbuild gpus` shows that of a GPU in this machine."
    return _error(text, where, wrong, cure)


def missing_separators(whole: str, groups: list[str], where: str) -> ArchListError:
    """Several items with blanks where separators belong."""
    wrong = "is no product, and the names in it are not separated"
    return _error(whole, where, wrong, f"Put ; between them: {_quote('; '.join(groups))}.")


def misspelt_product(whole: str, where: str) -> ArchListError | None:
    """A name of several words that is nearly a product's; None where none is near."""
    similar = _similar_products(whole)
    wrong = "is no product that is known, and no list of architectures"
    return _error(whole, where, wrong, _did_you_mean(similar)) if similar else None


def unreadable(text: str, where: str, words: Iterable[str]) -> ArchListError:
    """A piece which is nothing that a list can hold, the most telling reason first."""
    for explain in _EXPLANATIONS:
        error = explain(text, where)
        if error is not None:
            return error
    near = _similar(text, words)
    cure = _did_you_mean(near) if near else f"{_FORMS} Names of products and generations work too."
    return _error(text, where, "is no architecture, generation or product that is known", cure)


def _similar(text: str, words: Iterable[str]) -> tuple[str, ...]:
    from archbuild.facts.architectures import GENERATIONS

    names = {row.name.lower(): row.name for row in GENERATIONS} | {word: word for word in words}
    head, _ = split_ptx(text[:_QUOTED])
    near = get_close_matches(head.lower().replace("_", "-"), list(names), n=2, cutoff=0.6)
    return tuple(dict.fromkeys((*(names[n] for n in near), *_similar_products(head))))[:3]


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
    from archbuild.facts.architectures import CAPABILITIES

    match = re.fullmatch(r"([a-z]+)\+tegra(\+ptx)?", text.lower())
    rows = [r for r in CAPABILITIES if match and r.generation.lower() == match[1]]
    if not rows:
        return None
    name = rows[0].generation
    numbers = [str(r.capability) for r in rows if r.tegra]
    cure = f"Write {numbers[-1]}." if numbers else f"No Tegra is of that generation: write {name}."
    return _error(text, where, "is no name that torch knows", cure)


def _explain_quotes(text: str, where: str) -> ArchListError | None:
    bare = text.strip("'\"`")
    if bare == text:
        return None
    cure = f"Write {bare} without them." if bare else "Leave them out."
    return _error(text, where, "holds quotation marks, which the shell did not take away", cure)


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
    rest = split_ptx(lowered[match.end() :])[0]
    if len(after) > 1:
        return _error(text, where, "has more than one digit behind the dot", _FORMS)
    if match["dot"] and not after:
        return _error(text, where, "has no digit behind the dot", _FORMS)
    if len(whole) > (2 if after else 3):
        return _too_long(text, where)
    if not after and len(whole) == 1:
        return bare_major(whole, text, where) if whole != "0" else no_such_number(text, where)
    if rest and rest not in {"a", "f", "-real", "-virtual"}:
        wrong = f"ends in {rest!r}; an architecture ends in nothing, a or f"
        return _error(text, where, wrong, _FORMS)
    number = (whole + after) + (rest if rest in {"a", "f"} else "")
    right = f"compute_{number}" if stage == "compute" else f"sm_{number}"
    return _error(text, where, "is not quite an architecture", f"Write {right}.")


def _too_long(text: str, where: str) -> ArchListError:
    near = _similar_products(text)
    cure = f"{_did_you_mean(near)} {_FORMS}" if near else _FORMS
    return _error(text, where, "has too many digits for an architecture", cure)


_EXPLANATIONS: tuple[Callable[[str, str], ArchListError | None], ...] = (
    _explain_amd,
    _explain_quotes,
    _explain_separator,
    _explain_lonely_ptx,
    _explain_lto,
    _explain_tegra,
    _explain_number,
)


def _similar_products(text: str) -> tuple[str, ...]:
    from archbuild.facts.products import similar_products

    return similar_products(text)
