"""Streams that are inflated on their way: deflate, gzip, bzip2, xz, zstd.

Output is made in pieces of a bounded size, and may not grow beyond what the input
can honestly hold.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from archbuild.binary import limits
from archbuild.binary.compression import read_zstd
from archbuild.binary.source import Source
from archbuild.errors import BinaryError

# No deflate stream grows more than 1,032 times; other methods could, yet what people
# pack doesn't. A small file may claim this much anyway.
_RATIO = 1100
_ALWAYS = 1 << 28

# The first piece is small, since most members are only looked at.
_FIRST_INPUT = 1 << 13
_INPUT = 1 << 16
_RAW, _GZIP = -15, 31
_MEMORY = 1 << 28


class _Deflate:
    """zlib's object with the interface that bz2's and lzma's have."""

    def __init__(self, window: int) -> None:
        self._tool = zlib_like().decompressobj(window)

    @property
    def eof(self) -> bool:
        return bool(self._tool.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._tool.unused_data)

    @property
    def needs_input(self) -> bool:
        return not self._tool.unconsumed_tail

    def decompress(self, data: bytes, limit: int) -> bytes:
        return bytes(self._tool.decompress(self._tool.unconsumed_tail or data, limit))


_TOOLS: dict[str, Callable[[], Any]] = {
    "deflate": lambda: _Deflate(_RAW),
    "gzip": lambda: _Deflate(_GZIP),
    "bzip2": lambda: import_module("bz2").BZ2Decompressor(),
    "xz": lambda: import_module("lzma").LZMADecompressor(memlimit=_MEMORY),
}


@cache
def zlib_like() -> Any:
    """The fastest module here with zlib's interface: isal's where it is installed."""
    try:
        return import_module("isal.isal_zlib")
    except ImportError:
        return zlib


def bound(packed: int) -> int:
    """How many bytes this many packed ones may honestly become."""
    return packed * _RATIO + _ALWAYS


def inflated(source: Source, method: str) -> Iterator[bytes]:
    """The bytes of a packed source, piece by piece.

    Args:
        source: The packed bytes, and nothing else.
        method: ``deflate``, ``gzip``, ``bzip2``, ``xz``, ``zstd`` or ``stored``.

    Raises:
        BinaryError: If they are damaged, cut short, or grow beyond all measure.
    """
    pieces = _pieces(source, method)
    left = bound(source.size)
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            message = f"{source.name} grows beyond {bound(source.size)} bytes when unpacked."
            raise BinaryError(message, "No honest file does: it is made to mislead.")
        yield piece


def _pieces(source: Source, method: str) -> Iterator[bytes]:
    if method == "stored":
        return (piece for piece in _input(source))
    if method == "zstd":
        return read_zstd(source)
    return _by_tool(source, method)


def _by_tool(source: Source, method: str) -> Iterator[bytes]:
    make = _TOOLS[method]
    tool, pieces, data = make(), _input(source), b""
    errors = (zlib.error, zlib_like().error, OSError, EOFError, ValueError, *_xz_error(method))
    while True:
        if tool.eof:
            # gzip, bzip2 and xz files may be several, one after the other.
            data = (tool.unused_data or next(pieces, b"")).lstrip(b"\0")
            if not data:
                return
            tool = make()
        elif tool.needs_input and not (data := next(pieces, b"")):
            raise BinaryError(
                f"{source.name} ends in the middle of its packed data.",
                "It is cut short: get it again.",
            )
        try:
            piece = tool.decompress(data, limits.CHUNK)
        except errors as error:
            message = f"{source.name} holds damaged packed data: {error}."
            raise BinaryError(message, "Get it again from where it came from.") from None
        data = b""
        if piece:
            yield piece


def _xz_error(method: str) -> tuple[type[Exception], ...]:
    return (import_module("lzma").LZMAError,) if method == "xz" else ()


def _input(source: Source) -> Iterator[bytes]:
    place, size = 0, _FIRST_INPUT
    while data := source.peek(place, size):
        yield data
        place, size = place + len(data), _INPUT
