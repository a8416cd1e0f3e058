"""Several recorded machines: which GPUs they have, and what runs there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from archbuild.model.coverage import DeviceCoverage, RegionCoverage
from archbuild.model.machine import Driver
from archbuild.model.record import encode
from archbuild.report.coverage_cell import UNKNOWN, Cell, cell_of
from archbuild.report.table import Column, render_table
from archbuild.report.text import Ink
from archbuild.rules.checking.place_verdicts import Hindrance, PlaceVerdict
from archbuild.rules.covering.places import Place

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from typing import Any

    from archbuild.rules.selecting.fleet import Outlook

FLEET_LEGEND = (
    "native: runs as it is; JIT: the machine's driver compiles it first; part: some regions "
    "have nothing for it; none: nothing runs; ?: not known; errors: those of CUDA."
)
_NO_GPU = "no GPU on record"


@dataclass(frozen=True)
class FleetRow:
    """GPUs of one kind in one machine, and what becomes of code there.

    Args:
        place: The GPUs.
        word: What becomes of it, in a word or two.
        ink: The colour of that.
        detail: Why, or by what.
    """

    place: Place
    word: str
    ink: Ink
    detail: str = ""


def fleet_row(verdict: PlaceVerdict) -> FleetRow:
    """A row about files that were read."""
    errors = " ".join(map(str, verdict.errors))
    if verdict.hindrance is not None and verdict.hindrance is not Hindrance.CAPABILITY:
        return FleetRow(verdict.place, verdict.hindrance.value, Ink.RED, errors)
    cell = UNKNOWN if verdict.coverage is None else cell_of(verdict.coverage)
    return FleetRow(verdict.place, str(cell), cell.ink, errors)


def outlook_row(outlook: Outlook) -> FleetRow:
    """A row about a build that is yet to be made."""
    place, coverage = outlook.place, outlook.coverage
    if place.by_bus and place.driver is None:
        return FleetRow(place, Hindrance.NO_DRIVER.value, Ink.RED)
    cell = outlook_cell(outlook)
    by = "" if coverage is None else " ".join(str(image.arch) for image in coverage.chosen)
    runs = coverage is not None and coverage.verdict.runs
    return FleetRow(place, str(cell), cell.ink, by if runs else "")


def outlook_cell(outlook: Outlook) -> Cell:
    """What becomes of a build there."""
    return UNKNOWN if outlook.coverage is None else cell_of(_whole(outlook.coverage, outlook.place))


def _whole(coverage: RegionCoverage, place: Place) -> DeviceCoverage:
    destination = place.destination()
    assert destination is not None
    return DeviceCoverage(destination, (coverage,))


def render_outlooks(outlooks: Iterable[Outlook], members: Sequence[str], width: int) -> str:
    """What a build will do on each machine, for people.

    Args:
        outlooks: What it will do.
        members: The names of all machines.
        width: No line has more columns.
    """
    lines = fleet_table(map(outlook_row, outlooks), members, width, "by")
    return "\n".join("".join(text for text, _ in line) for line in lines).rstrip("\n")


def fleet_table(
    rows: Iterable[FleetRow], members: Sequence[str], width: int, detail: str = "errors"
) -> Iterator[list[tuple[str, Ink]]]:
    """The machines in order, those without a GPU as well.

    Args:
        rows: Of their GPUs.
        members: The names of all machines.
        width: No line has more columns.
        detail: The head of the last column.
    """
    told = list(rows)
    columns = [
        Column("machine"),
        Column("GPU"),
        Column("driver"),
        Column("runs"),
        Column(detail, rank=1),
    ]
    cells: list[list[str]] = []
    inks: list[Ink] = []
    for name in members:
        own = [row for row in told if row.place.machine == name]
        cells += [_cells(row) for row in own] or [[name, _NO_GPU, "", "-", ""]]
        inks += [row.ink for row in own] or [Ink.PLAIN]
    lines = render_table(columns, cells, width)
    yield [(lines[0], Ink.BOLD)]
    yield from ([(line, ink)] for line, ink in zip(lines[1:], inks, strict=True))
    yield [("", Ink.PLAIN)]


def _cells(row: FleetRow) -> list[str]:
    place = row.place
    return [place.machine, place_words(place), driver_words(place), row.word, row.detail]


def place_words(place: Place) -> str:
    """GPUs of one kind: ``2 x RTX 3090 (8.6)``."""
    count = f"{place.count} x " if place.count > 1 else ""
    return f"{count}{short_name(place.gpu)} ({place.capability or '?'})"


def short_name(gpu: str) -> str:
    """A product's name without its maker's."""
    return gpu.removeprefix("NVIDIA ").removeprefix("GeForce ")


def driver_words(place: Place) -> str:
    """The driver of a machine as a table has it."""
    driver: Driver | None = place.driver
    if driver is None:
        return "none" if place.by_bus else "?"
    known = str(driver.release) if driver.release is not None else f"CUDA {driver.cuda}"
    return f"{known} (Windows)" if place.windows else known


def place_document(place: Place) -> dict[str, Any]:
    """GPUs of one kind in one machine, as programs get it."""
    return {
        "machine": place.machine,
        "gpu": place.gpu,
        "capability": encode(place.capability),
        "driver": encode(place.driver),
        "count": place.count,
    }


def verdict_documents(verdicts: Iterable[PlaceVerdict]) -> list[dict[str, Any]]:
    """What becomes of files at each place, as programs get it."""
    return [
        {
            **place_document(verdict.place),
            "runs": _word(UNKNOWN if verdict.coverage is None else cell_of(verdict.coverage)),
            "hindrance": None if verdict.hindrance is None else verdict.hindrance.value,
            "errors": list(verdict.errors),
        }
        for verdict in verdicts
    ]


def outlook_documents(outlooks: Iterable[Outlook]) -> list[dict[str, Any]]:
    """What becomes of a build at each place, as programs get it."""
    return [
        {
            **place_document(outlook.place),
            "runs": _word(outlook_cell(outlook)),
            "by": [] if coverage is None else [str(image.arch) for image in coverage.chosen],
            "reason": None if coverage is None else coverage.verdict.reason,
            "errors": [] if coverage is None else list(coverage.verdict.errors),
        }
        for outlook in outlooks
        for coverage in [outlook.coverage]
    ]


def _word(cell: Cell) -> str:
    return {"?": "unknown"}.get(cell.word, cell.word.lower())
