"""Windows libraries and objects, read on any system."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import pe
from archbuild.binary.recognize import recognize
from archbuild.binary.source import BytesSource
from archbuild.errors import BinaryError
from archbuild.model.image import FileFormat, Linkage
from tests.fatbins import DATA, archs, entry, read_bytes, read_stream, region


def library(*sections: tuple[bytes, bytes], memory: int | None = None) -> bytes:
    start = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0"
    start += struct.pack("<HHIIIHH", 0x8664, len(sections), 0, 0, 0, 0, 0)
    place, rows, body = len(start) + 40 * len(sections), b"", b""
    for name, data in sections:
        size = len(data) if memory is None else memory
        rows += struct.pack("<8sIIIIIIHHI", name, size, 0, len(data), place, 0, 0, 0, 0, 0x40000040)
        place += len(data)
        body += data
    return start + rows + body


def test_a_library_and_an_object() -> None:
    for read in (read_bytes, read_stream):
        found = read((DATA / "windows.dll").read_bytes())
        assert (found.format, archs(found)) == (FileFormat.PE, ["sm_90", "compute_75"])
        assert [(r.section, r.linkage.value) for r in found.regions] == [(".nv_fatb", "executable")]
        found = read((DATA / "windows.obj").read_bytes(), name="windows.obj")
        assert (found.format, len(found.regions)) == (FileFormat.COFF, 2)
        assert [r.linkage.value for r in found.regions] == ["executable", "relocatable"]
        assert {i.linkage for i in found.regions[1].images} == {Linkage.RELOCATABLE}


def test_an_object_is_only_believed_by_its_name() -> None:
    data = (DATA / "windows.obj").read_bytes()
    assert recognize(BytesSource("x", data), "windows.OBJ") is FileFormat.COFF
    assert recognize(BytesSource("x", data), "windows.dat") is None
    assert recognize(BytesSource("x", b"d\x86" + bytes(100)), "x.obj") is None


def test_an_object_with_very_many_sections() -> None:
    fatbin = region(entry())
    header = struct.pack("<HHHHI", 0, 0xFFFF, 2, 0x8664, 0) + pe._BIG_CLASS
    header += struct.pack("<IIIIIII", 0, 0, 0, 0, 1, 0, 0)
    assert len(header) == 56
    row = struct.pack("<8sIIIIIIHHI", b".nv_fatb", 0, 0, len(fatbin), 96, 0, 0, 0, 0, 0x40000040)
    found = read_bytes(header + row + fatbin, name="x.obj")
    assert archs(found) == ["compute_90"]
    # What a Windows import library holds for each symbol looks almost the same.
    assert not pe.is_object(struct.pack("<HHHHIIHH", 0, 0xFFFF, 0, 0x8664, 0, 0, 0, 0).ljust(64))


def test_padding_of_the_file_is_no_device_code() -> None:
    fatbin = region(entry())
    data = library((b".nv_fatb", fatbin + b"\xcc" * 100), memory=len(fatbin))
    assert archs(read_bytes(data)) == ["compute_90"]


def test_a_fatbin_outside_its_usual_section_and_hip() -> None:
    (found,) = read_bytes(library((b".rdata", b"...." + region(entry())))).regions
    assert found.section == ".rdata"
    assert read_bytes(library((b".hip_fat", b"x" * 16))).hip


@pytest.mark.parametrize("read", [read_bytes, read_stream])
def test_a_file_cut_short_is_an_error(read) -> None:
    data = (DATA / "windows.dll").read_bytes()
    for cut in (80, 400, 1400, 2500):
        with pytest.raises(BinaryError, match="file"):
            read(data[:cut])


@pytest.mark.parametrize("read", [read_bytes, read_stream])
def test_sections_that_lie_are_an_error(read) -> None:
    data = bytearray(library((b".nv_fatb", region(entry()))))
    struct.pack_into("<H", data, 70, 0xFFFF)
    with pytest.raises(BinaryError, match="claims 65535 sections"):
        read(bytes(data))
    data = bytearray(library((b".nv_fatb", region(entry()))))
    struct.pack_into("<III", data, 64 + 24 + 8, 0xFFFFFFF0, 0, 0xFFFFFFF0)
    with pytest.raises(BinaryError, match="cut short"):
        read(bytes(data))


def test_a_program_for_dos_is_none_for_windows() -> None:
    assert recognize(BytesSource("x", b"MZ" + bytes(200)), "x.exe") is None
    far = b"MZ".ljust(60, b"\0") + struct.pack("<I", 0xFFFFFFF0) + bytes(100)
    assert recognize(BytesSource("x", far), "x.exe") is None


@given(st.binary(max_size=300), st.integers(0, 5))
def test_no_bytes_crash_the_reader(tail: bytes, count: int) -> None:
    start = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0"
    for data in (
        start + struct.pack("<HH", 0x8664, count) + tail,
        struct.pack("<HH", 0x8664, count) + tail,
    ):
        for read in (read_bytes, read_stream):
            with contextlib.suppress(BinaryError, AssertionError):
                read(data, name="x.obj")
