"""Exact targets, region by region, and only what a driver can load counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import Arch, ptx, sass
from archbuild.model.finding import Severity
from archbuild.model.image import Linkage
from archbuild.rules.checking.targets import (
    check_any_code,
    check_hip,
    check_surplus,
    check_targets,
    judge_targets,
    needs_kernels,
)
from tests.images import GOOD, codes, file, lto, one, real, region, relocatable, virtual

TARGETS = (sass("80"), sass("90"), ptx("90"))
WAITING = region(relocatable(real("90", "k")), linkage=Linkage.RELOCATABLE)


def missing(seen, *targets: Arch) -> list[str | None]:
    return [f.arch for f in check_targets(seen, targets) if f.code == "V201"]


def test_exactly_what_was_asked_for() -> None:
    assert list(check_targets(GOOD, TARGETS)) == []
    verdict = judge_targets(GOOD, TARGETS)
    assert (verdict.present, verdict.missing, verdict.surplus) == (TARGETS, (), ())
    assert verdict.judged


@pytest.mark.parametrize(
    ("held", "asked"),
    [
        (real("90a", "k"), sass("90")),
        (real("90", "k"), sass("90a")),
        (real("120f", "k"), sass("120")),
        (real("120f", "k"), sass("120a")),
        (virtual("90", "k"), sass("90")),
        (real("90", "k"), ptx("90")),
        (virtual("90a", "k"), ptx("90")),
        (real("86", "k"), sass("89")),
        (lto("90", "k"), sass("90")),
    ],
)
def test_near_is_not_there(held, asked: Arch) -> None:
    (finding,) = check_targets(file(region(held)), [asked])
    assert (finding.code, finding.arch, finding.severity) == ("V201", str(asked), Severity.ERROR)
    assert finding.message == f"x.so has no {asked}."
    assert finding.evidence in ((f"holds: {held.arch}",), ("holds: nothing loadable",))


def test_every_region_with_kernels_must_hold_it() -> None:
    seen = file(*GOOD.regions, region(real("80", "late"), identifier := virtual("90", "late")))
    finding = one(list(check_targets(seen, TARGETS)), "V201")
    assert finding.message == "x.so has no sm_90 in 1 of 3 regions."
    assert finding.evidence == ("region holds: sm_80, compute_90",)
    assert judge_targets(seen, TARGETS).missing == (sass("90"),)
    assert identifier.kernels == ("late",)


@pytest.mark.parametrize("images", [(real("75", ""),), (real("80", ""), real("90", ""))])
def test_empty_regions_do_not_count(images) -> None:
    seen = file(*GOOD.regions, region(*images))
    assert missing(seen, *TARGETS) == []
    assert list(check_surplus(seen, TARGETS, exact=True)) == []


def test_regions_of_unknown_content_count_and_ask_for_a_closer_look() -> None:
    seen = file(*GOOD.regions, region(real("75")))
    assert missing(seen, *TARGETS) == [str(target) for target in TARGETS]
    assert needs_kernels(seen, TARGETS)
    assert not needs_kernels(GOOD, TARGETS)
    assert not needs_kernels(file(region(*(real(n) for n in ("80", "90")))), TARGETS[:2])


@pytest.mark.parametrize(
    ("seen", "note"),
    [
        (file(WAITING), "relocatable only"),
        (file(WAITING, region(real("75", ""))), "the device link is empty"),
        (file(region(lto("90", "k"))), "LTO-IR only"),
    ],
)
def test_code_that_no_driver_loads_is_no_coverage(seen, note: str) -> None:
    assert missing(seen, sass("90")) == ["sm_90"]
    assert judge_targets(seen, [sass("90")]).note == note


def test_what_waits_for_a_device_link_is_told() -> None:
    (finding,) = check_targets(file(WAITING), [sass("90")])
    assert finding.message.endswith("it is there as code that still needs a device link.")


@pytest.mark.parametrize(
    ("seen", "note"),
    [
        (file(), "no device code"),
        (file(hip=True), "HIP, not CUDA"),
        (file(region(real("75", ""))), "no kernels"),
    ],
)
def test_what_is_not_judged(seen, note: str) -> None:
    assert list(check_targets(seen, TARGETS)) == []
    verdict = judge_targets(seen, TARGETS)
    assert (verdict.judged, verdict.note) == (False, note)


def test_surplus_is_a_note_or_with_exact_an_error() -> None:
    found = list(check_surplus(GOOD, TARGETS[:2]))
    assert [(f.code, f.arch, f.severity) for f in found] == [("V203", "compute_90", Severity.NOTE)]
    (strict,) = check_surplus(GOOD, TARGETS[:2], exact=True)
    assert strict.severity is Severity.ERROR
    assert list(check_surplus(GOOD, TARGETS, exact=True)) == []


def test_plain_and_suffixed_are_different_targets() -> None:
    assert codes(check_surplus(file(region(real("90a", "k"))), [sass("90")])) == ["V203"]


def test_a_default_of_nvcc_has_an_advice_of_its_own() -> None:
    (finding,) = check_surplus(file(region(real("75", "k"), real("90", "k"))), [sass("90")])
    assert "no -gencode" in finding.advice


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], ["V200"]),
        ([file(), file(path="y.so")], ["V200"]),
        ([file(region(real("75", "")))], ["V200"]),
        ([file(region(real("75", "")), path="x.whl")], []),
        ([file(), GOOD], []),
        ([file(WAITING)], []),
        ([file(hip=True)], []),
    ],
)
def test_whether_there_is_any_code_at_all(files, expected: list[str]) -> None:
    assert codes(check_any_code(files, "x.whl")) == expected
    assert codes(check_any_code(files, "x.whl", unread=1)) == []


def test_hip_code_is_an_error_in_place_of_cuda_and_a_note_beside_it() -> None:
    (alone,) = check_hip(file(hip=True))
    (beside,) = check_hip(file(*GOOD.regions, hip=True))
    assert (alone.severity, beside.severity) == (Severity.ERROR, Severity.NOTE)
    assert list(check_hip(GOOD)) == []


ARCHS = st.sampled_from([sass("80"), sass("90"), sass("90a"), ptx("90"), ptx("80")])


@given(st.lists(st.sets(ARCHS, min_size=1), min_size=1, max_size=4), st.sets(ARCHS, min_size=1))
def test_missing_is_what_some_region_lacks(held: list[set[Arch]], asked: set[Arch]) -> None:
    make = {True: real, False: virtual}
    seen = file(*(region(*(make[a.is_real](a.number, "k") for a in archs)) for archs in held))
    lacking = {target for target in asked if any(target not in archs for archs in held)}
    assert set(missing(seen, *asked)) == {str(target) for target in lacking}
    verdict = judge_targets(seen, asked)
    assert set(verdict.missing) == lacking
    assert set(verdict.present) == asked - lacking
