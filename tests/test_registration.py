"""What the host's side says: names of kernels, and symbols of a device link."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import limits
from archbuild.binary.reader import iter_files
from archbuild.binary.registration import unnamed_kernels
from archbuild.binary.source import BytesSource
from archbuild.model.image import Linkage
from tests.fatbins import elf
from tests.images import real, region, relocatable

DATA = Path(__file__).parent / "data"
HOST = b"\0_Z1kPf\0prefix_Z1mPf\0_Z1nPfx\0"


def unnamed(kernels: str, *host: bytes) -> tuple[str, ...] | None:
    sources = [BytesSource("host", data) for data in host]
    return unnamed_kernels([region(real("90", kernels))], sources)


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("_Z1kPf", True),
        ("_Z1mPf", True),  # the tail of a longer string, as linkers merge them
        ("_Z1nPf", False),  # only the beginning of another name
        ("absent", False),
    ],
)
def test_a_name_with_its_final_zero_counts_wherever_it_begins(name: str, there: bool) -> None:
    assert unnamed(f"_Z1kPf {name}", HOST) == (() if there else (name,))


def test_a_string_without_its_zero_is_none() -> None:
    assert unnamed("a b", b"\0a\0b") == ("b",)


def test_where_no_kernel_is_named_nothing_can_be_said() -> None:
    assert unnamed("a b", HOST) is None
    assert unnamed("a b") is None
    assert unnamed("", HOST) is None


def test_several_sections_and_relocatable_code() -> None:
    assert unnamed("a b", b"a\0", b"b\0") == ()
    waiting = region(relocatable(real("90", "c")), linkage=Linkage.RELOCATABLE)
    regions = [region(real("90", "a"), real("80", "a")), waiting]
    assert unnamed_kernels(regions, [BytesSource("host", b"a\0")]) == ()


@pytest.mark.parametrize("chunk", [1, 2, 7, 64])
def test_names_that_lie_across_blocks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CHUNK", chunk)
    assert unnamed("_Z1kPf _Z1mPf absent", HOST) == ("absent",)


NAMES = st.text("abc", min_size=1, max_size=4)


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.lists(NAMES, max_size=8))
def test_it_equals_a_search_for_each_name(kernels: list[str], strings: list[str]) -> None:
    data = b"".join(text.encode() + b"\0" for text in strings)
    missing = tuple(name for name in kernels if name.encode() + b"\0" not in data)
    whole = any(name in strings for name in kernels)
    expected = missing if len(missing) < len(kernels) else None
    assert unnamed(" ".join(kernels), data) == expected
    assert whole <= (expected is not None)


@pytest.mark.parametrize(
    ("name", "unnamed_there", "wanting"),
    [
        ("classic.so", (), 0),
        ("unregistered.so", ("_Z4stepILi1EEvPf",), 0),
        ("plain.so", None, 0),
        ("rdc.so", (), 0),
        ("rdc_unlinked.so", None, 1),
        ("mixed.so", (), 1),
        ("reader/rdc_unlinked.so", None, 2),
        ("reader/rdc_linked.so", (), 0),
    ],
)
def test_real_libraries(name: str, unnamed_there: tuple[str, ...] | None, wanting: int) -> None:
    (file,) = iter_files(str(DATA / name), kernels=True, names=True)
    assert file.unnamed == unnamed_there
    assert len(file.wanting) == wanting
    assert all(symbol.startswith("__cudaRegisterLinkedBinary_") for symbol in file.wanting)


@pytest.mark.parametrize(
    ("section", "expected"), [(".nv_fatbin", ("other",)), (".rodata.code", ()), (".ldata", ())]
)
def test_a_fatbin_that_is_the_programs_own_data_is_not_registered(
    section: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    own = (DATA / "classic.fatbin").read_bytes()
    other = own.replace(b"scale", b"other")
    sections = [(".rodata", b"scale\0"), (".nv_fatbin", own), (section, other)]
    (tmp_path / "x.so").write_bytes(elf(sections))
    (file,) = iter_files(str(tmp_path / "x.so"), kernels=True, names=True)
    assert {name for image in file.images for name in image.kernels or ()} == {"scale", "other"}
    assert file.unnamed == expected


def test_without_kernels_names_are_not_looked_for() -> None:
    path = str(DATA / "unregistered.so")
    assert [file.unnamed for file in iter_files(path, names=True)] == [None]
    assert [file.unnamed for file in iter_files(path, kernels=True)] == [None]


@pytest.mark.parametrize(
    ("names", "small", "found"), [(True, 0, True), (None, 0, False), (None, 1 << 20, True)]
)
def test_in_a_wheel_they_are_looked_for_where_that_is_cheap(
    tmp_path: Path, names: bool | None, small: int, found: bool
) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.write(DATA / "unregistered.so", "x.so")
    path = str(tmp_path / "x.whl")
    (file,) = iter_files(path, kernels=True, names=names, small=small)
    assert file.unnamed == (("_Z4stepILi1EEvPf",) if found else None)
    (alone,) = iter_files(str(DATA / "unregistered.so"), kernels=True, names=None)
    assert alone.unnamed == ("_Z4stepILi1EEvPf",)
