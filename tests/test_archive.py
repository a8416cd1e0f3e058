"""Static archives of Linux and Windows, with long names, thin ones, damaged ones."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import archive, limits
from archbuild.binary.source import BytesSource
from archbuild.errors import BinaryError
from archbuild.model.image import FileFormat
from tests.fatbins import DATA, archs, elf, entry, read_bytes, read_stream, region


def member(name: str, data: bytes, size: str | None = None) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{size or len(data):<10}`\n"
    return header.encode() + data + b"\n" * (len(data) % 2)


def make(*members: bytes) -> bytes:
    return archive.MAGIC + b"".join(members)


def names(data: bytes) -> list[str]:
    return [m.name for m in archive.read_members(BytesSource("lib.a", data))]


def test_each_region_says_which_member_it_is_of() -> None:
    for read in (read_bytes, read_stream):
        found = read((DATA / "static.a").read_bytes())
        assert found.format is FileFormat.ARCHIVE
        assert [r.member for r in found.regions] == [
            "fill.o",
            "host_only.o",
            "a_member_with_a_long_name.o",
        ]
        assert archs(found) == ["sm_80", "compute_90", "sm_90"] * 3
        data = (DATA / "static.a").read_bytes()
        assert {data[r.offset : r.offset + 4] for r in found.regions} == {b"\x50\xed\x55\xba"}
        assert all(r.offset < i.offset < len(data) for r in found.regions for i in r.images)


def test_names_of_every_kind_of_archive() -> None:
    table = b"a_rather_long_name.o/\nanother_long_name.o/\n"
    assert names(make(member("/", b"1234"), member("//", table), member("/0", b"x"))) == [
        "a_rather_long_name.o"
    ]
    assert names(make(member("//", table), member("/22", b"x"), member("b.o/", b""))) == [
        "another_long_name.o",
        "b.o",
    ]
    # Windows ends long names by a zero and has two tables of symbols.
    windows = b"dir\\first_long_name.obj\0second_long_name.obj\0"
    data = make(member("/", b"12"), member("/", b"34"), member("//", windows), member("/24", b"x"))
    assert names(data) == ["second_long_name.obj"]
    # BSD and macOS put the name in front of the bytes.
    (found,) = archive.read_members(BytesSource("lib.a", make(member("#1/8", b"name.o\0\0data"))))
    assert (found.name, found.size) == ("name.o", 4)


def test_a_thin_archive_is_refused_with_the_cure() -> None:
    with pytest.raises(BinaryError, match=r"thin archive.*ar -qcL"):
        read_bytes((DATA / "thin.a").read_bytes())


@pytest.mark.parametrize(
    "data",
    [
        make(b"short"),
        make(member("a.o/", b"12"))[:-1],
        make(member("a.o/", b"1234", size="99999")),
        make(member("a.o/", b"1234", size="-4")),
        make(member("a.o/", b"1234", size="1e3")),
        make(member("a.o/", b"1234").replace(b"`\n", b"xx")),
        make(member("/99", b"1234")),
        make(member("//", b"x" * 20), member("/20", b"1234")),
    ],
)
def test_damage_is_an_error_that_names_the_archive(data: bytes) -> None:
    for read in (read_bytes, read_stream):
        with pytest.raises(BinaryError, match="file"):
            read(data)


def test_members_are_counted_and_archives_in_archives_left_alone(monkeypatch) -> None:
    inner = make(member("a.o/", elf([(".nv_fatbin", region(entry()))])))
    assert read_bytes(make(member("inner.a/", inner))).regions == ()
    monkeypatch.setattr(limits, "MEMBERS", 10)
    with pytest.raises(BinaryError, match="more than 10 members"):
        names(make(*[member("a.o/", b"")] * 11))


def test_a_damaged_member_names_itself() -> None:
    broken = elf([(".nv_fatbin", region(entry(header=5)))])
    with pytest.raises(BinaryError, match=r"file\(broken.o\).*0x"):
        read_bytes(make(member("broken.o/", broken)))


def test_bare_cubins_and_text_as_members() -> None:
    cubin = (DATA / "cuda13_sm_90.cubin").read_bytes()
    for read in (read_bytes, read_stream):
        found = read(make(member("k.cubin/", cubin), member("notes/", b"just text")))
        assert archs(found) == ["sm_90"]


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    for read in (read_bytes, read_stream):
        with contextlib.suppress(BinaryError):
            read(archive.MAGIC + data)
