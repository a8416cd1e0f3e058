"""What kind of file this is and which sections it has, without its device code.

cuobjdump says "does not contain device code" of a truncated library, of a
Windows DLL and of a library with its code in an unusual place alike, and it
never says which images are relocatable. This is just enough of the host
formats to tell these apart, and to judge files before they reach it.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from archbuild.errors import BinaryError

#: ELF section names, from the CUDA and HIP compilers: facts of the formats.
EXECUTABLE_SECTION = ".nv_fatbin"
RELOCATABLE_SECTION = "__nv_relfatbin"

#: u32 magic, u16 version 1, u16 header size 16: how every fatbin begins.
FATBIN_MAGIC = struct.pack("<IHH", 0xBA55ED50, 1, 16)
#: Where the second field of a fatbin's first entry stands, and what it says.
_ENTRY_VERSION = (18, b"\x01\x01")
_ET_REL = 1
_EM_CUDA = 190
_SHT_PROGBITS = 1
_SHT_NOBITS = 8
_ALLOC, _EXECINSTR = 2, 4
_MAX_TABLE = 64 << 20


class Form(Enum):
    """The kind of a file, by its first bytes."""

    ELF = "ELF file"
    CUBIN = "cubin"
    ARCHIVE = "static archive"
    PE = "Windows binary"
    COFF = "Windows object"
    FATBIN = "fatbin"
    ZIP = "zip archive"
    OTHER = "unknown"


@dataclass(frozen=True)
class Part:
    """One ELF file: the whole of a library, or a member of an archive.

    Args:
        sections: Names of its sections that hold bytes; empty where it has
            no section table.
        is_cubin: Whether its machine is CUDA.
        is_object: Whether it is an object (ET_REL), not a linked file.
        elsewhere: Where its data lies that is in no section for device code: first
            byte and bytes, in the file or archive.
    """

    sections: frozenset[str]
    is_cubin: bool = False
    is_object: bool = False
    elsewhere: tuple[tuple[int, int], ...] = ()

    @property
    def has_executable(self) -> bool:
        """Whether there is code that a driver loads as it is."""
        return EXECUTABLE_SECTION in self.sections

    @property
    def has_relocatable(self) -> bool:
        """Whether there is code that awaits a device link."""
        return RELOCATABLE_SECTION in self.sections


@dataclass(frozen=True)
class Outline:
    """A file seen from outside.

    Args:
        form: What it is.
        size: Bytes.
        parts: The ELF file itself, or the ELF members of an archive in order.
    """

    form: Form
    size: int
    parts: tuple[Part, ...] = ()


def sniff(head: bytes) -> Form:
    """The kind of a file from its first 32 bytes or more."""
    if head.startswith(b"\x7fELF"):
        machine = head[18:20]
        return Form.CUBIN if machine == _EM_CUDA.to_bytes(2, "little") else Form.ELF
    if head.startswith((b"!<arch>\n", b"!<thin>\n")):
        return Form.ARCHIVE
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Form.ZIP
    if head.startswith(FATBIN_MAGIC):
        return Form.FATBIN
    if head.startswith(b"MZ"):
        return Form.PE
    if head[:2] == b"\x64\x86" or head[:4] == b"\x00\x00\xff\xff":
        return Form.COFF
    return Form.OTHER


def open_regular(path: Path, name: str) -> BinaryIO:
    """Open a file for reading, if it is one.

    Args:
        path: Where it is.
        name: What a person calls it.

    Raises:
        BinaryError: If it is missing, empty, not a regular file (a pipe would
            wait for ever), or may not be read.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BinaryError(
                f"{name} is {_kind(status.st_mode)}, not a file.",
                "Name a library, an object, an archive, a wheel or a folder.",
            )
        if status.st_size == 0:
            raise BinaryError(f"{name} is empty.", "Build or download it again.")
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None


def read_head(path: Path, name: str) -> bytes:
    """The first 64 bytes of a file, enough for :func:`sniff`.

    Raises:
        BinaryError: As :func:`open_regular`, or if reading fails.
    """
    with open_regular(path, name) as file:
        try:
            return file.read(64)
        except OSError as error:
            raise unreadable(name, error) from None


