"""The outcome of verify for GitHub: a summary in Markdown, and annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archbuild.model.arch import Arch
from archbuild.model.coverage import Outcome
from archbuild.model.finding import Finding, Severity
from archbuild.report.coverage_cell import floor_cell
from archbuild.report.fleet import driver_words, fleet_row, place_words
from archbuild.report.markdown import code, plain, row
from archbuild.report.text import escape
from archbuild.report.verify import group_findings, summary_of
from archbuild.report.verify_tables import device_heads
from archbuild.rules.checking.codes import title_of
from archbuild.rules.checking.judge import FileVerdict
from archbuild.rules.checking.verify_outcome import VerifyReport

_SHOWN = 10
_ORDER = (Outcome.NATIVE, Outcome.JIT, Outcome.NO, Outcome.UNKNOWN)
_DEVICE_HEADS = (
    *("device", "native", "JIT", "none", "unknown"),
    *("SASS from", "PTX from", "GPU from"),
)
_KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def verify_markdown(report: VerifyReport) -> str:
    """The report as Markdown, for a step summary or a comment."""
    outcome, *rest = summary_of(report)
    lines = [f"### {plain(outcome)}", ""]
    lines += _machine_table(report)
    lines += _device_table(report)
    lines += _target_table(report)
    for group in group_findings(report.findings):
        lines += _findings(group)
    lines += ["", *map(plain, rest)]
    return "\n".join(lines).strip()


def _machine_table(report: VerifyReport) -> Iterator[str]:
    if not report.demand.members:
        return
    yield from row(["machine", "GPU", "driver", "runs", "errors"], head=True)
    for told in map(fleet_row, report.places):
        place = told.place
        cells = [place.machine, place_words(place), driver_words(place), told.word, told.detail]
        yield from row([plain(cell) for cell in cells])
    yield ""


def _device_table(report: VerifyReport) -> Iterator[str]:
    if not report.devices:
        return
    yield from row([*_DEVICE_HEADS, "errors"], head=True)
    for head, device in zip(device_heads(report), report.devices, strict=True):
        kernels = device.kernels
        counts = ["-" if kernels is None else str(kernels[outcome]) for outcome in _ORDER]
        floors = (device.floors.sass, device.floors.ptx, device.floors.device)
        errors = ", ".join(map(str, device.errors))
        cells = [head, *counts, *map(floor_cell, floors), errors]
        yield from row(cells)
    yield ""


def _target_table(report: VerifyReport) -> Iterator[str]:
    judged = [verdict for verdict in report.files if verdict.judged]
    targets = report.demand.targets
    if not targets or not judged:
        return
    yield from row(["file", *map(str, targets)], head=True)
    for verdict in judged:
        held = [_held(verdict, target) for target in targets]
        yield from row([code(verdict.path), *held])
    yield ""


def _held(verdict: FileVerdict, target: Arch) -> str:
    if target in verdict.targets.present:
        return "yes"
    return "**no**" if target in verdict.targets.missing else ""


def _findings(group: Sequence[Finding]) -> Iterator[str]:
    first = group[0]
    yield f"- **{first.severity.value} {first.code}** ({title_of(first.code)})"
    for finding in group[:_SHOWN]:
        yield f"  - {plain(finding.message)}"
    if len(group) > _SHOWN:
        yield f"  - and {len(group) - _SHOWN} more"
    if first.advice:
        yield f"  - {plain(first.advice)}"


def verify_github(report: VerifyReport) -> str:
    """The findings as GitHub's annotations, one a line, and the outcome last."""
    lines = [_annotation(group) for group in group_findings(report.findings)]
    return "\n".join([*lines, *map(escape, summary_of(report))])


def _annotation(group: Sequence[Finding]) -> str:
    first = group[0]
    place = f"file={_property(first.file)}," if first.file else ""
    title = _property(f"{first.code}: {title_of(first.code)}")
    rest = f" (and {len(group) - 1} more)" if len(group) > 1 else ""
    text = _data(f"{first.message}{rest} {first.advice}".strip())
    return f"::{_KINDS[first.severity]} {place}title={title}::{text}"


def _data(text: str) -> str:
    return escape(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
