"""Which files belong together, and what one build holds that the other lacks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.names import normalize, widen
from archbuild.model.image import DeviceFile, FileFormat
from archbuild.rules.comparing.differences import (
    Bytes,
    Counts,
    CoverageDifference,
    Differences,
    find_differences,
)
from archbuild.rules.comparing.member_names import normalize_member
from archbuild.rules.comparing.pairing import align_names, pair_files
from tests.images import cap, file, lto, real, region, relocatable, virtual


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pkg/_C.cpython-311-x86_64-linux-gnu.so", "pkg/_C.so"),
        ("pkg/_C.cpython-313t-x86_64-linux-gnu.so", "pkg/_C.so"),
        ("pkg/_C.cp312-win_amd64.pyd", "pkg/_C.so"),
        ("pkg/_C.pypy310-pp73-x86_64-linux-gnu.so", "pkg/_C.so"),
        ("pkg/_C.abi3.so", "pkg/_C.so"),
        ("pkg/_C.so", "pkg/_C.so"),
        ("pkg-1.2.3.data/purelib/pkg/_C.so", "pkg/_C.so"),
        ("pkg.libs/libcore-0f1e2d3c.so.1.2", "pkg.libs/core.so"),
        ("pkg.libs/libcore-9a8b7c6d.so.1.3", "pkg.libs/core.so"),
        ("pkg/libx_cuda130.so", "pkg/x_cuda130.so"),
        ("pkg/libx_cuda130.dll", "pkg/x_cuda130.so"),
        ("pkg/x_cuda132.dll", "pkg/x_cuda132.so"),
        ("lib/python3.11/site-packages/pkg/_C.so", "pkg/_C.so"),
        ("C:\\py\\Lib\\site-packages\\pkg\\k.lib", "pkg/k.a"),
        ("pkg/kernels.cubin", "pkg/kernels.cubin"),
        ("noext", "noext"),
    ],
)
def test_names_without_version(name: str, expected: str) -> None:
    assert normalize_member(name) == expected


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_that_matters(name: str) -> None:
    assert isinstance(normalize_member(name), str)


def named(*paths: str) -> list[DeviceFile]:
    return [file(region(real("90", "k")), path=path) for path in paths]


def names(before: list[DeviceFile], after: list[DeviceFile]) -> list[tuple[str | None, str | None]]:
    pairs = pair_files(before, after)
    return [tuple(one and one.path for one in pair) for pair in pairs]


def test_pairs_by_name_then_by_normalised_name() -> None:
    before = named("p/_C.cpython-310-x86_64-linux-gnu.so", "p/a.so", "p/gone.so", "p/lost.so")
    after = named("p/a.so", "p/new.so", "p/_C.cp312-win_amd64.pyd", "p/other.so")
    assert names(before, after) == [
        ("p/_C.cpython-310-x86_64-linux-gnu.so", "p/_C.cp312-win_amd64.pyd"),
        ("p/a.so", "p/a.so"),
        ("p/gone.so", None),
        ("p/lost.so", None),
        (None, "p/new.so"),
        (None, "p/other.so"),
    ]


def test_two_of_one_normalised_name_are_paired_in_order() -> None:
    before = named("_C.cpython-310-x86_64-linux-gnu.so", "_C.cpython-311-x86_64-linux-gnu.so")
    after = named("_C.cpython-311-x86_64-linux-gnu.so", "_C.cpython-312-x86_64-linux-gnu.so")
    assert names(before, after)[1] == (before[1].path, after[0].path)
    assert names(before, after)[0] == (before[0].path, after[1].path)


def test_two_libraries_named_by_themselves_belong_together() -> None:
    assert names(named("old.so"), named("new.so")) == [("old.so", "new.so")]
    bare = [*named("new.so"), file(path="host.so")]
    assert names(named("old.so"), bare) == [("old.so", "new.so"), (None, "host.so")]


# --- differences ------------------------------------------------------------------------------


def compared(before: DeviceFile | None, after: DeviceFile | None) -> Differences:
    return find_differences([(before, after)], normalize)


FULL = file(region(real("80", "a b"), real("90", "a b"), virtual("90", "a b")), size=100)


def device(found: Differences, number: str) -> CoverageDifference:
    return next(d for d in found.coverage if d.capability == cap(number))


def test_the_same_is_no_difference() -> None:
    found = compared(FULL, FULL)
    assert not found.has_lost
    assert not found.files[0].has_changed
    assert all(d.before == d.after and not d.worse and not d.better for d in found.coverage)


def test_an_architecture_lost_is_coverage_lost() -> None:
    found = compared(FULL, file(region(real("90", "a b"), virtual("90", "a b")), size=60))
    (one,) = found.files
    assert one.archs_lost == ("sm_80",)
    assert one.kernels_lost == one.narrowed == ()
    assert one.size == Bytes(100, 60)
    assert device(found, "8.6") == CoverageDifference(
        cap("8.6"), Counts(native=2), Counts(none=2), better=0, worse=2
    )
    assert device(found, "9.0").worse == 0
    assert found.has_lost


def test_native_that_becomes_jit_is_worse_and_the_way_back_better() -> None:
    less = file(region(real("80", "a b"), virtual("80", "a b")))
    more = file(region(real("80", "a b"), real("90", "a b"), virtual("80", "a b")))
    assert device(compared(more, less), "9.0").worse == 2
    found = compared(less, more)
    assert device(found, "9.0").better == 2
    assert not found.has_lost


def test_a_kernel_lost_and_one_gained() -> None:
    found = compared(file(region(real("90", "a b"))), file(region(real("90", "b c"))))
    (one,) = found.files
    assert (one.kernels_lost, one.kernels_gained) == (("a",), ("c",))
    assert found.has_lost
    assert all(d.worse == 0 for d in found.coverage)


def test_a_kernel_lost_on_one_architecture_only() -> None:
    found = compared(FULL, file(region(real("80", "a"), real("90", "a b"), virtual("90", "a b"))))
    (one,) = found.files
    assert one.narrowed == (("sm_80", ("b",)),)
    assert one.kernels_lost == one.archs_lost == ()
    assert found.has_lost


def test_hashes_of_a_build_make_no_difference() -> None:
    old = "_ZN33_GLOBAL__N__0c456945_4_k_cu_plain4anonEPf"
    new = "_ZN33_GLOBAL__N__1d567056_4_k_cu_plain4anonEPf"
    found = compared(file(region(real("90", old))), file(region(real("90", new))))
    assert not found.has_lost
    assert device(found, "9.0") == CoverageDifference(
        cap("9.0"), Counts(native=1), Counts(native=1)
    )


def test_an_empty_image_is_no_architecture() -> None:
    empty = file(region(real("75", "")), region(real("90", "a")))
    found = compared(empty, file(region(real("90", "a"))))
    assert found.files[0].archs_lost == ()
    assert not found.has_lost


def test_relocatable_code_and_lto_are_told_apart() -> None:
    before = file(region(relocatable(real("90", "a")), lto("90")))
    (one,) = compared(before, file(region(real("90", "a")))).files
    assert one.archs_lost == ("lto_90", "relocatable sm_90")
    assert one.archs_gained == ("sm_90",)


def test_a_file_that_is_gone_or_new() -> None:
    found = compared(FULL, None)
    assert found.files[0].after is None
    assert found.files[0].archs_lost == ("sm_80", "compute_90", "sm_90")
    assert found.has_lost
    assert not compared(None, FULL).has_lost


def test_a_library_that_lost_all_its_device_code() -> None:
    found = compared(FULL, file())
    assert found.has_lost
    assert found.files[0].kernels_lost == ("a", "b")


def test_files_without_device_code_are_no_difference() -> None:
    assert compared(file(), file()).files == ()


def test_the_worst_of_two_regions_counts() -> None:
    twice = file(region(real("80", "a")), region(real("90", "a")))
    found = compared(twice, twice)
    assert device(found, "8.0").before == Counts(none=1)


def test_bytes_by_architecture() -> None:
    before = file(region(real("90", "a", stored=10, size=40)))
    after = file(region(real("90", "a", stored=30, size=40), real("80", "a", stored=5, size=9)))
    found = compared(before, after)
    assert found.files[0].stored == (("sm_80", Bytes(0, 5)), ("sm_90", Bytes(10, 30)))
    assert found.stored == Bytes(10, 35)
    assert found.stored.change == 25


# The same kernels on Linux and on Windows.
ELF, PE = FileFormat.ELF, FileFormat.PE


def lost_and_gained(
    before: str, after: str, formats: tuple[FileFormat | None, FileFormat | None] = (ELF, PE)
) -> tuple[list[str], list[str]]:
    one, other = (
        file(region(real("90", text), real("80", text)), format=form)
        for text, form in zip((before, after), formats, strict=True)
    )
    found = find_differences([align_names((one, other), normalize, widen)], normalize).files[0]
    assert found.narrowed == ()
    return list(found.kernels_lost), list(found.kernels_gained)


@pytest.mark.parametrize(
    ("linux", "windows"),
    [
        ("_Z1kPl", "_Z1kPx"),
        ("_Z1kPl _Z1kPm _Z1kPi", "_Z1kPy _Z1kPi _Z1kPx"),
        # What is `long` in the source has one name for both, beside it `int64_t`.
        ("_Z1kPl _Z1jll", "_Z1kPl _Z1jlx"),
        (
            "_ZN33_GLOBAL__N__0c456945_4_k_cu_plain4anonEPl",
            "_ZN33_GLOBAL__N__ffffffff_4_k_cu_plain4anonEPx",
        ),
    ],
)
def test_int64_is_one_type_between_linux_and_windows(linux: str, windows: str) -> None:
    assert lost_and_gained(linux, windows) == ([], [])
    assert lost_and_gained(windows, linux, (PE, ELF)) == ([], [])


@pytest.mark.parametrize(
    ("linux", "windows", "lost", "gained"),
    [
        # Lost although a kernel is there whose name differs in the type alone.
        ("_Z1kPl _Z1kPx", "_Z1kPx", ["_Z1kPl"], []),
        ("_Z1kPx", "_Z1kPl", ["_Z1kPx"], ["_Z1kPl"]),
        ("_Z1kPl", "_Z1kPy", ["_Z1kPl"], ["_Z1kPy"]),
        ("_Z1lPf", "_Z1xPf", ["_Z1lPf"], ["_Z1xPf"]),
        # Nothing tells which of the two it is.
        ("_Z1klx _Z1kxl", "_Z1kxx", ["_Z1klx", "_Z1kxl"], ["_Z1kxx"]),
    ],
)
def test_int64_makes_no_other_kernels_equal(
    linux: str, windows: str, lost: list[str], gained: list[str]
) -> None:
    assert lost_and_gained(linux, windows) == (lost, gained)


@pytest.mark.parametrize("formats", [(ELF, ELF), (PE, PE), (None, PE), (ELF, FileFormat.FATBIN)])
def test_on_one_system_the_types_are_two(formats: tuple[FileFormat | None, FileFormat]) -> None:
    assert lost_and_gained("_Z1kPl", "_Z1kPx", formats) == (["_Z1kPl"], ["_Z1kPx"])


def test_a_file_without_a_partner_keeps_its_names() -> None:
    alone = file(region(real("90", "_Z1kPl")), format=ELF)
    assert align_names((alone, None), normalize, widen) == (alone, None)
    assert align_names((None, alone), normalize, widen) == (None, alone)


def test_an_architecture_that_lacks_such_a_kernel_is_still_told() -> None:
    linux = file(region(real("90", "_Z1kPl a"), real("80", "_Z1kPl a")), format=ELF)
    windows = file(region(real("90", "_Z1kPx a"), real("80", "a")), format=PE)
    pair = align_names((linux, windows), normalize, widen)
    (found,) = find_differences([pair], normalize).files
    assert found.narrowed == (("sm_80", ("_Z1kPl",)),)
