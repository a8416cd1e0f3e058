"""Text from outside made safe to print, and fitted into columns.

Names of files and kernels come from whoever made them: control characters,
marks that turn the direction of writing and broken encodings are shown as
escapes, and nothing in them is markup.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class Ink(Enum):
    """A colour of the terminal, as the number that selects it."""

    PLAIN = 0
    BOLD = 1
    RED = 31
    GREEN = 32
    YELLOW = 33


def paint(text: str, ink: Ink, *, color: bool) -> str:
    """The text in a colour, where colours are wanted."""
    if not color or ink is Ink.PLAIN or not text:
        return text
    return f"\x1b[{ink.value}m{text}\x1b[0m"


def escape(text: str) -> str:
    r"""The text with everything that a terminal would obey spelled out.

    Examples:
        >>> escape("a\x1b[31mb\n")
        'a\\x1b[31mb\\x0a'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spell(char) if _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    return not " " <= char <= "~" and unicodedata.category(char) in _HIDDEN


def _spell(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def cells(text: str) -> int:
    """Columns that a terminal needs: two for the wide letters of East Asia, none for accents."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) == "Me":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shorten(text: str, width: int) -> str:
    """The text in at most ``width`` columns, its middle left out where it is longer.

    Examples:
        >>> shorten("package/folder/library.so", 15)
        'packag...ary.so'
    """
    if cells(text) <= width:
        return text
    if width <= 6:
        return _first(text, width)
    room = width - 3
    tail = _first(text[::-1], (room + 1) // 2)[::-1]
    return f"{_first(text, room - cells(tail))}...{tail}"


def _first(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:index]
    return text


def pad(text: str, width: int) -> str:
    """The text filled up with blanks to ``width`` columns."""
    return text + " " * max(0, width - cells(text))


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """A paragraph in lines of at most ``width`` columns; long words are broken.

    Args:
        text: What to say; it is made safe here.
        width: Columns, the indentation included.
        indent: What every line after the first begins with.
    """
    if has_wide(text):
        return list(_filled(_pieces(escape(text)), width, indent))
    import textwrap  # noqa: PLC0415 - slow to import

    lines = textwrap.wrap(escape(text), width, subsequent_indent=indent, break_on_hyphens=False)
    return [piece for line in lines for piece in _split(line, width, indent)]


def has_wide(text: str) -> bool:
    """Whether the text has letters that need two columns, as Chinese has."""
    return not text.isascii() and any(map(_is_wide, text))


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"


# What may not begin a line, and what may not end one.
_CLOSING = frozenset("，。、；：！？）】》」』”’,.;:!?)]}%")  # noqa: RUF001
_OPENING = frozenset("（【《「『“‘([{")  # noqa: RUF001


def _pieces(text: str) -> Iterator[str]:
    """What a line may end after: a wide letter with its marks, a word, a blank."""
    piece = ""
    for char in text:
        if piece and _may_break(piece[-1], char):
            yield piece
            piece = ""
        piece += char
    if piece:
        yield piece


def _may_break(left: str, right: str) -> bool:
    if left == " " or right == " ":
        return left != right
    if right in _CLOSING or left in _OPENING:
        return False
    return _is_wide(left) or _is_wide(right)


def _filled(pieces: Iterator[str], width: int, indent: str) -> Iterator[str]:
    line, used = "", 0
    for piece in pieces:
        need = cells(piece)
        if line.strip() and used + need > width:
            yield line.rstrip()
            line = indent
            used = cells(line)
            if piece.isspace():
                continue
        line += piece
        used += need
        if used > width:
            *whole, line = _split(line, width, indent)
            used = cells(line)
            yield from whole
    if line.strip():
        yield line.rstrip()


def fold(text: str, width: int, indent: str = "") -> list[str]:
    """A name in lines of at most ``width`` columns, broken wherever a line is full.

    Args:
        text: What to show; it is made safe here.
        width: Columns, the indentation included.
        indent: What every line after the first begins with.
    """
    return folded(text, width, indent).split("\n")


def folded(text: str, width: int, indent: str = "") -> str:
    """The same as :func:`fold`, as one string."""
    text = escape(text)
    if not text.isascii():
        return "\n".join(_split(text, width, indent))
    cuts = _cuts(len(text), width, max(1, width - len(indent)))
    return f"\n{indent}".join(map(text.__getitem__, cuts))


# A library has tens of thousands of names, and many are equally long.
@lru_cache(maxsize=1 << 12)
def _cuts(size: int, width: int, room: int) -> list[slice]:
    rest = range(width, size, room)
    return [slice(width), *(slice(start, start + room) for start in rest)]


def _split(line: str, width: int, indent: str) -> Iterator[str]:
    """Break again where wide letters need more columns than textwrap counts."""
    while cells(line) > width:
        head = _first(line, width)
        yield head
        line = indent + line[len(head) :]
    yield line
