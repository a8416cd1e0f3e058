"""smoke: the kernel on the CPU branch by branch, the stages with the real nvcc and broken ones."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from unittest import mock

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.errors import ToolError, UnreadableError, UsageError
from archbuild.model.arch import Arch, ComputeCapability, ptx, sass
from archbuild.model.gencode import Gencode
from archbuild.model.image import DeviceFile, Image, ImageKind, Region
from archbuild.model.machine import Gpu, Toolkit
from archbuild.model.version import CudaVersion
from archbuild.probe import smoke_source
from archbuild.probe.smoke_source import find_source
from archbuild.report.smoke import render_smoke, smoke_json
from archbuild.report.text import cells
from archbuild.rules.building.smoke_numbers import (
    Numbers,
    compute_numbers,
    decode_arch,
    find_difference,
)
from archbuild.rules.building.smoke_outcome import SmokeReport, State, judge_answer
from archbuild.services import smoke as service
from archbuild.services.smoke import KERNEL, smoke

SHIM = Path(__file__).parent / "fakes" / "cpu_device"
H100 = Gpu("GPU-1", "H100", ComputeCapability(9, 0))
needs_sh = pytest.mark.skipif(sys.platform == "win32", reason="the fakes are shell scripts")


def gencodes(*targets: Arch) -> tuple[Gencode, ...]:
    return tuple(map(Gencode.for_target, targets))


# --- the kernel, on the CPU ---------------------------------------------------------------


def build_on_cpu(folder: Path, *flags: str) -> Path:
    """csrc/smoke.cu as a library for the CPU; only the launch is written differently."""
    compiler = shutil.which("g++")
    if compiler is None or sys.platform == "win32":
        pytest.skip("no g++ here, which the CPU's version of the kernel needs")
    text, count = re.subn(r"(\w+)<<<(.+?), (\w+)>>>\(", r"launch(\1, \2, \3,", _source())
    assert count == 1
    (folder / "smoke.cpp").write_text(text)
    library = folder / "smoke.so"
    words = ["-std=c++17", "-O0", "-ffp-contract=off", "-shared", "-fPIC", "-pthread", *flags]
    command = [compiler, *words, f"-I{SHIM}", "smoke.cpp", "-o", str(library)]
    subprocess.run(command, cwd=folder, check=True)
    return library


def _source() -> str:
    return find_source().read_text()


def run_child(library: Path, n: int, seed: int) -> dict[str, object]:
    script = Path(service.__file__).parents[1] / "probe" / "run_smoke.py"
    answer = library.parent / "answer.json"
    words = [str(library), "0", str(n), str(seed), str(answer)]
    subprocess.run([sys.executable, "-I", str(script), *words], check=True)
    data = json.loads(answer.read_text())
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize("arch", [520, 610, 750, 800, 900, 1210])
def test_every_branch_of_the_kernel_computes_what_python_computes(
    tmp_path: Path, arch: int
) -> None:
    library = build_on_cpu(tmp_path, f"-D__CUDA_ARCH__={arch}")
    for n, seed in ((1000, 20260214), (1, 0), (128, 2**32 - 1)):
        data = run_child(library, n, seed)
        assert data["error"] == 0
        assert data["arch"] == arch * 4
        actual = Numbers(*(tuple(data[k]) for k in ("words", "singles", "doubles")))  # type: ignore[arg-type]
        assert find_difference(compute_numbers(n, seed), actual) == ""


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("-D__CUDA_ARCH__=900", "-D__CUDA_ARCH_FEAT_SM90_ALL"), "compute_90a"),
        (("-D__CUDA_ARCH__=1000", "-D__CUDA_ARCH_FAMILY_SPECIFIC__=1000"), "compute_100f"),
        (("-D__CUDA_ARCH__=1030", "-D__CUDA_ARCH_SPECIFIC__=1030"), "compute_103a"),
    ],
)
def test_the_kernel_tells_what_it_was_compiled_for(
    tmp_path: Path, flags: tuple[str, ...], expected: str
) -> None:
    data = run_child(build_on_cpu(tmp_path, *flags), 10, 1)
    assert isinstance(data["arch"], int)
    assert str(decode_arch(data["arch"])) == expected


# --- the numbers --------------------------------------------------------------------------


def test_numbers_do_not_depend_on_how_many_are_asked_for() -> None:
    few, many = compute_numbers(10, 7), compute_numbers(300, 7)
    assert many.words[:10] == few.words
    assert many.doubles[:10] == few.doubles


def test_numbers_are_worth_comparing() -> None:
    numbers = compute_numbers(1000, 20260214)
    assert len(set(numbers.words)) > 990
    assert len(set(numbers.singles)) > 990
    assert any(value != int(value) for value in numbers.singles)
    for value in numbers.singles:
        assert struct.unpack("f", struct.pack("f", value))[0] == value


@given(st.integers(0, 999), st.sampled_from(["words", "singles", "doubles"]))
def test_one_wrong_number_is_found(index: int, name: str) -> None:
    right = compute_numbers(1000, 1)
    values = list(getattr(right, name))
    values[index] += 1
    wrong = replace(right, **{name: tuple(values)})
    assert find_difference(right, wrong).startswith(
        f"1 of 3000 numbers are wrong, first {name}[{index}] is"
    )
    assert find_difference(right, right) == ""


def test_too_few_numbers_are_a_difference() -> None:
    right = compute_numbers(10, 1)
    assert "9 values instead of 10" in find_difference(right, replace(right, words=right.words[1:]))


@pytest.mark.parametrize("word", [0, 1, 3, 3603, 3601 + 4, 2**32 - 1])
def test_words_that_are_no_architecture(word: int) -> None:
    assert decode_arch(word) is None


# --- what a run left behind ---------------------------------------------------------------

EXPECTED = compute_numbers(20, 3)


def answer(**changes: object) -> str:
    lists = {name: list(getattr(EXPECTED, name)) for name in ("words", "singles", "doubles")}
    return json.dumps({"error": 0, "arch": 3600, **lists, **changes})


@pytest.mark.parametrize(
    ("text", "state", "detail"),
    [
        (answer(), State.PASSED, ""),
        (answer(arch=3601), State.FAILED, "code for compute_90a ran, which was not built"),
        (answer(words=[0] * 20), State.FAILED, "20 of 60 numbers are wrong"),
        (answer(error=209), State.FAILED, "CUDA error 209 (cudaErrorNoKernelImageForDevice)"),
        (answer(error=4711), State.FAILED, "CUDA error 4711"),
        (json.dumps({"failure": "the library cannot be loaded: x"}), State.FAILED, "the library"),
        ("", State.FAILED, "the run left no answer"),
        ("[]", State.FAILED, "the run left no answer"),
        (json.dumps({"error": 0}), State.FAILED, "the run left no answer"),
        (answer(words=None), State.FAILED, "the run left no answer"),
    ],
)
def test_answers(text: str, state: State, detail: str) -> None:
    run = judge_answer(H100, text, gencodes(sass("90")), EXPECTED)
    assert run.state is state
    assert run.detail.startswith(detail)


# --- the source ---------------------------------------------------------------------------


def test_the_source_is_found_and_light() -> None:
    includes = re.findall(r"#include *[<\"](.+)[>\"]", _source())
    assert includes == ["cuda_runtime.h"]


@pytest.mark.parametrize("layout", ["installed", "checkout"])
def test_both_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    module = tmp_path / "archbuild" / "probe" / "smoke_source.py"
    place = tmp_path / "csrc" if layout == "checkout" else tmp_path / "archbuild" / "csrc"
    for folder in (module.parent, place):
        folder.mkdir(parents=True)
    (place / "smoke.cu").touch()
    monkeypatch.setattr(smoke_source, "__file__", str(module))
    if layout == "checkout":
        with pytest.raises(UnreadableError, match="is missing beside"):
            find_source()  # somebody else's csrc/ in site-packages
        (tmp_path / "pyproject.toml").touch()
    assert find_source() == place.resolve() / "smoke.cu"


# --- the stages with broken tools ---------------------------------------------------------


def toolkit(nvcc: Path | str) -> Toolkit:
    root = Path(nvcc).parent.parent
    lib = (str(root / "lib"),)
    return Toolkit(str(root), str(nvcc), CudaVersion(13, 0), "13.0.88", (), ("test",), lib=lib)


def fake(folder: Path, body: str, name: str = "nvcc") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def states(report: SmokeReport) -> list[str]:
    return [f"{stage.name} {stage.state.value}" for stage in report.stages]


NOTHING_AFTER = ["compile failed", "link skipped", "verify skipped", "run skipped"]


@needs_sh
@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("echo 'smoke.cu(3): error: oops' >&2; exit 2", "ended with exit code 2: smoke.cu(3)"),
        ("kill -SEGV $$", "was ended by SIGSEGV"),
        ("exit 0", "nvcc ended well and wrote nothing"),
        ("echo 'x: No space left on device' >&2; exit 1", "no room left"),
    ],
)
def test_an_nvcc_that_fails(tmp_path: Path, body: str, detail: str) -> None:
    report = smoke(
        toolkit(fake(tmp_path, body)), gencodes(sass("86")), cuobjdump="unused", gpus=[H100]
    )
    assert states(report) == NOTHING_AFTER
    assert detail in report.stages[0].detail
    assert detail in report.reason
    assert (report.ok, report.exit_code, report.runs) == (False, 1, ())


def test_an_nvcc_that_is_missing(tmp_path: Path) -> None:
    report = smoke(toolkit(tmp_path / "nvcc"), gencodes(sass("86")), cuobjdump="unused", gpus=())
    assert "was not found" in report.reason


@needs_sh
def test_an_nvcc_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_NVCC_TIMEOUT", 0.3)
    nvcc = fake(tmp_path, "sleep 60 & sleep 60")
    report = smoke(toolkit(nvcc), gencodes(sass("86")), cuobjdump="unused", gpus=())
    assert "did not answer in time" in report.reason


def test_no_target_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no target"):
        smoke(toolkit(tmp_path / "nvcc"), (), cuobjdump="unused", gpus=())


LINKS_CPU = (
    'for last; do :; done; case "$*" in *-shared*) cp "{library}" "$last";; *) : > "$last";; esac'
)
KNOWS = """
case "$1" in --version) echo "release 13.5, V13.5.99"; exit;; esac
printf 'Fatbin elf code:\\narch = sm_90\\ncode version = [1,8]\\n\\nsymbols:\\n{row}\\n'
"""
ROW = "FUNC GLOBAL DEFAULT ENTRY archbuild_smoke_kernel"


def on_cpu(
    folder: Path, *gpus: Gpu, fault: int = 0, row: str = ROW, arch: int = 900
) -> SmokeReport:
    """smoke with the CPU's library in place of what nvcc links, for sm_90."""
    library = build_on_cpu(folder, f"-D__CUDA_ARCH__={arch}", f"-DSMOKE_FAULT={fault}")
    nvcc = fake(folder, LINKS_CPU.format(library=library))
    # The library of the CPU has no fatbin; the section name makes it look as if it had.
    objcopy = shutil.which("objcopy")
    if objcopy is None:
        pytest.skip("no objcopy here")
    (folder / "section").write_bytes(b"x" * 16)
    section = f".nv_fatbin={folder / 'section'}"
    subprocess.run([objcopy, "--add-section", section, str(library)], check=True)
    cuobjdump = fake(folder, KNOWS.format(row=row), "cuobjdump")
    image = Image(ImageKind.SASS, sass("90"), kernels=(KERNEL,), variables=0)
    seen = DeviceFile("x", (Region((image,)),), "archbuild")
    with mock.patch("archbuild.services.smoke.read", return_value=(seen,)):
        return smoke(toolkit(nvcc), gencodes(sass("90")), cuobjdump=cuobjdump, gpus=gpus)


