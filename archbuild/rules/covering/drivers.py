"""What a driver takes: three answers, yes, no and "not known" (None)."""

from __future__ import annotations

from archbuild.errors import UsageError
from archbuild.facts.architectures import find_capability_row, is_tegra
from archbuild.facts.drivers import (
    CUDA_VERSIONS,
    cuda_around_branch,
    cuda_for_isa,
    cuda_of_branch,
    family_minimum,
    find_device_row,
    first_driver,
    last_branch,
)
from archbuild.facts.toolkits import TOOLKITS, toolkits_that_build
from archbuild.model.arch import Arch
from archbuild.model.coverage import Destination, DriverFloor
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion, DriverRelease

_Bounds = tuple[CudaVersion | None, CudaVersion | None]


def _cuda_bounds(driver: Driver, *, tegra: bool) -> _Bounds:
    """The lowest and the highest CUDA version that the driver can be of.

    Tegra's releases are numbered on their own: only the CUDA version counts.
    """
    if driver.cuda is not None:
        return driver.cuda, driver.cuda
    if driver.release is None or tegra:
        return None, None
    return cuda_around_branch(driver.release.branch)


def _serves(bounds: _Bounds, needed: CudaVersion) -> bool | None:
    low, high = bounds
    if low is not None and low >= needed:
        return True
    return False if high is not None and high < needed else None


def _bounds_at(destination: Destination) -> _Bounds:
    assert destination.driver is not None
    tegra = bool(is_tegra(destination.capability))
    return _cuda_bounds(destination.driver, tegra=tegra)


def takes_isa(destination: Destination, isa: tuple[int, int] | None) -> bool | None:
    """Whether the driver takes PTX of this ISA; None where it can't be said.

    Args:
        destination: The device and its driver.
        isa: The PTX ISA; None where it is unknown.
    """
    if destination.driver is None:
        return True
    if isa is None:
        return None
    needed = cuda_for_isa(isa)
    if needed is not None:
        return _serves(_bounds_at(destination), needed)
    # Newer than the table: too new for every driver of the table all the same.
    _, high = _bounds_at(destination)
    return False if high is not None and high <= CUDA_VERSIONS[-1].cuda else None


def takes_sass(destination: Destination, arch: Arch, built: CudaVersion | None) -> bool | None:
    """Whether the driver is new enough for SASS; None where it can't be said.

    Args:
        destination: The device and its driver.
        arch: The architecture of the SASS.
        built: The toolkit that made it; None where it is unknown.
    """
    if destination.driver is None:
        return True
    if built is not None:
        return _takes_toolkit(destination, built)
    first, last = _toolkit_bounds(arch)
    if last is not None and _takes_toolkit(destination, last):
        return True
    return False if first is not None and _takes_toolkit(destination, first) is False else None


def _takes_toolkit(destination: Destination, built: CudaVersion) -> bool | None:
    driver = destination.driver
    assert driver is not None
    if driver.cuda is not None and driver.cuda >= built:
        return True
    if is_tegra(destination.capability):
        # Minor-version compatibility is promised for desktop and data centre.
        major = CudaVersion(built.major, 0)
        return None if _serves(_bounds_at(destination), major) is not False else False
    row = family_minimum(built)
    if driver.release is not None:
        minimum = row and (row.windows if destination.windows else row.linux)
        shipped = first_driver(built, windows=destination.windows)
        oldest = min((release for release in (minimum, shipped) if release), default=None)
        return None if oldest is None else driver.release >= oldest
    if row is None or driver.cuda is None:
        return _serves(_bounds_at(destination), built)
    # 11.0 is the version of drivers on both sides of 450.80.02.
    unclear = driver.cuda.major == built.major and driver.cuda < row.first
    return None if unclear else driver.cuda >= row.first


def _toolkit_bounds(arch: Arch) -> tuple[CudaVersion | None, CudaVersion | None]:
    """The first and the last toolkit that can have made this SASS, as far as known."""
    known = toolkits_that_build(arch)
    if not known:
        return None, None
    # The table begins with 10.0, which is not the first CUDA there was.
    return (None if known[0] == TOOLKITS[0].version else known[0]), known[-1]


