"""The symbols of a cubin: its kernels and device variables, by its section table."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from archbuild.binary import elf, limits
from archbuild.binary.source import Source
from archbuild.errors import BinaryError
from archbuild.model.image import Binding

FUNC = 2
# Objects, and the kinds of CUDA's own: textures, surfaces, samplers, variables of -rdc.
OBJECTS = frozenset({1, 10, 11, 12, 13})
ENTRY_MARK = 0x10
# cuda::std and CUB define constants in every unit that includes them. They stand in an
# inline namespace of the unit, ``_ZN47_INTERNAL_...``, and no host code can name them.
_INTERNAL = b"_INTERNAL_"
_INTERNAL_REACH = 20
_BINDINGS = {0: Binding.LOCAL, 1: Binding.GLOBAL, 2: Binding.WEAK}

_SYMBOL = {"<": struct.Struct("<IBBHQQ"), ">": struct.Struct(">IBBHQQ")}
_SYMBOL32 = {"<": struct.Struct("<IIIBBH"), ">": struct.Struct(">IIIBBH")}


@dataclass(frozen=True)
class Symbol:
    """A kernel or a device variable.

    Args:
        name: As mangled.
        index: Its row in the symbol table.
        section: The row of its section.
        binding: How far it is visible.
        size: Bytes of its code or data.
    """

    name: str
    index: int
    section: int
    binding: Binding
    size: int


@dataclass(frozen=True)
class Symbols:
    """What a cubin defines.

    Args:
        kernels: Its entry functions, in the order of the table.
        variables: How many device variables it has, but for those of library headers.
    """

    kernels: tuple[Symbol, ...]
    variables: int


# name, info, other, section, value, size
_Row = tuple[int, int, int, int, int, int]


def read_symbols(
    source: Source, header: elf.Header, sections: tuple[elf.Section, ...]
) -> Symbols | None:
    """The symbols by way of the section table; None where there is no symbol table.

    Raises:
        BinaryError: If the tables are damaged.
    """
    table = next((s for s in sections if s.type == elf.SYMTAB), None)
    if table is None:
        return None
    if table.link >= len(sections):
        raise BinaryError(f"{source.name}: a symbol table has no names; it is damaged.")
    data = elf.read_section(source, table)
    names = elf.read_section(source, sections[table.link])
    return _chosen(list(_rows(data, header)), names)


def _rows(data: bytes, header: elf.Header) -> Iterator[_Row]:
    form = (_SYMBOL if header.bits == 64 else _SYMBOL32)[header.order]
    if len(data) // form.size > limits.SYMBOLS:
        raise BinaryError("A device image claims more symbols than any has.")
    rows = form.iter_unpack(data[: len(data) // form.size * form.size])
    if header.bits == 64:
        return rows
    return ((name, info, other, row, value, size) for name, value, size, info, other, row in rows)


def _chosen(rows: list[_Row], names: bytes | bytearray) -> Symbols:
    kernels = tuple(
        Symbol(_name(names, row[0]), index, row[3], _binding(row[1]), row[5])
        for index, row in enumerate(rows)
        if row[2] & ENTRY_MARK and row[1] & 15 == FUNC and row[3]
    )
    starts = [row[0] for row in rows if row[3] and row[1] & 15 in OBJECTS]
    variables = sum(is_own(names, start) for start in starts)
    return Symbols(kernels, variables)


def _binding(info: int) -> Binding:
    return _BINDINGS.get(info >> 4, Binding.UNKNOWN)


def _name(names: bytes | bytearray, start: int) -> str:
    stop = names.find(b"\0", start)
    return names[start : stop if stop >= 0 else len(names)].decode("utf-8", "replace")


def is_own(names: bytes | bytearray, start: int) -> bool:
    """Whether a variable is none of those of the standard library's headers."""
    return _INTERNAL not in names[start : start + _INTERNAL_REACH]
