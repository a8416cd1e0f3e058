"""The rules about code: what a person reads and is told to do, and what they say nothing of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from archbuild.model.diagnosis import Confidence, Diagnosis, Report
from archbuild.model.finding import Severity
from archbuild.model.installed import CodeFile, LoadedLibrary, TrialOutcome
from archbuild.model.machine import Gpu, Machine
from archbuild.rules.diagnosis.code_rules import CODE_KINDS, CODE_RULES, code_unknown
from archbuild.rules.diagnosis.engine import judge
from archbuild.rules.diagnosis.trial_rules import is_set
from tests.data.code_parts import (
    A100,
    CU124,
    CU128,
    GTX_680,
    GTX_1080,
    RTX_3090,
    RTX_4090,
    RTX_5090,
    SITE,
    T4,
    Product,
    desktop,
    distribution,
    docker,
    driver,
    extension,
    library,
    loaded,
    machine,
    package,
    sm,
    toolkit,
    torch_build,
    torch_package,
    trial,
    uuid,
)
from tests.data.make_machine_records import CASES


def report_on(subject: Machine) -> Report:
    return judge(subject, CODE_RULES, CODE_KINDS, code_unknown(subject))


def recorded(name: str) -> Report:
    return report_on(CASES[name].machine)


def of_code(report: Report, code: str) -> Diagnosis:
    """The one finding of a code."""
    (finding,) = [finding for finding in report.findings if finding.code == code]
    return finding


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def on(
    *products: Product, cuda: str = "12.4", held: tuple[str, str] = CU124, **more: Any
) -> Machine:
    """A machine with a torch and a driver that is new enough for everything."""
    packages = (torch_package("2.6.0", held), *more.pop("packages", ()))
    values = {
        "surroundings": desktop("580.95.05", *products),
        "driver": driver("580.95.05", "13.0"),
        "torch": torch_build("2.6.0", cuda, held),
        "packages": packages,
    }
    return machine(*products, **{**values, **more})


# --- torch ----------------------------------------------------------------------------------------


def test_a_new_card_with_an_older_wheel() -> None:
    root = recorded("rtx5090-torch-2.6-cu124").root_cause
    assert root is not None
    assert root.errors[0] == 209
    assert "--index-url https://download.pytorch.org/whl/cu128" in root.commands[0]
    assert "RTX 5090 (12.0)" in root.message
    assert "sm_90" in root.message
    assert root.gpus == (uuid(0),)
    assert root.confidence is Confidence.CERTAIN


def test_pascal_beside_blackwell_is_told_what_to_do() -> None:
    report = recorded("gtx1080-rtx5090")
    root = of_code(report, "D342")
    # The torch that is there serves the RTX 5090.
    assert root.commands == (f"export CUDA_VISIBLE_DEVICES={uuid(1)}",)
    assert 'CUDA 12.9 and TORCH_CUDA_ARCH_LIST="6.1;12.0"' in root.advice
    folded = of_code(report, "D340")
    assert folded.because == "D342"
    assert folded.gpus == (uuid(0),)
    assert not folded.commands


@pytest.mark.parametrize(
    ("name", "oldest"), [("tesla-k40-torch-2.0", "11.8"), ("gtx680-torch-1.13", "10.2")]
)
def test_an_old_card_is_told_the_truth(name: str, oldest: str) -> None:
    root = of_code(recorded(name), "D342")
    assert f"No toolkit newer than CUDA {oldest}" in root.advice
    assert root.commands == ("pip install torch --index-url https://download.pytorch.org/whl/cpu",)


def test_with_no_torch_it_is_a_note() -> None:
    bare = machine(GTX_680, surroundings=desktop("470.256.02", GTX_680))
    finding = of_code(report_on(bare), "D342")
    assert finding.severity is Severity.NOTE
    assert report_on(bare).exit_code() == 0
    served = machine(RTX_3090, surroundings=desktop("580.95.05", RTX_3090))
    assert not report_on(served).findings


def test_the_newest_driver_is_not_the_cure_for_pascal() -> None:
    root = of_code(recorded("gtx1080-driver470-cu126"), "D341")
    assert "not beyond branch 580" in root.advice
    assert root.commands[0] == "sudo apt install nvidia-driver-580"
    assert root.commands[1].endswith("/cu118 --force-reinstall")


def test_in_a_container_no_driver_is_installed() -> None:
    around = desktop("535.183.01", RTX_3090, container=docker("535.183.01", "13.0.1"))
    inside = replace(CASES["rtx3090-driver535-cu130"].machine, surroundings=around)
    root = of_code(report_on(inside), "D341")
    assert [command.split()[0] for command in root.commands] == ["pip"]
    assert "580" in root.advice


def test_linear_algebra_lacks_turing_with_and_without_a_gpu() -> None:
    with_gpu = of_code(recorded("t4-linalg"), "D344")
    assert with_gpu.file == "torch/lib/libtorch_cuda_linalg.so"
    assert "torch==2.9.*" in with_gpu.commands[0]
    without = of_code(recorded("no-gpu-torch-2.14.1"), "D345")
    assert dict(without.values)["archs"] == "7.5"
    assert without.severity is Severity.NOTE
    assert not without.gpus


def test_torch_that_holds_only_ptx() -> None:
    held = package(
        "torch", "2.6.0", library("torch/lib/libtorch_cuda.so", 90, ("compute_80", 9), isa="8.4")
    )
    subject = on(RTX_4090)
    assert subject.installed is not None
    subject = replace(subject, installed=replace(subject.installed, packages=(held,)))
    assert of_code(report_on(subject), "D343").severity is Severity.WARNING
    off = replace(subject, variables=(("CUDA_DISABLE_PTX_JIT", "1"),))
    assert of_code(report_on(off), "D343").because == "D395"


def test_a_region_of_torchs_main_library_that_lacks_a_gpu() -> None:
    main = sm(CU124[0])
    held = package(
        "torch", "2.6.0", library("torch/lib/libtorch_cuda.so", 90, (main, 400), ("sm_90", 8))
    )
    subject = on(RTX_4090)
    assert subject.installed is not None
    subject = replace(subject, installed=replace(subject.installed, packages=(held,)))
    assert "8/408" in of_code(report_on(subject), "D344").message


def test_a_driver_that_does_not_know_the_gpu_is_no_finding_of_ours() -> None:
    """That is one of the driver; what torch lacks besides is told all the same."""
    old = on(RTX_5090, held=CU128, cuda="12.8", driver=driver("550.120", "12.4"))
    assert not report_on(old).findings
    both = on(RTX_5090, driver=driver("550.120", "12.4"))
    assert codes(report_on(both)) == ["D340"]


def test_a_list_that_was_only_told_is_likely() -> None:
    subject = on(RTX_5090)
    assert subject.installed is not None
    subject = replace(subject, installed=replace(subject.installed, packages=()))
    finding = of_code(report_on(subject), "D340")
    assert finding.confidence is Confidence.LIKELY


def test_what_was_not_asked_is_not_judged() -> None:
    assert not report_on(replace(on(RTX_5090), installed=None)).findings


def test_libraries_that_were_not_found_are_unknown() -> None:
    subject = on(RTX_4090, torch=torch_build("2.6.0", "12.4"))
    assert subject.installed is not None
    subject = replace(subject, installed=replace(subject.installed, packages=()))
    assert code_unknown(subject) == (("torch", "its libraries were not read"),)
    assert report_on(subject).exit_code() == 4


def test_a_trial_that_passed_settles_what_is_not_known() -> None:
    orin = CASES["jetson-orin-desktop-wheel"].machine
    assert orin.installed is not None
    tried = replace(orin, installed=replace(orin.installed, trials=(trial("torch", 0),)))
    assert not report_on(tried).findings
    assert report_on(tried).exit_code() == 0


# --- packages -------------------------------------------------------------------------------------


def test_ptx_of_a_newer_cuda_names_the_floor() -> None:
    root = of_code(recorded("rtx3090-ptx-8.7"), "D351")
    assert "570.26 (CUDA 12.8)" in root.message
    assert root.errors == (222,)
    assert root.commands == (
        "archbuild rebuild mykernels",
        "# or: sudo apt install nvidia-driver-580",
    )


def test_only_the_gpu_with_the_higher_floor_is_named() -> None:
    root = of_code(recorded("a6000-h100-two-floors"), "D351")
    assert root.gpus == (uuid(1),)
    assert "H100" in root.message


def test_a_package_is_one_finding_with_all_its_gpus() -> None:
    held = package(
        "k",
        "1.0",
        library("k/a.so", 9, ("sm_90", 3)),
        library("k/b.so", 5, ("sm_90", 3)),
        requires_torch=True,
    )
    report = report_on(on(RTX_3090, T4, packages=(held,), toolkits=(toolkit("12.4"),)))
    finding = of_code(report, "D350")
    assert set(finding.gpus) == {uuid(0), uuid(1)}
    assert len(finding.evidence) == 4


def test_a_package_of_unknown_cuda_on_an_old_driver_is_a_note() -> None:
    held = package("k", "1.0", library("k/a.so", 9, ("sm_86", 3)))
    report = report_on(on(RTX_3090, packages=(held,), driver=driver("550.120", "12.4")))
    assert codes(report) == ["D357"]
    assert report.exit_code() == 0


def test_cublas_is_judged_where_torch_serves() -> None:
    held = package(
        "nvidia-cublas-cu12",
        "12.4.5.8",
        library("nvidia/cublas/lib/libcublas.so.12", 99, ("sm_75", 90)),
    )
    assert "D350" in codes(report_on(on(RTX_3090, packages=(held,))))
    assert codes(report_on(on(RTX_5090, packages=(held,)))) == ["D340"]


def test_a_cudnn_of_cuda_13_is_cured_by_another_torch() -> None:
    subject = on(
        GTX_1080, cudnn="9.13.0", distributions=(distribution("nvidia-cudnn-cu13", "9.13.0"),)
    )
    assert of_code(report_on(subject), "D349").commands[0].endswith("/cu126 --force-reinstall")


@pytest.mark.parametrize("built", ["2.6", "2.6.1", "2.6.0+cu124"])
def test_one_series_of_torch_is_one(built: str) -> None:
    held = extension("k", "1.0", "sm_86", built_for=built)
    assert not report_on(on(RTX_3090, packages=(held,))).findings


# --- libraries ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "command"),
    [
        ("/usr/local/cuda/lib64", "unset LD_LIBRARY_PATH"),
        ("/usr/local/cuda/lib64/:/opt/a::/opt/b", "export LD_LIBRARY_PATH=/opt/a:/opt/b"),
    ],
)
def test_only_the_wrong_folder_leaves_the_path(listed: str, command: str) -> None:
    wrong = LoadedLibrary(
        "libnvJitLink.so.12",
        "/usr/local/cuda/lib64/libnvJitLink.so.12",
        "12.1",
        "LD_LIBRARY_PATH",
        f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12",
        trouble="undefined symbol: x",
    )
    subject = on(RTX_3090, loaded=(wrong,), variables=(("LD_LIBRARY_PATH", listed),))
    finding = of_code(report_on(subject), "D360")
    assert finding.commands == (command,)
    by_rpath = replace(wrong, found_by="RPATH")
    assert not of_code(report_on(on(RTX_3090, loaded=(by_rpath,))), "D360").commands


def test_the_drivers_own_library_is_the_drivers_matter() -> None:
    stub = LoadedLibrary("libcuda.so.1", "/x/stubs/libcuda.so", stub=True, trouble="stub")
    assert not report_on(on(RTX_3090, loaded=(stub,))).findings


def test_what_is_missing_comes_with_its_package() -> None:
    missing = loaded("libcudart.so.12", "12.4", "cuda_runtime/lib", trouble="cannot open")
    named = distribution("nvidia-cuda-runtime-cu12", "12.4.127")
    report = report_on(on(RTX_3090, loaded=(missing,), distributions=(named,)))
    assert of_code(report, "D361").commands == (
        'pip install --force-reinstall "nvidia-cuda-runtime-cu12==12.4.127"',
    )


def test_of_packages_with_the_same_files_those_of_torchs_cuda_stay() -> None:
    first, second = of_code(recorded("rtx4090-cu12-and-cu13"), "D362").commands
    assert first == "pip uninstall -y nvidia-cudnn-cu13 nvidia-nccl-cu13"
    assert second.endswith("nvidia-cudnn-cu12==9.1.0.70 nvidia-nccl-cu12==2.21.5")


def test_where_no_name_tells_the_cuda_nothing_is_removed() -> None:
    twins = (
        distribution("onnxruntime", "1.22.0", "onnxruntime-gpu"),
        distribution("onnxruntime-gpu", "1.22.0", "onnxruntime"),
    )
    assert not of_code(report_on(on(RTX_3090, distributions=twins)), "D362").commands


# --- toolkits -------------------------------------------------------------------------------------


def test_a_toolkit_for_all_gpus_of_torchs_cuda() -> None:
    finding = of_code(recorded("rtx5090-nvcc-12.4"), "D381")
    assert finding.commands == ("conda install -c nvidia cuda-toolkit=12.8",)
    assert "PTX of 9.0" in finding.message
    none = of_code(recorded("gtx1080-nvcc-13"), "D381")
    assert "PTX" not in none.message
    assert "12.9" in none.commands[0]


def test_misfit_explains_that_the_driver_is_too_old() -> None:
    subject = on(RTX_3090, toolkits=(toolkit("13.0"),), driver=driver("550.120", "12.4"))
    report = report_on(subject)
    assert of_code(report, "D384").because == "D382"


def test_no_nvcc_is_missed_only_where_something_must_be_built() -> None:
    assert not report_on(on(RTX_3090)).findings
    held = extension("k", "1.0", "sm_90")
    report = report_on(on(RTX_3090, packages=(held,)))
    assert dict(of_code(report, "D380").values)["names"] == "k"
    binary = package("k", "1.0", library("k.so", 1, ("sm_90", 3)))
    assert "D380" not in codes(report_on(on(RTX_3090, packages=(binary,))))


# --- trials ---------------------------------------------------------------------------------------


def test_one_gpu_of_several() -> None:
    root = of_code(recorded("one-gpu-209"), "D390")
    assert root.gpus == (uuid(2),)
    assert "2 x NVIDIA GeForce RTX 4090 (8.9)" in root.message
    assert "no fault of the driver" in root.message
    assert root.commands == ('export TORCH_CUDA_ARCH_LIST="7.5;8.9+PTX"',)


@pytest.mark.parametrize(
    ("name", "error", "expected"),
    [
        ("torch", 98, ["D390"]),
        ("kernel", 500, ["D390"]),
        ("kernel", 222, ["D394"]),
        ("forced jit", 218, ["D394"]),
        ("forced jit", 209, []),
        ("no jit", 223, []),
        ("torch", 700, ["D393"]),
        ("torch", None, ["D393"]),
    ],
)
def test_what_a_failed_trial_says(name: str, error: int | None, expected: list[str]) -> None:
    failed = trial(name, 0, "failed", error=error, said="as it said")
    assert codes(report_on(on(RTX_3090, trials=(failed,)))) == expected


def test_a_skipped_trial_says_nothing() -> None:
    skipped = trial("kernel", 0, TrialOutcome.SKIPPED.value, said="there is no nvcc")
    assert not report_on(on(RTX_3090, trials=(skipped,))).findings


def test_a_trial_on_a_gpu_that_is_gone_is_told_by_its_uuid() -> None:
    lost = replace(trial("kernel", 0, "crashed"), gpu="GPU-gone")
    assert "GPU-gone" in of_code(report_on(on(RTX_3090, trials=(lost,))), "D391").message


def test_what_an_error_said_is_quoted_for_the_shell() -> None:
    failed = trial("torch", 0, "failed", error=700, said="it's $HOME")
    command = of_code(report_on(on(RTX_3090, trials=(failed,))), "D393").commands[0]
    assert command == "archbuild explain 'it'\"'\"'s $HOME'"


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), ("0", False), (" 0 ", False), ("", False), ("yes", True)]
)
def test_a_variable_that_switches(value: str, expected: bool) -> None:
    subject = on(RTX_3090, variables=(("CUDA_FORCE_PTX_JIT", value),))
    assert is_set(subject, "CUDA_FORCE_PTX_JIT") is expected


def test_forced_jit_where_there_is_ptx() -> None:
    held = extension("k", "1.0", "sm_86 compute_80", isa="8.4")
    report = report_on(on(RTX_3090, packages=(held,), variables=(("CUDA_FORCE_PTX_JIT", "1"),)))
    assert dict(of_code(report, "D396").values)["names"] == "torch"


# --- bad weather ----------------------------------------------------------------------------------


def test_nothing_known_is_nothing_said() -> None:
    bare = Machine("linux", "x86_64", "3.12.3")
    assert not report_on(bare).findings
    assert report_on(replace(bare, python="", processor="")).exit_code() == 0


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_gpu_of_unknown_capability_breaks_nothing(name: str) -> None:
    subject = CASES[name].machine
    strange = Gpu("GPU-strange", "NVIDIA Something New", None)
    report_on(replace(subject, gpus=(*subject.gpus, strange)))
    report_on(replace(subject, gpus=(strange,), driver=None, torch=None, python="x"))


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_text_has_an_open_place(name: str) -> None:
    for finding in recorded(name).findings:
        for text in (finding.message, finding.advice, *finding.commands):
            assert "{" not in text
            assert "?" not in text
            assert "  " not in text


def test_a_damaged_package_does_not_hide_the_others() -> None:
    held = package("k", "1.0", CodeFile("k/a.so", 9, trouble="it is cut short."))
    other = extension("j", "1.0", "sm_90")
    report = report_on(on(A100, packages=(held, other), toolkits=(toolkit("12.4"),)))
    assert codes(report) == ["D350", "D359"]