def test_right_numbers_on_every_gpu(tmp_path: Path) -> None:
    report = on_cpu(tmp_path, H100, replace(H100, uuid="GPU-2"))
    assert report.ok
    assert [(run.state, str(run.ran)) for run in report.runs] == [
        (State.PASSED, "compute_90"),
        (State.PASSED, "compute_90"),
    ]
    assert report.stages[-1].detail == "on 2 of 2 GPUs"
    assert "H100 (9.0): passed: right numbers, by code for compute_90" in render_smoke(report, 80)


@pytest.mark.parametrize(
    ("fault", "detail"),
    [
        (1, "CUDA error 209 (cudaErrorNoKernelImageForDevice)"),
        (2, "numbers are wrong"),
        (3, "was ended by SIGSEGV"),
        (4, "did not answer in time"),
    ],
)
def test_faults_of_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int, detail: str
) -> None:
    monkeypatch.setattr(service, "_RUN_TIMEOUT", 3.0)
    report = on_cpu(tmp_path, H100, fault=fault)
    assert report.exit_code == 1
    assert report.stages[-1].state is State.FAILED
    assert detail in report.runs[0].detail
    assert report.reason.startswith("run: H100: ")


def test_code_that_was_not_built_for_this(tmp_path: Path) -> None:
    report = on_cpu(tmp_path, H100, arch=800)
    assert "code for compute_80 ran, which was not built" in report.reason


