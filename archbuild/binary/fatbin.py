"""The headers of a fatbin: a region, its entries, and entries that hold others.

Nothing is decompressed here: kind, architecture, suffix, PTX ISA and sizes all
stand in the headers. Layouts were verified with fatbinary 13.0 and 13.5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from archbuild.binary import limits
from archbuild.binary.source import Source
from archbuild.errors import BinaryError
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix
from archbuild.model.image import Compression, Flag, ImageKind

#: What every region begins with: the magic, version 1, a header of 16 bytes.
REGION_MAGIC = struct.pack("<IHH", 0xBA55ED50, 1, 16)
REGION_HEADER = 16
ENTRY_HEADER = 64

_CONCATENATED = 0x100
_RELOCATABLE_PTX = 0x40
_ENTRY_VERSION = 0x0101
_ENTRY = struct.Struct("<HHIIIIIHHIIIQQQ")
# Most entries are this long with their options and identifier: one read for all.
_GLANCE = 256

_KINDS = {
    0x1: ImageKind.PTX,
    0x2: ImageKind.SASS,
    0x8: ImageKind.LTOIR,
    0x10: ImageKind.UNFINISHED,
    0x20: ImageKind.INDEX,
    0x40: ImageKind.PTX,
    0x80: ImageKind.TILEIR,
    _CONCATENATED: ImageKind.CONCATENATED,
}
_UNKNOWN = ImageKind.UNKNOWN
_STAGES = {
    ImageKind.SASS: Stage.REAL,
    ImageKind.PTX: Stage.VIRTUAL,
    ImageKind.LTOIR: Stage.LTO,
    ImageKind.TILEIR: Stage.VIRTUAL,
}
_SUFFIXES = {
    0: Suffix.PLAIN,
    Flag.ARCH_SPECIFIC.value: Suffix.ARCH,
    Flag.FAMILY_SPECIFIC.value: Suffix.FAMILY,
}
_SUFFIX_BITS = Flag.ARCH_SPECIFIC.value | Flag.FAMILY_SPECIFIC.value
_COMPRESSIONS = (
    (Flag.ZSTD.value, Compression.ZSTD),
    (Flag.LZ4.value, Compression.LZ4),
    (Flag.OLD_COMPRESSION.value, Compression.OLD),
)


@dataclass(frozen=True)
class Entry:
    """One entry as its header has it.

    Args:
        offset: Where the entry begins.
        payload: Where its bytes begin, after the header.
        number: The kind, as a number.
        kind: What it is; unknown where the number is new, or the header's layout is.
        sm: The SM number.
        version: The two version numbers; of PTX its ISA.
        flags: All flags.
        padded: Bytes from the header's end to the next entry.
        stored: Bytes in the file, as far as the header tells.
        size: Bytes when decompressed, as far as the header tells.
        identifier: The source's name, or empty.
        options: The options for ptxas, or empty.
        within: For an entry inside a concatenated one: where its bytes begin
            in the decompressed payload.
        whole: Bytes of that payload; of a plain entry the same as ``size``.
    """

    offset: int
    payload: int
    number: int
    kind: ImageKind
    sm: int
    version: tuple[int, int]
    flags: int
    padded: int
    stored: int
    size: int
    identifier: str = ""
    options: str = ""
    within: int | None = None
    whole: int = 0

    @property
    def is_relocatable_ptx(self) -> bool:
        """Whether it is PTX that has to go through a device link."""
        if self.kind is not ImageKind.PTX:
            return False
        marks = {"--compile-only", "-c"}
        return self.number == _RELOCATABLE_PTX or not marks.isdisjoint(self.options.split())

    @property
    def arch(self) -> Arch | None:
        """Its architecture with the suffix, None where none can be named."""
        if self.kind is _UNKNOWN:
            return None
        # By the number, since the hash of a kind is slow.
        return _arch(self.number, self.sm, self.flags & _SUFFIX_BITS)

    @property
    def isa(self) -> tuple[int, int] | None:
        """The PTX ISA, of PTX only."""
        return self.version if self.kind is ImageKind.PTX else None

    @property
    def compression(self) -> Compression:
        """How it is stored."""
        for bit, compression in _COMPRESSIONS:
            if self.flags & bit:
                return compression
        return Compression.NONE if self.whole == self.stored else Compression.UNKNOWN


@lru_cache(maxsize=1024)
def _arch(number: int, sm: int, marks: int) -> Arch | None:
    stage, suffix = _STAGES.get(_KINDS[number]), _SUFFIXES.get(marks)
    if stage is None or suffix is None or not 10 <= sm <= 999:
        return None
    return Arch(stage, ComputeCapability.from_number(sm), suffix)


def read_entry(source: Source, offset: int, stop: int) -> tuple[Entry, ...]:
    """The entry at ``offset``; the entries inside it where it is a concatenated one.

    Args:
        source: What holds it.
        offset: Where it begins.
        stop: Where its region ends.

    Raises:
        BinaryError: If its header is none, or it does not lie within the region.
    """
    glance = source.peek(offset, min(_GLANCE, stop - offset))
    if len(glance) < ENTRY_HEADER:
        raise _damaged(source, offset, "ends within its header")
    header_size, padded = struct.unpack_from("<II", glance, 4)
    if header_size < ENTRY_HEADER or offset + header_size + padded > stop:
        raise _damaged(source, offset, "does not fit into its fatbin")
    if header_size > limits.TABLE:
        raise _damaged(source, offset, f"has a header of {header_size} bytes")
    header = glance[:header_size]
    if header_size > len(glance):
        header = source.read(offset, header_size)
    entry = _parse(header, offset, offset + header_size, padded)
    if entry.kind is ImageKind.CONCATENATED:
        return tuple(_nested(source, entry, header)) or (entry,)
    return (entry,)


def _parse(header: bytes, offset: int, payload: int, padded: int) -> Entry:
    fields = _ENTRY.unpack_from(header)
    number, version, _, _, _, compressed, options, minor, major, sm, name, length = fields[:12]
    flags, _, size = fields[12:]
    stored = compressed or padded
    # What Entry(...) makes too, several times faster.
    entry = object.__new__(Entry)
    own = {
        "offset": offset,
        "payload": payload,
        "number": number,
        "kind": _KINDS.get(number, _UNKNOWN) if version == _ENTRY_VERSION else _UNKNOWN,
        "sm": sm,
        "version": (major, minor),
        "flags": flags,
        "padded": padded,
        "stored": min(stored, padded),
        "size": size or stored,
        "whole": size or stored,
        "identifier": _text(header, name, length) if name else "",
        "options": _options(header, options) if options and number != 0x2 else "",
        "within": None,
    }
    object.__setattr__(entry, "__dict__", own)
    return entry


def _options(header: bytes, place: int) -> str:
    if place + 8 > len(header):
        return ""
    return _text(header, *struct.unpack_from("<II", header, place))


def _text(header: bytes, place: int, length: int) -> str:
    raw = header[place : place + min(length, len(header))]
    return raw.decode("utf-8", "replace").strip("\0 ")


def _nested(source: Source, outer: Entry, header: bytes) -> Iterator[Entry]:
    """The entries in the table of a concatenated entry; none where it is odd."""
    if len(header) < ENTRY_HEADER + 8:
        return
    count, table = struct.unpack_from("<II", header, ENTRY_HEADER)
    place, stop = ENTRY_HEADER + 8, min(ENTRY_HEADER + table, len(header))
    if count > (stop - place) // ENTRY_HEADER:
        raise _damaged(source, outer.offset, f"claims {count} images inside it")
    for _ in range(count):
        own = header[place:stop]
        if len(own) < ENTRY_HEADER:
            raise _damaged(source, outer.offset, "ends within the list of its images")
        begin, size = struct.unpack_from("<II", own, 4)
        if begin + size > outer.size:
            raise _damaged(source, outer.offset, "points outside its own images")
        yield replace(
            _parse(own, outer.offset, outer.payload, outer.padded),
            flags=_ENTRY.unpack_from(own)[12] | _compression_bits(outer.flags),
            stored=outer.stored,
            size=size,
            within=begin,
            whole=outer.whole,
        )
        place += _nested_length(own)


def _compression_bits(flags: int) -> int:
    return flags & sum(bit for bit, _ in _COMPRESSIONS)


def _nested_length(header: bytes) -> int:
    """How long a header without a length of its own is: it ends after its texts."""
    options, name, length = (struct.unpack_from("<I", header, at)[0] for at in (20, 32, 36))
    stop = ENTRY_HEADER
    if name:
        stop = max(stop, name + length + 1)
    if options and options + 8 <= len(header):
        place, size = struct.unpack_from("<II", header, options)
        stop = max(stop, place + size + 1)
    return -(-stop // 8) * 8


def _damaged(source: Source, offset: int, what: str) -> BinaryError:
    message = f"{source.name}: the device image at {offset:#x} {what}."
    return BinaryError(message, "The file is cut short or damaged.")
