"""What a check found, as data: a stable code, a severity and the evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """How much a finding weighs; only errors fail without ``--strict``."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One thing that a check has to say.

    Args:
        code: Stable, ``V201``; docs/ has a page for each.
        severity: Error, warning or note.
        message: One sentence.
        file: The file it is about, as it was named or as the wheel names it.
        arch: The architecture it is about.
        kernel: The kernel it is about, mangled.
        evidence: What was seen, a few lines.
        advice: What cures it.
    """

    code: str
    severity: Severity
    message: str
    file: str | None = None
    arch: str | None = None
    kernel: str | None = None
    evidence: tuple[str, ...] = ()
    advice: str = ""


def has_errors(findings: Iterable[Finding], *, strict: bool = False) -> bool:
    """Whether these findings fail; with ``strict`` warnings fail as well."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(finding.severity in failing for finding in findings)