def unreadable(name: str, error: Exception) -> BinaryError:
    """The error of the system as ours, in one sentence."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return BinaryError(f"{name} does not exist.", "Check the path.")
    if isinstance(error, PermissionError):
        return BinaryError(f"{name} may not be read by this user.", "Check its permissions.")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return BinaryError(f"{name} cannot be read: {reason}.")


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((text for test, text in kinds if test(mode)), "a device")


def read_outline(path: Path, name: str | None = None) -> Outline:
    """Look at a file from outside.

    Args:
        path: The file.
        name: What a person calls it; the path where not given.

    Raises:
        BinaryError: If it is missing, truncated, or cannot be read.
    """
    name = str(path) if name is None else name
    form = sniff(read_head(path, name))
    with open_regular(path, name) as file:
        size = os.fstat(file.fileno()).st_size
        if form in (Form.ELF, Form.CUBIN):
            return Outline(form, size, (_read_elf(_Window(file, 0, size, name)),))
        if form is Form.ARCHIVE:
            return Outline(form, size, tuple(_read_archive(_Window(file, 0, size, name))))
        return Outline(form, size)


def holds_fatbin(path: Path, places: Iterable[tuple[int, int]]) -> bool:
    """Whether a fatbin with an entry begins in one of these places of a file.

    Args:
        path: The file, which must not be empty.
        places: First byte and bytes of each.
    """
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return any(_begins_fatbin(data, start, start + size) for start, size in places)


def _begins_fatbin(data: mmap.mmap, start: int, stop: int) -> bool:
    field, version = _ENTRY_VERSION
    at = data.find(FATBIN_MAGIC, start, stop)
    while at >= 0:
        if data[at + field : at + field + len(version)] == version:
            return True
        at = data.find(FATBIN_MAGIC, at + 1, stop)
    return False


@dataclass(frozen=True)
class _Window:
    """A stretch of an open file that must hold what its headers promise."""

    file: BinaryIO
    base: int
    size: int
    name: str

    def take(self, offset: int, count: int) -> bytes:
        """Bytes of a table; an error where the stretch ends before them."""
        if count > _MAX_TABLE:
            raise BinaryError(f"{self.name} is damaged: it tells of {count} bytes of tables.")
        self.require(offset + count)
        try:
            self.file.seek(self.base + offset)
            data = self.file.read(count)
        except (OSError, OverflowError, ValueError) as error:
            raise unreadable(self.name, error) from None
        if len(data) != count:
            raise self.truncated()
        return data

    def require(self, end: int) -> None:
        """An error unless the stretch reaches as far as ``end``."""
        if end > self.size:
            raise self.truncated()

    def truncated(self) -> BinaryError:
        """The error to raise where bytes are missing."""
        message = f"{self.name} is truncated: its header names bytes beyond its end."
        return BinaryError(message, "Build or download it again.")


_Header = tuple[int, ...]  # name, type, flags, address, offset, size, link


def _read_elf(window: _Window) -> Part:
    """Sections of an ELF file; 64 bits, little-endian, as CUDA's hosts are."""
    window.require(52)
    ident = window.take(0, min(window.size, 64))
    if ident[4] != 2 or ident[5] != 1:
        return Part(frozenset())
    window.require(64)
    kind, machine = struct.unpack_from("<HH", ident, 16)
    phoff, shoff = struct.unpack_from("<QQ", ident, 32)
    phsize, phnum, shsize, shnum, strings = struct.unpack_from("<5H", ident, 54)
    window.require(phoff + phnum * phsize if phnum else 0)
    if not shoff:
        return Part(frozenset(), machine == _EM_CUDA, kind == _ET_REL)
    table = _section_table(window, shoff, shsize, shnum)
    named = _named_sections(window, table, strings)
    elsewhere = tuple(
        (window.base + header[4], header[5]) for name, header in named if _is_data(name, header)
    )
    names = frozenset(name for name, _ in named)
    return Part(names, machine == _EM_CUDA, kind == _ET_REL, elsewhere)


def _is_data(name: str, header: _Header) -> bool:
    loaded = header[2] & (_ALLOC | _EXECINSTR) == _ALLOC
    special = name in (EXECUTABLE_SECTION, RELOCATABLE_SECTION)
    return header[1] == _SHT_PROGBITS and loaded and not special


def _section_table(window: _Window, offset: int, stride: int, count: int) -> list[_Header]:
    if stride != 64:
        message = f"{window.name} is damaged: its section headers have {stride} bytes, not 64."
        raise BinaryError(message, "Build or download it again.")
    if count == 0:  # more than 65,279 sections: the number is in the first header
        count = struct.unpack_from("<Q", window.take(offset, 64), 32)[0]
    window.require(offset + count * stride)
    table = window.take(offset, count * stride)
    return [struct.unpack_from("<IIQQQQI", table, i * stride) for i in range(count)]


def _named_sections(window: _Window, table: list[_Header], index: int) -> list[tuple[str, _Header]]:
    if index == 0xFFFF and table:
        index = table[0][6]
    if index >= len(table):
        raise BinaryError(f"{window.name} is damaged: its section names are nowhere.")
    text = window.take(table[index][4], table[index][5])
    named = []
    for header in table[1:]:
        start, kind, _flags, _address, offset, length, _link = header
        if kind == _SHT_NOBITS or not length:
            continue
        window.require(offset + length)
        name = text[start : text.find(b"\0", start)].decode("ascii", "replace")
        named.append((name, header))
    return named


def _read_archive(window: _Window) -> Iterator[Part]:
    """The ELF members of a static archive, in order."""
    if window.take(0, 8) == b"!<thin>\n":
        raise BinaryError(
            f"{window.name} is a thin archive, which holds only the names of other files.",
            "Name the objects themselves.",
        )
    offset = 8
    while offset < window.size:
        header = window.take(offset, 60)
        digits = header[48:58].strip()
        if header[58:60] != b"`\n" or not digits.isdigit():
            message = f"{window.name} is damaged: no archive member at byte {offset}."
            raise BinaryError(message, "Build or download it again.")
        length = int(digits)
        window.require(offset + 60 + length)
        yield from _read_member(window, offset + 60, length, header)
        offset += 60 + length + length % 2


def _read_member(window: _Window, offset: int, length: int, header: bytes) -> Iterator[Part]:
    if header.startswith(b"#1/"):  # BSD: the name comes first, its length is in the header
        digits = header[3:16].strip()
        skip = int(digits) if digits.isdigit() else 0
        offset, length = offset + skip, length - skip
    if length >= 64 and window.take(offset, 4) == b"\x7fELF":
        yield _read_elf(_Window(window.file, window.base + offset, length, window.name))
