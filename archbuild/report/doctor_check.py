"""The short self-test in one line."""

from __future__ import annotations

from collections.abc import Iterator

from archbuild.model.diagnosis import Diagnosis
from archbuild.model.machine import Machine
from archbuild.report.doctor_labels import Labels
from archbuild.report.findings import tell
from archbuild.report.languages import labels_of
from archbuild.report.text import escape
from archbuild.rules.filling import fill
from archbuild.services.doctor import Examination


def render_check(examination: Examination, *, language: str = "en", strict: bool = False) -> str:
    """The outcome, why, and what was looked at; one line.

    Args:
        examination: Of :func:`archbuild.services.doctor.check`.
        language: ``en`` or ``zh``.
        strict: Whether warnings fail.
    """
    labels = labels_of(language)
    code = examination.report.exit_code(strict=strict)
    head = {0: labels.check_well, 1: labels.check_failed}.get(code, labels.check_unknown)
    why = _why(examination, labels) if code else ""
    parts = [f"{head}{labels.colon if why else ''}{why}", _checked(examination.machine, labels)]
    return escape(" ".join(part for part in parts if part))


def _why(examination: Examination, labels: Labels) -> str:
    root = examination.report.root_cause
    if root is not None:
        return f"{root.code}{_errors(root)} {tell(root, labels.language).message}"
    return "; ".join(f"{what}: {why}" for what, why in examination.report.unknown)


def _errors(finding: Diagnosis) -> str:
    return f" ({finding.errors[0]})" if finding.errors else ""


def _checked(machine: Machine, labels: Labels) -> str:
    """What was looked at, with what was found."""
    return f"[{fill(labels.checked, {'what': ', '.join(_facts(machine))})}]"


def _facts(machine: Machine) -> Iterator[str]:
    yield f"{len(machine.gpus)} GPU" + ("" if len(machine.gpus) == 1 else "s")
    driver = machine.driver
    yield "driver -" if driver is None else f"driver {driver.release or driver.cuda}"
    torch = machine.torch
    yield "torch -" if torch is None else f"torch {torch.version}"
    if machine.installed is not None:
        yield from (file.path for one in machine.installed.packages for file in one.files)
