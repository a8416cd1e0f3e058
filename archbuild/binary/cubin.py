"""Cubins: which architecture they are for, and the kernels in them.

The layout of the flags is chosen by the ABI version in byte 8, never guessed.
Layouts were verified with ptxas 11.8, 12.9, 13.0 and 13.5.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from functools import lru_cache

from archbuild.binary import elf
from archbuild.binary.beginning import Beginning, Fill, FirstSymbols, can_be_told, filled_from
from archbuild.binary.contents import Contents, Depth
from archbuild.binary.notes import Notes, read_notes
from archbuild.binary.siblings import Siblings
from archbuild.binary.source import Source
from archbuild.binary.symbols import Symbol, Symbols, read_symbols
from archbuild.errors import BinaryError
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix
from archbuild.model.image import Kernel

# By ABI version: how far the SM number is shifted in e_flags, and the mark of `a`.
_FLAGS = {7: (0, 0x800), 8: (8, 0x8)}

_COMPAT = ".nv.compat"
# Record 09 of .nv.compat with the value 1: arch-specific code, from CUDA 13.0.
_COMPAT_RECORD = re.compile(rb"(?s)\x02\x09(.)")
_TOOL_NOTE = ".note.nv.tkinfo"
_NOTES = (_TOOL_NOTE, ".note.nv.cuinfo")
_TOOL_OPTION = re.compile(rb"-arch sm_(\d{2,3})([af]?)(?![0-9A-Za-z])")

# An attribute of .nv.info: a form, a number, 16 bits that are its value or its size.
_INFO = ".nv.info"
_SIZED = 4
_REGISTERS = 0x2F


def read_cubin(source: Source, depth: Depth) -> Contents:
    """What lies in a cubin.

    Args:
        source: The cubin, inflated.
        depth: How far to read.

    Raises:
        BinaryError: If it is no cubin, or a damaged one.
    """
    if depth in (Depth.NAMES, Depth.KERNELS):
        first = read_beginning(filled_from(source), source.name)
        if first is not None:
            return first
    header = elf.read_header(source)
    _refuse_others(header, source.name)
    if depth is Depth.HEADERS:
        relocatable = header.type == elf.TYPE_RELOCATABLE
        return Contents(relocatable=relocatable, arch=_arch_of_flags(header))
    return _read_all(source, header, depth)


def read_beginning(fill: Fill, name: str, siblings: Siblings | None = None) -> Contents | None:
    """The kernels of a cubin from its first bytes; None where those prove nothing.

    Args:
        fill: Gives the bytes.
        name: What to call the cubin in messages.
        siblings: Of the same fatbin. With these the notes stay unread.

    Raises:
        BinaryError: If it is no cubin, or cannot be inflated.
    """
    beginning = Beginning(fill)
    try:
        header = elf.parse_header(beginning.header(), name)
        _refuse_others(header, name)
        first = _first_symbols(beginning, siblings) if can_be_told(header) else None
        notes = beginning.notes() if first is not None and siblings is None else Notes()
    finally:
        beginning.close()
    if first is None:
        return None
    relocatable, arch = header.type == elf.TYPE_RELOCATABLE, _arch_of_flags(header)
    return Contents(
        kernels=first.names,
        variables=first.variables,
        relocatable=relocatable,
        arch=arch,
        virtual=notes.virtual,
        toolkit=notes.toolkit,
    )


def _first_symbols(beginning: Beginning, siblings: Siblings | None) -> FirstSymbols | None:
    return beginning.symbols() if siblings is None else siblings.symbols(beginning)


def _refuse_others(header: elf.Header, name: str) -> None:
    if not header.is_cuda:
        raise BinaryError(f"{name} holds an ELF image that is not for CUDA.")


def read_arch(source: Source) -> Arch | None:
    """The architecture of a bare cubin with its suffix; None where it tells none.

    Raises:
        BinaryError: If it is damaged.
    """
    header = elf.read_header(source)
    return _arch(source, header, elf.read_sections(source, header))


def _read_all(source: Source, header: elf.Header, depth: Depth) -> Contents:
    sections = elf.read_sections(source, header)
    symbols = read_symbols(source, header, sections) or Symbols((), 0)
    details = None
    if depth is Depth.DETAILS:
        details = tuple(_kernels(source, header, sections, symbols))
    notes = read_notes(b"".join(_bytes(source, sections, name) for name in _NOTES))
    return Contents(
        kernels=_names(symbols),
        details=details,
        variables=symbols.variables,
        relocatable=header.type == elf.TYPE_RELOCATABLE,
        arch=_arch(source, header, sections),
        virtual=notes.virtual,
        toolkit=notes.toolkit,
    )


def _names(symbols: Symbols) -> tuple[str, ...]:
    return tuple(symbol.name for symbol in symbols.kernels)


def _arch_of_flags(header: elf.Header) -> Arch | None:
    return _arch_in(header.abi_version, header.flags)


# Thousands of images have few values of these among them.
@lru_cache(maxsize=64)
def _arch_in(abi_version: int, flags: int) -> Arch | None:
    layout = _FLAGS.get(abi_version)
    if layout is None:
        return None
    shift, mark = layout
    number = flags >> shift & 0xFF
    if number < 10:
        return None
    suffix = Suffix.ARCH if flags & mark else Suffix.PLAIN
    return Arch(Stage.REAL, ComputeCapability.from_number(number), suffix)


def _arch(source: Source, header: elf.Header, sections: tuple[elf.Section, ...]) -> Arch | None:
    """The architecture by all that can tell it, the strongest first."""
    arch = _arch_of_flags(header)
    if arch is None or arch.suffix is Suffix.ARCH:
        return arch
    number = str(arch.capability.number).encode()
    for match in _TOOL_OPTION.finditer(_bytes(source, sections, _TOOL_NOTE)):
        if match[1] == number:
            return Arch(Stage.REAL, arch.capability, Suffix(match[2].decode()))
    compat = _COMPAT_RECORD.match(_bytes(source, sections, _COMPAT))
    if compat is not None and compat[1] == b"\1":
        return Arch(Stage.REAL, arch.capability, Suffix.ARCH)
    return arch


def _bytes(source: Source, sections: tuple[elf.Section, ...], name: str) -> bytes:
    section = next((s for s in sections if s.name == name), None)
    return elf.read_section(source, section) if section else b""


def _kernels(
    source: Source, header: elf.Header, sections: tuple[elf.Section, ...], symbols: Symbols
) -> Iterator[Kernel]:
    registers = dict(_registers(_bytes(source, sections, _INFO), header.order))
    shared = {s.name: s.memory for s in sections if s.name.startswith(".nv.shared.")}
    for symbol in symbols.kernels:
        yield Kernel(
            name=symbol.name,
            binding=symbol.binding,
            size=symbol.size,
            registers=registers.get(symbol.index, _old_registers(sections, header, symbol)),
            shared=shared.get(f".nv.shared.{symbol.name}", 0),
        )


def _old_registers(
    sections: tuple[elf.Section, ...], header: elf.Header, symbol: Symbol
) -> int | None:
    """The registers which ABI 7 keeps in the row of the code's section."""
    if header.abi_version != 7 or symbol.section >= len(sections):
        return None
    return sections[symbol.section].info >> 24 or None


def _registers(info: bytes, order: str) -> Iterator[tuple[int, int]]:
    """Pairs of a symbol's row and its registers, from the attributes of a cubin."""
    place, row = 0, struct.Struct(order + "II")
    while place + 4 <= len(info):
        form, attribute, size = struct.unpack_from(order + "BBH", info, place)
        place += 4
        if form != _SIZED:
            continue
        if attribute == _REGISTERS and size == row.size and place + size <= len(info):
            yield row.unpack_from(info, place)
        place += size