def knows_device(destination: Destination) -> bool | None:
    """Whether the driver is new enough for the device; None where it can't be said."""
    if destination.driver is None:
        return True
    row = find_device_row(destination.capability)
    if row is None:
        # A Tegra module comes with the one driver there is for it.
        return True if is_tegra(destination.capability) else None
    needed = cuda_of_branch(row.branch)
    assert needed is not None
    enough = _serves(_kernel_bounds(destination), needed)
    return None if enough is False and not row.stated else enough


def _kernel_bounds(destination: Destination) -> _Bounds:
    """Of the kernel's side, which a newer libcuda (cuda-compat) doesn't change."""
    driver = destination.driver
    assert driver is not None
    if driver.release is None:
        return driver.cuda, driver.cuda
    return cuda_around_branch(driver.release.branch)


def has_retired(destination: Destination) -> bool:
    """Whether the driver is known to be too new for so old a device."""
    row = find_capability_row(destination.capability)
    if destination.driver is None or row is None or row.tegra:
        return False
    branch = last_branch(row.generation)
    last = None if branch is None else cuda_of_branch(branch)
    low, _ = _kernel_bounds(destination)
    return last is not None and low is not None and low > last


def device_floor(destination: Destination) -> DriverFloor | None:
    """The first driver that knows the device; None where it is not known."""
    row = find_device_row(destination.capability)
    cuda = None if row is None else cuda_of_branch(row.branch)
    if cuda is None:
        return None
    return DriverFloor(cuda, first_driver(cuda, windows=destination.windows))


def sass_floor(built: CudaVersion | None, *, windows: bool = False) -> DriverFloor | None:
    """The oldest driver for SASS of this toolkit; None where it is not known."""
    if built is None:
        return None
    row = family_minimum(built)
    if row is None:
        release = first_driver(built, windows=windows)
        return DriverFloor(built, release)
    return DriverFloor(row.first, row.windows if windows else row.linux)


def ptx_floor(isa: tuple[int, int] | None, *, windows: bool = False) -> DriverFloor | None:
    """The oldest driver for PTX of this ISA; None where it is not known."""
    cuda = None if isa is None else cuda_for_isa(isa)
    return None if cuda is None else DriverFloor(cuda, first_driver(cuda, windows=windows))


def floor_words(floor: DriverFloor) -> str:
    """A floor as people read it: ``driver 550.54.14 (CUDA 12.4)``."""
    if floor.release is None:
        return f"a driver of CUDA {floor.cuda}"
    return f"driver {floor.release} (CUDA {floor.cuda})"


def driver_words(driver: Driver) -> str:
    """A driver as people read it."""
    if driver.release is None:
        return "the driver" if driver.cuda is None else f"a driver of CUDA {driver.cuda}"
    return f"driver {driver.release}"


def parse_driver(release: str | None, cuda: str | None, where: str = "--driver") -> Driver | None:
    """A driver as people name it; None: neither was given.

    Args:
        release: ``550.54.14``.
        cuda: The CUDA version that it serves, ``12.4``.
        where: Who said so, for the message.

    Raises:
        UsageError: If one of them can't be read.
    """
    if release is None and cuda is None:
        return None
    try:
        return Driver(
            None if release is None else parse_release(release),
            None if cuda is None else CudaVersion.parse(cuda),
        )
    except ValueError as error:
        advice = "A release is written 550.54.14 or 550, a CUDA version (--driver-cuda) 12.4."
        raise UsageError(f"{where}: {error}.", advice) from None


def parse_release(text: str, *, windows: bool = False) -> DriverRelease:
    """Read a release, ``570.124.06``, or a branch, ``580``, which stands for its first release.

    Args:
        text: What was typed.
        windows: Whether it is one of Windows.

    Raises:
        ValueError: If it is neither.
    """
    text = text.strip().removeprefix("R").removeprefix("r")
    if not (len(text) == 3 and text.isascii() and text.isdecimal()):
        return DriverRelease.parse(text)
    branch = int(text)
    cuda = cuda_of_branch(branch)
    first = None if cuda is None else first_driver(cuda, windows=windows)
    parts = first.parts if first is not None and first.branch == branch else (branch, 0)
    return DriverRelease(parts, str(branch))
