"""Inflating within bounds: what is asked for, no more, and no lies believed."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import random
import zlib

import lz4.block
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import compression, inflating, limits
from archbuild.binary.compression import inflate
from archbuild.binary.source import BytesSource, Source
from archbuild.errors import BinaryError, ToolError
from archbuild.model.image import Compression

TEXT = b"".join(b"line %d of a text that packs well\n" % i for i in range(20_000))
ZSTD, LZ4 = Compression.ZSTD, Compression.LZ4


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def block(data: bytes) -> bytes:
    return lz4.block.compress(data, store_size=False)


def opened(data: bytes, kind: Compression, size: int) -> Source:
    source = inflate(BytesSource("image", data), kind, size)
    assert source is not None
    return source


@pytest.mark.parametrize(("kind", "pack"), [(ZSTD, zstd), (LZ4, block), (Compression.NONE, bytes)])
def test_inflated_bytes_are_read_anywhere(kind: Compression, pack) -> None:
    source = opened(pack(TEXT), kind, len(TEXT))
    for place in (0, 100, len(TEXT) - 10, 5, 300_000):
        assert source.read(place, 10) == TEXT[place : place + 10]


@pytest.mark.parametrize("name", ["zstandard", "compression.zstd"])
def test_only_as_much_is_inflated_as_is_asked_for(name: str, monkeypatch) -> None:
    if compression._optional(name) is None:
        pytest.skip(f"this Python has no {name}")
    only = compression._optional(name)
    monkeypatch.setattr(compression, "_optional", lambda asked: only if asked == name else None)
    given_bytes = []
    original = compression._Reader.read

    def read(self, size=compression._INPUT):
        data = original(self, size)
        given_bytes.append(len(data))
        return data

    monkeypatch.setattr(compression._Reader, "read", read)
    noise = random.Random(0).randbytes(1 << 20)
    packed = zstd(noise)
    assert opened(packed, ZSTD, len(noise)).read(0, 100) == noise[:100]
    assert sum(given_bytes) < len(packed) / 4


@pytest.mark.parametrize(
    ("kind", "data", "size"),
    [
        (ZSTD, zstd(TEXT), len(TEXT) - 1),
        (ZSTD, zstd(TEXT), len(TEXT) + 1),
        (ZSTD, zstd(TEXT)[:-20], len(TEXT)),
        (ZSTD, zstd(TEXT)[:2000] + b"\xff" * 3000, len(TEXT)),
        (ZSTD, b"no zstd at all", 100),
        (ZSTD, b"", 100),
        (LZ4, block(TEXT), len(TEXT) - 1),
        (LZ4, block(TEXT)[:-20], len(TEXT)),
        (LZ4, b"\xff" * 100, 200),
        (LZ4, b"", 10),
    ],
)
def test_damage_and_lies_are_errors_that_name_the_image(kind, data: bytes, size: int) -> None:
    with pytest.raises(BinaryError, match="image"):
        opened(data, kind, size).read(0, size)


def test_an_lz4_block_cannot_claim_more_than_it_can_hold() -> None:
    with pytest.raises(BinaryError, match="claim to be 4294967295 bytes"):
        opened(block(TEXT), LZ4, 0xFFFFFFFF)


def test_an_lz4_block_cannot_claim_more_than_memory_holds(monkeypatch) -> None:
    monkeypatch.setattr(limits, "WHOLE", 1000)
    with pytest.raises(BinaryError, match="made to mislead"):
        opened(block(TEXT), LZ4, len(TEXT))


def test_a_bomb_is_inflated_no_further_than_it_declares() -> None:
    bomb = zstd(bytes(100 << 20))
    source = opened(bomb, ZSTD, 1000)
    with pytest.raises(BinaryError, match="longer than the 1000 bytes"):
        source.read(0, 1000)


@pytest.mark.parametrize("kind", [Compression.OLD, Compression.UNKNOWN])
def test_what_nobody_can_undo_gives_nothing(kind: Compression) -> None:
    assert inflate(BytesSource("image", b"1234"), kind, 10) is None


@pytest.mark.parametrize(("kind", "package"), [(ZSTD, "zstandard"), (LZ4, "lz4")])
def test_a_missing_package_is_told_with_the_cure(kind, package: str, monkeypatch) -> None:
    monkeypatch.setattr(compression, "_optional", lambda name: None)
    with pytest.raises(ToolError, match=f"pip install {package}"):
        opened(b"1234", kind, 10).read(0, 10)


@given(st.sampled_from([ZSTD, LZ4]), st.binary(max_size=200), st.integers(0, 5000))
def test_no_bytes_crash_it(kind: Compression, data: bytes, size: int) -> None:
    for start in (b"", zstd(b"abc")[:6]):
        with contextlib.suppress(BinaryError):
            opened(start + data, kind, size).read(0, size)


PACKERS = {
    "deflate": lambda data: zlib.compress(data)[2:-4],
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
    "stored": bytes,
}


@pytest.mark.parametrize("method", PACKERS)
@pytest.mark.parametrize("fast", [True, False])
def test_streams_of_every_method(method: str, fast: bool, monkeypatch) -> None:
    if not fast:
        monkeypatch.setattr(inflating, "zlib_like", lambda: zlib)
    packed = BytesSource("stream", PACKERS[method](TEXT))
    pieces = list(inflating.inflated(packed, method))
    assert b"".join(pieces) == TEXT
    assert max(map(len, pieces)) <= limits.CHUNK


@pytest.mark.parametrize("method", ["gzip", "bzip2", "xz"])
def test_several_streams_one_after_the_other(method: str) -> None:
    packed = PACKERS[method](TEXT) + PACKERS[method](b"and more") + bytes(8)
    assert b"".join(inflating.inflated(BytesSource("s", packed), method)) == TEXT + b"and more"


@pytest.mark.parametrize("method", ["deflate", "gzip", "bzip2", "xz"])
@pytest.mark.parametrize("fast", [True, False])
def test_streams_cut_short_or_damaged_are_errors(method: str, fast: bool, monkeypatch) -> None:
    if not fast:
        monkeypatch.setattr(inflating, "zlib_like", lambda: zlib)
    packed = PACKERS[method](TEXT)
    for broken in (packed[:-9], packed[:100], packed[:50] + b"\xff" * 90 + packed[140:], b""):
        with pytest.raises(BinaryError, match="stream"):
            list(inflating.inflated(BytesSource("stream", broken), method))


@pytest.mark.parametrize("method", ["gzip", "bzip2", "xz", "zstd"])
def test_a_stream_may_not_grow_beyond_all_measure(method: str, monkeypatch) -> None:
    monkeypatch.setattr(inflating, "_ALWAYS", 1 << 20)
    monkeypatch.setattr(inflating, "_RATIO", 10)
    packed = PACKERS[method](bytes(8 << 20))
    with pytest.raises(BinaryError, match="made to mislead"):
        list(inflating.inflated(BytesSource("stream", packed), method))
