"""Sources of bytes: files, memory and streams give the same answers."""

from __future__ import annotations

import io
import os
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import limits
from archbuild.binary.source import BytesSource, FileSource, Source, StreamSource
from archbuild.errors import BinaryError

DATA = bytes(range(256)) * 8


def stream(data: bytes = DATA, chunk: int = 100, size: int | None = None) -> StreamSource:
    pieces = [data[i : i + chunk] for i in range(0, len(data), chunk)]
    return StreamSource("stream", len(data) if size is None else size, lambda: iter(pieces))


def file(tmp_path, data: bytes = DATA) -> FileSource:
    path = tmp_path / "file"
    path.write_bytes(data)
    handle = io.FileIO(path)
    source = FileSource("file", handle, len(data))
    weakref.finalize(source, handle.close)
    return source


@given(
    st.integers(1, 300),
    st.lists(st.tuples(st.integers(0, 2100), st.integers(0, 300)), max_size=8),
)
def test_a_stream_reads_like_memory_in_any_order(chunk: int, places) -> None:
    source, whole = stream(chunk=chunk), BytesSource("memory", DATA)
    for offset, size in places:
        assert source.peek(offset, size) == whole.peek(offset, size)


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=3), st.integers(1, 7))
def test_finding_across_the_seams_of_a_stream(data: bytes, needle: bytes, chunk: int) -> None:
    source = stream(data, chunk)
    for start in range(0, len(data), 5):
        for stop in (start, start + 4, len(data)):
            assert stream(data, chunk).find(needle, start, stop) == data.find(needle, start, stop)
            assert source.view(0, len(data)).find(needle, start, stop) == data.find(
                needle, start, stop
            )
            source = stream(data, chunk)


def test_finding_in_a_file_across_chunks(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(limits, "CHUNK", 10)
    source = file(tmp_path, b"." * 27 + b"needle" + b"." * 30)
    assert source.find(b"needle", 0, source.size) == 27
    assert source.view(20, 20).find(b"needle", 0, 20) == 7
    assert source.find(b"needle", 0, 32) == -1


def sources(tmp_path) -> list[Source]:
    return [BytesSource("memory", DATA), stream(), file(tmp_path), stream().view(0, len(DATA))]


def test_reading_beyond_the_end_names_file_and_place(tmp_path) -> None:
    for source in sources(tmp_path):
        assert source.read(2000, 48) == DATA[2000:]
        with pytest.raises(BinaryError, match=f"{source.name}.*2048.*0x7d0"):
            source.read(2000, 49)
        for offset, size in [(1 << 70, 1), (0, 1 << 70), (-1, 1)]:
            with pytest.raises(BinaryError):
                source.read(offset, size)
        assert source.peek(1 << 70, 8) == b""
        assert source.find(b"\x00", 1 << 70, 1 << 71) == -1
        assert source.find(b"\xff\x00\x01", 2040, 1 << 71) == -1
        with pytest.raises(BinaryError):
            source.view(2000, 100)


def test_a_file_that_shrinks_while_it_is_read_is_an_error(tmp_path) -> None:
    source = file(tmp_path)
    assert source.read(0, 4) == DATA[:4]
    os.truncate(tmp_path / "file", 1000)
    with pytest.raises(BinaryError, match="cut short or damaged"):
        source.read(990, 20)
    assert source.find(b"\xff\x00\x01", 900, source.size) == -1


def test_a_stream_that_ends_early_or_late_is_an_error() -> None:
    with pytest.raises(BinaryError, match="ends after 2048 of 3000"):
        stream(size=3000).finish()
    with pytest.raises(BinaryError):
        stream(size=3000).read(2040, 20)
    with pytest.raises(BinaryError, match="longer than the 2000 bytes"):
        stream(size=2000).finish()
    stream().finish()


def test_going_back_is_allowed_a_few_times_only(monkeypatch) -> None:
    monkeypatch.setattr(limits, "HISTORY", 100)
    source = stream()
    for _ in range(limits.REOPENS):
        source.read(2000, 8)
        assert source.read(0, 8) == DATA[:8]
    source.read(2000, 8)
    with pytest.raises(BinaryError, match="cannot be read as a stream"):
        source.read(0, 8)


def test_what_has_passed_lately_is_kept() -> None:
    source = stream()
    source.read(2000, 48)
    for offset in (1990, 1000, 0):
        assert source.read(offset, 8) == DATA[offset : offset + 8]


def test_a_stream_keeps_no_more_than_its_history(monkeypatch) -> None:
    monkeypatch.setattr(limits, "HISTORY", 300)
    source = stream(DATA * 10)
    for offset in range(0, len(DATA) * 10 - 8, 50):
        source.read(offset, 8)
        assert sum(len(chunk) for _, chunk in source._chunks) <= 600


@pytest.mark.parametrize("held", [10, 1 << 20])
def test_a_held_part_is_read_in_any_order(held: int, monkeypatch) -> None:
    monkeypatch.setattr(limits, "HELD", held)
    monkeypatch.setattr(limits, "CHUNK", 64)
    part = stream().hold(100, 1000)
    assert not part.is_forward
    assert part.read(900, 100) == DATA[1000:1100]
    assert part.read(0, 300) == DATA[100:400]
