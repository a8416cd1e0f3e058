"""Images of one fatbin: what is taken over from a sibling, and what is read by itself."""

from __future__ import annotations

import struct

import pytest

from archbuild.binary.beginning import Beginning
from archbuild.binary.contents import Depth
from archbuild.binary.siblings import Siblings, siblings
from tests.fatbins import DATA, read_bytes, read_stream

FIRST = 64
ENTRY, FUNC = 0x10, 0x12
FIXTURES = sorted(path.name for path in DATA.iterdir() if path.suffix in (".so", ".fatbin", ".o"))


def image(kernels: list[str], banks: list[str] | None = None, *, padding: int = 0) -> bytes:
    """The first bytes of a cubin: strings and symbols, and nothing behind them."""
    banks = kernels if banks is None else banks
    sections = "".join(f"\0.text.{name}\0.nv.constant0.{name}" for name in banks)
    names = "\0.shstrtab\0.strtab\0.symtab\0" + "".join(f"{name}\0" for name in kernels)
    texts = ("\0.shstrtab\0.strtab\0.symtab" + sections + "\0" + names).encode()
    texts = texts.ljust(-(-len(texts) // 8) * 8, b"\0")
    starts = [texts.rindex(b"\0" + name.encode() + b"\0") + 1 for name in kernels]
    own = texts.rindex(b"\0.shstrtab")
    rows = [struct.pack("<IBBHQQ", start - own, FUNC, ENTRY, 7, 0, 128) for start in starts]
    return bytes(FIRST) + texts + bytes(24) + b"".join(rows) + b"\xff" * (24 + padding)


class Reader:
    """Gives an image to whoever looks at its beginning; knows how much was asked for."""

    def __init__(self, data: bytes) -> None:
        self._data, self.given = data, 0

    def fill(self, memory: memoryview) -> int:
        piece = self._data[self.given : self.given + min(len(memory), 64)]
        memory[: len(piece)] = piece
        self.given += len(piece)
        return len(piece)


def names(family: Siblings, reader: Reader) -> tuple[str, ...] | None:
    beginning = Beginning(reader.fill)
    try:
        found = family.symbols(beginning)
    finally:
        beginning.close()
    return None if found is None else found.names


def test_of_a_sibling_with_the_same_banks_no_symbol_is_read() -> None:
    family, kernels = Siblings(), [f"kernel_{n:03}" for n in range(100)]
    first, second = Reader(image(kernels)), Reader(image(kernels, padding=4000))
    assert names(family, first) == tuple(kernels)
    assert names(family, second) == tuple(kernels)
    assert second.given < first.given - 100 * 24


@pytest.mark.parametrize(
    "others",
    [["b", "a"], ["a"], ["a", "b", "c"], ["a", "c"], ["a", "b", "b"], ["ab"]],
    ids=["order", "fewer", "more", "another", "twice", "joined"],
)
def test_a_sibling_with_other_banks_is_read_by_its_own_symbols(others: list[str]) -> None:
    family = Siblings()
    assert names(family, Reader(image(["a", "b"]))) == ("a", "b")
    assert names(family, Reader(image(others))) == tuple(others)
    assert names(family, Reader(image(["a", "b"]))) == ("a", "b")


def test_symbols_in_another_order_than_the_banks_keep_it() -> None:
    family = Siblings()
    assert names(family, Reader(image(["b", "a"], ["a", "b"]))) == ("b", "a")
    assert names(family, Reader(image(["b", "a"], ["a", "b"]))) == ("b", "a")


def test_what_was_not_proved_is_no_example() -> None:
    family = Siblings()
    assert names(family, Reader(image(["a"], ["a", "gone"]))) is None
    assert names(family, Reader(image(["a", "b"], ["a", "gone"]))) is None
    assert names(family, Reader(image(["a", "gone"]))) == ("a", "gone")


def test_without_banks_each_is_read_by_itself() -> None:
    family = Siblings()
    assert names(family, Reader(image(["a"], []))) is None
    assert names(family, Reader(b"\x7fELF".ljust(500, b"\1"))) is None
    assert names(family, Reader(b"")) is None


def test_many_different_siblings_are_all_told_right() -> None:
    family = Siblings()
    for _ in range(2):
        for n in range(9):
            assert names(family, Reader(image([f"k{n}"]))) == (f"k{n}",)


def test_only_where_names_are_enough_do_images_know_of_each_other() -> None:
    assert [depth for depth in Depth if siblings(depth) is not None] == [Depth.NAMES]


@pytest.mark.parametrize("name", FIXTURES)
def test_the_names_are_those_that_the_full_reading_tells(name: str) -> None:
    data = (DATA / name).read_bytes()
    full = read_bytes(data, Depth.KERNELS, name)
    for quick in (
        read_bytes(data, Depth.NAMES, name),
        read_stream(data, Depth.NAMES, name=name),
    ):
        assert [i.kernels for i in quick.images] == [i.kernels for i in full.images]
        assert [i.variables for i in quick.images] == [i.variables for i in full.images]
        assert [i.inner for i in quick.images] == [i.inner for i in full.images]
