"""The tables on CUDA, PTX ISA and drivers, and what they let us say of a driver."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.facts.architectures import CAPABILITIES
from archbuild.facts.drivers import (
    CUDA_VERSIONS,
    DEVICES,
    FAMILY_MINIMA,
    TOOLKIT_DRIVERS,
    cuda_around_branch,
    cuda_for_isa,
    cuda_of_branch,
    family_minimum,
    find_cuda_row,
    find_device_row,
    first_driver,
    last_branch,
)
from archbuild.facts.toolkits import TOOLKITS
from archbuild.model.arch import ComputeCapability, sass
from archbuild.model.coverage import Destination
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.rules.covering.drivers import (
    device_floor,
    floor_words,
    has_retired,
    knows_device,
    ptx_floor,
    sass_floor,
    takes_isa,
    takes_sass,
)


def cuda(text):
    return CudaVersion.parse(text)


def at(device, release=None, version=None, *, windows=False):
    parts = DriverRelease.parse(release) if release else None
    driver = Driver(parts, cuda(version) if version else None)
    return Destination(ComputeCapability.parse(device), driver, windows)


ISAS = """
11.7 7.7 515 | 11.8 7.8 520 | 12.0 8.0 525 | 12.1 8.1 530 | 12.2 8.2 535 | 12.3 8.3 545
12.4 8.4 550 | 12.5 8.5 555 | 12.6 8.5 560 | 12.7 8.6 565 | 12.8 8.7 570 | 12.9 8.8 575
13.0 9.0 580 | 13.1 9.1 590 | 13.2 9.2 595 | 13.3 9.3 610 | 13.4 9.4 615
"""


@pytest.mark.parametrize("row", ISAS.replace("\n", "|").strip("|").split("|"))
def test_cuda_isa_and_branch(row) -> None:
    version, isa, branch = row.split()
    found = find_cuda_row(cuda(version))
    assert found is not None
    assert ".".join(map(str, found.isa)) == isa
    assert found.branch == int(branch)
    assert cuda_of_branch(int(branch)) == cuda(version)


def test_the_driver_of_13_5_is_unknown() -> None:
    row = find_cuda_row(cuda("13.5"))
    assert row is not None
    assert (row.isa, row.branch) == ((9, 5), None)
    assert find_cuda_row(cuda("13.6")) is None


def test_the_table_goes_upwards() -> None:
    versions = [row.cuda for row in CUDA_VERSIONS]
    isas = [row.isa for row in CUDA_VERSIONS]
    branches = [row.branch for row in CUDA_VERSIONS if row.branch is not None]
    assert versions == sorted(set(versions))
    assert isas == sorted(isas)
    assert branches == sorted(set(branches))


def test_every_toolkit_has_its_isa_and_what_shipped() -> None:
    for row in TOOLKITS:
        assert find_cuda_row(row.version) is not None, row.version


def test_shipped_drivers_are_of_the_branch_of_their_toolkit() -> None:
    for row in TOOLKIT_DRIVERS:
        assert cuda_of_branch(row.linux.branch) == row.cuda, row.toolkit
        if row.windows is not None:
            assert cuda_of_branch(row.windows.branch) == row.cuda, row.toolkit
    assert len({row.toolkit for row in TOOLKIT_DRIVERS}) == len(TOOLKIT_DRIVERS)


@pytest.mark.parametrize(
    ("isa", "version"),
    [((8, 5), "12.5"), ((8, 4), "12.4"), ((9, 5), "13.5"), ((7, 8), "11.8"), ((3, 2), "7.0")],
)
def test_the_first_cuda_for_an_isa(isa, version) -> None:
    assert cuda_for_isa(isa) == cuda(version)


def test_an_isa_newer_than_the_table() -> None:
    assert cuda_for_isa((9, 6)) is None


@pytest.mark.parametrize(
    ("version", "linux", "windows"),
    [
        ("12.4", "550.54.14", "551.61"),
        ("12.8", "570.26", "570.65"),
        ("11.8", "520.61.05", "520.06"),
        ("13.0", "580.65.06", None),
        ("13.3", "610.43.02", None),
        ("13.5", None, None),
    ],
)
def test_the_first_driver_of_a_toolkit(version, linux, windows) -> None:
    found = first_driver(cuda(version)), first_driver(cuda(version), windows=True)
    assert tuple(r and str(r) for r in found) == (linux, windows)


@pytest.mark.parametrize(
    ("version", "linux", "windows"),
    [
        ("11.0", "450.36.06", "451.22"),
        ("11.1", "450.80.02", "452.39"),
        ("11.8", "450.80.02", "452.39"),
        ("12.0", "525.60.13", "528.33"),
        ("12.9", "525.60.13", "528.33"),
        ("13.0", "580.0", "580.0"),
        ("13.5", "580.0", "580.0"),
    ],
)
def test_family_minimum(version, linux, windows) -> None:
    row = family_minimum(cuda(version))
    assert row is not None
    assert (str(row.linux), str(row.windows)) == (linux, windows)


@pytest.mark.parametrize("version", ["10.2", "14.0"])
def test_no_family_minimum_outside_the_table(version) -> None:
    assert family_minimum(cuda(version)) is None


@pytest.mark.parametrize("branch", [540, 577, 585, 620, 300])
def test_a_branch_that_is_not_listed(branch) -> None:
    assert cuda_of_branch(branch) is None


@pytest.mark.parametrize(
    ("branch", "below", "above"),
    [
        (580, "13.0", "13.0"),
        (572, "12.8", "12.8"),  # Windows, of the 570 branch
        (540, "12.2", "12.3"),
        (585, "13.0", "13.1"),
        (700, "13.4", None),
        (300, None, "7.0"),
    ],
)
def test_the_branches_around(branch, below, above) -> None:
    found = cuda_around_branch(branch)
    assert tuple(v and str(v) for v in found) == (below, above)


def test_the_first_driver_for_a_device() -> None:
    stated = {str(r.capability): r.branch for r in DEVICES if r.stated}
    assert stated == {"12.0": 570}
    assert find_device_row(ComputeCapability(8, 8)) is None
    assert find_device_row(ComputeCapability(13, 0)) is None
    assert len({row.capability for row in DEVICES}) == len(DEVICES)
    known = {row.capability for row in CAPABILITIES}
    assert all(row.capability in known and cuda_of_branch(row.branch) for row in DEVICES)


def test_the_last_driver_for_a_generation() -> None:
    last = {name: last_branch(name) for name in ("Kepler", "Maxwell", "Pascal", "Volta", "Turing")}
    assert last == {"Kepler": 470, "Maxwell": 580, "Pascal": 580, "Volta": 580, "Turing": None}


@pytest.mark.parametrize(
    ("destination", "isa", "expected"),
    [
        (at("9.0", "550.54.14"), (8, 4), True),
        (at("9.0", "550.54.14"), (8, 5), False),
        (at("9.0", version="12.6"), (8, 5), True),
        (at("9.0", version="12.5"), (8, 5), True),
        (at("9.0", version="12.4"), (8, 5), False),
        # The CUDA version counts, whatever the release: cuda-compat raises it.
        (at("9.0", "535.54.03", "12.4"), (8, 4), True),
        (at("9.0", "572.61", windows=True), (8, 7), True),
        (at("9.0", "572.61", windows=True), (8, 8), False),
        (at("9.0", "540.1"), (8, 2), True),
        (at("9.0", "540.1"), (8, 3), None),
        (at("9.0", "540.1"), (8, 4), False),
        (at("9.0", "700.1"), (9, 4), True),
        (at("9.0", "700.1"), (9, 5), None),
        (at("9.0", version="14.0"), (9, 9), None),
        (at("9.0", version="13.5"), (9, 9), False),
        (at("9.0", version="12.4"), None, None),
        (at("9.0"), (8, 0), None),
        # Jetson's releases are numbered on their own.
        (at("8.7", "540.4.0"), (8, 0), None),
        (at("8.7", "540.4.0", "12.6"), (8, 5), True),
        (Destination(ComputeCapability(9, 0)), (99, 0), True),
    ],
)
def test_takes_isa(destination, isa, expected) -> None:
    assert takes_isa(destination, isa) is expected


@pytest.mark.parametrize(
    ("destination", "arch", "built", "expected"),
    [
        # Minor-version compatibility: 12.9's SASS on the oldest driver of 12.x.
        (at("9.0", "525.60.13"), "90", "12.9", True),
        (at("9.0", "525.53"), "90", "12.9", False),
        (at("9.0", "550.54.14"), "90", "13.0", False),
        (at("9.0", "580.65.06"), "90", "13.5", True),
        (at("9.0", "580.65.06"), "90", "11.8", True),
        (at("8.0", "450.80.02"), "80", "11.8", True),
        (at("8.0", "450.36.06"), "80", "11.8", False),
        (at("8.0", "450.36.06"), "80", "11.0", True),
        (at("8.0", "451.22", windows=True), "80", "11.2", False),
        (at("8.0", "452.39", windows=True), "80", "11.2", True),
        (at("8.0", "527.41", windows=True), "80", "12.0", True),
        (at("8.0", "527.41", windows=True), "80", "12.1", False),
        # By the CUDA version alone.
        (at("9.0", version="12.0"), "90", "12.9", True),
        (at("9.0", version="12.9"), "90", "13.0", False),
        (at("8.0", version="11.0"), "80", "11.8", None),
        (at("8.0", version="11.1"), "80", "11.8", True),
        # Before 11.0 each toolkit wants its own driver.
        (at("7.5", "418.39"), "75", "10.2", False),
        (at("7.5", "440.33"), "75", "10.2", True),
        (at("7.5", version="10.1"), "75", "10.2", False),
        # The maker unknown: only what holds for every toolkit that can build it.
        (at("9.0", "580.65.06"), "90", None, True),
        (at("9.0", "550.54.14"), "90", None, None),
        (at("12.0", "520.61.05"), "120", None, False),
        (at("11.0", "570.26"), "110", None, None),
        (at("11.0", version="12.8"), "110", None, False),
        (at("9.0"), "90", "12.0", None),
        (at("8.7", version="12.6"), "87", "12.9", None),
        (at("8.7", version="11.4"), "87", "12.9", False),
        (at("8.7", version="12.6"), "87", "12.2", True),
        (at("9.0", "650.1"), "90", "14.0", None),
        (Destination(ComputeCapability(9, 0)), "90", None, True),
    ],
)
def test_takes_sass(destination, arch, built, expected) -> None:
    assert takes_sass(destination, sass(arch), cuda(built) if built else None) is expected


@pytest.mark.parametrize(
    ("destination", "expected"),
    [
        (at("12.0", "565.57.01"), False),
        (at("12.0", "570.26"), True),
        (at("12.0", version="12.7"), False),
        (at("12.0", version="12.8"), True),
        # An older libcuda.so than the kernel's side, or a newer one (cuda-compat).
        (at("12.0", "565.57.01", "12.9"), False),
        # Inferred: below it nobody has said no.
        (at("10.3", "570.26"), None),
        (at("10.3", "575.51.03"), True),
        (at("8.8", "580.65.06"), None),
        (at("8.7", "540.4.0"), True),
        (at("9.0"), None),
        (Destination(ComputeCapability(20, 0)), True),
    ],
)
def test_knows_device(destination, expected) -> None:
    assert knows_device(destination) is expected


@pytest.mark.parametrize("device", ["5.0", "5.2", "6.0", "6.1", "7.0"])
def test_r580_is_the_last_for_maxwell_pascal_and_volta(device) -> None:
    assert not has_retired(at(device, "580.95.05"))
    assert not has_retired(at(device, "581.15", windows=True))
    assert has_retired(at(device, "590.44.01"))
    assert has_retired(at(device, version="13.1"))
    assert not has_retired(at(device, version="13.0"))
    assert not has_retired(Destination(ComputeCapability.parse(device)))


@pytest.mark.parametrize("device", ["7.5", "9.0", "6.2", "7.2", "4.4"])
def test_others_are_not_retired(device) -> None:
    assert not has_retired(at(device, "615.1"))


def test_floors_as_people_read_them() -> None:
    assert floor_words(ptx_floor((8, 4))) == "driver 550.54.14 (CUDA 12.4)"
    assert floor_words(ptx_floor((8, 4), windows=True)) == "driver 551.61 (CUDA 12.4)"
    assert floor_words(ptx_floor((9, 5))) == "a driver of CUDA 13.5"
    assert floor_words(sass_floor(cuda("12.9"))) == "driver 525.60.13 (CUDA 12.0)"
    assert floor_words(sass_floor(cuda("10.2"))) == "driver 440.33 (CUDA 10.2)"
    assert floor_words(device_floor(at("12.0"))) == "driver 570.26 (CUDA 12.8)"
    assert ptx_floor((9, 6)) is None
    assert ptx_floor(None) is None
    assert sass_floor(None) is None
    assert device_floor(at("8.8")) is None


releases = st.builds(
    lambda a, b: DriverRelease.parse(f"{a}.{b}"), st.integers(300, 800), st.integers(0, 99)
)
rows = st.sampled_from(CUDA_VERSIONS)


@given(releases, releases, rows)
def test_a_newer_driver_takes_no_less_ptx(one, two, row) -> None:
    older, newer = sorted([one, two])
    device = ComputeCapability(9, 0)
    answers = [takes_isa(Destination(device, Driver(r, None)), row.isa) for r in (older, newer)]
    assert answers[0] is not True or answers[1] is True
    assert answers[1] is not False or answers[0] is False


@given(releases, releases, rows)
def test_a_newer_driver_takes_no_less_sass(one, two, row) -> None:
    older, newer = sorted([one, two])
    device = ComputeCapability(9, 0)
    places = [Destination(device, Driver(release, None)) for release in (older, newer)]
    answers = [takes_sass(place, sass("90"), row.cuda) for place in places]
    assert answers[0] is not True or answers[1] is True
    assert answers[1] is not False or answers[0] is False


def test_minima_go_upwards() -> None:
    assert [r.first for r in FAMILY_MINIMA] == sorted(r.first for r in FAMILY_MINIMA)
    assert [r.linux for r in FAMILY_MINIMA] == sorted(r.linux for r in FAMILY_MINIMA)
