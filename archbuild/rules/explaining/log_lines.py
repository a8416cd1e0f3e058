"""Of a log of any size the lines that matter, in bounded memory.

A piece of the log without any word that errors have is dropped whole; of the others each
line is looked at, and one that differs from an earlier one by numbers alone only once. What
names a known error is kept with the lines around it; of what merely looks like an error the
first and the last lines.
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from archbuild.rules.explaining.recognize import all_marks

#: Words of which one stands in the lines of every known text, of builds too; CUDA's own texts
#: stand in lines that name CUDA or speak of an error. Few, since each is looked for everywhere.
_WORDS = tuple(
    word.encode()
    for word in (
        *("error", "fatal", "fail", "kill", "cuda", "nvidia", "nvml", "device", "driver"),
        *("cannot", "can't", "could", "undefined", "unsupported", "unknown", "not found"),
        *("no such", "no module", "out of", "too ", "missing", "mismatch", "signal", "assert"),
        *("cudnn", "glibc", "version", "unresolvable", "condition", "deserialize", "xid"),
        *("file exists", "requires", "recogni", "mapped", "annotation", "symbol", "illegal"),
        *("launch", "kernel", "ptx", "conversion", "pytorch", "capability", "gpu"),
        *("adapters", "unavailable", "cublas", "elf ", "flashattention", "in-memory", "paddle"),
    )
)
#: Bytes of a line that are kept, and without a line end.
_LINE = 4000
_UNENDED = 1 << 16
#: Lines that are kept of each kind at the beginning of the log, and as many at its end.
_KEPT = 400
#: Lines that are kept after one that names an error, or that may: messages go on.
_AFTER = 6
_GOING_ON = 3
_SEEN = 200_000
_NUMBERS = re.compile(rb"[0-9]+")


def lines_that_matter(blocks: Iterable[bytes]) -> str:
    """The lines of a log in which an error may stand.

    Args:
        blocks: The log, in pieces of any size, in UTF-8 or as Windows' shells write it;
            bytes that are no text are shown as U+FFFD.

    Returns:
        At most some thousand lines, in the order of the log.
    """
    keeper = _Keeper()
    for lines in _whole_lines(_as_utf8(blocks)):
        keeper.take(lines)
    return keeper.text()


def _as_utf8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks; UTF-16, as PowerShell redirects, becomes UTF-8."""
    decoder = None
    for index, block in enumerate(blocks):
        if index == 0 and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            decoder = codecs.getincrementaldecoder("utf-16")("replace")
        yield decoder.decode(block).encode("utf-8", "replace") if decoder is not None else block


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces that end where a line ends, or where it has become too long to wait for."""
    rest = b""
    for block in blocks:
        data = rest + block.replace(b"\r", b"\n")
        end = data.rfind(b"\n") + 1
        if len(data) - end > _UNENDED:
            end = len(data)
        if end:
            yield data[:end]
        rest = data[end:]
    if rest:
        yield rest


@dataclass
class _Kept:
    """The first lines of a kind, and the last ones, each with its place."""

    first: list[tuple[int, str]] = field(default_factory=list)
    last: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def add(self, place: int, line: str) -> None:
        if len(self.first) < _KEPT:
            self.first.append((place, line))
        else:
            self.last.append((place, line))


class _Keeper:
    """What is kept of a log so far."""

    def __init__(self) -> None:
        self._strong, self._weak = _Kept(), _Kept()
        self._marks = all_marks()
        self._seen: set[int] = set()
        self._place = 0
        self._after = 0
        self._going_on = 0
        self._before = b""

    def take(self, lines: bytes) -> None:
        """Look at some whole lines."""
        if self._after or self._going_on or _has_word(lines):
            for line in lines.removesuffix(b"\n").split(b"\n"):
                self._take_line(line)
        else:
            self._place += len(lines)
            self._before = b""

    def _take_line(self, line: bytes) -> None:
        place, before = self._place, self._before
        self._place += len(line) + 1
        self._before = line
        told = self._after > 0
        if told:
            self._after -= 1
            self._strong.add(place, _text(line))
        if not self._is_new(line) or not _has_word(line):
            if self._going_on and not told:
                self._going_on -= 1
                self._weak.add(place, _text(line))
            return
        self._take_likely(line, before, place, told=told)

    def _take_likely(self, line: bytes, before: bytes, place: int, *, told: bool) -> None:
        """A line with a word that errors have, and not seen before."""
        text = _text(line)
        folded = text.casefold()
        if any(mark in folded for mark in self._marks):
            if not told:
                self._strong.add(place - 1, _text(before))
                self._strong.add(place, text)
            self._after = _AFTER
        elif not told:
            self._weak.add(place, text)
            self._going_on = _GOING_ON

    def _is_new(self, line: bytes) -> bool:
        key = hash(_NUMBERS.sub(b"", line[:_LINE]))
        if key in self._seen:
            return False
        if len(self._seen) >= _SEEN:
            self._seen.clear()
        self._seen.add(key)
        return True

    def text(self) -> str:
        """All that was kept."""
        kept = dict(
            pair for kind in (self._weak, self._strong) for pair in (*kind.first, *kind.last)
        )
        return "\n".join(kept[place] for place in sorted(kept))


def _has_word(data: bytes) -> bool:
    small = data.lower()
    return any(word in small for word in _WORDS)


def _text(line: bytes) -> str:
    return line[:_LINE].decode("utf-8", "replace")