def test_gpus_that_do_not_count(tmp_path: Path) -> None:
    hidden = replace(H100, visible=False)
    divided = replace(H100, uuid="GPU-3", mig=True)
    report = on_cpu(tmp_path, hidden, divided)
    assert [run.state for run in report.runs] == [State.SKIPPED, State.SKIPPED]
    assert report.ok
    assert report.stages[-1].detail == "not run: no GPU that CUDA sees"


def test_an_empty_image_is_no_proof(tmp_path: Path) -> None:
    report = on_cpu(tmp_path, H100, row="")
    assert states(report)[2:] == ["verify failed", "run skipped"]
    assert "sm_90 missing" in report.reason


# --- the real toolchain -------------------------------------------------------------------


@pytest.fixture
def real(packaged_tool: Callable[[str], Path]) -> tuple[Toolkit, str]:
    if shutil.which("g++") is None:
        pytest.skip("no g++ here")
    return toolkit(packaged_tool("nvcc")), str(packaged_tool("cuobjdump"))


@pytest.mark.toolkit
@pytest.mark.parametrize(
    "targets",
    [
        (sass("75"), sass("90a"), sass("120f"), ptx("120")),
        (ptx("75"),),
    ],
)
def test_the_real_toolchain(
    real: tuple[Toolkit, str], tmp_path: Path, targets: tuple[Arch, ...]
) -> None:
    keep = tmp_path / "made" / "here"
    report = smoke(real[0], gencodes(*targets), cuobjdump=real[1], gpus=(), keep=str(keep))
    assert report.ok, report.reason
    assert states(report) == ["compile passed", "link passed", "verify passed", "run skipped"]
    assert report.stages[-1].detail == "not run: no GPU"
    assert report.kept is not None
    assert [path.name for path in keep.iterdir()] == [Path(report.kept).name]
    assert read_with_cuobjdump(report.kept, real[1]).targets == set(targets)


