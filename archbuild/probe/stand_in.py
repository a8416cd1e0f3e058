"""A library of two kilobytes that asks the loader for what a large one asks for.

Loading torch's own libraries takes half a second and runs their code. A stand-in
with the same needs and the same search path makes the loader of the system search
in the same way, and runs nothing of torch.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

# From the generic ABI: types of program headers, tags of the dynamic section.
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_NEEDED, _HASH, _STRTAB, _SYMTAB, _STRSZ, _SYMENT, _RPATH, _RUNPATH = 1, 4, 5, 6, 10, 11, 15, 29
_READ_WRITE = 6
_EHDR, _PHDR, _SYMBOL = 64, 56, 24
_ALIGN = 1 << 16  # AArch64 has pages of up to 64 KiB.
# One bucket without a chain: no symbol is to be found here.
_NO_SYMBOLS = struct.pack("<4I", 1, 1, 0, 0)


def write_stand_in(
    machine: int, needed: Sequence[str], *, rpath: Sequence[str], runpath: Sequence[str] = ()
) -> bytes:
    """A shared library without code, for a little-endian processor of 64 bits.

    Args:
        machine: The processor, as ELF numbers it.
        needed: The sonames that it asks for.
        rpath: Folders to search before LD_LIBRARY_PATH, absolute.
        runpath: Folders to search after it; with any the loader ignores ``rpath``.

    Returns:
        The file.
    """
    texts = _Texts()
    rows = [(_NEEDED, texts.add(name)) for name in needed]
    for tag, folders in ((_RPATH, rpath), (_RUNPATH, runpath)):
        if folders:
            rows.append((tag, texts.add(":".join(folders))))
    start = _EHDR + 3 * _PHDR
    symbols = start + (len(rows) + 6) * 16
    hashes = symbols + _SYMBOL
    names = hashes + len(_NO_SYMBOLS)
    rows += [(_HASH, hashes), (_STRTAB, names), (_SYMTAB, symbols)]
    rows += [(_STRSZ, len(texts.data)), (_SYMENT, _SYMBOL), (0, 0)]
    table = b"".join(struct.pack("<qQ", *row) for row in rows)
    rest = table + bytes(_SYMBOL) + _NO_SYMBOLS + bytes(texts.data)
    size = start + len(rest)
    headers = (
        _program(_LOAD, 0, size, _ALIGN),
        _program(_DYNAMIC, start, len(table), 8),
        # Without it the loader would make the whole stack executable, or refuse.
        _program(_STACK, 0, 0, 16),
    )
    return _header(machine) + b"".join(headers) + rest


class _Texts:
    """The table of strings, which begins with an empty one."""

    def __init__(self) -> None:
        self.data = bytearray(1)

    def add(self, text: str) -> int:
        place = len(self.data)
        self.data += text.encode("utf-8", "surrogateescape") + b"\0"
        return place


def _header(machine: int) -> bytes:
    ident = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)
    sizes = (_EHDR, _PHDR, 3, 0, 0, 0)
    return ident + struct.pack("<HHIQQQI6H", 3, machine, 1, 0, _EHDR, 0, 0, *sizes)


def _program(kind: int, place: int, size: int, align: int) -> bytes:
    return struct.pack("<II6Q", kind, _READ_WRITE, place, place, place, size, size, align)
