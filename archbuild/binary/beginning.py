"""The symbols of a cubin from its first bytes alone.

A cubin begins with its strings and symbols and ends with its section table. Of a
compressed one it is enough to inflate the beginning, about a tenth, if what is
found there proves itself: each kernel has a constant bank of its own, so the
kernels among the symbols must be exactly those for which the names of the
sections hold a ``.nv.constant0.NAME``. Where they are not, the whole is inflated.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import compress

from archbuild.binary import elf, limits
from archbuild.binary.notes import NEAR, Notes, read_notes
from archbuild.binary.source import Source
from archbuild.binary.symbols import ENTRY_MARK, FUNC, OBJECTS, is_own

# How ptxas and nvlink begin both tables of strings, and the one after the other.
_STRINGS = b"\0.shstrtab\0.strtab\0.symtab\0"
_HEADER = 64
# Types of symbols that exist, with each binding that exists.
_TYPES = bytes(b << 4 | t for b in range(3) for t in (*range(7), *range(10, 14)))
# The first symbol after the one of zeros: it has a name, and such a type.
_FIRST_SYMBOL = re.compile(rb"(?s)(?!\0{3}).{3}\0[" + re.escape(_TYPES) + rb"]")
_BANK = "\0.nv.constant0."
_BANKS = re.compile(rb"\0\.nv\.constant0\.([^\0]*)")
_ROW = 24
_WORDS = 6
_NO_SYMBOL = bytes(_ROW)
_STEP = 1 << 14

# Columns of a row: the highest byte of the name; type and binding; other; the section.
_NAME_HIGH, _INFO, _OTHER, _SECTION = 3, 4, 5, 6


def _mapping(values: Iterable[int]) -> bytes:
    """A translation of bytes: 1 for these, 0 for all others."""
    chosen = set(values)
    return bytes(value in chosen for value in range(256))


_ANY = _mapping(range(1, 256))
_IS_ENTRY = _mapping(value for value in range(256) if value & ENTRY_MARK)
_IS_FUNC = _mapping(value for value in range(256) if value & 15 == FUNC)
_IS_OBJECT = _mapping(value for value in range(256) if value & 15 in OBJECTS)


@dataclass(frozen=True)
class FirstSymbols:
    """What the first bytes of a cubin tell.

    Args:
        names: The names of its kernels, in the order of the table.
        variables: How many device variables it has, but for those of library headers;
            not counted where it has kernels.
    """

    names: tuple[str, ...]
    variables: int | None


#: Puts the next bytes of an image into a piece of memory; how many those were.
Fill = Callable[[memoryview], int]

# Memory in which beginnings are looked at. It is used again and again: to get some from
# the system for each of thousands of images takes longer than to look at them.
_BUFFERS: list[bytearray] = []
_MOST_BUFFERS = 4
_FIRST_SIZE = 1 << 20


class Beginning:
    """The first bytes of a cubin, growing until the symbols are in them.

    Args:
        fill: Gives the bytes, from the first on.
    """

    def __init__(self, fill: Fill) -> None:
        self._fill = fill
        try:
            self._memory = _BUFFERS.pop()
        except IndexError:
            self._memory = bytearray(_FIRST_SIZE)
        self._have = self._end = self._strings = 0

    def close(self) -> None:
        """Give the memory back; nothing may be asked any more."""
        if len(_BUFFERS) < _MOST_BUFFERS and len(self._memory) <= 8 * _FIRST_SIZE:
            _BUFFERS.append(self._memory)
        self._memory = bytearray()

    def notes(self) -> Notes:
        """What the notes after the symbols tell; they are not sought far behind them."""
        if self._have < self._end + NEAR:
            self._grow()
        with memoryview(self._memory) as memory:
            return read_notes(bytes(memory[self._end : min(self._have, self._end + 2 * NEAR)]))

    def header(self) -> bytes:
        """The bytes of the ELF header; fewer if there are no more."""
        self._grow()
        return bytes(self._memory[: min(_HEADER, self._have)])

    def _grow(self) -> bool:
        if self._have + _STEP > len(self._memory):
            if self._have > limits.TABLE:
                return False
            self._memory.extend(bytes(len(self._memory)))
        with memoryview(self._memory) as memory:
            count = self._fill(memory[self._have : self._have + _STEP])
        self._have += count
        return count > 0

    def banks(self) -> list[bytes]:
        """What the constant banks are named for, in order: all kernels, if all is as usual."""
        strings = self._find_strings()
        return _BANKS.findall(self._memory, _HEADER, strings + 1) if strings else []

    def symbols(self) -> FirstSymbols | None:
        """What was found, if the constant banks bear it out."""
        strings = self._find_strings()
        table = self._find_table(strings) if strings else 0
        count = self._find_count(table) if table else 0
        if not count:
            return None
        self._end = table + count * _ROW
        with memoryview(self._memory) as memory:
            columns = _Columns(bytes(memory[table : self._end]))
            try:
                texts = str(memory[_HEADER:table], "ascii")
            except UnicodeDecodeError:
                return None
        return _prove(texts, strings - _HEADER, columns)

    def _find_strings(self) -> int:
        """Where the names of the symbols begin, 0 if they cannot be told."""
        self._strings = self._strings or self._seek_strings()
        return self._strings

    def _seek_strings(self) -> int:
        while self._have < _HEADER + len(_STRINGS):
            if not self._grow():
                return 0
        if not self._memory.startswith(_STRINGS, _HEADER):
            return 0
        start = _HEADER + 1
        while (place := self._memory.find(_STRINGS, start, self._have)) < 0:
            start = max(start, self._have - len(_STRINGS))
            if not self._grow():
                return 0
        return self._before_prototypes(place)

    def _before_prototypes(self, place: int) -> int:
        """Signatures of indirect calls, such as ``#ii``, may stand before all names."""
        while (before := self._memory.rfind(b"\0", _HEADER, place)) >= 0:
            if self._memory[before + 1 : before + 2] != b"#":
                break
            place = before
        return place

    def _find_table(self, start: int) -> int:
        """Where the symbols begin, 0 if they cannot be told.

        They begin at a multiple of eight with a symbol of zeros, and more zeros may
        lie before that one.
        """
        while (place := self._memory.find(_NO_SYMBOL, start, self._have)) < 0:
            start = max(start, self._have - _ROW)
            if not self._grow():
                return 0
        place = -(-place // 8) * 8
        while self._have >= place + 2 * _ROW or self._grow():
            if not self._memory.startswith(_NO_SYMBOL, place):
                return 0
            if _FIRST_SYMBOL.match(self._memory, place + _ROW, self._have):
                return place
            place += 8
        return 0

    def _find_count(self, table: int) -> int:
        """How many rows look like symbols, 0 if the bytes end before the rows do.

        The rows are looked at by columns, which is much faster than one by one.
        """
        while True:
            infos = self._memory[table + _INFO : self._have : _ROW]
            high = self._memory[table + _NAME_HIGH : self._have : _ROW]
            possible = len(infos) - len(infos.lstrip(_TYPES))
            count = min(possible, len(high) - len(high.lstrip(b"\0")))
            if count < min(len(infos), len(high)):
                return count if count <= limits.SYMBOLS else 0
            if not self._grow():
                return 0


class _Columns:
    """A symbol table by columns of bytes, which are compared all at once.

    One symbol after the other would take most of the time of reading a library: it
    has some 300 of them for each 50 kernels. Here a column is one large number.

    Args:
        rows: The table, a whole number of rows.
    """

    def __init__(self, rows: bytes) -> None:
        self._rows, self._size = rows, len(rows) // _ROW
        words = memoryview(rows).cast("I")
        self._names, self._marks = words[::_WORDS].tolist(), words[1::_WORDS].tolist()
        sections = rows[_SECTION::_ROW], rows[_SECTION + 1 :: _ROW]
        self._defined = self._number(sections[0], _ANY) | self._number(sections[1], _ANY)

    def _number(self, column: bytes, mapping: bytes) -> int:
        return int.from_bytes(column.translate(mapping), "big")

    def kernels(self) -> Iterator[int]:
        """Where the names of the kernels begin."""
        entries = self._number(self._rows[_OTHER::_ROW], _IS_ENTRY)
        return self._chosen(entries & self._number(self._rows[_INFO::_ROW], _IS_FUNC))

    def variables(self) -> Iterator[int]:
        """Where the names of the variables begin."""
        return self._chosen(self._number(self._rows[_INFO::_ROW], _IS_OBJECT))

    def _chosen(self, wanted: int) -> Iterator[int]:
        marks = (wanted & self._defined).to_bytes(self._size, "big")
        return compress(self._names, marks)

    def tells_the_same(self, other: _Columns) -> bool:
        """Whether all but the places and sizes of the symbols is equal."""
        return self._names == other._names and self._marks == other._marks


# The images of one fatbin mostly hold the same names, one after the other.
_LATELY: deque[tuple[str, _Columns, FirstSymbols]] = deque(maxlen=4)


def _prove(texts: str, strings: int, columns: _Columns) -> FirstSymbols | None:
    """The kernels, if the names of the sections bear them out.

    Args:
        texts: The names of the sections, then those of the symbols.
        strings: Where the latter begin.
        columns: The symbols.
    """
    for seen, others, symbols in tuple(_LATELY):
        if seen == texts and others.tells_the_same(columns):
            return symbols
    find = texts.find
    names = [texts[start : find("\0", start)] for start in map(strings.__add__, columns.kernels())]
    banks = [part.partition("\0")[0] for part in texts[:strings].split(_BANK)[1:]]
    if len(names) != len(banks) or (names != banks and sorted(names) != sorted(banks)):
        return None
    symbols = FirstSymbols(tuple(names), None if names else _count(texts, strings, columns))
    if len(texts) <= _FIRST_SIZE:
        _LATELY.append((texts, columns, symbols))
    return symbols


def _count(texts: str, strings: int, columns: _Columns) -> int:
    names = texts[strings:].encode()
    return sum(is_own(names, start) for start in columns.variables())


def filled_from(source: Source) -> Fill:
    """The bytes of a source, one piece after the other."""
    place = 0

    def fill(memory: memoryview) -> int:
        nonlocal place
        data = source.peek(place, len(memory))
        memory[: len(data)] = data
        place += len(data)
        return len(data)

    return fill


def can_be_told(header: elf.Header) -> bool:
    """Whether the first bytes of such a cubin can tell its symbols here."""
    return header.bits == 64 and header.order == "<" and sys.byteorder == "little"
