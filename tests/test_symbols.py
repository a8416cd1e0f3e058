"""Kernels from the first bytes of a cubin: the same as from its section table, or nothing."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import beginning, elf, symbols
from archbuild.binary.source import BytesSource, Source, StreamSource
from tests.fatbins import DATA

CUBINS = sorted(path.name for path in DATA.glob("*.cubin"))


def first_symbols(source: Source) -> beginning.FirstSymbols | None:
    first = beginning.Beginning(beginning.filled_from(source))
    first.header()
    try:
        return first.symbols()
    finally:
        first.close()


def both(source: Source) -> tuple[beginning.FirstSymbols | None, symbols.Symbols | None]:
    header = elf.read_header(source)
    first = first_symbols(source)
    return first, symbols.read_symbols(source, header, elf.read_sections(source, header))


@pytest.mark.parametrize("name", CUBINS)
@pytest.mark.parametrize("step", [64, 1000, 1 << 16])
def test_the_first_bytes_tell_the_same_kernels(name: str, step: int, monkeypatch) -> None:
    monkeypatch.setattr(beginning, "_STEP", step)
    first, whole = both(BytesSource(name, (DATA / name).read_bytes()))
    assert first is not None
    assert first.names == tuple(symbol.name for symbol in whole.kernels)
    assert first.names
    assert first.variables is None


@pytest.mark.parametrize("name", CUBINS)
def test_the_last_bytes_are_not_needed(name: str, monkeypatch) -> None:
    """Of a stream no more is taken than what holds the symbols."""
    monkeypatch.setattr(beginning, "_STEP", 64)
    data = (DATA / name).read_bytes()
    taken = []

    def begin():
        for start in range(0, len(data), 64):
            taken.append(start)
            yield data[start : start + 64]

    source = StreamSource(name, len(data), begin)
    header = elf.read_header(source)
    assert first_symbols(source) is not None
    sections = elf.read_sections(BytesSource(name, data), header)
    table = next(s for s in sections if s.type == elf.SYMTAB)
    assert max(taken) <= table.stop + 256
    assert max(taken) < len(data) / 2


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new, 1)


def test_kernels_that_the_constant_banks_do_not_bear_out_are_no_answer() -> None:
    data = (DATA / "cuda13_sm_90.cubin").read_bytes()
    for old, new in (
        (b".nv.constant0._Z6hiddenPi", b".nv.constant0._Z6hiddenPj"),
        (b".nv.constant0._Z6hiddenPi", b".nv.constant1._Z6hiddenPi"),
        (b"\0.shstrtab\0", b"\0.shstrtaB\0"),
    ):
        first, whole = both(BytesSource("cubin", changed(data, old, new)))
        assert first is None
        assert len(whole.kernels) == 2


def test_bytes_cut_off_within_the_symbols_are_no_answer() -> None:
    data = (DATA / "cuda13_sm_90.cubin").read_bytes()
    header = elf.read_header(BytesSource("cubin", data))
    sections = elf.read_sections(BytesSource("cubin", data), header)
    stop = next(s for s in sections if s.type == elf.SYMTAB).stop
    for length in range(64, stop - 24, 40):
        assert first_symbols(BytesSource("cubin", data[:length])) is None


@given(st.data())
def test_damaged_symbols_never_crash_nor_invent(data) -> None:
    original = (DATA / "cuda13_sm_75.cubin").read_bytes()
    header = elf.read_header(BytesSource("cubin", original))
    sections = elf.read_sections(BytesSource("cubin", original), header)
    stop = next(s for s in sections if s.type == elf.SYMTAB).stop
    broken = bytearray(original)
    for _ in range(data.draw(st.integers(1, 6))):
        broken[data.draw(st.integers(64, stop - 1))] = data.draw(st.integers(0, 255))
    first, whole = both(BytesSource("cubin", bytes(broken)))
    if first is not None:
        assert first.names == tuple(symbol.name for symbol in whole.kernels)


@pytest.mark.parametrize("variables", [0, 2])
def test_variables_are_counted_where_there_are_no_kernels(variables: int) -> None:
    """Those of cuda::std's headers, in a namespace of the unit, are not."""
    names = b"\0.shstrtab\0.strtab\0.symtab\0_ZN47_INTERNAL_02c668e1_4_x_cu_0\0own\0"
    start = 64 + 32
    text = (b"\0.shstrtab\0.strtab\0.symtab\0").ljust(32, b"\0") + names
    inner, own = names.index(b"_ZN47"), names.index(b"own")
    table = (start + len(names) + 7) // 8 * 8
    rows = bytes(24) + symbol(inner, 1, 3)
    rows += symbol(own, 1, 3) * variables + symbol(own, 1, 0)
    data = bytes(64) + text + bytes(table - start - len(names)) + rows + b"\xff" * 24
    found = first_symbols(BytesSource("cubin", data))
    assert found == beginning.FirstSymbols((), variables)


def symbol(name: int, kind: int, section: int) -> bytes:
    return struct.pack("<IBBHQQ", name, kind, 0, section, 0, 4)
