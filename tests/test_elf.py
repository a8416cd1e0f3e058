"""ELF files: sections for device code, others that hold some, and damage."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import elf as elf_module
from archbuild.binary import limits
from archbuild.binary.contents import Depth
from archbuild.binary.source import BytesSource
from archbuild.errors import BinaryError
from archbuild.model.image import FileFormat, Linkage
from tests.fatbins import DATA, archs, elf, entry, read_bytes, read_stream, region

LIBRARIES = [
    "two_units.so",
    "rdc_linked.so",
    "rdc_unlinked.so",
    "empty_image.so",
    "host_only.so",
    "rodata.so",
    "hip.so",
    "fill.o",
    "fill_rdc.o",
    "static.a",
    "windows.dll",
    "windows.obj",
]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("depth", list(Depth))
@pytest.mark.parametrize("chunk", [61, 4096])
def test_a_stream_gives_what_the_file_gives(name: str, depth: Depth, chunk: int) -> None:
    data = (DATA / name).read_bytes()
    assert read_stream(data, depth, chunk=chunk, name=name) == read_bytes(data, depth, name=name)


def test_each_unit_is_a_region_of_its_own() -> None:
    found = read_bytes((DATA / "two_units.so").read_bytes())
    assert [len(r.images) for r in found.regions] == [3, 3]
    assert {(r.section, r.linkage) for r in found.regions} == {(".nv_fatbin", Linkage.EXECUTABLE)}
    kernels = [{len(i.kernels) for i in r.images} for r in found.regions]
    assert kernels == [{2}, {1}]
    assert found.format is FileFormat.ELF


def test_relocatable_code_with_and_without_its_device_link() -> None:
    linked = read_bytes((DATA / "rdc_linked.so").read_bytes())
    unlinked = read_bytes((DATA / "rdc_unlinked.so").read_bytes())
    assert [r.linkage.value for r in unlinked.regions] == ["relocatable"] * 2
    assert not any(i.is_loadable for i in unlinked.images)
    assert unlinked.targets == frozenset()
    assert [r.linkage.value for r in linked.regions] == ["relocatable"] * 2 + ["executable"]
    assert archs(unlinked) == ["sm_80", "compute_90", "sm_90"] * 2
    # Only what was passed to the link, and no PTX.
    assert sorted(map(str, linked.targets)) == ["sm_80", "sm_90"]


def test_the_empty_image_of_an_implicit_device_link() -> None:
    first, second = read_bytes((DATA / "empty_image.so").read_bytes()).regions
    assert [(str(i.arch), i.is_empty) for i in first.images] == [("sm_75", True)]
    assert [i.is_empty for i in second.images] == [False] * 3
    unread = read_bytes((DATA / "empty_image.so").read_bytes(), Depth.HEADERS)
    assert {i.is_empty for i in unread.images} == {None}


def test_host_code_alone_embeds_empty_images() -> None:
    found = read_bytes((DATA / "host_only.so").read_bytes())
    assert [i.is_empty for i in found.images] == [True] * 3


def test_a_fatbin_outside_its_usual_section() -> None:
    (found,) = read_bytes((DATA / "rodata.so").read_bytes()).regions
    assert (found.section, found.linkage) == (".rodata", Linkage.EXECUTABLE)
    relocatable = region(entry((DATA / "rdc.cubin").read_bytes(), kind=2, sm=80))
    for depth in Depth:
        for read in (read_bytes, read_stream):
            (found,) = read(elf([(".rodata", bytes(40) + relocatable)]), depth).regions
            assert found.linkage is Linkage.RELOCATABLE


def test_hip_is_told_as_hip() -> None:
    for read in (read_bytes, read_stream):
        found = read((DATA / "hip.so").read_bytes())
        assert (found.hip, found.regions) == (True, ())


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"\x50\xed\x55\xba\x01\x00\x10\x00" + bytes(100), 0),
        (b"\x50\xed\x55\xba\x02\x00\x10\x00" + region(entry())[8:], 0),
        (region(entry(version=7)), 0),
        (b"....." + region(entry()), 1),
        (region(entry())[:8] + region(entry()), 1),
        (region(entry()) + b"rubbish", 1),
    ],
)
def test_what_only_looks_like_a_fatbin_in_other_sections_is_none(data: bytes, count: int) -> None:
    for read in (read_bytes, read_stream):
        assert len(read(elf([(".rodata", data)])).regions) == count


def test_host_code_and_unloaded_sections_are_not_searched() -> None:
    for flags in (6, 0):
        for read in (read_bytes, read_stream):
            assert read(elf([(".other", region(entry()))], flags=flags)).regions == ()


def test_a_file_without_sections_is_searched_whole() -> None:
    data = bytearray(elf([(".data", region(entry()))]))
    struct.pack_into("<Q", data, 40, 0)
    for read in (read_bytes, read_stream):
        assert archs(read(bytes(data))) == ["compute_90"]


def test_sections_that_share_their_bytes_are_read_once() -> None:
    data = bytearray(
        elf([(f".s{i}", region(entry()) if i == 0 else b"12345678") for i in range(9)])
    )
    table = struct.unpack_from("<Q", data, 40)[0]
    first = struct.unpack_from("<QQ", data, table + 64 + 24)
    for i in range(2, 9):
        struct.pack_into("<QQ", data, table + 64 * i + 24, *first)
    for read in (read_bytes, read_stream):
        assert len(read(bytes(data)).images) == 1


@pytest.mark.parametrize("table_first", [False, True])
@pytest.mark.parametrize("padding", [0, 3 << 20])
def test_tables_anywhere_in_a_stream(table_first: bool, padding: int, monkeypatch) -> None:
    """Names far from the table cost a second pass, and nothing else."""
    monkeypatch.setattr(limits, "HISTORY", 1 << 10)
    data = elf(
        [
            (".nv_fatbin", region(entry())),
            (".data", bytes(100)),
            ("__nv_relfatbin", region(entry())),
        ],
        table_first=table_first,
        padding=padding,
    )
    found = read_stream(data, chunk=50_000)
    assert [r.linkage.value for r in found.regions] == ["executable", "relocatable"]
    assert found == read_bytes(data)


@pytest.mark.parametrize(
    ("place", "form", "value"),
    [
        (4, "B", 7),
        (5, "B", 0),
        (40, "Q", 1 << 60),
        (40, "Q", 2000),
        (58, "H", 65),
        (60, "H", 0xFFFF),
        (62, "H", 99),
    ],
)
def test_a_damaged_header_is_an_error_that_names_the_file(
    place: int, form: str, value: int
) -> None:
    data = bytearray(elf([(".nv_fatbin", region(entry()))]))
    struct.pack_into("<" + form, data, place, value)
    for read in (read_bytes, read_stream):
        with pytest.raises(BinaryError, match="file"):
            read(bytes(data))


def test_a_section_beyond_the_end_is_an_error() -> None:
    data = elf([(".data", bytes(200)), (".nv_fatbin", region(entry()))], table_first=True)
    for cut in (len(data) - 20, len(data) - 150):
        for read in (read_bytes, read_stream):
            with pytest.raises(BinaryError, match="cut short or damaged"):
                read(data[:cut])


def test_big_endian_and_32_bits() -> None:
    big = b"\x7fELF\x01\x02\x01".ljust(16, b"\0") + struct.pack(
        ">HHIIIIIHHHHHH", 3, 8, 1, 0, 0, 52, 0, 52, 0, 0, 40, 2, 1
    )
    row = struct.pack(">10I", 1, 3, 0, 0, 132, 11, 0, 0, 1, 0)
    data = big + bytes(40) + row + b"\0.shstrtab\0"
    header = elf_module.read_header(BytesSource("file", data))
    (_, names) = elf_module.read_sections(BytesSource("file", data), header)
    assert (names.name, names.size, header.type, header.bits) == (".shstrtab", 11, 3, 32)
    assert read_bytes(data).regions == ()


@given(st.data())
def test_damage_never_crashes_the_reader(data) -> None:
    name = data.draw(st.sampled_from(LIBRARIES))
    content = bytearray((DATA / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(64, len(content)))
    for depth in (Depth.HEADERS, Depth.KERNELS):
        for read in (read_bytes, read_stream):
            try:
                read(bytes(content[:cut]), depth, name=name)
            except BinaryError:
                pass
            except AssertionError:
                break
