"""The dynamic section: what a library needs and where it looks."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archbuild.binary.dynamic import Dynamic, read_dynamic
from archbuild.binary.source import BytesSource
from archbuild.errors import BinaryError
from tests.libraries import build_library, dynamic_of


def elf(rows: list[tuple[int, int]], names: bytes, *, bits: int = 64, order: str = "<") -> bytes:
    """An ELF file with three sections: none, dynamic, names."""
    table = b"".join(struct.pack(order + ("qQ" if bits == 64 else "iI"), *row) for row in rows)
    head = 64 if bits == 64 else 52
    form = order + ("IIQQQQIIQQ" if bits == 64 else "10I")
    sections = [
        (0,) * 10,
        (0, 6, 2, 0, head, len(table), 2, 0, 8, 16),
        (0, 3, 2, 0, head + len(table), len(names), 0, 0, 1, 0),
    ]
    place = head + len(table) + len(names)
    ident = b"\x7fELF" + bytes((bits // 32, 1 if order == "<" else 2, 1)) + bytes(9)
    word = "Q" if bits == 64 else "I"
    sizes = (head, 0, 0, struct.calcsize(form), 3, 0)
    header = struct.pack(f"{order}HHI3{word}I6H", 3, 62, 1, 0, 0, place, 0, *sizes)
    return ident + header + table + names + b"".join(struct.pack(form, *s) for s in sections)


NAMES = b"\0libcuda.so.1\0libme.so\0/a:$ORIGIN/b::c\0\xff\xfe\0"
ROWS = [(1, 1), (1, 14), (14, 14), (15, 23), (29, 39), (1, 39), (0, 0), (1, 14)]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("order", ["<", ">"])
def test_every_class_and_order(bits: int, order: str) -> None:
    found = read_dynamic(BytesSource("x", elf(ROWS, NAMES, bits=bits, order=order)))
    assert found == Dynamic(
        machine=62,
        bits=bits,
        order=order,
        needed=("libcuda.so.1", "libme.so", "\udcff\udcfe"),
        soname="libme.so",
        rpath=("/a", "$ORIGIN/b", "c"),
        runpath=("\udcff\udcfe",),
    )


def test_names_outside_of_the_table_are_none() -> None:
    rows = [(1, 4000), (1, 1 << 62), (14, 5000), (15, 6000), (0, 0)]
    assert read_dynamic(BytesSource("x", elf(rows, NAMES))) == Dynamic(62, 64, "<")


def test_a_table_without_an_end() -> None:
    assert read_dynamic(BytesSource("x", elf([(1, 1)], NAMES))).needed == ("libcuda.so.1",)


def test_the_compilers_own(tmp_path: Path) -> None:
    other = build_library(tmp_path / "libone.so.1")
    folders = ["$ORIGIN/../lib", "/opt/x"]
    path = build_library(tmp_path / "libtwo.so.2", needs=[other], rpath=folders)
    found = dynamic_of(path)
    assert (found.soname, found.rpath, found.runpath) == ("libtwo.so.2", tuple(folders), ())
    assert found.needed[0] == "libone.so.1"
    late = dynamic_of(build_library(tmp_path / "libthree.so", runpath=folders))
    assert (late.rpath, late.runpath) == ((), tuple(folders))


def test_a_file_of_another_kind() -> None:
    with pytest.raises(BinaryError, match="no ELF file"):
        read_dynamic(BytesSource("x", b"MZ" * 100))


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 1 << 32), count=st.integers(1, 12))
def test_a_damaged_file_is_told_as_such(seed: int, count: int) -> None:
    chance = random.Random(seed)
    data = bytearray(elf(ROWS, NAMES))
    for _ in range(count):
        data[chance.randrange(len(data))] = chance.choice(
            (0, 1, 6, 0x7F, 0xFF, chance.randrange(256))
        )
    try:
        found = read_dynamic(BytesSource("x", bytes(data[: chance.randrange(1, len(data) + 1)])))
    except BinaryError:
        return
    assert len(found.needed) <= len(data)
