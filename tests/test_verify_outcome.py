"""Exit codes: where several hold, 3, 1, 4, 0 in this order."""

from __future__ import annotations

import pytest

from archbuild.model.arch import sass
from archbuild.model.finding import Finding, Severity
from archbuild.rules.checking.demand import Demand
from archbuild.rules.checking.verify_outcome import VerifyReport
from archbuild.rules.selecting.expectation import Expectation

ASKED = Demand(Expectation((sass("90"),), "--targets"))
STRICT = Demand(Expectation((sass("90"),), "--targets"), strict=True)
UNREAD, ERROR, WARNING, NOTE, UNKNOWN, TEGRA = (
    Finding(code, severity, "It is so.")
    for code, severity in (
        ("V206", Severity.ERROR),
        ("V201", Severity.ERROR),
        ("V220", Severity.WARNING),
        ("V203", Severity.NOTE),
        ("V217", Severity.WARNING),
        ("V218", Severity.WARNING),
    )
)


@pytest.mark.parametrize(
    ("demand", "findings", "code"),
    [
        (ASKED, (), 0),
        (ASKED, (WARNING, NOTE), 0),
        (ASKED, (ERROR, NOTE), 1),
        (ASKED, (ERROR, UNREAD), 3),
        (ASKED, (UNKNOWN,), 4),
        (ASKED, (TEGRA, WARNING), 4),
        (ASKED, (TEGRA, ERROR), 1),
        (ASKED, (UNKNOWN, UNREAD), 3),
        (STRICT, (WARNING,), 1),
        (STRICT, (NOTE,), 0),
        (STRICT, (UNKNOWN,), 1),
        (Demand(), (), 4),
        (Demand(), (WARNING,), 4),
        (Demand(), (ERROR,), 1),
        (Demand(), (UNREAD,), 3),
        (Demand(size_budget=1), (), 0),
    ],
)
def test_exit_codes(demand: Demand, findings: tuple[Finding, ...], code: int) -> None:
    report = VerifyReport(("x",), demand, (), findings)
    assert (report.exit_code, report.ok) == (code, code == 0)
    assert report.devices == ()
