"""Static archives: the members of ``.a`` and ``.lib`` files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archbuild.binary import limits
from archbuild.binary.source import Source
from archbuild.errors import BinaryError

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"

_HEADER = 60
_END = b"`\n"
# Tables of the archive itself: symbols (GNU, BSD, Windows), 64-bit symbols, long names.
_SYMBOL_TABLES = ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "/<ECSYMBOLS>/")
_LONG_NAMES = "//"


@dataclass(frozen=True)
class Member:
    """One member of an archive.

    Args:
        name: Its name, without the path.
        offset: Where its bytes begin in the archive.
        size: How many they are.
    """

    name: str
    offset: int
    size: int


def read_members(source: Source) -> Iterator[Member]:
    """The members in order, without the archive's own tables.

    Raises:
        BinaryError: If the archive is thin, damaged or cut short.
    """
    if source.peek(0, 8) == THIN_MAGIC:
        raise BinaryError(
            f"{source.name} is a thin archive, which only names files that lie elsewhere.",
            "Give the object files, or make a whole one: ar -qcL whole.a thin.a",
        )
    long_names, place = b"", len(MAGIC)
    for _ in range(limits.MEMBERS):
        if place >= source.size:
            return
        name, size = _header(source, place)
        start = place + _HEADER
        place = start + size + size % 2
        if name == _LONG_NAMES:
            if size > limits.TABLE:
                raise _damaged(source, start)
            long_names = source.read(start, size)
        elif name not in _SYMBOL_TABLES:
            yield _member(source, name, long_names, start, size)
    raise BinaryError(f"{source.name} claims more than {limits.MEMBERS} members.")


def _header(source: Source, place: int) -> tuple[str, int]:
    header = source.read(place, _HEADER)
    digits = header[48:58].strip(b" ")
    if header[58:] != _END or not digits.isdigit():
        raise _damaged(source, place)
    size = int(digits)
    if place + _HEADER + size > source.size:
        raise source.cut_short(place + _HEADER, size)
    return header[:16].decode("latin-1").rstrip(" "), size


def _member(source: Source, name: str, long_names: bytes, start: int, size: int) -> Member:
    if name.startswith("#1/") and name[3:].isdigit():
        length = min(int(name[3:]), size)
        if length > limits.CHUNK:
            raise _damaged(source, start)
        text = source.read(start, length).rstrip(b"\0").decode("utf-8", "replace")
        return Member(text, start + length, size - length)
    if name.startswith("/") and name[1:].isdigit():
        name = _long_name(source, long_names, int(name[1:]), start)
    return Member(name.removesuffix("/"), start, size)


def _long_name(source: Source, names: bytes, place: int, start: int) -> str:
    if place >= len(names):
        raise _damaged(source, start)
    stops = [stop for end in (b"/\n", b"\0", b"\n") if (stop := names.find(end, place)) >= 0]
    return names[place : min(stops, default=len(names))].decode("utf-8", "replace")


def _damaged(source: Source, place: int) -> BinaryError:
    message = f"{source.name}: the archive's member at {place:#x} is damaged."
    return BinaryError(message, "Build the archive again, or get it again.")
