"""The judgement on a machine for people: the root cause first, what follows folded under it."""

from __future__ import annotations

from collections.abc import Iterator

from archbuild.model.diagnosis import Diagnosis
from archbuild.model.finding import Severity
from archbuild.report.doctor_labels import Labels
from archbuild.report.doctor_machine import render_machine
from archbuild.report.findings import (
    Case,
    error_words,
    fold_findings,
    is_for_a_shell,
    tell,
)
from archbuild.report.languages import labels_of
from archbuild.report.text import Ink, escape, paint, wrap
from archbuild.rules.filling import fill
from archbuild.services.doctor import Examination

_MIN_WIDTH = 20
#: Pieces of evidence that are told without ``--verbose``.
_SHOWN = 4
_INKS = {Severity.ERROR: Ink.RED, Severity.WARNING: Ink.YELLOW, Severity.NOTE: Ink.PLAIN}


def render_doctor(
    examination: Examination,
    width: int,
    *,
    language: str = "en",
    verbose: bool = False,
    strict: bool = False,
    color: bool = False,
) -> str:
    """The judgement for people, without a newline at the end.

    Args:
        examination: The judgement and the machine.
        width: No line has more columns but for commands, which have to stay whole; at
            least 20 are taken.
        language: ``en`` or ``zh``.
        verbose: Whether to tell all evidence, and what follows in full.
        strict: Whether warnings fail.
        color: Whether to colour it for a terminal.
    """
    page = _Page(max(width, _MIN_WIDTH), labels_of(language), verbose, color)
    lines = [*page.findings(examination), *page.unknown(examination)]
    lines += [page.bold(page.labels.machine), ""]
    lines += render_machine(examination.machine, page.width, page.labels, verbose=verbose)
    lines += ["", *page.summary(examination, strict=strict)]
    return "\n".join(lines).strip("\n")


def summary_of(examination: Examination, labels: Labels, *, strict: bool = False) -> str:
    """The outcome in a few words.

    Args:
        examination: The judgement.
        labels: The words.
        strict: Whether warnings fail.
    """
    report = examination.report
    counts = {s: sum(f.severity is s for f in report.findings) for s in Severity}
    if report.exit_code(strict=strict) == 4:
        return labels.undecided
    words = {Severity.ERROR: labels.error_count, Severity.WARNING: labels.warning_count}
    told = [
        fill(w[counts[s] != 1], {"count": str(counts[s])}) for s, w in words.items() if counts[s]
    ]
    return fill(labels.found, {"counts": labels.comma.join(told)}) if told else labels.well


class _Page:
    """How to write: how wide, in which words, how much, in colours or not."""

    def __init__(self, width: int, labels: Labels, verbose: bool, color: bool) -> None:
        self.width = width
        self.labels = labels
        self.verbose = verbose
        self.color = color

    def bold(self, text: str) -> str:
        return paint(text, Ink.BOLD, color=self.color)

    def wrapped(self, text: str, first: str = "  ", rest: str = "    ") -> Iterator[str]:
        yield from wrap(f"{first}{text}", self.width, rest)

    def findings(self, examination: Examination) -> Iterator[str]:
        """The root cause with what follows, then the others."""
        root = examination.report.root_cause
        cases = fold_findings(examination.report.findings)
        first = [case for case in cases if case.finding is root]
        others = [case for case in cases if case.finding is not root]
        for head, held in ((self.labels.root_cause, first), (self.labels.others, others)):
            if held:
                yield self.bold(head)
                yield ""
            for case in held:
                yield from self.case(case)
                yield ""

    def case(self, case: Case) -> Iterator[str]:
        yield from self.finding(case.finding)
        if not case.followers:
            return
        yield from self.wrapped(f"{self.labels.follows}{self.labels.colon}".rstrip())
        for finding in case.followers:
            if self.verbose:
                yield from (f"    {line}" for line in self.finding(finding, narrower=4))
            else:
                text = f"{finding.code}{self.labels.colon}{self.message(finding)}"
                yield from self.wrapped(text, "    ", "      ")

    def message(self, finding: Diagnosis) -> str:
        return tell(finding, self.labels.language).message

    def finding(self, finding: Diagnosis, narrower: int = 0) -> Iterator[str]:
        inner = (
            self
            if not narrower
            else _Page(self.width - narrower, self.labels, self.verbose, self.color)
        )
        labels, told = self.labels, tell(finding, self.labels.language)
        severity = labels.severities[finding.severity.value]
        confidence = labels.confidences[finding.confidence.value]
        head = f"{severity} {finding.code} ({confidence}){labels.colon}{told.message}"
        first, *rest = inner.wrapped(head, "", "  ")
        yield paint(first, _INKS[finding.severity], color=self.color)
        yield from rest
        if finding.severity is Severity.NOTE and not self.verbose:
            return
        yield from inner.evidence(finding)
        for number in finding.errors[:1] if not self.verbose else finding.errors:
            yield from inner.wrapped(f"{labels.met}{labels.colon}{error_words(number)}")
        if told.advice:
            yield from inner.wrapped(told.advice)
        # A command that is broken cannot be pasted.
        for command in finding.commands:
            yield f"    {'$ ' if is_for_a_shell(command) else ''}{escape(command)}"
        yield from inner.wrapped(f"{labels.page}{labels.colon}archbuild explain {finding.code}")

    def evidence(self, finding: Diagnosis) -> Iterator[str]:
        most = len(finding.evidence) if self.verbose else _SHOWN
        for one in finding.evidence[:most]:
            yield from self.wrapped(
                f"{self.labels.seen}{self.labels.colon}{one.source}: {one.said}"
            )
        if len(finding.evidence) > most:
            count = str(len(finding.evidence) - most)
            yield from self.wrapped(fill(self.labels.more_seen, {"count": count}))

    def unknown(self, examination: Examination) -> Iterator[str]:
        """What could not be asked, which is never a green answer."""
        if not examination.report.unknown:
            return
        yield self.bold(self.labels.not_known)
        yield ""
        for what, why in examination.report.unknown:
            yield from self.wrapped(fill(self.labels.unknown, {"what": what, "why": why}), "", "  ")
        yield ""

    def summary(self, examination: Examination, *, strict: bool) -> Iterator[str]:
        if not examination.deep or examination.machine.installed is None:
            yield from self.wrapped(self.labels.not_asked, "", "  ")
        ink = Ink.GREEN if examination.report.exit_code(strict=strict) == 0 else Ink.RED
        for line in self.wrapped(summary_of(examination, self.labels, strict=strict), "", "  "):
            yield paint(line, ink, color=self.color)
