"""Which known errors stand in a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from archbuild.facts.cuda_errors import (
    CudaErrorRow,
    cuda_errors,
    errors_in_text,
    errors_with_old_number,
    find_cuda_error,
)
from archbuild.facts.driver_errors import driver_errors_in_text, find_driver_error
from archbuild.rules.building.build_failure import Explanation, explain_failure
from archbuild.rules.explaining.common_errors import COMMON_ERRORS
from archbuild.rules.explaining.cuda_meanings import cuda_meaning
from archbuild.rules.explaining.known import KnownError, Rank
from archbuild.rules.explaining.loader_errors import LOADER_ERRORS
from archbuild.rules.explaining.package_errors import PACKAGE_ERRORS
from archbuild.rules.explaining.system_errors import SYSTEM_ERRORS
from archbuild.rules.explaining.torch_errors import TORCH_ERRORS

#: Every text that is known; CUDA's own errors are told by their names, texts and numbers.
KNOWN_ERRORS = (
    *TORCH_ERRORS,
    *LOADER_ERRORS,
    *SYSTEM_ERRORS,
    *PACKAGE_ERRORS,
    *COMMON_ERRORS,
)

#: Characters around a hit in which CUDA has to be spoken of, and before it that are shown.
_AROUND = 200
_BEFORE = 60
_LONGEST_LINE = 300


@dataclass(frozen=True)
class Hit:
    """One known error in a text.

    Args:
        known: Its row.
        values: What its templates are filled with.
        line: The line in which it begins, shortened.
        place: Where it stands in the folded text.
        old_number: The number before CUDA 10.1, where the text has that one.
    """

    known: KnownError
    values: Mapping[str, str]
    line: str
    place: int
    old_number: int | None = None

    @property
    def errors(self) -> tuple[int, ...]:
        """The CUDA errors that it stands for; of CUDA's own errors that one alone."""
        own = self.values.get("number")
        return (int(own),) if own and not self.known.pattern else self.known.errors


@dataclass(frozen=True)
class Recognized:
    """What a text holds.

    Args:
        hits: The known errors, the one to explain first.
        build: What stands behind a failed build, where the text tells of one.
    """

    hits: tuple[Hit, ...] = ()
    build: Explanation | None = None

    @property
    def first(self) -> Hit | None:
        """The one to explain; None where a build failed, or nothing is known."""
        return self.hits[0] if self.hits and self.build is None else None


def recognize(text: str) -> Recognized:
    """The known errors in a text.

    Args:
        text: What a person pasted, or the lines of a log that matter.
    """
    plain = plain_text(text)
    hits = sorted(_hits(_fold(plain)), key=lambda hit: (hit.known.rank, hit.place))
    kept = tuple(_without_echoes(hits))
    build = _failed_build(plain, kept)
    if kept and (kept[0].known.rank is Rank.CAUSE or not _COMPILERS.search(plain)):
        build = None
    return Recognized(kept, build)


