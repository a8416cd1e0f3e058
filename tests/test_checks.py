"""The rule of verify: exact targets, and only what a driver can load counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix, ptx, sass
from archbuild.model.finding import Finding, Severity
from archbuild.model.image import DeviceFile, Image, ImageKind, Linkage, Region
from archbuild.rules.checks import (
    CODES,
    Seen,
    Sight,
    check_container,
    check_targets,
    judge_file,
    lacks_every_target,
    without_empty_images,
)


def image(
    name: str, linkage: Linkage = Linkage.EXECUTABLE, kernels: tuple[str, ...] | None = None
) -> Image:
    arch = Arch.parse(name)
    kinds = {Stage.REAL: ImageKind.SASS, Stage.VIRTUAL: ImageKind.PTX, Stage.LTO: ImageKind.LTOIR}
    return Image(kinds[arch.stage], arch, linkage, kernels=kernels)


def seen(*images: Image, path: str = "pkg/_C.so", notes: tuple[str, ...] = ()) -> Seen:
    regions = (Region(images),) if images else ()
    return Seen.of(DeviceFile(path, regions, "test 1.0", notes), has_hip=False)


def codes(findings: tuple[Finding, ...]) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.arch) for finding in findings]


def check(files: list[Seen], targets: Sequence[Arch]) -> tuple[Finding, ...]:
    return check_targets(files, targets, "x.whl")


TARGETS = (sass("86"), sass("120"), ptx("120"))


def test_exactly_what_was_asked_for() -> None:
    file = seen(image("sm_86"), image("sm_120"), image("compute_120"))
    assert check([file], TARGETS) == ()
    verdict = judge_file(file, TARGETS)
    assert (verdict.present, verdict.missing, verdict.surplus) == (TARGETS, (), ())


@pytest.mark.parametrize(
    ("held", "asked"),
    [
        ("sm_90a", sass("90")),
        ("sm_90", sass("90a")),
        ("sm_120f", sass("120")),
        ("sm_120f", sass("120a")),
        ("compute_90", sass("90")),
        ("sm_90", ptx("90")),
        ("compute_90a", ptx("90")),
        ("sm_86", sass("89")),
    ],
)
def test_near_is_not_there(held: str, asked: Arch) -> None:
    findings = check([seen(image(held))], [asked])
    assert codes(findings) == [("V201", str(asked)), ("V203", None)]
    assert findings[0].message == f"pkg/_C.so has no {asked}."
    assert findings[0].evidence == (f"holds: {held}",)
    assert findings[0].severity is Severity.ERROR
    assert findings[1].severity is Severity.NOTE


def test_one_finding_for_each_file_and_architecture() -> None:
    files = [seen(image("sm_86"), path="a.so"), seen(image("sm_120"), path="b.so")]
    findings = check(files, TARGETS)
    assert [(f.file, f.arch) for f in findings] == [
        ("a.so", "sm_120"),
        ("a.so", "compute_120"),
        ("b.so", "sm_86"),
        ("b.so", "compute_120"),
    ]


def test_the_union_over_files_is_no_answer() -> None:
    files = [seen(image("sm_86"), path="a.so"), seen(image("sm_120"), path="b.so")]
    assert files[0].file is not None
    assert files[1].file is not None
    assert files[0].file.targets | files[1].file.targets == {sass("86"), sass("120")}
    assert len(check(files, [sass("86"), sass("120")])) == 2


def test_relocatable_code_is_no_coverage() -> None:
    file = seen(image("sm_86", Linkage.RELOCATABLE), image("compute_120", Linkage.RELOCATABLE))
    findings = check([file], [sass("86")])
    assert codes(findings) == [("V201", "sm_86"), ("V202", None)]
    assert "still needs a device link" in findings[0].message
    assert "nvcc -dlink" in findings[1].advice


def test_relocatable_beside_executable() -> None:
    file = seen(image("sm_86"), image("sm_120", Linkage.RELOCATABLE))
    assert codes(check([file], [sass("86"), sass("120")])) == [("V201", "sm_120")]


def test_unknown_linkage_is_no_coverage() -> None:
    findings = check([seen(image("sm_86", Linkage.UNKNOWN))], [sass("86")])
    assert codes(findings) == [("V201", "sm_86")]


def test_lto_is_no_coverage() -> None:
    findings = check([seen(image("lto_90", Linkage.RELOCATABLE))], [sass("90")])
    assert codes(findings) == [("V201", "sm_90"), ("V208", None)]


def test_the_default_image_of_nvcc_shared_is_a_note_with_a_hint() -> None:
    file = seen(image("sm_75"), image("sm_86"))
    (finding,) = check([file], [sass("86")])
    assert (finding.code, finding.severity) == ("V203", Severity.NOTE)
    assert "nvcc -shared adds an empty image" in finding.advice


def test_real_surplus_has_no_such_hint() -> None:
    (finding,) = check([seen(image("sm_86"), image("sm_90"))], [sass("86")])
    assert "sm_90" in finding.message
    assert finding.advice == ""


def test_images_known_to_be_empty_are_no_surplus() -> None:
    file = seen(image("sm_75", kernels=()), image("sm_86", kernels=("k",)))
    assert check([file], [sass("86")]) == ()


def test_files_without_device_code_are_not_judged() -> None:
    files = [seen(path="host.so"), seen(image("sm_86"))]
    assert check(files, [sass("86")]) == ()
    verdict = judge_file(files[0], [sass("86")])
    assert (verdict.judged, verdict.missing, verdict.note) == (False, (), "no device code")


@pytest.mark.parametrize("files", [[], [seen(path="a.so"), seen(path="b.so")]])
def test_no_device_code_at_all(files: list[Seen]) -> None:
    findings = check(files, TARGETS)
    assert codes(findings) == [("V200", None)]
    assert findings[0].severity is Severity.ERROR
    assert findings[0].evidence == tuple(file.path for file in files)
    assert findings[0].message.startswith("x.whl holds no device code at all (looked at: ")


def test_hip_is_told_apart_from_nothing() -> None:
    hip = Seen.of(DeviceFile("h.so", (), "test 1.0"), has_hip=True)
    (finding,) = check([hip, seen(path="host.so")], TARGETS)
    assert (finding.code, finding.evidence) == ("V205", ("h.so",))
    assert "x.whl holds HIP, not CUDA" in finding.message
    assert judge_file(hip, TARGETS).note == "HIP, not CUDA"


def test_hip_beside_cuda_is_no_fault() -> None:
    hip = Seen.of(DeviceFile("h.so", (), "test 1.0"), has_hip=True)
    assert check([hip, seen(image("sm_86"))], [sass("86")]) == ()


def test_a_blind_spot_is_no_verdict() -> None:
    blind = Seen.blind("x.dll", "x.dll is a Windows binary.", "Verify it on Windows.")
    (finding,) = check([blind, seen(path="host.so")], TARGETS)
    assert (finding.code, finding.file, finding.advice) == (
        "V206",
        "x.dll",
        "Verify it on Windows.",
    )
    assert not judge_file(blind, TARGETS).judged


def test_what_the_reader_did_not_know_is_said() -> None:
    findings = check([seen(image("sm_86"), notes=("an entry of kind 'x'",))], [sass("86")])
    assert codes(findings) == [("V204", None)]
    assert findings[0].evidence == ("an entry of kind 'x'",)
    assert findings[0].severity is Severity.WARNING


def test_a_library_with_nothing_but_the_empty_image_is_host_code() -> None:
    plain = seen(image("sm_75"))
    assert lacks_every_target(plain, [sass("86")])
    assert without_empty_images(plain).sight is Sight.CUDA
    assert without_empty_images(seen(image("sm_75", kernels=()))).sight is Sight.NOTHING
    assert without_empty_images(seen(image("sm_75", kernels=("k",)))).sight is Sight.CUDA


@pytest.mark.parametrize(
    ("file", "expected"),
    [(seen(image("sm_86")), False), (seen(), False), (seen(image("compute_86")), True)],
)
def test_when_a_closer_look_pays(file: Seen, expected: bool) -> None:
    assert lacks_every_target(file, [sass("86"), sass("90")]) is expected


def test_containers() -> None:
    assert check_container("", "x.whl") == ()
    (finding,) = check_container("x.zip is no wheel.", "x.zip")
    assert (finding.code, finding.severity) == ("V207", Severity.NOTE)


def test_codes_are_unique_and_ordered() -> None:
    names = [code.code for code in CODES]
    assert names == sorted(set(names))


ARCHS = st.builds(
    Arch,
    st.sampled_from([Stage.REAL, Stage.VIRTUAL]),
    st.sampled_from([ComputeCapability(8, 6), ComputeCapability(9, 0), ComputeCapability(12, 1)]),
    st.sampled_from(list(Suffix)),
)


@given(st.lists(ARCHS, min_size=1), st.lists(ARCHS, min_size=1))
def test_missing_present_and_surplus_divide_the_world(held: list[Arch], asked: list[Arch]) -> None:
    file = seen(*(image(str(arch)) for arch in held))
    verdict = judge_file(file, asked)
    assert {*verdict.present, *verdict.missing} == {*asked}
    assert {*verdict.present, *verdict.surplus} == {*held}
    assert not {*verdict.missing} & {*held}
    findings = check([file], asked)
    assert {f.arch for f in findings if f.code == "V201"} == {str(a) for a in verdict.missing}
