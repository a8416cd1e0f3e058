"""The tables of verify: targets, devices, kernels, drivers, and machines of which records tell."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from archbuild.model.arch import Arch
from archbuild.model.coverage import Destination, DeviceCoverage, Outcome
from archbuild.report.coverage_cell import cell_of, floor_cell
from archbuild.report.fleet import FLEET_LEGEND, fleet_row, fleet_table
from archbuild.report.text import Ink, cells, escape, pad, shorten, wrap
from archbuild.rules.checking.judge import FileVerdict
from archbuild.rules.checking.verify_outcome import VerifyReport
from archbuild.rules.covering.devices import DeviceSummary

#: A line of a table: pieces of text, each with its ink.
Line = list[tuple[str, Ink]]
#: Columns between two columns of a table.
_GAP = "  "
_YES, _NO = "yes", "NO"
#: Kernels in the table of kernels.
_MOST_KERNELS = 200
_RANKS = {"-": 0, "native": 1, "JIT": 2, "?": 3, "none": 4}
_LEGEND_OF_DRIVERS = (
    "Counts are kernels; 'from' is the oldest driver that will do: for the SASS, for the PTX"
    " (compiled only where no SASS fits), for the GPU at all."
)


def verify_tables(report: VerifyReport, width: int) -> Iterator[list[Line]]:
    """Every table that has something to tell, line by line.

    Args:
        report: What verify found.
        width: No line has more columns.
    """
    for make in (_machines, _targets, _devices, _kernels, _drivers):
        lines = list(make(report, width))
        if lines:
            yield lines


def _machines(report: VerifyReport, width: int) -> Iterator[Line]:
    """Recorded machines down: GPU, driver, and what becomes of all files there."""
    if not report.demand.members:
        return
    rows = [fleet_row(verdict) for verdict in report.places]
    yield from fleet_table(rows, report.demand.members, width)
    for line in wrap(FLEET_LEGEND, width):
        yield [(line, Ink.PLAIN)]


def judged_files(report: VerifyReport) -> list[FileVerdict]:
    """The files with CUDA code that could be held against something."""
    return [verdict for verdict in report.files if verdict.judged]


def _targets(report: VerifyReport, width: int) -> Iterator[Line]:
    """Files down, targets across."""
    targets = report.demand.targets
    judged = judged_files(report)
    if not targets or not judged:
        return
    columns = [(str(target), [_held(verdict, target) for verdict in judged]) for target in targets]
    yield from _table("file", _names(report, judged), columns, width)
    legend = f"{_YES}: every region with kernels holds it, ready to load; {_NO}: not. "
    for line in wrap(f"{legend}sm_: machine code (SASS), compute_: PTX.", width):
        yield [(line, Ink.PLAIN)]


def _held(verdict: FileVerdict, target: Arch) -> tuple[str, Ink]:
    if target in verdict.targets.present:
        return _YES, Ink.GREEN
    return (_NO, Ink.RED) if target in verdict.targets.missing else ("-", Ink.PLAIN)


def _devices(report: VerifyReport, width: int) -> Iterator[Line]:
    """Files down, devices across."""
    judged = [verdict for verdict in judged_files(report) if verdict.devices]
    if not judged:
        return
    columns = [
        (head, [_cell(coverage) for coverage in covered])
        for head, covered in zip(
            device_heads(report), zip(*(v.devices for v in judged), strict=True), strict=True
        )
    ]
    yield from _table("file", _names(report, judged), columns, width)
    legend = (
        "native: runs as it is; JIT: the driver (this one or newer) compiles it first; "
        "part: some regions have nothing for it; none: nothing runs; ?: not known."
    )
    for line in wrap(legend, width):
        yield [(line, Ink.PLAIN)]


def _cell(coverage: DeviceCoverage) -> tuple[str, Ink]:
    cell = cell_of(coverage)
    return str(cell), cell.ink


def device_heads(report: VerifyReport) -> list[str]:
    """What to call each device: its capability, and the driver where two differ in that alone."""
    there = [device.destination for device in report.devices]
    count = Counter(destination.capability for destination in there)
    return [
        _with_driver(destination)
        if count[destination.capability] > 1
        else f"{destination.capability}"
        for destination in there
    ]


def _with_driver(destination: Destination) -> str:
    driver = destination.driver
    if driver is None:
        return f"{destination.capability}"
    known = driver.release if driver.release is not None else f"CUDA {driver.cuda}"
    system = " (Windows)" if destination.windows else ""
    return f"{destination.capability} {known}{system}"


def _kernels(report: VerifyReport, width: int) -> Iterator[Line]:
    """Kernels down, devices across, where kernels were asked for."""
    rows: dict[str, list[tuple[str, Ink]]] = {}
    devices = device_heads(report)
    for verdict in judged_files(report) if report.shows_kernels else ():
        for column, coverage in enumerate(verdict.devices):
            for name, cell in _kernel_cells(coverage):
                row = rows.setdefault(name, [("-", Ink.PLAIN)] * len(devices))
                # Of one name in several regions the worse outcome counts.
                row[column] = max(row[column], cell, key=lambda pair: _RANKS[pair[0]])
    names = list(rows)[:_MOST_KERNELS]
    if not names:
        return
    columns = [(head, [rows[name][i] for name in names]) for i, head in enumerate(devices)]
    yield from _table("kernel", [escape(name) for name in names], columns, width)
    if len(rows) > len(names):
        for line in wrap(f"and {len(rows) - len(names)} more kernels", width):
            yield [(line, Ink.PLAIN)]


def _kernel_cells(coverage: DeviceCoverage) -> Iterator[tuple[str, tuple[str, Ink]]]:
    words = {
        Outcome.NATIVE: ("native", Ink.GREEN),
        Outcome.JIT: ("JIT", Ink.YELLOW),
        Outcome.NO: ("none", Ink.RED),
        Outcome.UNKNOWN: ("?", Ink.YELLOW),
    }
    for region in coverage.regions:
        yield from ((name, words[region.verdict.outcome]) for name in region.served)
        yield from ((name, words[Outcome.NO]) for name in region.absent)
        yield from ((name, words[Outcome.UNKNOWN]) for name in region.undecided)


def _table(
    title: str,
    names: Sequence[str],
    columns: Sequence[tuple[str, list[tuple[str, Ink]]]],
    width: int,
) -> Iterator[Line]:
    """A table with a row for each name, in as many bands as the width needs."""
    widths = [max(len(head), *(len(text) for text, _ in cells_)) for head, cells_ in columns]
    widest = max(widths) + len(_GAP)
    least = len(title)
    room = max(least, min(max(width // 2, 4), width - widest))
    first = max(least, min(max(map(cells, names)), room))
    for band in _bands(widths, width - first):
        head = _GAP.join(pad(columns[i][0], widths[i]) for i in band)
        yield [(f"{pad(title, first)}{_GAP}{head}".rstrip(), Ink.BOLD)]
        for row, name in enumerate(names):
            line: Line = [(pad(shorten(name, first), first), Ink.PLAIN)]
            for i in band:
                text, ink = columns[i][1][row]
                line += [(_GAP, Ink.PLAIN), (pad(text, widths[i]), ink)]
            yield line
        yield [("", Ink.PLAIN)]


def _bands(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Columns in groups that fit side by side."""
    band: list[int] = []
    used = 0
    for index, width in enumerate(widths):
        need = len(_GAP) + width
        if band and used + need > room:
            yield band
            band, used = [], 0
        band.append(index)
        used += need
    yield band


