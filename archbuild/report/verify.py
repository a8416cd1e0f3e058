"""The outcome of verify for people: tables, and the findings by their kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from archbuild.model.finding import Finding, Severity
from archbuild.report.text import Ink, escape, paint, shorten, wrap
from archbuild.report.verify_tables import Line, judged_files, short_name, verify_tables
from archbuild.rules.checking.codes import title_of
from archbuild.rules.checking.verify_outcome import VerifyReport

_INKS = {Severity.ERROR: Ink.RED, Severity.WARNING: Ink.YELLOW, Severity.NOTE: Ink.PLAIN}
_MIN_WIDTH = 20
#: Findings of one kind that are told one by one; JSON has all.
_SHOWN = 10
#: Up to so many of one kind, each tells its evidence.
_WHOLE = 3
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
    for table in verify_tables(report, width):
        lines += [*_painted(table, color=color), ""]
    lines += _others(report, width)
    for group in group_findings(report.findings):
        lines += ["", *_group(group, width, color=color)]
    lines += ["", *_summary(report, width, color=color)]
    text = "\n".join(lines).strip("\n")
    return _BLANKS.sub("\n\n", text)


def _painted(lines: Iterable[Line], *, color: bool) -> Iterator[str]:
    for line in lines:
        text = "".join(paint(piece, ink, color=color) for piece, ink in line)
        yield text if color else text.rstrip()


def _others(report: VerifyReport, width: int) -> list[str]:
    """Files that were not judged, and what is odd about others."""
    lines: list[str] = []
    quiet = [v for v in report.files if not v.judged and not v.images]
    for verdict in report.files:
        if verdict in quiet and len(quiet) > _WHOLE:
            continue
        if not verdict.judged:
            text = f"not judged: {short_name(report, verdict)} ({verdict.targets.note})"
            lines += wrap(text, width, "  ")
        elif verdict.targets.note:
            lines += wrap(f"{short_name(report, verdict)}: {verdict.targets.note}", width, "  ")
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
    count = len(judged_files(report))
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
    devices = ", ".join(dict.fromkeys(str(d.destination.capability) for d in report.devices))
    parts += [f"devices {devices}"] if devices else []
    parts += [_count(len(demand.members), "machine")] if demand.members else []
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
