"""Cubins of both ABIs: architecture, suffix, linkage, and all that is told of kernels."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.contents import Depth
from archbuild.binary.cubin import read_arch, read_cubin
from archbuild.binary.names import normalize
from archbuild.binary.source import BytesSource
from archbuild.errors import BinaryError
from archbuild.model.image import Binding, Kernel
from tests.fatbins import DATA, elf

ARCHS = {
    "cuda11_sm_52": "sm_52",
    "cuda11_sm_86": "sm_86",
    "cuda12_sm_90": "sm_90",
    "cuda12_sm_90a": "sm_90a",
    "cuda12_sm_100a": "sm_100a",
    "cuda12_sm_103f": "sm_103f",
    "cuda13_sm_75": "sm_75",
    "cuda13_sm_90": "sm_90",
    "cuda13_sm_90a": "sm_90a",
    "cuda13_sm_100a": "sm_100a",
    "cuda13_sm_103f": "sm_103f",
    "cuda13_sm_120": "sm_120",
    "rdc": "sm_80",
}


def source(name: str) -> BytesSource:
    return BytesSource(name, (DATA / f"{name}.cubin").read_bytes())


@pytest.mark.parametrize(("name", "arch"), ARCHS.items())
def test_a_bare_cubin_tells_its_architecture_with_the_suffix(name: str, arch: str) -> None:
    assert str(read_arch(source(name))) == arch


def test_without_its_note_a_cubin_of_cuda_13_still_tells_a_but_not_f() -> None:
    for name, arch in (("cuda13_sm_100a", "sm_100a"), ("cuda13_sm_103f", "sm_103")):
        data = source(name).read(0, source(name).size).replace(b"-arch sm_", b"-xxxx sm_")
        assert str(read_arch(BytesSource(name, data))) == arch


def test_a_note_about_another_architecture_is_not_believed() -> None:
    data = source("cuda13_sm_103f").read(0, source("cuda13_sm_103f").size)
    data = data.replace(b"-arch sm_103f", b"-arch sm_100a")
    assert str(read_arch(BytesSource("cubin", data))) == "sm_103"


def test_a_layout_of_a_future_abi_is_not_guessed_at() -> None:
    data = bytearray(source("cuda13_sm_90").read(0, source("cuda13_sm_90").size))
    data[8] = 9
    assert read_arch(BytesSource("cubin", bytes(data))) is None
    assert len(read_cubin(BytesSource("cubin", bytes(data)), Depth.KERNELS).kernels) == 2


@pytest.mark.parametrize("name", ARCHS)
def test_relocatable_is_told_from_executable(name: str) -> None:
    for depth in Depth:
        assert read_cubin(source(name), depth).relocatable is (name == "rdc")


def test_all_that_is_told_of_each_kernel() -> None:
    assert read_cubin(source("cuda13_sm_90"), Depth.DETAILS).details == (
        Kernel("_Z6hiddenPi", Binding.LOCAL, 256, 8, 0),
        Kernel("_Z4fillIfEvPT_S0_", Binding.GLOBAL, 384, 10, 0),
    )
    static, weak = read_cubin(source("rdc"), Depth.DETAILS).details
    assert weak == Kernel("_Z4fillIfEvPT_S0_", Binding.WEAK, 384, 8, 0)
    name = "__nv_static_26__00000000_7_fill_cu_launch__Z6hiddenPi"
    assert replace(static, name=normalize(static.name)) == replace(
        weak, name=name, binding=Binding.LOCAL
    )
    assert read_cubin(source("cuda11_sm_52"), Depth.DETAILS).details == (
        Kernel("plain", Binding.GLOBAL, 128, 4, 0),
    )


def test_registers_of_abi_7_stand_in_the_section_table_too() -> None:
    data = source("cuda11_sm_86").read(0, source("cuda11_sm_86").size)
    data = data.replace(b"\0.nv.info\0", b"\0.nv.infO\0", 1)
    (kernel,) = read_cubin(BytesSource("cubin", data), Depth.DETAILS).details
    assert kernel.registers == 8


@pytest.mark.parametrize("name", ["cuda13_sm_90", "cuda11_sm_86"])
@pytest.mark.parametrize("depth", [Depth.KERNELS, Depth.DETAILS])
def test_cut_anywhere_it_is_read_right_or_refused(name: str, depth: Depth) -> None:
    whole = (DATA / f"{name}.cubin").read_bytes()
    right = read_cubin(source(name), depth).kernels
    for length in range(0, len(whole), 61):
        try:
            assert read_cubin(BytesSource(name, whole[:length]), depth).kernels == right
        except BinaryError as error:
            assert name in str(error)


def test_an_elf_file_for_another_machine_is_refused() -> None:
    with pytest.raises(BinaryError, match="not for CUDA"):
        read_cubin(BytesSource("host", elf([])), Depth.KERNELS)


def test_counts_in_the_billions_are_refused() -> None:
    data = bytearray((DATA / "cuda13_sm_90.cubin").read_bytes())
    table = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<H", data, 60, 0)
    struct.pack_into("<Q", data, table + 32, 4_000_000_000)
    with pytest.raises(BinaryError, match="4000000000 sections"):
        read_cubin(BytesSource("cubin", bytes(data)), Depth.DETAILS)


@given(st.sampled_from(sorted(ARCHS)), st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=8))))
def test_damage_never_crashes_the_reader(name: str, changes) -> None:
    data = bytearray((DATA / f"{name}.cubin").read_bytes())
    for place, new in changes:
        start = int(place * len(data))
        data[start : start + len(new)] = new
    for depth in Depth:
        try:
            read_cubin(BytesSource(name, bytes(data)), depth)
            read_arch(BytesSource(name, bytes(data)))
        except BinaryError:
            pass