def _names(report: VerifyReport, judged: Sequence[FileVerdict]) -> list[str]:
    return [escape(short_name(report, verdict)) for verdict in judged]


def short_name(report: VerifyReport, verdict: FileVerdict) -> str:
    """The file's name without the folder that was verified, if it was one."""
    if len(report.paths) > 1:
        return verdict.path
    return verdict.path.removeprefix(f"{report.paths[0].rstrip(os.sep)}{os.sep}")


def _drivers(report: VerifyReport, width: int) -> Iterator[Line]:
    """Devices down: kernels by outcome, and the three floors of the driver."""
    devices = report.devices
    if not devices:
        return
    heads = ("device", "native", "JIT", "none", "?", "SASS from", "PTX from", "GPU from", "errors")
    told = zip(device_heads(report), devices, strict=True)
    rows = [heads, *((head, *_device_row(device)) for head, device in told)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        for row in rows[1:]:
            pairs = zip(heads, row, strict=True)
            for line in wrap(", ".join(f"{h} {t}" for h, t in pairs if t), width, "  "):
                yield [(line, Ink.PLAIN)]
        return
    for number, row in enumerate(rows):
        text = _GAP.join(pad(cell, size) for cell, size in zip(row, widths, strict=True))
        yield [(text.rstrip(), Ink.BOLD if number == 0 else Ink.PLAIN)]
    for line in wrap(_LEGEND_OF_DRIVERS, width):
        yield [(line, Ink.PLAIN)]


def _device_row(device: DeviceSummary) -> Iterator[str]:
    for outcome in (Outcome.NATIVE, Outcome.JIT, Outcome.NO, Outcome.UNKNOWN):
        yield "-" if device.kernels is None else f"{device.kernels[outcome]}"
    floors = device.floors
    for floor in (floors.sass, floors.ptx, floors.device):
        yield floor_cell(floor)
    yield " ".join(map(str, device.errors))
