"""Regions brought together with the sources that they came from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archbuild.model.arch import Arch, ptx, sass
from archbuild.model.image import DeviceFile, Image, Region
from archbuild.model.manifest import Manifest, SourceManifest
from archbuild.rules.checking.demand import Demand
from archbuild.rules.checking.intent import find_intent, needs_of
from archbuild.rules.checking.judge import FileVerdict, judge_file, wants_closer_look
from archbuild.rules.checking.targets import judge_targets
from archbuild.rules.selecting.expectation import Expectation
from tests.images import codes, file, on, one, real, virtual

PLAIN = "80 90 c90"
TARGETS = "80 90 90a c90"


def archs(text: str) -> tuple[Arch, ...]:
    return tuple(ptx(w[1:]) if w.startswith("c") else sass(w) for w in text.split())


def source(path: str, targets: str = PLAIN, own: str | None = None, **more) -> SourceManifest:
    return SourceManifest(path, archs(targets), own, **more)


def manifest(*sources: SourceManifest, targets: str = TARGETS, **more) -> Manifest:
    values = {
        "library": "x.so",
        "targets": archs(targets),
        "sources": sources,
        "toolkit": "13.0.88",
        "torch": None,
        "torch_cuda": None,
        "cxx11_abi": None,
        "python": "cp311",
        "host_compiler": "g++ 12.2.0",
        "flags": (),
        "relocatable": False,
        "lean_headers": False,
        "development": False,
        "images": (),
        "archbuild": "1.0",
    }
    return Manifest(**(values | more))


def _image(word: str, kernels: str | None) -> Image:
    return virtual(word[1:], kernels) if word.startswith("c") else real(word, kernels)


def region(held: str, kernels: str | None = "k") -> Region:
    return Region(tuple(_image(word, kernels) for word in held.split()), offset=0)


A, B = source("a.cu"), source("b.cu")
HOPPER = source("hopper.cu", "90a", "9.0a")
MOE = source("moe.cu", "90 c90", "9.0+")


def judge(
    seen: DeviceFile, told: Manifest | None, targets: str | None = None, **more
) -> FileVerdict:
    asked = Expectation(archs(targets), "--targets") if targets else Expectation()
    demand = Demand(expected=asked, heeds_manifests=targets is None, **more)
    return judge_file(seen, demand, told)


def errors(verdict: FileVerdict) -> list[str]:
    return [f"{f.code} {f.message}" for f in verdict.findings if f.severity.value == "error"]


@pytest.mark.parametrize(
    ("regions", "sources", "expected"),
    [
        ([PLAIN, "90a"], [A, HOPPER], ["a.cu", "hopper.cu"]),
        (["90a", PLAIN], [A, HOPPER], ["hopper.cu", "a.cu"]),
        # Two sources of one kind can't be told apart.
        ([PLAIN, PLAIN, "90a"], [A, B, HOPPER], ["a.cu b.cu", "a.cu b.cu", "hopper.cu"]),
        # One that lost an architecture is the likest of what is left.
        (["80 c90", "90a"], [A, HOPPER], ["a.cu", "hopper.cu"]),
        (["90 c90", "90"], [A, MOE], ["moe.cu", "a.cu"]),
        # Nothing in common: from somewhere else.
        ([PLAIN, "75"], [A, HOPPER], ["a.cu", ""]),
        ([PLAIN, PLAIN], [A], ["a.cu", ""]),
        ([], [A], []),
    ],
)
def test_where_a_region_is_from(
    regions: list[str], sources: list[SourceManifest], expected: list[str]
) -> None:
    found = find_intent(file(*map(region, regions)), manifest(*sources))
    assert found is not None
    assert [" ".join(s.path for s in own) for own in found.origins] == expected


@pytest.mark.parametrize(
    ("regions", "sources", "lost"),
    [
        ([PLAIN, "90a"], [A, HOPPER], []),
        ([PLAIN], [A, HOPPER], ["hopper.cu 1"]),
        ([PLAIN], [A, B], ["a.cu b.cu 1"]),
        ([], [A, B], ["a.cu b.cu 2"]),
        (["80"], [A], []),
        (["75"], [A], ["a.cu 1"]),
        ([PLAIN], [A, source("c.cu", "", "12.0a", left_out="why")], []),
    ],
)
def test_what_is_nowhere(
    regions: list[str], sources: list[SourceManifest], lost: list[str]
) -> None:
    found = find_intent(file(*map(region, regions)), manifest(*sources))
    assert found is not None
    told = [" ".join([*(s.path for s in one.sources), str(one.count)]) for one in found.lost]
    assert told == lost


def test_a_source_of_host_code_leaves_an_empty_region() -> None:
    seen = file(region(PLAIN), region(PLAIN, ""), region("90a"))
    found = find_intent(seen, manifest(A, B, HOPPER))
    assert found is not None
    assert found.lost == ()
    assert errors(judge(seen, manifest(A, B, HOPPER))) == []


def test_no_intent_without_regions_of_their_own() -> None:
    merged = file(Region((real("80"), real("90a"))))
    assert find_intent(merged, manifest(A, HOPPER)) is None
    assert find_intent(file(region(PLAIN)), None) is None


# What each has to hold.


def test_on_purpose_needs_no_waiver() -> None:
    seen = file(region(PLAIN), region("90a"), region("90 c90"))
    told = manifest(A, HOPPER, MOE)
    assert codes(judge(seen, told).findings) == []
    # Without the manifest all of these are told.
    assert "V201" in codes(judge(seen, None, TARGETS).findings)


@pytest.mark.parametrize(
    ("regions", "missing", "share"),
    [
        (["80 c90", "90a"], "sm_90", " in 1 of 2 regions"),
        (["80 90", "90a"], "compute_90", ""),
        ([PLAIN, "90"], "sm_90a", ""),
    ],
)
def test_a_region_that_lost_an_architecture_is_found(
    regions: list[str], missing: str, share: str
) -> None:
    seen = file(*map(region, regions))
    verdict = judge(seen, manifest(A, HOPPER, MOE if "90" in regions else A))
    found = [f for f in verdict.findings if f.code == "V201" and f.arch == missing]
    assert len(found) == 1
    assert f"has no {missing}" in found[0].message


def test_one_of_many_that_lost_one() -> None:
    seen = file(region(PLAIN), region("80 c90"), region("90a"), region(PLAIN))
    sources = (A, B, source("c.cu"), HOPPER)
    finding = one(judge(seen, manifest(*sources)).findings, "V201")
    assert finding.message == "x.so has no sm_90 in 1 of 4 regions."


def test_a_region_that_is_gone() -> None:
    (error,) = errors(judge(file(region(PLAIN)), manifest(A, B, targets=PLAIN)))
    assert error == (
        "V201 x.so holds nothing of 1 of these 2 sources: a.cu, b.cu (sm_80, sm_90, compute_90)."
    )
    (first, second) = errors(judge(file(region(PLAIN)), manifest(A, HOPPER)))
    assert first == "V201 x.so has no sm_90a."
    assert second == "V201 x.so holds nothing of hopper.cu (sm_90a)."


def test_a_stranger_holds_what_a_plain_source_does() -> None:
    told = manifest(A, HOPPER)
    assert errors(judge(file(region(PLAIN), region("90a"), region(PLAIN)), told)) == []
    found = judge(file(region(PLAIN), region("90a"), region("75")), told)
    assert [f.arch for f in found.findings if f.code == "V201"] == ["sm_80", "sm_90", "compute_90"]
    only = manifest(HOPPER, targets="90a")
    assert errors(judge(file(region("90a"), region("75")), only)) == []


@pytest.mark.parametrize(
    ("targets", "missing"),
    [
        # Of what is typed each region has to hold what its source serves.
        ("80 90", []),
        ("80 90 c90", []),
        # Whoever types 9.0a asks it of every source that has no list of its own.
        ("80 90 90a c90", ["sm_90a"]),
        ("80 90 120", ["sm_120"]),
        ("90", []),
    ],
)
def test_with_targets_that_were_typed(targets: str, missing: list[str]) -> None:
    seen = file(region(PLAIN), region("90a"), region("90 c90"))
    verdict = judge(seen, manifest(A, HOPPER, MOE), targets)
    assert [f.arch for f in verdict.findings if f.code == "V201"] == missing


def test_with_typed_targets_what_is_there_on_purpose_is_no_surplus() -> None:
    seen = file(region("80 90"), region("90a"))
    told = manifest(source("a.cu", "80 90"), HOPPER)
    assert errors(judge(seen, told, "80 90", exact=True)) == []
    assert errors(judge(seen, None, "80 90", exact=True))
    assert "sm_90a" in errors(judge(seen, told, "80", exact=True))[-1]


def test_by_its_name_alone_nothing_is_on_purpose() -> None:
    # All sources serve 9.0 as 9.0a, but sm_90 was typed: that is exact.
    verdict = judge(file(region("90a")), manifest(HOPPER, targets="90a"), "90")
    assert [f.arch for f in verdict.findings if f.code == "V201"] == ["sm_90"]


def test_needs_are_those_of_the_likest_source() -> None:
    same = (source("a.cu", "90"), source("b.cu", "90", "9.0"))
    seen = file(region("90"), region("90"))
    found = find_intent(seen, manifest(*same, targets="90"))
    needs = needs_of(seen, archs("80 90"), found, by_manifest=False)
    assert needs == (frozenset(archs("90")), frozenset(archs("90")))
    assert judge_targets(seen, archs("80 90"), needs).missing == archs("80")


def test_kernels_are_read_where_they_decide() -> None:
    demand = Demand(heeds_manifests=True)
    told = manifest(A, HOPPER)
    whole = file(region(PLAIN, None), region("90a", None))
    assert not wants_closer_look(whole, demand, told)
    assert wants_closer_look(file(region("80 c90", None), region("90a", None)), demand, told)
    assert not wants_closer_look(whole, demand)


# On devices.


def test_a_source_that_is_not_meant_for_a_device() -> None:
    moe = source("moe.cu", "90 120 c120", "9.0+")
    seen = file(region("80 90 120 c120"), region("90 120 c120"))
    told = manifest(source("a.cu", "80 90 120 c120"), moe, targets="80 90 120 c120")
    place = (on("8.0"),)
    assert "V211" in codes(judge(seen, None, destinations=place).findings)
    found = judge(seen, told, destinations=place)
    assert codes(found.findings) == ["V212"]
    assert errors(judge(seen, told, destinations=(on("9.0"),))) == []


def test_one_that_is_meant_for_the_device_and_lost_it() -> None:
    moe = source("moe.cu", "80 90", "8.0+")
    told = manifest(source("a.cu", "80 90"), moe, targets="80 90")
    found = judge(file(region("80 90"), region("90")), told, destinations=(on("8.0"),))
    assert "V211" in codes(found.findings)
    assert "V201" in codes(found.findings)


# Other findings.


def test_only_specific_code_on_purpose() -> None:
    seen = file(region("90a"), region("90a"))
    told = manifest(HOPPER, source("two.cu", "90a", "9.0a"), targets="90a")
    assert codes(judge(seen, told).findings) == []
    # Where the whole build asked for nothing else, it is told as before.
    wanted = manifest(source("a.cu", "90a"), source("b.cu", "90a"), targets="90a")
    assert codes(judge(seen, wanted).findings) == ["V221"]
    assert codes(judge(seen, manifest(HOPPER, source("b.cu", "90a"), targets="90a")).findings) == [
        "V221"
    ]


def test_no_ptx_on_purpose() -> None:
    seen = file(region("80 90 c80"), region("90"))
    told = manifest(source("a.cu", "80 90 c80"), source("b.cu", "90", "9.0"), targets="80 90 c80")
    assert codes(judge(seen, told).findings) == []
    without = manifest(source("a.cu", "80 90"), source("b.cu", "90", "9.0"), targets="80 90")
    assert codes(judge(file(region("80 90"), region("90")), without).findings) == ["V220"]


def test_kernels_of_a_linked_library() -> None:
    """After a device link one region holds all: a kernel for one architecture looks missing."""
    linked = Region(
        (real("80", "k"), real("90", "k"), real("90a", "k wgmma"), virtual("90", "k")), offset=0
    )
    told = manifest(A, HOPPER, relocatable=True)
    before = judge(file(linked), None, TARGETS)
    assert codes(before.findings) == ["V223", "V223", "V223"]
    assert codes(judge(file(linked), told).findings) == []
    # One that lacks an architecture for no reason is told.
    odd = replace(linked, images=(real("80", "k m"), *linked.images[1:]))
    assert [f.kernel for f in judge(file(odd), told).findings if f.code == "V223"] == ["m"] * 3
    place = (on("8.0"),)
    assert codes(judge(file(linked), told, destinations=place).findings) == []
    assert "V223" in codes(judge(file(linked), None, TARGETS, destinations=place).findings)


def test_many_regions_of_many_kinds_end_soon() -> None:
    numbers = [f"{n}{s}" for n in range(20, 120) for s in ("", "a")]
    regions = [region(f"{one} 200") for one in numbers for _ in range(5)]
    sources = [source(f"{one}.cu", f"{one} 201") for one in numbers]
    found = find_intent(file(*regions), manifest(*sources))
    assert found is not None
    assert len(found.origins) == len(regions)
