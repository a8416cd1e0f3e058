"""Whether device code runs on a GPU with a driver, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archbuild.model.arch import ComputeCapability
from archbuild.model.image import Image
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion, DriverRelease


class Outcome(Enum):
    """What becomes of an image, a region or a kernel on a device."""

    NATIVE = "native"
    JIT = "jit"
    NO = "no"
    UNKNOWN = "unknown"


class Cause(Enum):
    """Why the outcome is what it is, for programs; the reason is for people."""

    FITS = "fits"
    ARCHITECTURE = "architecture"
    NOT_LOADABLE = "not loadable"
    KERNEL_ABSENT = "kernel absent"
    PTX_TOO_NEW = "ptx newer than the driver"
    DRIVER_TOO_OLD = "driver older than the toolkit"
    DEVICE_TOO_NEW = "driver does not know the device"
    DEVICE_RETIRED = "driver no longer serves the device"
    TEGRA = "undocumented between Tegra and other chips"
    NOT_KNOWN = "not known"


class Tegra(Enum):
    """How to take SASS between Tegra and other chips of the same major number."""

    UNDOCUMENTED = "undocumented"
    RUNS = "runs"
    FAILS = "fails"


@dataclass(frozen=True)
class Destination:
    """One kind of GPU with one driver: where code would run.

    Args:
        capability: The GPU's.
        driver: None: a driver is assumed that knows the device and the file.
        windows: Whether the driver is one for Windows (as it is inside WSL).
        tegra: How to take what NVIDIA doesn't document.
    """

    capability: ComputeCapability
    driver: Driver | None = None
    windows: bool = False
    tegra: Tegra = Tegra.UNDOCUMENTED


@dataclass(frozen=True)
class DriverFloor:
    """The oldest driver that will do.

    Args:
        cuda: As a CUDA version, which ``cuDriverGetVersion`` tells.
        release: As a release; None where it is not known.
    """

    cuda: CudaVersion
    release: DriverRelease | None = None


@dataclass(frozen=True)
class Floors:
    """The three floors of the driver; None where there is none or it is unknown.

    Args:
        sass: For the SASS that runs there.
        ptx: For the PTX that fits the device, whether the driver has to compile it
            or takes SASS instead.
        device: The first driver that knows the device.
    """

    sass: DriverFloor | None = None
    ptx: DriverFloor | None = None
    device: DriverFloor | None = None


@dataclass(frozen=True)
class Verdict:
    """What becomes of one image, or of a region, on a device.

    Args:
        outcome: Native, JIT, no or unknown.
        cause: Why, for programs.
        reason: Why, as one sentence.
        errors: The CUDA errors that a person would see, the likeliest first.
        floor: The oldest driver for it; None where it doesn't run at all, or
            where the floor is not known.
    """

    outcome: Outcome
    cause: Cause
    reason: str
    errors: tuple[int, ...] = ()
    floor: DriverFloor | None = None

    @property
    def runs(self) -> bool:
        """Whether it certainly runs, natively or by JIT."""
        return self.outcome in (Outcome.NATIVE, Outcome.JIT)


@dataclass(frozen=True)
class RegionCoverage:
    """What one region does on a device.

    Args:
        index: The number of the region in its file.
        offset: Where it begins in the file.
        verdict: Of the image that the driver takes.
        chosen: That image; several where no fact names the winner.
        served: Kernels with the outcome of ``verdict``, mangled, in order.
        absent: Kernels which the chosen image lacks (errors 98 and 500).
        undecided: Kernels for which it cannot be said.
        on_purpose: Whether it holds code for other devices only, all of it
            architecture- or family-specific.
    """

    index: int
    offset: int | None
    verdict: Verdict
    chosen: tuple[Image, ...] = ()
    served: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    on_purpose: bool = False


#: A kernel that the loaded image lacks: through the runtime, and the driver API.
KERNEL_ABSENT_ERRORS = (98, 500)


@dataclass(frozen=True)
class DeviceCoverage:
    """What a whole file does on a device.

    Args:
        destination: The device and the driver.
        regions: Those that hold something.
        floors: The oldest drivers.
    """

    destination: Destination
    regions: tuple[RegionCoverage, ...]
    floors: Floors = Floors()

    def kernels(self, outcome: Outcome) -> int:
        """How many kernels come to this outcome."""
        count = sum(len(r.served) for r in self.regions if r.verdict.outcome is outcome)
        if outcome is Outcome.NO:
            count += sum(len(region.absent) for region in self.regions)
        if outcome is Outcome.UNKNOWN:
            count += sum(len(region.undecided) for region in self.regions)
        return count

    @property
    def jit_floor(self) -> DriverFloor | None:
        """The oldest driver for the PTX that has to be compiled; None: none, or unknown."""
        found = [r.verdict.floor for r in self.regions if r.verdict.outcome is Outcome.JIT]
        known = [floor for floor in found if floor is not None]
        return max(known, key=lambda f: f.cuda, default=None) if len(known) == len(found) else None

    @property
    def outcomes(self) -> frozenset[Outcome]:
        """Every outcome that a region comes to."""
        return frozenset(region.verdict.outcome for region in self.regions)

    @property
    def errors(self) -> tuple[int, ...]:
        """The CUDA errors that a person would see, upwards."""
        numbers = {number for region in self.regions for number in region.verdict.errors}
        if any(region.absent for region in self.regions):
            numbers.update(KERNEL_ABSENT_ERRORS)
        return tuple(sorted(numbers))
