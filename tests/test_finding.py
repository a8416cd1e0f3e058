"""Findings: which of them fail."""

from __future__ import annotations

import pytest

from archbuild.model.finding import Finding, Severity, has_errors


def _findings(severities: list[Severity]) -> list[Finding]:
    return [Finding("V201", severity, "something") for severity in severities]


@pytest.mark.parametrize(
    ("severities", "fails", "fails_strictly"),
    [
        ([], False, False),
        ([Severity.NOTE], False, False),
        ([Severity.NOTE, Severity.WARNING], False, True),
        ([Severity.WARNING, Severity.ERROR], True, True),
        ([Severity.NOTE, Severity.ERROR], True, True),
    ],
)
def test_warnings_fail_only_when_strict(
    severities: list[Severity], fails: bool, fails_strictly: bool
) -> None:
    findings = _findings(severities)
    assert has_errors(iter(findings)) is fails
    assert has_errors(iter(findings), strict=True) is fails_strictly
