"""The parts of an ELF file that lead to device code: its sections."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from archbuild.binary import limits
from archbuild.binary.source import Source
from archbuild.errors import BinaryError

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
TYPE_RELOCATABLE = 1

SYMTAB, STRTAB, RELA, NOBITS, REL = 2, 3, 4, 8, 9
ALLOC, EXECINSTR = 0x2, 0x4

_HEADER = 64
_MANY = 0xFFFF


@dataclass(frozen=True)
class Header:
    """What the first bytes of an ELF file tell.

    Args:
        bits: 32 or 64.
        order: ``<`` or ``>``, as :mod:`struct` has it.
        abi_version: Byte 8, which chooses the layout of a cubin.
        type: 1 relocatable, 2 executable, 3 shared.
        machine: 190 for CUDA.
        flags: The machine's own flags.
        section_offset: Where the section table begins; 0 if there is none.
        section_size: Bytes of one of its rows.
        section_count: How many rows; 0 where the first row tells it.
        names: The row of the section that holds the names.
    """

    bits: int
    order: str
    abi_version: int
    type: int
    machine: int
    flags: int
    section_offset: int
    section_size: int
    section_count: int
    names: int

    @property
    def is_cuda(self) -> bool:
        """Whether it is a cubin."""
        return self.machine == MACHINE_CUDA


@dataclass(frozen=True)
class Section:
    """One row of the section table.

    Args:
        name: ``.nv_fatbin``.
        type: 1 program data, 2 symbols, 3 strings, 8 no bytes in the file ...
        flags: 2 loaded, 4 executable ...
        offset: Where its bytes begin in the file.
        size: How many there are, 0 for those without bytes in the file.
        link: The section that belongs to it.
        info: What its type makes of it.
        entry: Bytes of one row, of tables.
        memory: Its size in memory, also where the file holds no bytes of it.
    """

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    entry: int
    memory: int

    @property
    def stop(self) -> int:
        """Where its bytes end."""
        return self.offset + self.size


def read_header(source: Source) -> Header:
    """The header of an ELF file.

    Raises:
        BinaryError: If it is none, or of a class or byte order that does not exist.
    """
    return parse_header(source.peek(0, _HEADER), source.name)


def parse_header(head: bytes, name: str) -> Header:
    """The header of an ELF file from its first bytes.

    Args:
        head: At least 64 of them, if there are so many.
        name: What to call the file in messages.

    Raises:
        BinaryError: If it is none, or of a class or byte order that does not exist.
    """
    if head[:4] != MAGIC or len(head) < 52:
        raise BinaryError(f"{name} is no ELF file: its header is damaged.")
    bits, order = {1: 32, 2: 64}.get(head[4]), {1: "<", 2: ">"}.get(head[5])
    if bits is None or order is None or (bits == 64 and len(head) < _HEADER):
        raise BinaryError(f"{name} is an ELF file with a damaged header.")
    kind, machine = struct.unpack_from(order + "HH", head, 16)
    place, flags = struct.unpack_from(order + ("QI" if bits == 64 else "II"), head, bits // 2 + 8)
    if bits == 32:
        place, flags = struct.unpack_from(order + "II", head, 32)
    size, count, names = struct.unpack_from(order + "HHH", head, 58 if bits == 64 else 46)
    return Header(bits, order, head[8], kind, machine, flags, place, size, count, names)


def read_sections(source: Source, header: Header) -> tuple[Section, ...]:
    """The section table with its names; empty where the file has none.

    Raises:
        BinaryError: If the table, or the section with the names, is not in the file.
    """
    if header.section_offset == 0:
        return ()
    rows = _read_rows(source, header)
    names = _read_names(source, header, rows)
    return tuple(_section(row, names) for row in rows)


def read_section(source: Source, section: Section) -> bytes:
    """The bytes of a section that is a table.

    Raises:
        BinaryError: If they are not all there, or too many for a table.
    """
    if section.size > limits.TABLE:
        message = f"{source.name}: section {section.name} has {section.size} bytes."
        raise BinaryError(message, "That is more than any table of its kind needs.")
    return source.read(section.offset, section.size)


def _read_rows(source: Source, header: Header) -> list[tuple[int, ...]]:
    form = struct.Struct(header.order + ("IIQQQQIIQQ" if header.bits == 64 else "10I"))
    if header.section_size != form.size:
        message = f"{source.name} has section rows of {header.section_size} bytes."
        raise BinaryError(message, "The file is damaged.")
    count = header.section_count
    if count == 0:
        count = form.unpack(source.read(header.section_offset, form.size))[5]
    if count * form.size > limits.TABLE:
        raise BinaryError(f"{source.name} claims {count} sections.", "The file is damaged.")
    return list(form.iter_unpack(source.read(header.section_offset, count * form.size)))


def _read_names(source: Source, header: Header, rows: list[tuple[int, ...]]) -> bytes:
    index = header.names
    if index == _MANY and rows:
        index = rows[0][6]
    if index == 0 or not rows:
        return b""
    if index >= len(rows):
        raise BinaryError(f"{source.name} has no names for its sections: it is damaged.")
    return read_section(source, _section(rows[index], b""))


def _section(row: tuple[int, ...], names: bytes) -> Section:
    name, kind, flags, _, offset, size, link, info, _, entry = row
    stop = names.find(b"\0", name)
    text = names[name : stop if stop >= 0 else len(names)].decode("utf-8", "replace")
    in_file = 0 if kind in (NOBITS, 0) else size
    return Section(text, kind, flags, offset, in_file, link, info, entry, size)