@pytest.mark.toolkit
def test_a_family_member_of_another_number(real: tuple[Toolkit, str]) -> None:
    mixed = (Gencode(ptx("100f"), sass("103")),)
    report = smoke(real[0], mixed, cuobjdump=real[1], gpus=(), run=False)
    assert report.ok, report.reason
    assert report.targets == (sass("103f"),)
    assert report.stages[-1].detail == "not run: not asked for"


@pytest.mark.toolkit
def test_a_target_which_this_nvcc_cannot_build(real: tuple[Toolkit, str]) -> None:
    report = smoke(real[0], gencodes(sass("52")), cuobjdump=real[1], gpus=())
    assert "this nvcc cannot build compute_52" in report.reason
    assert "Unsupported gpu architecture" in report.stages[0].evidence[0]


#: Takes every argument that ends in sm_90 away.
LOSE = 'for w; do case "$w" in *sm_90) ;; *) set -- "$@" "$w";; esac; shift; done'


@pytest.mark.toolkit
@needs_sh
def test_a_wrapper_that_loses_a_target(real: tuple[Toolkit, str], tmp_path: Path) -> None:
    lossy = replace(real[0], nvcc=fake(tmp_path, f'{LOSE}; exec "{real[0].nvcc}" "$@"'))
    report = smoke(lossy, gencodes(sass("86"), sass("90")), cuobjdump=real[1], gpus=())
    assert states(report)[2] == "verify failed"
    assert "sm_90 missing" in report.reason


