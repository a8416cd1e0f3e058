"""Writers of fatbins, ELF files and containers for tests, sound and broken ones."""

from __future__ import annotations

import struct
from pathlib import Path

from archbuild.binary.contents import Depth
from archbuild.binary.recognize import read_source
from archbuild.binary.source import BytesSource, StreamSource
from archbuild.model.image import DeviceFile

DATA = Path(__file__).parent / "data" / "reader"

PTX_TEXT = b".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry kernel()\n{ ret; }\n"


def entry(
    payload: bytes = PTX_TEXT,
    *,
    kind: int = 1,
    version: int = 0x0101,
    header: int | None = None,
    padded: int | None = None,
    compressed: int = 0,
    size: int = 0,
    isa: tuple[int, int] = (8, 7),
    sm: int = 90,
    flags: int = 0x11,
    extra: bytes = b"",
    options: int = 0,
    name: tuple[int, int] = (0, 0),
) -> bytes:
    """One entry; whatever is given is written as it is, true or not."""
    body = payload.ljust(-(-len(payload) // 8) * 8, b"\0")
    extra = extra.ljust(-(-len(extra) // 8) * 8, b"\0")
    fields = (
        kind,
        version,
        64 + len(extra) if header is None else header,
        len(body) if padded is None else padded,
        0,
        compressed,
        options,
        isa[1],
        isa[0],
        sm,
        *name,
        flags,
        0,
        size,
    )
    return struct.pack("<HHIIIIIHHIIIQQQ", *fields) + extra + body


def region(*entries: bytes, size: int | None = None) -> bytes:
    """A fatbin of these entries."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body) if size is None else size) + body


def elf(
    sections: list[tuple[str, bytes]],
    *,
    flags: int = 2,
    table_first: bool = False,
    machine: int = 62,
    padding: int = 0,
) -> bytes:
    """A 64-bit ELF library with these sections, the table at its end or start.

    Args:
        sections: Names and bytes.
        flags: Of every section: 2 is loaded, 4 executable.
        table_first: Put the section table right behind the header.
        machine: 62 is x86-64.
        padding: Zeros between the names of the sections and the table.
    """
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _ in sections) + b".shstrtab\0"
    count = len(sections) + 2
    place = 64 + (64 * count if table_first else 0)
    rows, body = [bytes(64)], b""
    for name, data in (*sections, (".shstrtab", names)):
        start = place + len(body)
        gap = -start % 8
        body += bytes(gap) + data
        index = names.index(b"\0" + name.encode() + b"\0") + 1
        kind, own = (3, 0) if name == ".shstrtab" else (1, flags)
        row = (index, kind, own, 0, start + gap, len(data), 0, 0, 8, 0)
        rows.append(struct.pack("<IIQQQQIIQQ", *row))
    body += bytes(padding + -(place + len(body)) % 8)
    table = 64 if table_first else place + len(body)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, table, 0, 64, 0, 0, 64, count, count - 1
    )
    return header + (b"".join(rows) + body if table_first else body + b"".join(rows))


def read_bytes(data: bytes, depth: Depth = Depth.DETAILS, name: str = "file") -> DeviceFile:
    """Read bytes as a file on the disk is read, in any order."""
    found = read_source(BytesSource(name, data), name, depth)
    assert found is not None
    return found


def read_stream(
    data: bytes, depth: Depth = Depth.DETAILS, *, chunk: int = 97, name: str = "file"
) -> DeviceFile:
    """Read bytes as the member of a wheel is read, piece by piece."""
    pieces = [data[i : i + chunk] for i in range(0, len(data), chunk)]
    source = StreamSource(name, len(data), lambda: iter(pieces))
    found = read_source(source, name, depth)
    assert found is not None
    return found


def archs(file: DeviceFile) -> list[str]:
    """The architectures of all images, in the order of the file."""
    return [str(image.arch) for image in file.images]
