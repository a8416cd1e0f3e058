"""What is wrong with a machine: findings that know their cause, their proof and their cure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from archbuild.model.finding import Severity


class Confidence(Enum):
    """How sure it is that this is the cause."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True)
class Evidence:
    """One thing that was seen.

    Args:
        source: Where: a file, a command, a library, ``"cuInit"``. Not a sentence.
        said: What it said, in its own words.
    """

    source: str
    said: str


@dataclass(frozen=True)
class Diagnosis:
    """One finding about a machine.

    Its texts are filled templates: ``values`` is what they were filled with, so that
    another language can fill its own.

    Args:
        code: Stable, ``D310``; docs/ has a page for each.
        severity: Error, warning or note.
        confidence: How sure it is.
        message: One sentence, in English.
        advice: What cures it, one sentence or two, in English.
        commands: The cure as commands to paste, the first one first.
        evidence: What was seen.
        errors: The CUDA errors that a person meets for it, the likeliest first.
        gpus: The UUIDs of the GPUs that it concerns; empty: it concerns the machine.
        file: The library or package that it concerns.
        values: What the templates were filled with, by name.
        because: The code of the finding that this one follows from; None: it stands
            for itself.
    """

    code: str
    severity: Severity
    confidence: Confidence
    message: str
    advice: str = ""
    commands: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    errors: tuple[int, ...] = ()
    gpus: tuple[str, ...] = ()
    file: str | None = None
    values: tuple[tuple[str, str], ...] = ()
    because: str | None = None


@dataclass(frozen=True)
class Report:
    """The judgement on a machine.

    Args:
        root_cause: What to cure first; None: nothing is wrong.
        findings: All of them, the root cause first, then by weight; what follows from
            another comes after it.
        unknown: What could not be asked, so that nothing can be said of it: names
            such as ``"gpus"``, each with the reason.
    """

    root_cause: Diagnosis | None
    findings: tuple[Diagnosis, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()

    def exit_code(self, *, strict: bool = False) -> int:
        """0 all well, 1 findings, 4 not enough is known to say that all is well."""
        if has_wrong(self.findings, strict=strict):
            return 1
        return 4 if self.unknown else 0


def has_wrong(findings: Iterable[Diagnosis], *, strict: bool = False) -> bool:
    """Whether these findings fail; with ``strict`` warnings fail as well."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(finding.severity in failing for finding in findings)
