"""What files do on the GPUs of recorded machines, each with its own driver. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from archbuild.model.coverage import DeviceCoverage
from archbuild.model.finding import Finding
from archbuild.model.image import FileFormat
from archbuild.rules.checking.codes import DEVICE_NOT_KNOWN, NOT_SERVED, UNDECIDED, Code
from archbuild.rules.checking.demand import Demand
from archbuild.rules.checking.judge import FileVerdict
from archbuild.rules.covering.places import Place

#: No driver library at all.
_NO_DRIVER = (35,)
_OF_WINDOWS = (FileFormat.PE, FileFormat.COFF)
_OF_LINUX = (FileFormat.ELF,)


class Hindrance(Enum):
    """What stands in the way, whatever the files hold."""

    NO_DRIVER = "no driver"
    OTHER_SYSTEM = "other system"
    OTHER_PROCESSOR = "other processor"
    CAPABILITY = "capability not known"


@dataclass(frozen=True)
class PlaceVerdict:
    """What all files do at one place.

    Args:
        place: The GPUs of one kind in one machine.
        coverage: Of the files that are for its system; None where there is none.
        hindrance: What stands in the way, whatever they hold; None: nothing.
    """

    place: Place
    coverage: DeviceCoverage | None
    hindrance: Hindrance | None = None

    @property
    def errors(self) -> tuple[int, ...]:
        """The CUDA errors that a person would see there, the likeliest first."""
        if self.hindrance is Hindrance.NO_DRIVER:
            return _NO_DRIVER
        if self.coverage is None or self.hindrance is not None:
            return ()
        likely = [number for r in self.coverage.regions for number in r.verdict.errors]
        return tuple(dict.fromkeys((*likely, *self.coverage.errors)))


def judge_places(demand: Demand, files: Iterable[FileVerdict]) -> tuple[PlaceVerdict, ...]:
    """What the files do on each kind of GPU of each machine.

    Args:
        demand: With the places.
        files: All that were read.
    """
    judged = [verdict for verdict in files if verdict.devices]
    return tuple(_judge(place, demand.column_of(place), judged) for place in demand.places)


def _judge(place: Place, column: int | None, judged: Sequence[FileVerdict]) -> PlaceVerdict:
    if column is None:
        return PlaceVerdict(place, None, Hindrance.CAPABILITY)
    fitting = [verdict for verdict in judged if not _is_for_another_system(verdict, place)]
    if judged and not fitting:
        return PlaceVerdict(place, None, Hindrance.OTHER_SYSTEM)
    fitting = [verdict for verdict in fitting if not _is_for_another_processor(verdict, place)]
    if judged and not fitting:
        return PlaceVerdict(place, None, Hindrance.OTHER_PROCESSOR)
    covered = [verdict.devices[column] for verdict in fitting]
    if not covered:
        return PlaceVerdict(place, None)
    regions = tuple(region for one in covered for region in one.regions)
    whole = DeviceCoverage(covered[0].destination, regions)
    missing = place.driver is None and place.by_bus
    return PlaceVerdict(place, whole, Hindrance.NO_DRIVER if missing else None)


def _is_for_another_system(verdict: FileVerdict, place: Place) -> bool:
    return verdict.format in (_OF_LINUX if place.system == "win32" else _OF_WINDOWS)


def _is_for_another_processor(verdict: FileVerdict, place: Place) -> bool:
    return bool(verdict.processor and place.processor) and verdict.processor != place.processor


def check_places(verdicts: Iterable[PlaceVerdict]) -> Iterator[Finding]:
    """What stands in the way at each place, whatever the files hold.

    Args:
        verdicts: Of :func:`judge_places`.
    """
    for verdict in verdicts:
        place = verdict.place
        if verdict.hindrance is Hindrance.NO_DRIVER:
            message = f"{place.machine} has no driver for its {place.gpu}, as its record says."
            yield _finding(DEVICE_NOT_KNOWN, message, "Install a driver there.")
        elif verdict.hindrance is Hindrance.OTHER_SYSTEM:
            message = f"Nothing of this is for the system of {place.machine} ({place.system})."
            yield _finding(NOT_SERVED, message, "Take the wheel of that system.")
        elif verdict.hindrance is Hindrance.OTHER_PROCESSOR:
            message = (
                f"Nothing of this is for the processor of {place.machine} ({place.processor})."
            )
            yield _finding(NOT_SERVED, message, "Take the wheel of that processor.")
        elif verdict.hindrance is Hindrance.CAPABILITY:
            message = f"The capability of {place.machine}'s {place.gpu} is not on record."
            advice = "Write the record anew, with its driver at work: archbuild doctor --save FILE"
            yield _finding(UNDECIDED, message, advice)


def _finding(code: Code, message: str, advice: str) -> Finding:
    """A finding about a machine and no file."""
    return Finding(code.code, code.severity, message, advice=advice)
