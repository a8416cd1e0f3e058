"""Between which drivers a combination works: the oldest that will do, and the last there is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archbuild.facts.architectures import find_capability_row, is_tegra
from archbuild.facts.drivers import cuda_around_branch, cuda_of_branch, last_branch
from archbuild.model.arch import ComputeCapability
from archbuild.model.coverage import Destination, DriverFloor
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.drivers import device_floor, sass_floor


@dataclass(frozen=True)
class Window:
    """The drivers for machine code of one CUDA on several GPUs.

    Args:
        floor: The oldest; None where it is not known.
        last: The last branch that serves the oldest of the GPUs; None: none is announced.
    """

    floor: DriverFloor | None
    last: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether what the new GPUs need comes after what the old ones end with."""
        end = None if self.last is None else cuda_of_branch(self.last)
        return end is not None and self.floor is not None and self.floor.cuda > end


def window_of(
    cuda: CudaVersion, capabilities: Iterable[ComputeCapability], *, windows: bool = False
) -> Window:
    """The drivers that take machine code of a CUDA and know every one of these GPUs.

    Args:
        cuda: What the wheel was built with.
        capabilities: Of the GPUs.
        windows: Whether the drivers are those of Windows.
    """
    devices = tuple(capabilities)
    floors = [device_floor(Destination(device, windows=windows)) for device in devices]
    own = sass_floor(cuda, windows=windows)
    known = [floor for floor in (own, *floors) if floor is not None]
    lasts = [last for device in devices if (last := last_for(device)) is not None]
    floor = max(known, key=lambda f: f.cuda, default=None) if own is not None else None
    return Window(floor, min(lasts, default=None))


def last_for(capability: ComputeCapability) -> int | None:
    """The last driver branch for GPUs of this capability; None where none is announced."""
    row = find_capability_row(capability)
    return None if row is None or row.tegra else last_branch(row.generation)


def cuda_of_driver(
    driver: Driver | None, capabilities: Iterable[ComputeCapability] = ()
) -> CudaVersion | None:
    """The CUDA that a driver is of, by its release where it doesn't say; None: not known.

    Args:
        driver: The driver; None: unknown.
        capabilities: Of the GPUs; releases for Tegra are numbered on their own.
    """
    if driver is None or driver.cuda is not None or driver.release is None:
        return None if driver is None else driver.cuda
    if any(map(is_tegra, capabilities)):
        return None
    return cuda_around_branch(driver.release.branch)[0]


def release_words(floor: DriverFloor) -> str:
    """A floor as people name a driver: ``525.60.13``, or ``580`` of a whole branch."""
    if floor.release is None:
        return f"of CUDA {floor.cuda}"
    whole = floor.release.parts[1:] == (0,)
    return str(floor.release.branch) if whole else str(floor.release)
