"""What several files do on one device, added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from archbuild.model.coverage import (
    Destination,
    DeviceCoverage,
    DriverFloor,
    Floors,
    Outcome,
)


@dataclass(frozen=True)
class DeviceSummary:
    """All files on one device.

    Args:
        destination: The device and its driver.
        kernels: How many come to each outcome; None: kernels were not read.
        regions: How many come to each outcome.
        floors: The oldest driver for all of them; None where there is none, or
            one of them is not known.
        errors: The CUDA errors that a person would see, upwards.
    """

    destination: Destination
    kernels: dict[Outcome, int] | None
    regions: dict[Outcome, int]
    floors: Floors
    errors: tuple[int, ...]


def sum_devices(
    files: Sequence[Sequence[DeviceCoverage]], *, counted: bool
) -> tuple[DeviceSummary, ...]:
    """Add up what each file does on the same devices.

    Args:
        files: Of each file its coverages, all in the order of the devices.
        counted: Whether the kernels of every file were read.
    """
    return tuple(_sum(list(column), counted=counted) for column in zip(*files, strict=True))


def _sum(column: list[DeviceCoverage], *, counted: bool) -> DeviceSummary:
    kernels = {o: sum(c.kernels(o) for c in column) for o in Outcome}
    regions = {
        outcome: sum(r.verdict.outcome is outcome for c in column for r in c.regions)
        for outcome in Outcome
    }
    return DeviceSummary(
        column[0].destination,
        kernels if counted else None,
        regions,
        Floors(
            _highest(column, Outcome.NATIVE, lambda floors: floors.sass),
            _highest(column, Outcome.JIT, lambda floors: floors.ptx),
            column[0].floors.device,
        ),
        tuple(sorted({number for coverage in column for number in coverage.errors})),
    )


def _highest(
    column: Iterable[DeviceCoverage],
    outcome: Outcome,
    take: Callable[[Floors], DriverFloor | None],
) -> DriverFloor | None:
    """The highest of those that concern the outcome; None where one is not known."""
    found = [take(c.floors) for c in column if outcome in c.outcomes or take(c.floors)]
    if None in found:
        return None
    return max((f for f in found if f is not None), key=lambda floor: floor.cuda, default=None)