@pytest.mark.toolkit
@needs_sh
def test_a_wrapper_that_loses_a_target_but_not_in_the_link(
    real: tuple[Toolkit, str], tmp_path: Path
) -> None:
    body = f'case "$*" in *-shared*) ;; *) {LOSE};; esac; exec "{real[0].nvcc}" "$@"'
    lossy = replace(real[0], nvcc=fake(tmp_path, body))
    report = smoke(lossy, gencodes(sass("86"), sass("90")), cuobjdump=real[1], gpus=())
    assert "sm_90 missing" in report.reason


@pytest.mark.toolkit
def test_no_host_compiler(
    real: tuple[Toolkit, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    report = smoke(real[0], gencodes(sass("86")), cuobjdump=real[1], gpus=())
    assert "no host compiler" in report.reason


@pytest.mark.toolkit
@needs_sh
def test_a_host_compiler_that_the_caller_names(real: tuple[Toolkit, str], tmp_path: Path) -> None:
    called = tmp_path / "called"
    compiler = fake(tmp_path, f'touch "{called}"; exec g++ "$@"')
    words = ("-ccbin", compiler)
    report = smoke(real[0], gencodes(sass("86")), cuobjdump=real[1], gpus=(), words=words)
    assert report.ok, report.reason
    assert called.exists()


@pytest.mark.toolkit
def test_libraries_that_are_missing(real: tuple[Toolkit, str]) -> None:
    bare = replace(real[0], lib=())
    report = smoke(bare, gencodes(sass("86")), cuobjdump=real[1], gpus=())
    if report.ok:
        pytest.skip("this toolkit's nvcc finds its libraries by itself")
    assert states(report)[:2] == ["compile passed", "link failed"]
    assert "the linker does not find cud" in report.reason


@pytest.mark.toolkit
def test_without_cuobjdump(real: tuple[Toolkit, str], tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be run"):
        smoke(real[0], gencodes(sass("86")), cuobjdump=str(tmp_path / "none"), gpus=())


@pytest.mark.toolkit
@pytest.mark.skipif(os.name != "posix", reason="a folder below a file")
def test_a_place_that_cannot_be_written(real: tuple[Toolkit, str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    keep = str(tmp_path / "file" / "below")
    with pytest.raises(UsageError, match="cannot be written"):
        smoke(real[0], gencodes(sass("86")), cuobjdump=real[1], gpus=(), keep=keep)


@pytest.mark.toolkit
def test_nothing_is_left_behind(
    real: tuple[Toolkit, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for target in (sass("86"), sass("52")):
        smoke(real[0], gencodes(target), cuobjdump=real[1], gpus=())
    assert list(tmp_path.iterdir()) == []


# --- reports ------------------------------------------------------------------------------


def failed(tmp_path: Path) -> SmokeReport:
    lines = "".join(f"echo 'line {i} {'x' * 150}\x1b[31m' >&2\n" for i in range(30))
    nvcc = fake(tmp_path, f"{lines}exit 1")
    return smoke(toolkit(nvcc), gencodes(sass("86")), cuobjdump="unused", gpus=[H100])


@needs_sh
@pytest.mark.parametrize("width", [40, 80])
def test_a_failure_for_people(tmp_path: Path, width: int) -> None:
    text = render_smoke(failed(tmp_path), width)
    assert max(map(cells, text.splitlines())) <= width
    assert "compile FAILED" in text
    assert "and 18 more lines" in " ".join(text.split())
    assert "line 11" in text
    assert "line 12" not in text
    assert "\x1b" not in text
    assert text.endswith("smoke failed")
    assert "\x1b[31m" in render_smoke(failed(tmp_path), width, color=True)


@needs_sh
def test_json_is_by_its_schema(tmp_path: Path) -> None:
    text = resources.files("archbuild.report").joinpath("schemas/smoke.json").read_text()
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(smoke_json(failed(tmp_path)))
    jsonschema.validate(document, schema)
    assert (document["ok"], document["stages"][0]["state"]) == (False, "failed")
    assert len(document["stages"][0]["evidence"]) == 30
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "targets": []}, schema)


def test_json_of_runs_is_by_its_schema(tmp_path: Path) -> None:
    text = resources.files("archbuild.report").joinpath("schemas/smoke.json").read_text()
    document = json.loads(smoke_json(on_cpu(tmp_path, H100, replace(H100, visible=False))))
    jsonschema.validate(document, json.loads(text))
    assert [gpu["ran"] for gpu in document["gpus"]] == ["compute_90", None]
    assert document["ok"] is True
