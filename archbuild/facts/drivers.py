"""CUDA, PTX ISA and driver: which goes with which, and who knows which GPU.

A missing row means "unknown", never "no". Driver *releases* (580.65.06) and
CUDA *versions* (13.0) are two types; a *branch* is the first number of a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from archbuild.model.arch import ComputeCapability
from archbuild.model.version import CudaVersion, DriverRelease

_READ = date(2026, 11, 30)
_NOTES = "CUDA Toolkit release notes, table 3"


@dataclass(frozen=True)
class CudaRow:
    """One CUDA version: the PTX it writes, and the driver branch that is its own.

    Args:
        cuda: The version.
        isa: The PTX ISA that its nvcc stamps on PTX, and the highest that its
            driver takes.
        branch: The Linux driver branch of this version; None where unknown.
        source: Where it is written.
        date: When it was read there.
    """

    cuda: CudaVersion
    isa: tuple[int, int]
    branch: int | None
    source: str
    date: date


@dataclass(frozen=True)
class ShippedRow:
    """A release of the toolkit, and the driver that came with it.

    Args:
        toolkit: As NVIDIA writes it, ``12.8 U1``.
        cuda: Its CUDA version.
        linux: The driver for Linux.
        windows: The driver for Windows; None where none is named.
        source: Where it is written.
        date: When it was read there.
    """

    toolkit: str
    cuda: CudaVersion
    linux: DriverRelease
    windows: DriverRelease | None
    source: str
    date: date


@dataclass(frozen=True)
class FamilyMinimumRow:
    """The oldest driver that runs SASS of a whole major version of CUDA.

    Args:
        first: The first CUDA version it holds for, up to the next major.
        linux: The release for Linux.
        windows: The release for Windows.
        source: Where it is written.
        date: When it was read there.
    """

    first: CudaVersion
    linux: DriverRelease
    windows: DriverRelease
    source: str
    date: date


@dataclass(frozen=True)
class DeviceRow:
    """The first driver branch that knows a device.

    Args:
        capability: The device's.
        branch: The branch.
        stated: Whether NVIDIA says so. Otherwise it is the branch of the first
            toolkit that makes code for the device: that one or an earlier one.
        source: Where it is written.
        date: When it was read there.
    """

    capability: ComputeCapability
    branch: int
    stated: bool
    source: str
    date: date


@dataclass(frozen=True)
class RetiredRow:
    """The last driver branch for a generation of desktop and data-centre GPUs.

    Args:
        generation: As facts/architectures.py names it.
        branch: The last branch.
        source: Where it is written.
        date: When it was read there.
    """

    generation: str
    branch: int
    source: str
    date: date


def _cuda(version: str, isa: str, branch: int | None, source: str = _NOTES) -> CudaRow:
    ptx = f"PTX ISA, release history; {source}"
    major, _, minor = isa.partition(".")
    return CudaRow(CudaVersion.parse(version), (int(major), int(minor)), branch, ptx, _READ)


def _shipped(toolkit: str, linux: str, windows: str | None = None) -> ShippedRow:
    releases = DriverRelease.parse(linux), DriverRelease.parse(windows) if windows else None
    return ShippedRow(
        toolkit, CudaVersion.parse(toolkit.split(maxsplit=1)[0]), *releases, _NOTES, _READ
    )


def _minimum(first: str, linux: str, windows: str) -> FamilyMinimumRow:
    releases = DriverRelease.parse(linux), DriverRelease.parse(windows)
    source = "CUDA Toolkit release notes, table 2, minor-version compatibility"
    return FamilyMinimumRow(CudaVersion.parse(first), *releases, source, _READ)


def _device(number: str, branch: int, source: str = "", *, stated: bool = False) -> DeviceRow:
    capability = ComputeCapability.parse(number)
    source = source or f"the first ptxas in our table to make code for it is of branch {branch}"
    return DeviceRow(capability, branch, stated, source, _READ)


CUDA_VERSIONS = (
    _cuda("7.0", "4.2", 346),
    _cuda("7.5", "4.3", 352),
    _cuda("8.0", "5.0", 367),
    _cuda("9.0", "6.0", 384),
    _cuda("9.1", "6.1", 390),
    _cuda("9.2", "6.2", 396),
    _cuda("10.0", "6.3", 410),
    _cuda("10.1", "6.4", 418),
    _cuda("10.2", "6.5", 440),
    _cuda("11.0", "7.0", 450),
    _cuda("11.1", "7.1", 455),
    _cuda("11.2", "7.2", 460),
    _cuda("11.3", "7.3", 465),
    _cuda("11.4", "7.4", 470),
    _cuda("11.5", "7.5", 495),
    _cuda("11.6", "7.6", 510),
    _cuda("11.7", "7.7", 515),
    _cuda("11.8", "7.8", 520),
    _cuda("12.0", "8.0", 525),
    _cuda("12.1", "8.1", 530),
    _cuda("12.2", "8.2", 535),
    _cuda("12.3", "8.3", 545),
    _cuda("12.4", "8.4", 550),
    _cuda("12.5", "8.5", 555),
    _cuda("12.6", "8.5", 560),
    # There was a driver of 12.7, but never a toolkit.
    _cuda("12.7", "8.6", 565, "common knowledge"),
    _cuda("12.8", "8.7", 570),
    _cuda("12.9", "8.8", 575),
    _cuda("13.0", "9.0", 580),
    _cuda("13.1", "9.1", 590),
    _cuda("13.2", "9.2", 595),
    _cuda("13.3", "9.3", 610),
    _cuda("13.4", "9.4", 615, "the drivers of that version"),
    _cuda("13.5", "9.5", None, "PTX written by nvcc 13.5; no driver is named yet"),
)

TOOLKIT_DRIVERS = (
    _shipped("13.3 GA", "610.43.02"),
    _shipped("13.2 U2", "595.71.05"),
    _shipped("13.2 U1", "595.58.03"),
    _shipped("13.2 GA", "595.45.04"),
    _shipped("13.1 U1", "590.48.01"),
    _shipped("13.1 GA", "590.44.01"),
    _shipped("13.0 U2", "580.95.05"),
    _shipped("13.0 U1", "580.82.07"),
    _shipped("13.0 GA", "580.65.06"),
    _shipped("12.9 U1", "575.57.08", "576.57"),
    _shipped("12.9 GA", "575.51.03", "576.02"),
    _shipped("12.8 U1", "570.124.06", "572.61"),
    _shipped("12.8 GA", "570.26", "570.65"),
    _shipped("12.6 U3", "560.35.05", "561.17"),
    _shipped("12.6 U2", "560.35.03", "560.94"),
    _shipped("12.6 U1", "560.35.03", "560.94"),
    _shipped("12.6 GA", "560.28.03", "560.76"),
    _shipped("12.5 U1", "555.42.06", "555.85"),
    _shipped("12.5 GA", "555.42.02", "555.85"),
    _shipped("12.4 U1", "550.54.15", "551.78"),
    _shipped("12.4 GA", "550.54.14", "551.61"),
    _shipped("12.3 U1", "545.23.08", "546.12"),
    _shipped("12.3 GA", "545.23.06", "545.84"),
    _shipped("12.2 U2", "535.104.05", "537.13"),
    _shipped("12.2 U1", "535.86.09", "536.67"),
    _shipped("12.2 GA", "535.54.03", "536.25"),
    _shipped("12.1 U1", "530.30.02", "531.14"),
    _shipped("12.1 GA", "530.30.02", "531.14"),
    _shipped("12.0 U1", "525.85.12", "528.33"),
    _shipped("12.0 GA", "525.60.13", "527.41"),
    _shipped("11.8 GA", "520.61.05", "520.06"),
    _shipped("11.7 U1", "515.48.07", "516.31"),
    _shipped("11.7 GA", "515.43.04", "516.01"),
    _shipped("11.6 U2", "510.47.03", "511.65"),
    _shipped("11.6 U1", "510.47.03", "511.65"),
    _shipped("11.6 GA", "510.39.01", "511.23"),
    _shipped("11.5 U2", "495.29.05", "496.13"),
    _shipped("11.5 U1", "495.29.05", "496.13"),
    _shipped("11.5 GA", "495.29.05", "496.04"),
    _shipped("11.4 U4", "470.82.01", "472.50"),
    _shipped("11.4 U3", "470.82.01", "472.50"),
    _shipped("11.4 U2", "470.57.02", "471.41"),
    _shipped("11.4 U1", "470.57.02", "471.41"),
    _shipped("11.4 GA", "470.42.01", "471.11"),
    _shipped("11.3 U1", "465.19.01", "465.89"),
    _shipped("11.3 GA", "465.19.01", "465.89"),
    _shipped("11.2 U2", "460.32.03", "461.33"),
    _shipped("11.2 U1", "460.32.03", "461.09"),
    _shipped("11.2 GA", "460.27.03", "460.82"),
    _shipped("11.1 U1", "455.32", "456.81"),
    _shipped("11.1 GA", "455.23", "456.38"),
    _shipped("11.0 U1 (11.0.3)", "450.51.06", "451.82"),
    _shipped("11.0 GA (11.0.2)", "450.51.05", "451.48"),
    _shipped("11.0 RC (11.0.1)", "450.36.06", "451.22"),
    _shipped("10.2", "440.33", "441.22"),
    _shipped("10.1", "418.39", "418.96"),
    _shipped("10.0", "410.48", "411.31"),
    _shipped("9.2 U1", "396.37", "398.26"),
    _shipped("9.2", "396.26", "397.44"),
    _shipped("9.1", "390.46", "391.29"),
    _shipped("9.0", "384.81", "385.54"),
    _shipped("8.0 GA2", "375.26", "376.51"),
    _shipped("8.0", "367.48", "369.30"),
    _shipped("7.5", "352.31", "353.66"),
    _shipped("7.0", "346.46", "347.62"),
)

# Until 10.2 a program needed the driver of its own toolkit. 13.x has no Windows
# row of its own since the driver is not bundled; the branch is the same.
FAMILY_MINIMA = (
    _minimum("11.0", "450.36.06", "451.22"),
    _minimum("11.1", "450.80.02", "452.39"),
    _minimum("12.0", "525.60.13", "528.33"),
    _minimum("13.0", "580.0", "580.0"),
)

# Tegra has drivers of its own before 11.0; no row for it.
DEVICES = (
    *(_device(number, 410) for number in ("3.0", "3.5", "3.7", "5.0", "5.2")),
    *(_device(number, 410) for number in ("6.0", "6.1", "7.0", "7.5")),
    _device("8.0", 450),
    _device("8.6", 455),
    _device("8.9", 520),
    _device("9.0", 520),
    _device("10.0", 570),
    _device("12.0", 570, "NVIDIA's driver release notes: R570 or newer", stated=True),
    _device("10.3", 575),
    _device("12.1", 575),
    _device("11.0", 580),
    _device("10.7", 615),
)

_LAST = "NVIDIA's notices of the end of driver support"
RETIRED = (
    RetiredRow("Kepler", 470, _LAST, _READ),
    RetiredRow("Maxwell", 580, _LAST, _READ),
    RetiredRow("Pascal", 580, _LAST, _READ),
    RetiredRow("Volta", 580, _LAST, _READ),
)

_BY_CUDA = {row.cuda: row for row in CUDA_VERSIONS}
_BY_CAPABILITY = {row.capability: row for row in DEVICES}
_RETIRED = {row.generation: row.branch for row in RETIRED}
# Windows counts its branches otherwise: 572 is of the 570 branch. A driver that
# came with a toolkit is of that toolkit's version, whatever its number.
_BY_BRANCH = {
    **{d.branch: r.cuda for r in reversed(TOOLKIT_DRIVERS) for d in (r.linux, r.windows) if d},
    **{row.branch: row.cuda for row in CUDA_VERSIONS if row.branch},
}


def find_cuda_row(cuda: CudaVersion) -> CudaRow | None:
    """The row of this CUDA version; None where it is not known."""
    return _BY_CUDA.get(cuda)


def cuda_for_isa(isa: tuple[int, int]) -> CudaVersion | None:
    """The first CUDA whose driver takes PTX of this ISA; None if none is known."""
    return next((row.cuda for row in CUDA_VERSIONS if row.isa >= isa), None)


def cuda_of_branch(branch: int) -> CudaVersion | None:
    """The CUDA version of a driver branch, of Linux or Windows; None if not listed."""
    return _BY_BRANCH.get(branch)


def cuda_around_branch(branch: int) -> tuple[CudaVersion | None, CudaVersion | None]:
    """The CUDA versions of the listed branches next to this one.

    Args:
        branch: The first number of a driver release.

    Returns:
        The newest version at or below the branch and the oldest at or above
        it; None where no branch is listed on that side.
    """
    below = max((b for b in _BY_BRANCH if b <= branch), default=None)
    above = min((b for b in _BY_BRANCH if b >= branch), default=None)
    return (
        None if below is None else _BY_BRANCH[below],
        None if above is None else _BY_BRANCH[above],
    )


def first_driver(cuda: CudaVersion, *, windows: bool = False) -> DriverRelease | None:
    """The driver that came with the first release of this toolkit; None if unknown."""
    rows = [row for row in TOOLKIT_DRIVERS if row.cuda == cuda]
    releases = [row.windows if windows else row.linux for row in rows]
    return min((r for r in releases if r is not None), default=None)


def family_minimum(cuda: CudaVersion) -> FamilyMinimumRow | None:
    """The oldest driver for SASS of this CUDA; None before 11.0 or after the table."""
    rows = [r for r in FAMILY_MINIMA if r.first.major == cuda.major and r.first <= cuda]
    return max(rows, key=lambda row: row.first, default=None)


def find_device_row(capability: ComputeCapability) -> DeviceRow | None:
    """The first driver for this device; None where it is not known."""
    return _BY_CAPABILITY.get(capability)


def last_branch(generation: str) -> int | None:
    """The last driver branch for a generation; None where none is announced."""
    return _RETIRED.get(generation)