_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]")
_QUOTES = str.maketrans({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'})
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def plain_text(text: str) -> str:
    """The text without colours and control characters; line ends and quotes as everywhere."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", lines).translate(_QUOTES)


@dataclass(frozen=True)
class _Flat:
    """A text in one line, each run of blanks one blank.

    Args:
        text: The text.
        folded: In small letters.
        starts: Where lines began, upwards.
    """

    text: str
    folded: str
    starts: tuple[int, ...]

    def line(self, start: int, end: int) -> str:
        """What a person sees of a hit: from its line's beginning on, if that is near."""
        begin = self.starts[max(0, bisect_right(self.starts, start) - 1)] if self.starts else 0
        if start - begin > _BEFORE:
            begin = self.text.find(" ", start - _BEFORE, start) + 1 or start
        return self.text[begin:end][:_LONGEST_LINE]

    def around(self, start: int, end: int) -> str:
        """The text about a hit."""
        return self.text[max(0, start - _AROUND) : end + _AROUND]


def _fold(plain: str) -> _Flat:
    lines = [line for raw in plain.split("\n") if (line := " ".join(raw.split()))]
    starts, place = [], 0
    for line in lines:
        starts.append(place)
        place += len(line) + 1
    text = " ".join(lines)
    return _Flat(text, text.casefold(), tuple(starts))


# --- rows ----------------------------------------------------------------------------------


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def _hits(flat: _Flat) -> Iterator[Hit]:
    for known in KNOWN_ERRORS:
        if any(mark in flat.folded for mark in known.marks):
            yield from _hit(known, flat)
    yield from _cuda_hits(flat)


def _hit(known: KnownError, flat: _Flat) -> Iterator[Hit]:
    match = _pattern(known.pattern).search(flat.text)
    if match is not None:
        yield Hit(known, _values(match), flat.line(*match.span()), match.start())


def _values(match: re.Match[str]) -> dict[str, str]:
    """The named groups; the first name stands for whichever alternative matched."""
    groups = match.groupdict()
    values = {name: value.strip() for name, value in groups.items() if value and value.strip()}
    spare = [name for name in ("other", "second", "third") if name in groups]
    first = next(iter(groups), None)
    if first is not None and first not in values:
        told = [values[name] for name in spare if name in values]
        if told:
            values[first] = told[0]
    return values


def _without_echoes(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Each key once; a CUDA error that a row speaks of already is left out."""
    keys: set[str] = set()
    told: set[int] = set()
    for hit in hits:
        own = not hit.known.pattern
        if hit.known.key in keys or (own and set(hit.errors) <= told):
            continue
        keys.add(hit.known.key)
        told.update(hit.errors)
        yield hit


# --- CUDA's own errors ----------------------------------------------------------------------

# Texts that other programs use as well: they count where CUDA is spoken of.
_OWN_WORDS = re.compile(
    r"kernel|device|cuda|ptx|gpu|nvlink|__|memcpy|texture|surface|launch|mps|captur|jit|peer|grid"
    r"|illegal|display driver|stub",
    re.IGNORECASE,
)
_GENERIC = frozenset({600})
_CUDA = re.compile(
    r"(?i:cuda|gpu|nvidia|torch|nvrtc|cublas|cudnn|bitsandbytes|ggml|xla)|\bcu[A-Z]\w+|\bCUresult"
)


def _cuda_hits(flat: _Flat) -> Iterator[Hit]:
    told: set[int] = set()
    for row in driver_errors_in_text(flat.text):
        told.add(row.number)
        yield _cuda_hit(row.number, flat, row.name)
    for error, mark in _spoken_of(flat):
        if error.number not in told:
            told.add(error.number)
            yield _cuda_hit(error.number, flat, mark, _old_number(error.number, flat.text))
    if not told:
        yield from _numbered(flat)


def _spoken_of(flat: _Flat) -> Iterator[tuple[CudaErrorRow, str]]:
    """The runtime's errors in a text, each with its name or its text in small letters."""
    rows = errors_in_text(flat.text)
    named = [row for row in rows if row.name.casefold() in flat.folded]
    for row in rows:
        text = row.text.casefold().rstrip(".")
        if row in named:
            yield row, row.name
        elif not any(text in other.text.casefold() for other in named) and _is_about_cuda(
            row.number, text, flat
        ):
            yield row, text


def _is_about_cuda(number: int, text: str, flat: _Flat) -> bool:
    """Whether a text means CUDA's error, and no other program's."""
    if _OWN_WORDS.search(text) and number not in _GENERIC:
        return True
    place = flat.folded.find(text)
    around = flat.around(place, place + len(text))
    return _CUDA.search(around) is not None or len(flat.text) <= len(text) + 4


def _cuda_hit(number: int, flat: _Flat, mark: str, old: int | None = None) -> Hit:
    place = max(0, flat.folded.find(mark.casefold()))
    line = flat.line(place, place + len(mark))
    return Hit(cuda_meaning(number), _cuda_values(number), line, place, old)


def _cuda_values(number: int) -> dict[str, str]:
    row, driver = find_cuda_error(number), find_driver_error(number)
    values = {"number": str(number)}
    name = row.name if row is not None else driver.name if driver is not None else ""
    if name:
        values["name"] = name
    if row is not None:
        values["text"] = row.text.rstrip(".")
    if driver is not None:
        values["driver_name"] = driver.name
    return values


_NUMBER = re.compile(
    r"(?:\b(?:cuda\w*|cu|nv\w*)[ _]?(?:runtime |driver |api )?(?:error|err|failure|failed|fail|"
    r"status|result|code|errno)s?\W{0,3}(?:code|no|number|with|=)?\W{0,4}"
    r"|\b(?:error|err|code|rc|ret|returned|cudaError(?:_t)?|CUresult)\W{0,3}(?:code\W{0,3})?"
    r"(?:CUDA\W{0,3})?[=:(#\[ ]\W{0,2})(?P<number>\d{1,3})\b(?![.\d])",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"\W{0,3}(?:cuda)?\W{0,2}(?:error)?\W{0,3}(?P<number>\d{1,3})\W{0,3}", re.IGNORECASE
)


def _numbered(flat: _Flat) -> Iterator[Hit]:
    """An error that is told by its number alone: today's meaning, then the one before 10.1."""
    bare = _BARE.fullmatch(flat.text)
    found = (m for m in _NUMBER.finditer(flat.text) if _CUDA.search(flat.around(*m.span())))
    match = bare or next(found, None)
    if match is None:
        return
    number = int(match["number"])
    if number and (find_cuda_error(number) or find_driver_error(number)):
        yield _cuda_hit(number, flat, match[0])
    for row in errors_with_old_number(number) if number else ():
        yield _cuda_hit(row.number, flat, match[0], number)


def _old_number(number: int, flat: str) -> int | None:
    """The number before CUDA 10.1, where it stands beside this error's text."""
    row = find_cuda_error(number)
    if row is None or row.old_number is None or row.old_number == number:
        return None
    old = re.compile(
        rf"\((?:error )?{row.old_number}\)|\b(?:error|err|code)\W{{0,3}}"
        rf"{row.old_number}\b",
        re.IGNORECASE,
    )
    return row.old_number if old.search(flat) else None


# --- builds ----------------------------------------------------------------------------------

_COMPILERS = re.compile(
    r"\bnvcc\b|ptxas|cicc|cudafe|nvlink (?:error|fatal)|fatbinary|\bg(?:cc|\+\+)\b|\bclang|cc1plus"
    r"|collect2|/ld: |\bninja\b|cl\.exe|\.cu\(\d+\)|\.c(?:u|pp|c):\d+|error: command '"
)
# Of these the words are those of any program that fails; a compiler has to be named too.
_ONLY_OF_COMPILERS = ("A101", "A102", "A103", "A104", "A105", "A106", "A118", "A150")


def _failed_build(plain: str, hits: Iterable[Hit]) -> Explanation | None:
    """What stands behind a failed build; lines that speak of CUDA's errors are no build's."""
    spoken = [words for hit in hits if (words := _spoken(hit))]
    lines = [line for line in plain.split("\n") if not any(w in line.casefold() for w in spoken)]
    told = explain_failure("\n".join(lines), 1)
    if told is None or (told.code in _ONLY_OF_COMPILERS and not _COMPILERS.search(plain)):
        return None
    return told


def _spoken(hit: Hit) -> str:
    """Words that stand in the line of a hit."""
    if hit.known.pattern:
        return hit.line.casefold()[-60:]
    return hit.values.get("text", "").casefold()


def all_marks() -> frozenset[str]:
    """Words of which one stands in every known text, folded to small letters."""
    marks = {mark for known in KNOWN_ERRORS for mark in known.marks}
    for row in cuda_errors():
        if row.number:
            marks |= {row.text.casefold().rstrip("."), row.name.casefold()}
    return frozenset(marks | {"cuda_error_"})


_PACKAGES = re.compile(r"(?:site|dist)-packages[/\\](?P<name>[A-Za-z]\w*)[/\\.]")
# These are where errors surface, seldom where they come from.
_BYSTANDERS = frozenset({"torch", "torchvision", "numpy", "accelerate", "transformers", "pip"})


def package_in_text(text: str) -> str | None:
    """The package in which a traceback ends, torch only where no other is in it."""
    names = [match["name"] for match in _PACKAGES.finditer(text)]
    others = [name for name in names if name not in _BYSTANDERS]
    found = others or [name for name in names if name == "torch"]
    return found[-1] if found else None
