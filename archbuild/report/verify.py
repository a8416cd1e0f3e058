"""The outcome of verify for people: tables, and the findings by their kind."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from archbuild.model.arch import Arch
from archbuild.model.coverage import DeviceCoverage, DriverFloor, Outcome
from archbuild.model.finding import Finding, Severity
from archbuild.report.text import Ink, cells, escape, pad, paint, shorten, wrap
from archbuild.rules.codes import title_of
from archbuild.rules.devices import DeviceSummary
from archbuild.rules.judge import FileVerdict
from archbuild.rules.verify_outcome import VerifyReport

#: Columns between two columns of a table.
_GAP = "  "
_YES, _NO = "yes", "NO"
_INKS = {Severity.ERROR: Ink.RED, Severity.WARNING: Ink.YELLOW, Severity.NOTE: Ink.PLAIN}
_MIN_WIDTH = 20
#: Findings of one kind that are told one by one; JSON has all.
_SHOWN = 10
#: Up to so many of one kind, each tells its evidence.
_WHOLE = 3
#: Kernels in the table of kernels.
_MOST_KERNELS = 200
_RANKS = {"-": 0, "native": 1, "JIT": 2, "?": 3, "none": 4}
_LEGEND_OF_DRIVERS = (
    "Counts are kernels; 'from' is the oldest driver that will do: for the SASS, for the PTX"
    " (compiled only where no SASS fits), for the GPU at all."
)
_BLANKS = re.compile("\n{3,}")
_STATES = {0: "passed", 1: "failed", 3: "not fully readable", 4: "undecided"}


def render_verify(report: VerifyReport, width: int, color: bool = False) -> str:
    """The report for people, without a newline at the end.

    Args:
        report: What verify found.
        width: No line has more columns than this; at least 20 are taken.
        color: Whether to colour it for a terminal.
    """
    width = max(width, _MIN_WIDTH)
    lines: list[str] = []
    for make in (_targets, _devices, _kernels, _drivers):
        cells_ = list(make(report, width))
        if cells_:
            lines += [*_painted(cells_, color=color), ""]
    lines += _others(report, width)
    for group in group_findings(report.findings):
        lines += ["", *_group(group, width, color=color)]
    lines += ["", *_summary(report, width, color=color)]
    text = "\n".join(lines).strip("\n")
    return _BLANKS.sub("\n\n", text)


# A line of a table: pieces of text, each with its ink.
_Line = list[tuple[str, Ink]]


def _painted(lines: Iterable[_Line], *, color: bool) -> Iterator[str]:
    for line in lines:
        text = "".join(paint(piece, ink, color=color) for piece, ink in line)
        yield text if color else text.rstrip()


def _judged(report: VerifyReport) -> list[FileVerdict]:
    return [verdict for verdict in report.files if verdict.judged]


def _targets(report: VerifyReport, width: int) -> Iterator[_Line]:
    """Files down, targets across."""
    targets = report.demand.targets
    judged = _judged(report)
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


def _devices(report: VerifyReport, width: int) -> Iterator[_Line]:
    """Files down, devices across."""
    judged = [verdict for verdict in _judged(report) if verdict.devices]
    if not judged:
        return
    columns = [
        (str(covered[0].destination.capability), [_cell(coverage) for coverage in covered])
        for covered in zip(*(verdict.devices for verdict in judged), strict=True)
    ]
    yield from _table("file", _names(report, judged), columns, width)
    legend = (
        "native: runs as it is; JIT: the driver (this one or newer) compiles it first; "
        "part: some regions have nothing for it; none: nothing runs; ?: not known."
    )
    for line in wrap(legend, width):
        yield [(line, Ink.PLAIN)]


def _cell(coverage: DeviceCoverage) -> tuple[str, Ink]:
    """What a file does on a device, in a word or two."""
    found = [r.verdict.outcome for r in coverage.regions if not r.on_purpose or r.verdict.runs]
    outcomes = set(found)
    if not outcomes or outcomes == {Outcome.NO}:
        return "none", Ink.RED
    if Outcome.NO in outcomes:
        return "part", Ink.RED
    if Outcome.UNKNOWN in outcomes:
        return "?", Ink.YELLOW
    if Outcome.JIT in outcomes:
        floor = coverage.jit_floor
        since = "" if floor is None or floor.release is None else f" >={floor.release.branch}"
        return ("JIT" if outcomes == {Outcome.JIT} else "part JIT") + since, Ink.YELLOW
    return "native", Ink.GREEN


def _kernels(report: VerifyReport, width: int) -> Iterator[_Line]:
    """Kernels down, devices across, where kernels were asked for."""
    rows: dict[str, list[tuple[str, Ink]]] = {}
    devices = [str(device.destination.capability) for device in report.devices]
    for verdict in _judged(report) if report.shows_kernels else ():
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
) -> Iterator[_Line]:
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
            line: _Line = [(pad(shorten(name, first), first), Ink.PLAIN)]
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
    return [escape(_short(report, verdict)) for verdict in judged]


def _short(report: VerifyReport, verdict: FileVerdict) -> str:
    """The file's name without the folder that was verified, if it was one."""
    if len(report.paths) > 1:
        return verdict.path
    return verdict.path.removeprefix(f"{report.paths[0].rstrip(os.sep)}{os.sep}")


