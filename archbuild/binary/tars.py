"""Tar archives, plain or packed, read from one end to the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archbuild.binary import limits
from archbuild.binary.inflating import bound, inflated
from archbuild.binary.source import Source, StreamSource
from archbuild.errors import BinaryError

_BLOCK = 512
_MAGIC = b"ustar"
_MAGIC_PLACE = 257
_FILES = frozenset({"0", "\0", "7"})
_LONG_NAME, _EXTENDED, _SPARSE = "L", "x", "S"
# Room for the longest name and then some; a header asks for no more.
_HEADER_TEXT = 1 << 20


@dataclass(frozen=True)
class TarMember:
    """One file in a tar archive.

    Args:
        name: As the archive has it; never used as a path.
        offset: Where its bytes begin in the unpacked archive.
        size: How many they are.
    """

    name: str
    offset: int
    size: int


def unpacked(source: Source, method: str) -> Source:
    """The archive itself, as a stream where it is packed.

    Args:
        source: The file.
        method: How it is packed, ``stored`` if it is not.
    """
    if method == "stored":
        return source
    return StreamSource(source.name, bound(source.size), lambda: inflated(source, method))


def is_tar(source: Source) -> bool:
    """Whether the unpacked bytes begin as a tar archive does."""
    return source.peek(_MAGIC_PLACE, len(_MAGIC)) == _MAGIC


def read_members(source: Source) -> Iterator[TarMember]:
    """The files of an unpacked tar archive, in order.

    Links, folders and devices are passed over: what they point to lies elsewhere.

    Raises:
        BinaryError: If it is damaged, cut short, or holds a sparse file.
    """
    place, name, size = 0, "", None
    for _ in range(limits.MEMBERS):
        header = source.read(place, _BLOCK)
        if not header.strip(b"\0"):
            return
        kind, own_size = chr(header[156]), _size(source, header, place)
        start = place + _BLOCK
        if kind == _LONG_NAME:
            name = _text(source, start, own_size).rstrip("\0")
        elif kind == _EXTENDED:
            name, size = _extended(_text(source, start, own_size), name, size)
        elif kind == _SPARSE:
            message = f"{source.name}: {name or _name(header)} is stored as a sparse file."
            raise BinaryError(message, "Unpack the archive and read the folder.")
        elif kind != "g":
            own_size = own_size if size is None else size
            if kind in _FILES:
                yield TarMember(name or _name(header), start, own_size)
            name, size = "", None
        place = start + -(-own_size // _BLOCK) * _BLOCK
    raise BinaryError(f"{source.name} claims more than {limits.MEMBERS} members.")


def _size(source: Source, header: bytes, place: int) -> int:
    field = header[124:136]
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b"\0 ")
    try:
        return int(digits or b"0", 8)
    except ValueError:
        message = f"{source.name}: the archive's member at {place:#x} is damaged."
        raise BinaryError(message, "Get the file again from where it came from.") from None


def _name(header: bytes) -> str:
    own, prefix = header[:100].partition(b"\0")[0], b""
    if header[_MAGIC_PLACE : _MAGIC_PLACE + 6] == b"ustar\0":
        prefix = header[345:500].partition(b"\0")[0]
    return (prefix + b"/" + own if prefix else own).decode("utf-8", "replace")


def _text(source: Source, start: int, size: int) -> str:
    if size > _HEADER_TEXT:
        message = f"{source.name}: a name of {size} bytes at {start:#x}."
        raise BinaryError(message, "The archive is damaged, or made to mislead.")
    return source.read(start, size).decode("utf-8", "replace")


def _extended(text: str, name: str, size: int | None) -> tuple[str, int | None]:
    """Name and size from lines such as ``30 path=very/long/name``."""
    for line in text.split("\n"):
        key, _, value = line.partition(" ")[2].partition("=")
        if key == "path":
            name = value
        elif key == "size" and value.isdecimal() and len(value) < 20:
            size = int(value)
    return name, size
