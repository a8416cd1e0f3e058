"""What changed on a machine since an old record, for people."""

from __future__ import annotations

from collections.abc import Iterator

from archbuild.report.doctor_labels import Labels
from archbuild.report.findings import tell
from archbuild.report.languages import labels_of
from archbuild.report.table import Column, render_table
from archbuild.report.text import Ink, cells, paint, wrap
from archbuild.rules.diagnosis.changes import Change, Changes
from archbuild.rules.filling import fill


def render_changes(
    changes: Changes, width: int, *, language: str = "en", color: bool = False
) -> str:
    """What changed, without a newline at the end.

    Args:
        changes: Facts, and the findings that came and went.
        width: No line has more columns.
        language: ``en`` or ``zh``.
        color: Whether to colour it for a terminal.
    """
    labels = labels_of(language)
    head = fill(labels.changed_on, {"day": changes.taken}) if changes.taken else labels.changed
    lines = [*(paint(line, Ink.BOLD, color=color) for line in wrap(head, width)), ""]
    lines += _facts(changes, width, labels)
    lines += _findings(changes, width, labels)
    if changes.is_empty:
        lines += wrap(labels.unchanged, width)
    if changes.unasked:
        topics = labels.comma.join(labels.topics[topic.value] for topic in changes.unasked)
        lines += ["", *wrap(fill(labels.incomparable, {"topics": topics}), width, "  ")]
    return "\n".join(lines).rstrip("\n")


def _facts(changes: Changes, width: int, labels: Labels) -> Iterator[str]:
    """A table; what is long, such as search paths, in lines of its own below it."""
    columns = [Column(labels.what), Column(labels.before), Column(labels.after)]
    rows = [_row(change, labels) for change in changes.facts]
    room = (width - 8) // 3
    short = [row for row in rows if max(map(cells, row)) <= room]
    if short:
        yield from render_table(columns, short, width)
    for row in rows:
        if row not in short:
            yield from _lines(row, width, labels)
    if rows:
        yield ""


def _lines(row: list[str], width: int, labels: Labels) -> Iterator[str]:
    what, before, after = row
    yield from wrap(what, width, "  ")
    yield from wrap(f"  {labels.before}{labels.colon}{before}", width, "    ")
    yield from wrap(f"  {labels.after}{labels.colon}{after}", width, "    ")


def _row(change: Change, labels: Labels) -> list[str]:
    topic = labels.topics[change.topic.value]
    what = topic if change.name == change.topic.value else f"{topic} {change.name}"
    before, after = (labels.nothing if v is None else v for v in (change.before, change.after))
    return [what, before, after]


def _findings(changes: Changes, width: int, labels: Labels) -> Iterator[str]:
    for word, findings in ((labels.came, changes.new), (labels.went, changes.gone)):
        for finding in findings:
            message = tell(finding, labels.language).message
            yield from wrap(f"{word} {finding.code}{labels.colon}{message}", width, "  ")
