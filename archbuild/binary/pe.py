"""The sections of Windows files: libraries, programs and objects."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from archbuild.binary.source import Source
from archbuild.errors import BinaryError

DOS_MAGIC = b"MZ"
_PE_MAGIC = b"PE\0\0"
_ROW = struct.Struct("<8sIIIIIIHHI")

# Machines of objects, which have no magic of their own: x86-64, ARM64, x86.
_MACHINES = frozenset({0x8664, 0xAA64, 0x14C})
# The second form of objects, for more than 65,279 sections.
_BIG_MAGIC = b"\0\0\xff\xff"
_BIG_CLASS = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")
_BIG_HEADER = 56
_COFF_HEADER = 20

_EXECUTE = 0x20000000
_NO_BYTES = 0x00000080


@dataclass(frozen=True)
class PeSection:
    """One row of the section table.

    Args:
        name: At most eight characters: ``.nv_fatb``.
        offset: Where its bytes begin in the file.
        size: How many of them mean something.
        executable: Whether it holds code of the host.
    """

    name: str
    offset: int
    size: int
    executable: bool


def is_object(head: bytes) -> bool:
    """Whether the first bytes are those of a COFF object.

    Args:
        head: At least the first 64 bytes, or all if there are fewer.
    """
    if head[:4] == _BIG_MAGIC:
        return head[12:28] == _BIG_CLASS
    if len(head) < _COFF_HEADER:
        return False
    machine, sections, _, _, _, optional, _ = struct.unpack_from("<HHIIIHH", head)
    return machine in _MACHINES and 0 < sections < 0xFF00 and optional == 0


def is_image(source: Source) -> bool:
    """Whether it is a PE file, and not one for DOS alone."""
    head = source.peek(0, 64)
    if head[:2] != DOS_MAGIC or len(head) < 64:
        return False
    place = struct.unpack_from("<I", head, 60)[0]
    return source.peek(place, 4) == _PE_MAGIC


def read_sections(source: Source) -> tuple[PeSection, ...]:
    """The section table of a PE file or a COFF object.

    Raises:
        BinaryError: If it is not wholly in the file.
    """
    head = source.peek(0, 64)
    if head[:2] == DOS_MAGIC:
        start = struct.unpack_from("<I", head, 60)[0] + len(_PE_MAGIC)
        rows, linked = _table(source, start), True
    elif head[:4] == _BIG_MAGIC:
        count = struct.unpack_from("<I", source.read(0, _BIG_HEADER), 44)[0]
        rows, linked = _rows(source, _BIG_HEADER, count), False
    else:
        rows, linked = _table(source, 0), False
    return tuple(_section(row, linked) for row in rows)


def _table(source: Source, start: int) -> list[tuple[bytes, int, int, int, int, int]]:
    header = source.read(start, _COFF_HEADER)
    _, count, _, _, _, optional, _ = struct.unpack("<HHIIIHH", header)
    return _rows(source, start + _COFF_HEADER + optional, count)


def _rows(source: Source, start: int, count: int) -> list[tuple[bytes, int, int, int, int, int]]:
    if start + count * _ROW.size > source.size:
        message = f"{source.name} claims {count} sections, more than it has room for."
        raise BinaryError(message, "It is cut short or damaged.")
    rows = _ROW.iter_unpack(source.read(start, count * _ROW.size))
    return [(r[0], r[1], r[2], r[3], r[4], r[9]) for r in rows]


def _section(row: tuple[bytes, int, int, int, int, int], linked: bool) -> PeSection:
    name, memory, _, size, offset, flags = row
    if flags & _NO_BYTES or not offset:
        size = 0
    if linked and memory:
        # The file is padded to its alignment; what counts is the size in memory.
        size = min(size, memory)
    text = name.rstrip(b"\0").decode("utf-8", "replace")
    return PeSection(text, offset, size, bool(flags & _EXECUTE))