def _drivers(report: VerifyReport, width: int) -> Iterator[_Line]:
    """Devices down: kernels by outcome, and the three floors of the driver."""
    devices = report.devices
    if not devices:
        return
    heads = ("device", "native", "JIT", "none", "?", "SASS from", "PTX from", "GPU from", "errors")
    rows = [heads, *(tuple(_device_row(device)) for device in devices)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        for device in devices:
            pairs = zip(heads, _device_row(device), strict=True)
            for line in wrap(", ".join(f"{h} {t}" for h, t in pairs if t), width, "  "):
                yield [(line, Ink.PLAIN)]
        return
    for number, row in enumerate(rows):
        text = _GAP.join(pad(cell, size) for cell, size in zip(row, widths, strict=True))
        yield [(text.rstrip(), Ink.BOLD if number == 0 else Ink.PLAIN)]
    for line in wrap(_LEGEND_OF_DRIVERS, width):
        yield [(line, Ink.PLAIN)]


def _device_row(device: DeviceSummary) -> Iterator[str]:
    yield str(device.destination.capability)
    for outcome in (Outcome.NATIVE, Outcome.JIT, Outcome.NO, Outcome.UNKNOWN):
        yield "-" if device.kernels is None else f"{device.kernels[outcome]}"
    floors = device.floors
    for floor in (floors.sass, floors.ptx, floors.device):
        yield floor_cell(floor)
    yield " ".join(map(str, device.errors))


def floor_cell(floor: DriverFloor | None) -> str:
    """A floor as a table has it; ``-`` where there is none or it is not known."""
    if floor is None:
        return "-"
    return str(floor.release) if floor.release is not None else f"CUDA {floor.cuda}"


def _others(report: VerifyReport, width: int) -> list[str]:
    """Files that were not judged, and what is odd about others."""
    lines: list[str] = []
    quiet = [v for v in report.files if not v.judged and not v.images]
    for verdict in report.files:
        if verdict in quiet and len(quiet) > _WHOLE:
            continue
        if not verdict.judged:
            text = f"not judged: {_short(report, verdict)} ({verdict.targets.note})"
            lines += wrap(text, width, "  ")
        elif verdict.targets.note:
            lines += wrap(f"{_short(report, verdict)}: {verdict.targets.note}", width, "  ")
    if len(quiet) > _WHOLE:
        lines += wrap(f"not judged: {len(quiet)} files without device code", width, "  ")
    return lines


def group_findings(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of one kind about one file together, in the order of the first of each."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.code, finding.severity, finding.file, finding.advice)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def _group(group: Sequence[Finding], width: int, *, color: bool) -> Iterator[str]:
    first = group[0]
    head = f"{first.severity.value} {first.code}: "
    several = len(group) > 1
    title = f"{title_of(first.code)}, {len(group)} times in {first.file}"
    lines = wrap(head + (title if several else first.message), width, "  ")
    yield paint(lines[0], _INKS[first.severity], color=color)
    yield from lines[1:]
    for finding in group[:_SHOWN]:
        if several:
            yield from wrap(f"  {_short_message(finding, width)}", width, "    ")
        for text in finding.evidence if len(group) <= _WHOLE else ():
            yield from wrap(f"  {text}", width, "    ")
    if len(group) > _SHOWN:
        yield from wrap(f"  and {len(group) - _SHOWN} more; --json has them all", width, "    ")
    if first.advice:
        yield from wrap(f"  {first.advice}", width, "    ")


def _short_message(finding: Finding, width: int) -> str:
    """What tells one finding of a group from the others; the head names the file."""
    if finding.kernel is not None:
        where = f"{finding.arch}: " if finding.arch else ""
        return f"{where}{shorten(escape(finding.kernel), max(8, width - 2 - len(where)))}"
    rest = finding.message.removeprefix(finding.file or "").lstrip(": ")
    return rest or finding.message


def _summary(report: VerifyReport, width: int, *, color: bool) -> Iterator[str]:
    ink = Ink.GREEN if report.exit_code == 0 else Ink.RED
    for number, text in enumerate(summary_of(report)):
        lines = wrap(text, width, "  ")
        yield paint(lines[0], Ink.PLAIN if number else ink, color=color)
        yield from lines[1:]


def summary_of(report: VerifyReport) -> Iterator[str]:
    """The last words: the outcome, what was held against what, and who read it."""
    count = len(_judged(report))
    files = f"{_count(count, 'file')} with device code"
    state = _STATES[report.exit_code]
    yield f"verify {state}: {', '.join(report.paths)}: {files} {_held_against(report)}"
    yield f"read by {_readers(report)}"
    if report.waived or report.known:
        passed = f"{len(report.waived)} waived, {len(report.known)} known by the baseline"
        yield f"findings let pass: {passed}"


def _held_against(report: VerifyReport) -> str:
    demand = report.demand
    if demand.is_empty:
        return "held against nothing: name --targets or --runs-on, or set TORCH_CUDA_ARCH_LIST"
    parts = [", ".join(map(str, demand.targets))] if demand.targets else []
    devices = ", ".join(str(d.destination.capability) for d in report.devices)
    parts += [f"devices {devices}"] if devices else []
    parts += [f"{demand.size_budget} bytes"] if demand.size_budget is not None else []
    source = demand.expected.source
    asked = f" (asked for by {source})" if source and source != "--targets" else ""
    return f"held against {'; '.join(parts)}{asked}"


def _readers(report: VerifyReport) -> str:
    second = report.second
    if second is None:
        return f"{report.reader} alone"
    if not second.reader:
        return f"{report.reader} alone: {second.note}"
    agreed = f"they agree on {_count(second.images, 'image')} in {_count(second.agreed, 'file')}"
    partly = f"; {_count(len(second.partly), 'file')} it reads in part" if second.partly else ""
    unread = f"; {_count(len(second.unread), 'file')} it can't read" if second.unread else ""
    return f"{report.reader} and {second.reader}: {agreed}{partly}{unread}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
