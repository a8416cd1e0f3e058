"""Wheels and other zip files, read as streams: nothing is unpacked to the disk."""

from __future__ import annotations

import stat
import struct
import zipfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from archbuild.binary import limits
from archbuild.binary.inflating import inflated, zlib_like
from archbuild.binary.source import FileSource, Source, StreamSource
from archbuild.errors import BinaryError

_METHODS = {0: "stored", 8: "deflate", 12: "bzip2", 93: "zstd"}
_LOCAL = struct.Struct("<4s5H3I2H")
_LOCAL_MAGIC = b"PK\x03\x04"
_ENCRYPTED = 0x1
# What the standard library raises over a damaged directory.
_ERRORS = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,
    OSError,
    ValueError,
    EOFError,
    OverflowError,
    IndexError,
    struct.error,
)


@dataclass(frozen=True)
class ZipMember:
    """One file in a zip file.

    Args:
        name: As the directory has it; never used as a path.
        source: Its bytes, inflated as they are read.
    """

    name: str
    source: StreamSource


def read_members(
    file: IO[bytes], whole: FileSource, first: Callable[[str], bool] | None = None
) -> Iterator[ZipMember]:
    """The members of a zip file, in the order in which they lie.

    Args:
        file: The open file.
        whole: The same file as a source.
        first: Members with these names come before all others.

    Raises:
        BinaryError: If its directory or a member is damaged or encrypted, or if
            members share bytes, which only a file made to mislead does.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            infos, end = archive.infolist(), archive.start_dir
    except _ERRORS as error:
        message = f"{whole.name} cannot be read as a zip file: {error}."
        raise BinaryError(message, "It is cut short or damaged: get it again.") from None
    if len(infos) > limits.MEMBERS:
        raise BinaryError(f"{whole.name} claims more than {limits.MEMBERS} members.")
    _refuse_twins(whole.name, infos)
    infos.sort(key=lambda info: info.header_offset)
    starts = [info.header_offset for info in infos]
    if first is not None:
        infos.sort(key=lambda info: not first(info.filename))
    for info in infos:
        # The bytes of a symbolic link are the name of another file.
        if not info.filename.endswith("/") and not stat.S_ISLNK(info.external_attr >> 16):
            following = bisect_right(starts, info.header_offset)
            stop = starts[following] if following < len(starts) else end
            yield ZipMember(info.filename, _member(whole, info, stop))


def _refuse_twins(name: str, infos: list[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    for info in infos:
        if info.filename in seen:
            message = (
                f"{name} holds {info.filename} twice; which one is installed, the tool decides."
            )
            raise BinaryError(message, "Build it again.")
        seen.add(info.filename)


def _member(whole: FileSource, info: zipfile.ZipInfo, stop: int) -> StreamSource:
    name = f"{whole.name}: {info.filename}"
    method = _METHODS.get(info.compress_type)
    if info.flag_bits & _ENCRYPTED:
        raise BinaryError(f"{name} is encrypted.", "Give the file without a password.")
    if method is None:
        message = f"{name} is packed by method {info.compress_type}, which is not known here."
        raise BinaryError(message, "Pack it again by deflate.")
    packed = _packed(whole, info, stop, name)
    return StreamSource(name, info.file_size, lambda: _checked(packed, method, info.CRC))


def _packed(whole: FileSource, info: zipfile.ZipInfo, stop: int, name: str) -> Source:
    header = _LOCAL.unpack(whole.read(info.header_offset, _LOCAL.size))
    start = info.header_offset + _LOCAL.size + header[-2] + header[-1]
    if header[0] != _LOCAL_MAGIC or start + info.compress_size > stop:
        message = f"{name} does not lie where the directory says."
        raise BinaryError(message, "The file is damaged, or made to mislead.")
    return whole.view(start, info.compress_size, name)


def _checked(packed: Source, method: str, expected: int) -> Iterator[bytes]:
    crc32, crc = zlib_like().crc32, 0
    for piece in inflated(packed, method):
        crc = crc32(piece, crc)
        yield piece
    if crc != expected:
        message = f"{packed.name} is damaged: its checksum is wrong."
        raise BinaryError(message, "Get the file again from where it came from.")
