"""Undo the compression of a device image, within bounds, and no further than asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module

from archbuild.binary import limits
from archbuild.binary.beginning import Fill
from archbuild.binary.source import BytesSource, Source, StreamSource
from archbuild.errors import BinaryError, ToolError
from archbuild.model.image import Compression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What is read of the compressed bytes, and given of the inflated ones, at a time:
# small, since often only the beginning of an image is wanted.
_INPUT = 1 << 14
_OUTPUT = 1 << 16

# A byte of LZ4 stands for 255 at most, so a greater size is a lie.
_LZ4_RATIO = 255

# The longest reach back that zstd itself allows unless told otherwise.
_ZSTD_WINDOW = 1 << 27


def inflate(packed: Source, compression: Compression, size: int) -> Source | None:
    """The bytes of an image, inflated as they are read.

    Args:
        packed: Its bytes in the file.
        compression: How they are stored.
        size: How many there will be.

    Returns:
        A source of ``size`` bytes, or None for a compression that nobody
        outside NVIDIA knows how to undo.

    Raises:
        BinaryError: If the size cannot be true, or the bytes are damaged.
        ToolError: If the package that inflates them is not installed.
    """
    if compression is Compression.NONE:
        return packed
    if compression is Compression.ZSTD:
        return StreamSource(packed.name, size, lambda: read_zstd(packed))
    if compression is Compression.LZ4:
        return BytesSource(packed.name, _read_lz4(packed, size))
    return None


def read_zstd(packed: Source) -> Iterator[bytes]:
    """The inflated bytes of one zstd frame, chunk by chunk.

    Raises:
        BinaryError: If the frame is damaged.
        ToolError: If the package that inflates it is not installed.
    """
    if (package := _optional("zstandard")) is not None:
        yield from _by_package(package, packed)
    elif (library := _optional("compression.zstd")) is not None:
        yield from _by_library(library, packed)
    else:
        raise _missing("zstd", "zstandard")


class _Reader:
    """A source as the object with a ``read`` which decompressors want."""

    def __init__(self, source: Source) -> None:
        self._source, self._place = source, 0

    def read(self, size: int = _INPUT) -> bytes:
        data = self._source.peek(self._place, size)
        self._place += len(data)
        return data


# Tools that are not in use. Each holds some hundred kilobytes of working memory, which
# is dear to get anew for each of thousands of images.
_IDLE: list[Any] = []
_MOST_IDLE = 4


def _by_package(package: Any, packed: Source) -> Iterator[bytes]:
    with _package_stream(package, packed) as stream:
        while chunk := stream.read(_OUTPUT):
            yield chunk


@contextmanager
def _package_stream(package: Any, packed: Source) -> Iterator[Any]:
    try:
        tool = _IDLE.pop()
    except IndexError:
        tool = package.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    try:
        yield tool.stream_reader(_Reader(packed), read_size=_INPUT)
    except package.ZstdError as error:
        raise _damaged(packed, "zstd", error) from None
    finally:
        if len(_IDLE) < _MOST_IDLE:
            _IDLE.append(tool)


@contextmanager
def filled_by_zstd(packed: Source) -> Iterator[Fill]:
    """The inflated bytes of one zstd frame, put where they are wanted.

    Args:
        packed: The frame.

    Raises:
        BinaryError: If the frame is damaged.
        ToolError: If the package that inflates it is not installed.
    """
    package = _optional("zstandard")
    if package is None:
        yield _filled_by_pieces(read_zstd(packed))
    else:
        with _package_stream(package, packed) as stream:
            yield stream.readinto


def _filled_by_pieces(pieces: Iterator[bytes]) -> Fill:
    rest = b""

    def fill(memory: memoryview) -> int:
        nonlocal rest
        rest = rest or next(pieces, b"")
        count = min(len(rest), len(memory))
        memory[:count] = rest[:count]
        rest = rest[count:]
        return count

    return fill


def _by_library(library: Any, packed: Source) -> Iterator[bytes]:
    tool, reader = library.ZstdDecompressor(), _Reader(packed)
    try:
        while not tool.eof:
            data = reader.read() if tool.needs_input else b""
            if tool.needs_input and not data:
                return
            if chunk := tool.decompress(data, max_length=_OUTPUT):
                yield chunk
    except library.ZstdError as error:
        raise _damaged(packed, "zstd", error) from None


def _read_lz4(packed: Source, size: int) -> bytes:
    package = _optional("lz4.block")
    if package is None:
        raise _missing("LZ4", "lz4")
    if size > min(limits.WHOLE, packed.size * _LZ4_RATIO + 64):
        message = f"{packed.name}: {packed.size} bytes of LZ4 claim to be {size} bytes."
        raise BinaryError(message, "The file is damaged, or made to mislead.")
    try:
        data: bytes = package.decompress(packed.read(0, packed.size), uncompressed_size=size)
    except (package.LZ4BlockError, ValueError, OverflowError) as error:
        raise _damaged(packed, "LZ4", error) from None
    return data


def _damaged(packed: Source, what: str, error: Exception) -> BinaryError:
    return BinaryError(f"{packed.name} holds damaged {what} data: {error}.")


def _missing(what: str, package: str) -> ToolError:
    message = f"This device code is compressed with {what}, and no package can undo that."
    return ToolError(message, f"Install it: pip install {package}")


@cache
def _optional(name: str) -> Any:
    """A module if it is there; architectures are listed without any of them."""
    try:
        return import_module(name)
    except ImportError:
        return None
