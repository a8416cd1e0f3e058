"""The judgement on a machine for programs, by ``report/schemas/doctor.json``."""

from __future__ import annotations

import json
from typing import Any

from archbuild.model.diagnosis import Diagnosis
from archbuild.model.record import encode
from archbuild.report.findings import page_of
from archbuild.rules.diagnosis.changes import Changes
from archbuild.services.doctor import Examination

SCHEMA = "archbuild.doctor/1"


def doctor_json(
    examination: Examination, *, strict: bool = False, changes: Changes | None = None
) -> str:
    """The judgement as JSON text; it is ASCII, whatever bytes a path is made of.

    Args:
        examination: The judgement and the machine.
        strict: Whether warnings fail.
        changes: What changed since an old record; None: nobody asked.
    """
    document = doctor_document(examination, strict=strict, changes=changes)
    return json.dumps(document, indent=2, ensure_ascii=True)


def doctor_document(
    examination: Examination, *, strict: bool = False, changes: Changes | None = None
) -> dict[str, Any]:
    """What :func:`doctor_json` writes, as data."""
    report = examination.report
    exit_code = report.exit_code(strict=strict)
    root = report.root_cause
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "ok": exit_code == 0,
        "exit_code": exit_code,
        "root_cause": None if root is None else finding_document(root),
        "findings": [finding_document(finding) for finding in report.findings],
        "unknown": [{"what": what, "why": why} for what, why in report.unknown],
        "trials": examination.trials,
        "machine": encode(examination.machine),
    }
    if changes is not None:
        document["changes"] = _changes(changes)
    return document


def finding_document(finding: Diagnosis) -> dict[str, Any]:
    """One finding about a machine, as programs get it.

    Args:
        finding: It; its texts are the English ones.
    """
    return {
        **encode(finding),
        "values": dict(finding.values),
        "page": page_of(finding.code),
    }


def _changes(changes: Changes) -> dict[str, Any]:
    return {
        "since": changes.taken,
        "facts": encode(changes.facts),
        "new": [finding_document(finding) for finding in changes.new],
        "gone": [finding_document(finding) for finding in changes.gone],
        "not_compared": encode(changes.unasked),
    }
