"""Waivers, and only what is new."""

from __future__ import annotations

import pytest

from archbuild.model.finding import Finding, Severity
from archbuild.model.waiver import Waiver
from archbuild.rules.checking.waivers import apply_waivers, new_findings
from tests.images import codes


def finding(code="V220", path="x.so", arch=None, kernel=None, severity=Severity.WARNING):
    return Finding(code, severity, "Something.", path, arch, kernel)


@pytest.mark.parametrize(
    "waiver",
    [
        Waiver("why", code="V223"),
        Waiver("why", code="V22?"),
        Waiver("why", file="lib/*.so"),
        Waiver("why", kernel="_Z1*"),
        Waiver("why", arch="sm_9*"),
        Waiver("why", code="V223", file="lib/x.so", kernel="_Z1kPf", arch="sm_90"),
        Waiver("why"),
    ],
)
def test_a_waiver_that_matches(waiver) -> None:
    known = finding("V223", "lib/x.so", "sm_90", "_Z1kPf")
    judged = apply_waivers([known], [waiver])
    assert judged.kept == ()
    assert judged.waived == ((known, waiver),)


@pytest.mark.parametrize(
    "waiver",
    [
        Waiver("why", code="V22"),
        Waiver("why", code="v223"),
        Waiver("why", file="x.so"),
        Waiver("why", arch="sm_9"),
        Waiver("why", code="V223", kernel="_Z2*"),
    ],
)
def test_a_waiver_that_does_not_match_is_warned_of(waiver) -> None:
    known = finding("V223", "lib/x.so", "sm_90", "_Z1kPf")
    kept = apply_waivers([known], [waiver]).kept
    assert codes(kept) == ["V223", "V260"]
    assert kept[1].severity is Severity.WARNING
    assert kept[1].evidence == ("its reason: why",)


def test_a_waiver_for_a_kernel_spares_findings_that_are_of_none() -> None:
    assert codes(apply_waivers([finding()], [Waiver("why", kernel="k*")]).kept) == ["V220", "V260"]


def test_two_waivers_for_one_finding_are_both_in_use() -> None:
    waivers = [Waiver("one", code="V220"), Waiver("two", file="*.so")]
    judged = apply_waivers([finding()], waivers)
    assert judged.kept == ()
    assert judged.waived[0][1] is waivers[0]


def test_no_waivers_change_nothing() -> None:
    assert apply_waivers([finding(), finding()], []).kept == (finding(), finding())


def test_only_what_is_new() -> None:
    before = [finding("V220"), finding("V223", kernel="k1_aaaa"), finding("V213")]
    now = [
        finding("V220"),
        finding("V220", path="y.so"),
        finding("V223", kernel="k1_bbbb"),
        finding("V223", kernel="k2_bbbb"),
        finding("V213", severity=Severity.ERROR),
    ]
    new = new_findings(now, before, lambda name: name.partition("_")[0])
    assert new == (now[1], now[3], now[4])
    assert new_findings(now, now) == ()
    assert new_findings(now, []) == tuple(now)
