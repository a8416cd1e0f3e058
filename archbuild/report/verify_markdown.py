"""The outcome of verify for GitHub: a summary in Markdown, and annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archbuild.model.arch import Arch
from archbuild.model.coverage import Outcome
from archbuild.model.finding import Finding, Severity
from archbuild.report.text import escape
from archbuild.report.verify import floor_cell, group_findings, summary_of
from archbuild.rules.codes import title_of
from archbuild.rules.judge import FileVerdict
from archbuild.rules.verify_outcome import VerifyReport

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
    lines = [f"### {_plain(outcome)}", ""]
    lines += _device_table(report)
    lines += _target_table(report)
    for group in group_findings(report.findings):
        lines += _findings(group)
    lines += ["", *map(_plain, rest)]
    return "\n".join(lines).strip()


def _device_table(report: VerifyReport) -> Iterator[str]:
    if not report.devices:
        return
    yield from _row([*_DEVICE_HEADS, "errors"], head=True)
    for device in report.devices:
        kernels = device.kernels
        counts = ["-" if kernels is None else str(kernels[outcome]) for outcome in _ORDER]
        floors = (device.floors.sass, device.floors.ptx, device.floors.device)
        errors = ", ".join(map(str, device.errors))
        row = [str(device.destination.capability), *counts, *map(floor_cell, floors), errors]
        yield from _row(row)
    yield ""


def _target_table(report: VerifyReport) -> Iterator[str]:
    judged = [verdict for verdict in report.files if verdict.judged]
    targets = report.demand.targets
    if not targets or not judged:
        return
    yield from _row(["file", *map(str, targets)], head=True)
    for verdict in judged:
        held = [_held(verdict, target) for target in targets]
        yield from _row([_code(verdict.path), *held])
    yield ""


def _held(verdict: FileVerdict, target: Arch) -> str:
    if target in verdict.targets.present:
        return "yes"
    return "**no**" if target in verdict.targets.missing else ""


def _row(cells: Sequence[str], *, head: bool = False) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"
    if head:
        yield f"|{'---|' * len(cells)}"


def _findings(group: Sequence[Finding]) -> Iterator[str]:
    first = group[0]
    yield f"- **{first.severity.value} {first.code}** ({title_of(first.code)})"
    for finding in group[:_SHOWN]:
        yield f"  - {_plain(finding.message)}"
    if len(group) > _SHOWN:
        yield f"  - and {len(group) - _SHOWN} more"
    if first.advice:
        yield f"  - {_plain(first.advice)}"


def _code(text: str) -> str:
    return f"`{escape(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def _plain(text: str) -> str:
    """Text in which nothing is markup; names from a file could hold some."""
    text = escape(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in "\\`*_[]|#@" else char for char in text)


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
