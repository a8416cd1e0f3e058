"""What the host's side of a library says of its kernels.

The host makes each kernel known to the runtime by its mangled name, which stands
among the strings of its read-only data. What a device link has to define, the host
calls by symbols that are undefined without it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import chain

from archbuild.binary import elf, limits
from archbuild.binary.source import Source
from archbuild.model.image import Linkage, Region

#: What the host calls for relocatable code, and only a device link defines.
LINK_SYMBOL = b"__cudaRegisterLinkedBinary_"

_DYNSYM = 11
_ROW = struct.Struct("<IBBHQQ")

# Names longer than this are looked for whole only.
_LONGEST = 1 << 12


def unnamed_kernels(regions: Iterable[Region], strings: Iterable[Source]) -> tuple[str, ...] | None:
    """The kernels of a file whose names the host doesn't hold.

    Linkers merge the tails of strings, so the end of a longer string counts as well:
    the name with its final zero, wherever it begins.

    Args:
        regions: With their kernels read.
        strings: The host's read-only data, which is read twice.

    Returns:
        In the order of the file. None where the host names none of them, which means
        that it registers in another way, or where there is none.

    Raises:
        BinaryError: If the data cannot be read.
    """
    images = (i for r in regions if r.linkage is not Linkage.RELOCATABLE for i in r.images)
    known = dict.fromkeys(chain.from_iterable({i.kernels: None for i in images if i.kernels}))
    held = tuple(strings)
    left = {name.encode() for name in known}
    wanted = len(left)
    for text in _strings(held):
        left.discard(text)
    if not left:
        return () if wanted else None
    _discard_tails(left, held)
    return tuple(n for n in known if n.encode() in left) if len(left) < wanted else None


def _discard_tails(left: set[bytes], held: tuple[Source, ...]) -> None:
    lengths = sorted({len(name) for name in left if len(name) <= _LONGEST})
    for text in _strings(held):
        for length in lengths:
            if length >= len(text):
                break
            if text[-length:] in left:
                left.discard(text[-length:])


def _strings(sources: Iterable[Source]) -> Iterator[bytes]:
    """Every string that ends in a zero, block by block."""
    for source in sources:
        place, rest = 0, b""
        while place < source.size:
            data = source.read(place, min(limits.CHUNK, source.size - place))
            pieces = (rest + data).split(b"\0")
            rest = pieces.pop()[-_LONGEST:]
            place += len(data)
            yield from pieces


def wanting_link(
    source: Source, header: elf.Header, sections: tuple[elf.Section, ...]
) -> tuple[str, ...]:
    """The undefined dynamic symbols that only a device link defines.

    Args:
        source: The library.
        header: Its ELF header.
        sections: Its sections.

    Raises:
        BinaryError: If its tables are damaged.
    """
    table = next((s for s in sections if s.type == _DYNSYM), None)
    if table is None or header.bits != 64 or table.link >= len(sections):
        return ()
    names = elf.read_section(source, sections[table.link])
    if LINK_SYMBOL not in names:
        return ()
    rows = elf.read_section(source, table)
    rows = rows[: len(rows) // _ROW.size * _ROW.size]
    starts = [row[0] for row in struct.iter_unpack(header.order + "IBBHQQ", rows) if row[3] == 0]
    own = (names[start : names.find(b"\0", start)] for start in starts)
    return tuple(name.decode("utf-8", "replace") for name in own if name.startswith(LINK_SYMBOL))
