"""What a shared library asks of the loader: the libraries it needs and where to look."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from archbuild.binary.elf import Header, Section, read_header, read_section, read_sections
from archbuild.binary.source import Source

_SECTION = 6  # SHT_DYNAMIC
# Tags of its rows, from the generic ABI.
_END, _NEEDED, _SONAME, _RPATH, _RUNPATH = 0, 1, 14, 15, 29
# Bytes of one name or list of folders; some have two hundred folders.
_LONGEST = 1 << 15


@dataclass(frozen=True)
class Dynamic:
    """The part of a library's dynamic section that names other libraries.

    Args:
        machine: The processor, as ELF numbers it: 62 x86-64, 183 AArch64.
        bits: 32 or 64.
        order: ``<`` or ``>``, as :mod:`struct` has it.
        needed: Sonames, in the file's order.
        soname: Its own; None: it has none.
        rpath: Folders that come before LD_LIBRARY_PATH, and are handed down.
        runpath: Folders that come after LD_LIBRARY_PATH; with any, ``rpath`` is ignored.
    """

    machine: int
    bits: int
    order: str
    needed: tuple[str, ...] = ()
    soname: str | None = None
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def read_dynamic(source: Source) -> Dynamic:
    """What a library asks of the loader; nothing where it has no dynamic section.

    Args:
        source: The library; ``$ORIGIN`` and the like are left as they stand.

    Raises:
        BinaryError: If it is no ELF file, or a damaged one.
    """
    header = read_header(source)
    sections = read_sections(source, header)
    table = next((section for section in sections if section.type == _SECTION), None)
    if table is None or not 0 < table.link < len(sections):
        return Dynamic(header.machine, header.bits, header.order)
    names = sections[table.link]
    rows = [(tag, _text(source, names, place)) for tag, place in _rows(source, header, table)]
    return Dynamic(
        machine=header.machine,
        bits=header.bits,
        order=header.order,
        needed=tuple(text for tag, text in rows if tag == _NEEDED and text),
        soname=next((text for tag, text in rows if tag == _SONAME and text), None),
        rpath=_folders(rows, _RPATH),
        runpath=_folders(rows, _RUNPATH),
    )


def _rows(source: Source, header: Header, table: Section) -> list[tuple[int, int]]:
    """The rows whose value is a place among the names, up to the one that ends them."""
    form = struct.Struct(header.order + ("qQ" if header.bits == 64 else "iI"))
    data = read_section(source, table)
    rows = list(form.iter_unpack(data[: len(data) // form.size * form.size]))
    end = next((i for i, (tag, _) in enumerate(rows) if tag == _END), len(rows))
    wanted = (_NEEDED, _SONAME, _RPATH, _RUNPATH)
    return [(tag, value) for tag, value in rows[:end] if tag in wanted]


def _text(source: Source, names: Section, place: int) -> str:
    """One name; a large library has megabytes of them, so that only this one is read."""
    data = source.peek(names.offset + place, min(_LONGEST, names.size - place))
    # As the system decodes file names, so that any of them can be looked for.
    return data.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _folders(rows: list[tuple[int, str]], wanted: int) -> tuple[str, ...]:
    text = next((text for tag, text in rows if tag == wanted), "")
    return tuple(filter(None, text.split(":")))
