"""The outcome of verify: a table for people, JSON for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from archbuild.model.arch import Arch
from archbuild.model.finding import Finding, Severity
from archbuild.model.record import encode
from archbuild.report.text import Ink, cells, escape, pad, paint, shorten, wrap
from archbuild.rules.checks import FileVerdict
from archbuild.services.verify import VerifyReport

SCHEMA = "archbuild.verify/1"
#: Columns between two columns of the table.
_GAP = "  "
_YES, _NO = "yes", "NO"
_INKS = {Severity.ERROR: Ink.RED, Severity.WARNING: Ink.YELLOW, Severity.NOTE: Ink.PLAIN}
_MIN_WIDTH = 20


def render_verify(report: VerifyReport, width: int, color: bool = False) -> str:
    """The report for people, without a newline at the end.

    Args:
        report: What verify found.
        width: No line has more columns than this; at least 20 are taken.
        color: Whether to colour it for a terminal.
    """
    width = max(width, _MIN_WIDTH)
    lines = [*_table(report, width, color=color)]
    for finding in report.findings:
        lines += ["", *_finding(finding, width, color=color)]
    lines += ["", *_summary(report, width, color=color)]
    return "\n".join(lines).strip("\n")


def _table(report: VerifyReport, width: int, *, color: bool) -> Iterator[str]:
    """Files down, targets across, in as many bands as the width needs."""
    judged = [verdict for verdict in report.files if verdict.judged]
    others = [verdict for verdict in report.files if not verdict.judged]
    if judged:
        names = [escape(_short(report, verdict)) for verdict in judged]
        first = _name_width(names, report.targets, width)
        for band in _bands(report.targets, width - first):
            rows = list(zip(names, judged, strict=True))
            yield from _band(rows, band, first, color=color)
            yield ""
        yield from wrap(_LEGEND, width)
    for verdict in others:
        yield from wrap(f"not judged: {_short(report, verdict)} ({verdict.note})", width, "  ")
    for verdict in judged:
        if verdict.note:
            yield from wrap(f"{_short(report, verdict)}: {verdict.note}", width, "  ")


def _short(report: VerifyReport, verdict: FileVerdict) -> str:
    """The file's name without the folder that was verified, if it was one."""
    if len(report.paths) > 1:
        return verdict.path
    return verdict.path.removeprefix(f"{report.paths[0].rstrip(os.sep)}{os.sep}")


_LEGEND = (
    f"{_YES}: holds the image, ready to load; {_NO}: does not. "
    "sm_: machine code (SASS), compute_: PTX."
)


def _name_width(names: Sequence[str], targets: Sequence[Arch], width: int) -> int:
    """Columns for the names: all they need, while the widest target still fits."""
    widest = max(len(str(target)) for target in targets) + len(_GAP)
    return max(4, min(max(map(cells, [*names, "file"])), max(width // 2, 4), width - widest))


def _bands(targets: Sequence[Arch], width: int) -> Iterator[list[Arch]]:
    """The targets in groups that fit side by side."""
    band: list[Arch] = []
    used = 0
    for target in targets:
        need = len(_GAP) + len(str(target))
        if band and used + need > width:
            yield band
            band, used = [], 0
        band.append(target)
        used += need
    yield band


def _band(
    rows: Sequence[tuple[str, FileVerdict]], band: Sequence[Arch], first: int, *, color: bool
) -> Iterator[str]:
    heads = _GAP.join(str(target) for target in band)
    yield paint(f"{pad('file', first)}{_GAP}{heads}", Ink.BOLD, color=color)
    for name, verdict in rows:
        line = pad(shorten(name, first), first)
        for target in band:
            held = target in verdict.present
            word = pad(_YES if held else _NO, len(str(target)))
            line += _GAP + paint(word, Ink.GREEN if held else Ink.RED, color=color)
        yield line.rstrip()


def _finding(finding: Finding, width: int, *, color: bool) -> Iterator[str]:
    head = f"{finding.severity.value} {finding.code}: "
    lines = wrap(head + finding.message, width, "  ")
    yield paint(lines[0], _INKS[finding.severity], color=color)
    yield from lines[1:]
    for text in finding.evidence:
        yield from wrap(f"  {text}", width, "    ")
    if finding.advice:
        yield from wrap(f"  {finding.advice}", width, "    ")


def _summary(report: VerifyReport, width: int, *, color: bool) -> Iterator[str]:
    judged = sum(verdict.judged for verdict in report.files)
    files = f"{judged} file{'' if judged == 1 else 's'} with device code"
    targets = ", ".join(map(str, report.targets))
    paths = ", ".join(report.paths)
    state = {0: "passed", 1: "failed", 3: "not fully readable"}[report.exit_code]
    text = f"verify {state}: {paths}: {files} held against {targets} (read by {report.reader})"
    lines = wrap(text, width, "  ")
    ink = Ink.GREEN if report.exit_code == 0 else Ink.RED
    yield paint(lines[0], ink, color=color)
    yield from lines[1:]


def verify_json(report: VerifyReport) -> str:
    """The report for programs, by ``report/schemas/verify.json``."""
    return json.dumps(verify_document(report), indent=2, ensure_ascii=True)


def verify_document(report: VerifyReport) -> dict[str, Any]:
    """What :func:`verify_json` writes, as data."""
    return {
        "schema": SCHEMA,
        "ok": report.ok,
        "paths": list(report.paths),
        "targets": encode(report.targets),
        "reader": report.reader,
        "findings": encode(report.findings),
        "files": encode(report.files),
    }
