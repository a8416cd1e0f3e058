"""What people met in public when they shipped binaries, row by row.

First on values of the model, then on small real binaries.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.model.arch import Arch, sass
from archbuild.model.finding import Finding, Severity, has_errors
from archbuild.model.image import Linkage
from archbuild.report.verify import render_verify
from archbuild.report.verify_json import verify_document
from archbuild.rules.checking.audit import audit
from archbuild.rules.checking.kernel_checks import check_not_registered
from archbuild.rules.checking.package_checks import (
    bytes_by_arch,
    check_size,
)
from archbuild.rules.checking.served import check_served
from archbuild.rules.checking.targets import check_any_code, check_targets
from archbuild.rules.checking.verify_outcome import VerifyReport
from archbuild.rules.covering.coverage import cover_file
from archbuild.services.verify import verify
from tests.images import codes, driver, file, on, one, real, region, relocatable, virtual

DATA = Path(__file__).parent / "data"
WHEEL = "fixture-1.0-py3-none-linux_x86_64.whl"


@pytest.fixture(autouse=True)
def no_list_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ARCHBUILD_ARCHS", "TORCH_CUDA_ARCH_LIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def served(seen, *destinations, **more):
    coverages = [cover_file(seen, destination) for destination in destinations]
    return check_served(seen.path, coverages, **more)


def test_fbgemm_6151_only_a_images_and_no_ptx_fail_on_b300() -> None:
    seen = file(region(real("90a", "k"), real("100a", "k")))
    assert "V221" in codes(audit(seen))
    coverage = cover_file(seen, on("10.3"))
    assert 209 in coverage.errors
    assert codes(check_served(seen.path, [coverage])) == ["V210"]


def test_torch_harmonics_239_no_device_code() -> None:
    assert codes(check_any_code([file(path="pkg/_C.so")], "x.whl")) == ["V200"]


def test_vllm_3801_the_list_never_reached_the_compiler() -> None:
    seen = file(region(real("52", "k"), virtual("52", "k")))
    found = list(check_targets(seen, [sass("80"), sass("90")]))
    assert [f.arch for f in found if f.code == "V201"] == ["sm_80", "sm_90"]
    assert has_errors(found)


@pytest.mark.parametrize(
    ("held", "declared", "missing"),
    [
        (["80", "86", "90"], ["80", "86", "89", "90"], ["sm_89"]),
        (["52"], ["70", "80"], ["sm_70", "sm_80"]),
    ],
)
def test_nvbench_308_and_ostt_93_declared_is_not_actual(held, declared, missing) -> None:
    seen = file(region(*(real(number, "k") for number in held)))
    found = check_targets(seen, [sass(number) for number in declared])
    assert [f.arch for f in found if f.code == "V201"] == missing


def test_vllm_28305_ptx_newer_than_the_driver_and_two_floors() -> None:
    seen = file(region(real("80", "k", "12.9"), virtual("90", "k", isa=(8, 8))))
    coverage = cover_file(seen, on("9.0", driver("550.54.14")))
    assert coverage.errors == (222,)
    assert codes(check_served(seen.path, [coverage])) == ["V214"]
    both = cover_file(file(*seen.regions, region(real("90", "m", "12.9"))), on("9.0"))
    assert str(both.floors.sass.release) == "525.60.13"
    assert str(both.floors.ptx.release) == "575.51.03"


def test_tensorflow_62320_ptx_only_is_jit_and_not_native() -> None:
    seen = file(region(virtual("60", "k")))
    assert codes(served(seen, on("8.9"))) == ["V213"]
    assert has_errors(served(seen, on("8.9"), allow_jit=False))


def test_pytorch_177014_a_kernel_the_host_does_not_register() -> None:
    seen = file(region(real("80", "_Z1a _Z1b"), real("90", "_Z1a _Z1b")), unnamed=("_Z1b",))
    found = list(check_not_registered(seen))
    assert [(f.code, f.kernel) for f in found] == [("V224", "_Z1b")]


def test_bitsandbytes_1930_relocatable_ptx_in_view() -> None:
    seen = file(region(real("80", "k")), region(relocatable(virtual("80", "k"))))
    assert "V227" in codes(audit(seen))


def test_fvdb_789_code_goes_only_upwards() -> None:
    seen = file(region(real("89", "k"), virtual("89", "k")))
    finding = one(served(seen, on("8.6")), "V210")
    assert "No image fits 8.6" in finding.evidence[0]
    assert served(seen, on("8.9")) == ()


def test_vllm_19794_a_wheel_too_large_tells_bytes_by_architecture() -> None:
    seen = file(region(real("80", "k", stored=200 << 20), real("90a", "k", stored=300 << 20)))
    found = list(check_size("x.whl", 500 << 20, 400 << 20, bytes_by_arch([seen])))
    assert codes(found) == ["V240"]
    assert found[0].evidence[0] == "sm_90a: 300.0 MiB"


def test_sglang_37640_no_sm_121_in_a_wheel() -> None:
    seen = file(region(real("90", "k"), real("100", "k")))
    assert codes(served(seen, on("12.1"))) == ["V210"]
    targets = check_targets(seen, [Arch.parse("sm_121")])
    assert "V201" in codes(targets)


def test_easybuild_5008_ptx_with_rdc_is_there_and_told_apart() -> None:
    seen = file(
        region(real("80", "k")),
        region(
            relocatable(real("80", "k")),
            relocatable(virtual("80", "k")),
            linkage=Linkage.RELOCATABLE,
        ),
    )
    found = audit(seen)
    assert "compute_80" in one(found, "V227").message
    assert "V220" in codes(found)


# The same on real binaries, from end to end.


def look(name: str, **asked) -> VerifyReport:
    return verify(DATA / name, reader="native", **asked)


def named(report: VerifyReport, code: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]


def test_only_a_images_on_b300_in_a_library() -> None:
    report = look("only_specific.so", runs_on="10.3")
    assert {"V210", "V221"} <= set(codes(report.findings))
    assert (report.exit_code, 209 in report.devices[0].errors) == (1, True)


def test_a_library_without_device_code() -> None:
    report = look("plain.so", targets="9.0")
    assert (codes(report.findings), report.exit_code) == (["V200"], 1)


def test_a_list_that_never_reached_the_compiler(monkeypatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0;9.0")
    report = look("classic.so")
    assert report.demand.expected.source == "TORCH_CUDA_ARCH_LIST"
    assert [finding.arch for finding in named(report, "V201")] == ["sm_80", "sm_90"]
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("name", "declared", "missing"),
    [
        ("reader/two_units.so", "8.0 8.9 9.0+PTX", ["sm_89"]),
        ("reader/cuda11_sm_52.cubin", "7.0 8.0", ["sm_70", "sm_80"]),
    ],
)
def test_declared_is_not_actual_in_a_library(name: str, declared: str, missing: list[str]) -> None:
    report = look(name, targets=declared)
    assert [finding.arch for finding in named(report, "V201")] == missing


def test_ptx_newer_than_the_driver_in_a_library() -> None:
    report = look("reader/two_units.so", runs_on="10.0", driver="570.26")
    assert [f.code for f in report.findings if f.severity is Severity.ERROR] == ["V214"]
    assert (report.devices[0].errors, report.exit_code) == ((222,), 1)
    floors = verify_document(look("reader/old.fatbin", runs_on="7.5, 8.6"))["devices"]
    assert floors[0]["min_driver"]["ptx"] == "520.61.05"
    assert floors[1]["min_driver"]["sass"] == "525.60.13"


def test_ptx_alone_is_jit_and_not_native() -> None:
    report = look("reader/plain.ptx", runs_on="8.9")
    (device,) = verify_document(report)["devices"]
    assert (device["native"], device["jit"] > 0, report.exit_code) == (0, True, 0)
    assert "V213" in codes(report.findings)
    assert look("reader/plain.ptx", runs_on="8.9", allow_jit=False).exit_code == 1


def test_a_kernel_that_the_host_never_registers_in_a_library() -> None:
    report = look("unregistered.so", targets="8.6 12.0")
    assert [finding.kernel for finding in named(report, "V224")] == ["_Z4stepILi1EEvPf"]
    assert look("unregistered.so", targets="8.6 12.0", strict=True).exit_code == 1


@pytest.mark.parametrize("name", ["rdc.so", "reader/rdc_linked.so"])
def test_relocatable_ptx_is_shown_and_told_apart(name: str) -> None:
    report = look(name, runs_on="13.0")
    (finding,) = named(report, "V227")
    assert "is relocatable: no driver can compile it" in finding.message
    assert {"V210"} <= set(codes(report.findings))


def test_code_goes_only_upwards_in_a_library() -> None:
    report = look("upwards.so", runs_on="8.6, 8.9")
    assert [f.arch for f in named(report, "V210")] == ["sm_86"]
    assert "none" in render_verify(report, 80).splitlines()[1]


def test_a_wheel_over_its_budget_tells_bytes_by_architecture() -> None:
    report = look(WHEEL, targets="8.6;12.0+PTX", size_budget="5kB")
    (finding,) = named(report, "V240")
    told = {line.partition(":")[0] for line in finding.evidence}
    assert told == {"sm_86", "sm_120", "compute_120"}
    assert look(WHEEL, targets="8.6;12.0+PTX", size_budget="100MB").ok


def test_no_sm_121_in_a_wheel() -> None:
    report = look(WHEEL, targets="12.1")
    assert [finding.arch for finding in named(report, "V201")] == ["sm_121"]
    assert look(WHEEL, runs_on="12.1").ok
