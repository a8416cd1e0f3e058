"""Regions and entries of fatbins: the real ones of every release, and damaged ones."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import limits
from archbuild.binary.contents import Depth
from archbuild.errors import BinaryError
from archbuild.model.arch import ptx, sass
from archbuild.model.image import Compression, Flag, ImageKind, Linkage
from tests.fatbins import DATA, archs, elf, entry, read_bytes, read_stream, region

SUFFIXES = [
    "sm_75",
    "sm_80",
    "sm_90",
    "compute_90a",
    "sm_90a",
    "compute_100f",
    "sm_103f",
    "sm_100a",
    "sm_120f",
    "sm_121a",
    "compute_120",
]
CONCATENATED = ["compute_120", *(a for a in SUFFIXES if a.startswith("sm_"))]


def images(name: str, depth: Depth = Depth.HEADERS):
    return read_bytes((DATA / name).read_bytes(), depth).images


def test_every_suffix_without_decompressing_anything(monkeypatch) -> None:
    def refuse(*_):
        raise AssertionError("something was decompressed")

    # First where it is used, so that the real one is there to be put back.
    monkeypatch.setattr("archbuild.binary.inside.inflate", refuse)
    monkeypatch.setattr("archbuild.binary.compression.inflate", refuse)
    monkeypatch.setattr("archbuild.binary.inside.filled_by_zstd", refuse)
    found = read_bytes(
        elf([(".nv_fatbin", (DATA / "suffixes.fatbin").read_bytes())]), Depth.HEADERS
    )
    assert archs(found) == SUFFIXES
    assert {i.isa for i in found.images if i.kind is ImageKind.PTX} == {(9, 0)}
    assert all(i.isa is None for i in found.images if i.kind is ImageKind.SASS)
    assert all(0 < i.stored < i.size for i in found.images)
    assert all(i.kernels is None and i.variables is None for i in found.images)


def test_suffixes_of_cuda_11_and_12() -> None:
    found = images("old.fatbin", Depth.KERNELS)
    assert [str(i.arch) for i in found] == [
        "sm_52",
        "sm_86",
        "sm_90a",
        "sm_100a",
        "sm_103f",
        "compute_75",
    ]
    assert [i.arch.capability for i in found] == [i.inner.capability for i in found]
    assert {i.compression for i in found} == {Compression.LZ4}
    assert {i.kernels for i in found} == {("plain",)}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("none", [Compression.NONE, Compression.NONE]),
        ("default", [Compression.ZSTD, Compression.NONE]),
        ("balance", [Compression.ZSTD, Compression.NONE]),
        ("size", [Compression.ZSTD, Compression.ZSTD]),
        ("speed", [Compression.LZ4, Compression.NONE]),
    ],
)
def test_every_compression_gives_the_same_kernels(mode: str, expected) -> None:
    found = images(f"mode_{mode}.fatbin", Depth.DETAILS)
    assert [i.kind for i in found] == [ImageKind.PTX, ImageKind.SASS]
    assert [i.compression for i in found] == expected
    assert {frozenset(i.kernels) for i in found} == {
        frozenset({"_Z6hiddenPi", "_Z4fillIfEvPT_S0_"})
    }
    assert [i.variables for i in found] == [1, 1]


@pytest.mark.parametrize(
    ("name", "linkage"),
    [
        ("concatenated.fatbin", Linkage.EXECUTABLE),
        ("concatenated_rdc.fatbin", Linkage.RELOCATABLE),
    ],
)
def test_concatenated_entries_are_told_one_by_one(name: str, linkage: Linkage) -> None:
    found = read_bytes((DATA / name).read_bytes(), Depth.KERNELS)
    assert archs(found) == CONCATENATED
    assert {len(i.kernels) for i in found.images} == {2}
    assert {i.linkage for i in found.images} == {linkage}
    assert found.regions[0].linkage is linkage
    assert [i.arch.capability for i in found.images] == [i.inner.capability for i in found.images]


def test_debug_code_its_source_and_options() -> None:
    text, code = images("debug.fatbin")
    assert text.has(Flag.DEBUG)
    assert code.has(Flag.DEBUG)
    assert (text.identifier, code.identifier) == ("fill.cu", "fill.cu")
    assert text.options == "-g --dont-merge-basicblocks --return-at-end"
    assert code.options is None


def test_lto_is_neither_loadable_nor_legible() -> None:
    code, lto = images("lto.fatbin", Depth.KERNELS)
    assert (str(code.arch), code.linkage) == ("sm_90", Linkage.RELOCATABLE)
    assert (str(lto.arch), lto.kind, lto.linkage) == (
        "lto_90",
        ImageKind.LTOIR,
        Linkage.RELOCATABLE,
    )
    assert lto.has(Flag.OBFUSCATED)
    assert lto.kernels is None
    assert not lto.is_loadable


def test_relocatable_ptx_and_tile_ir() -> None:
    (text,) = images("relocatable_ptx.fatbin", Depth.KERNELS)
    assert (text.kind, text.number, text.linkage) == (ImageKind.PTX, 0x40, Linkage.RELOCATABLE)
    assert (text.arch, text.isa, text.options) == (ptx("90"), (9, 0), "--compile-only")
    assert len(text.kernels) == 2
    (tile,) = images("tile.fatbin", Depth.KERNELS)
    assert (tile.kind, tile.size, tile.kernels) == (ImageKind.TILEIR, 108, None)


def test_the_mark_of_windows() -> None:
    assert all(i.has(Flag.WINDOWS) and not i.has(Flag.LINUX) for i in images("windows.fatbin"))
    assert {i.arch for i in images("windows.fatbin")} == {sass("90"), ptx("75")}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (0x10, ImageKind.UNFINISHED),
        (0x20, ImageKind.INDEX),
        (0x80, ImageKind.TILEIR),
        (0x100, ImageKind.CONCATENATED),
        (0x200, ImageKind.UNKNOWN),
        (0, ImageKind.UNKNOWN),
        (0xFFFF, ImageKind.UNKNOWN),
    ],
)
def test_a_new_kind_is_told_never_skipped(kind: int, expected: ImageKind) -> None:
    data = elf([(".nv_fatbin", region(entry(), entry(kind=kind), entry(sm=80)))])
    for depth in Depth:
        found = read_bytes(data, depth).images
        assert [i.kind for i in found] == [ImageKind.PTX, expected, ImageKind.PTX]
        assert found[1].number == kind


def test_an_entry_of_a_new_version_is_unknown() -> None:
    (found,) = read_bytes(elf([(".nv_fatbin", region(entry(version=0x0102)))])).images
    assert (found.kind, found.arch) == (ImageKind.UNKNOWN, None)


@pytest.mark.parametrize("sm", [0, 9, 1000, 0xFFFFFFFF])
def test_an_architecture_without_a_name_is_unknown(sm: int) -> None:
    (found,) = read_bytes(elf([(".nv_fatbin", region(entry(sm=sm)))])).images
    assert (found.kind, found.arch, found.sm) == (ImageKind.PTX, None, sm)


def test_two_suffixes_at_once_are_unknown_and_new_flags_are_told() -> None:
    data = region(entry(flags=0x300011), entry(flags=0x4000000011))
    both, new = read_bytes(elf([(".nv_fatbin", data)])).images
    assert both.arch is None
    assert (new.arch, new.unknown_flags) == (ptx("90"), 0x4000000000)


def test_compression_that_nobody_can_undo_leaves_kernels_unknown() -> None:
    old = entry(b"12345678", compressed=8, size=99, flags=0x1011)
    new = entry(b"12345678", compressed=8, size=99, flags=0x11)
    found = read_bytes(elf([(".nv_fatbin", region(old, new))])).images
    assert [i.compression for i in found] == [Compression.OLD, Compression.UNKNOWN]
    assert [(i.size, i.stored, i.kernels) for i in found] == [(99, 8, None)] * 2


def test_options_and_names_that_point_nowhere_are_left_out() -> None:
    wild = entry(options=0xFFFFFFF0, name=(0xFFFFFFF0, 0xFFFFFFFF))
    (found,) = read_bytes(elf([(".nv_fatbin", region(wild))])).images
    assert (found.options, found.identifier) == (None, None)


DAMAGED = {
    "header too small": region(entry(header=63)),
    "header beyond the region": region(entry(header=4000)),
    "payload beyond the region": region(entry(padded=0xFFFFFFF8)),
    "billions of bytes": region(entry(), size=1 << 40),
    "all the bytes there are": region(entry(), size=(1 << 64) - 1),
    "region smaller than its entry": region(entry(), size=70),
    "region smaller than a header": region(entry(), size=40),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
@pytest.mark.parametrize("read", [read_bytes, read_stream])
def test_sizes_that_lie_are_an_error_that_names_file_and_place(data: bytes, read) -> None:
    with pytest.raises(BinaryError, match=r"file.*0x"):
        read(elf([(".nv_fatbin", data)]))
    with pytest.raises(BinaryError, match=r"file.*0x"):
        read(data)


def concatenated(count: int, begin: int, size: int) -> bytes:
    nested = entry(b"", kind=2, header=begin, padded=size)
    extra = struct.pack("<II", count, 8 + len(nested)) + nested
    return entry(b"12345678", kind=0x100, extra=extra)


@pytest.mark.parametrize(
    "data",
    [
        concatenated(4_000_000_000, 0, 8),
        concatenated(2, 0, 8),
        concatenated(1, 0, 9),
        concatenated(1, 0xFFFFFFF0, 8),
    ],
)
def test_a_concatenated_entry_that_lies_is_an_error(data: bytes) -> None:
    with pytest.raises(BinaryError):
        read_bytes(elf([(".nv_fatbin", region(data))]), Depth.HEADERS)


def test_more_images_than_any_library_has_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(limits, "IMAGES", 100)
    many = region(*[entry(b"")] * 101)
    for read in (read_bytes, read_stream):
        with pytest.raises(BinaryError, match="more than 100 device images"):
            read(elf([(".nv_fatbin", many)]), Depth.HEADERS)


def test_bytes_between_fatbins_that_are_none_are_told() -> None:
    data = region(entry()) + bytes(24) + region(entry()) + b"something" + region(entry())
    for read in (read_bytes, read_stream):
        found = read(elf([(".nv_fatbin", data)]))
        assert [i.kind for i in found.images] == [
            ImageKind.PTX,
            ImageKind.PTX,
            ImageKind.UNKNOWN,
            ImageKind.PTX,
        ]
        assert found.images[2].stored == 9


@given(st.binary(max_size=400))
def test_no_bytes_in_the_section_for_device_code_crash_the_reader(data: bytes) -> None:
    for start in (b"", region(size=len(data))):
        for read in (read_bytes, read_stream):
            with contextlib.suppress(BinaryError):
                read(elf([(".nv_fatbin", start + data)]))
