"""Trials on GPUs: the real child processes over a fake driver and a torch of ten lines."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from archbuild.model.arch import ComputeCapability, ptx, sass
from archbuild.model.installed import Trial, TrialOutcome
from archbuild.model.machine import Absence, Gpu, Machine, Toolkit, TorchBuild
from archbuild.model.version import CudaVersion
from archbuild.probe import trials
from archbuild.probe.torch_build import find_torch
from archbuild.probe.trial_ptx import compute_words, write_ptx
from archbuild.probe.trials import run_trials
from tests.fakes import CHATTER, CRASH, HANG, MIXED, FakeDriver, FakeGpu, write_script
from tests.libraries import build_library
from tests.test_smoke import build_on_cpu

PATIENCE = 120.0
HANG_LIMIT = 3.0
PASSED, FAILED, SKIPPED = TrialOutcome.PASSED, TrialOutcome.FAILED, TrialOutcome.SKIPPED
NAMES = ["kernel", "torch", "matmul", "linalg", "forced jit", "no jit"]
ONE = FakeGpu("8.6", "NVIDIA GeForce RTX 3090")


def gpu(fake: FakeGpu = ONE, **fields: object) -> Gpu:
    values = {"visible": True, **fields}
    capability = ComputeCapability.parse(fake.capability)
    return Gpu(fake.uuid, fake.name, capability, **values)  # type: ignore[arg-type]


def machine(*gpus: Gpu, torch: TorchBuild | None = None, nvcc: str | None = None) -> Machine:
    kits: tuple[Toolkit, ...] = ()
    if nvcc is not None:
        archs = tuple(sorted((sass("86"), ptx("86"), sass("90"), ptx("90"))))
        kits = (Toolkit("/kit", nvcc, CudaVersion(13, 0), "13.0.88", archs, ("test",)),)
    return Machine("linux", "x86_64", "3.11.7", gpus=gpus, torch=torch, toolkits=kits)


def by_name(found: tuple[Trial, ...]) -> dict[str, Trial]:
    assert len({trial.name for trial in found}) == len(found)
    return {trial.name: trial for trial in found}


def outcomes(found: tuple[Trial, ...]) -> list[tuple[str, str]]:
    return [(trial.name, trial.outcome.value) for trial in found]


def test_without_a_gpu_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "run_limited", None)
    assert run_trials(machine()) == ()


# --- PTX text through the driver --------------------------------------------------------------


def test_a_kernel_of_ptx_on_every_gpu(fake_driver: FakeDriver) -> None:
    found = run_trials(machine(*map(gpu, MIXED)), timeout=PATIENCE, environ=fake_driver(MIXED))
    assert [trial.gpu for trial in found] == [fake.uuid for fake in MIXED for _ in NAMES]
    assert [trial.name for trial in found] == NAMES * 3
    ran = [trial for trial in found if trial.name in ("kernel", "forced jit")]
    assert {(trial.outcome, trial.error, trial.said) for trial in ran} == {(PASSED, None, "")}
    assert all(trial.seconds is not None and trial.seconds > 0 for trial in ran)
    reasons = {trial.name: trial.said for trial in found if trial.outcome is SKIPPED}
    assert reasons == {
        **dict.fromkeys(("torch", "matmul", "linalg"), "torch is not installed"),
        "no jit": "there is no nvcc to make SASS for it",
    }


@pytest.mark.parametrize(
    ("refuse", "error", "said"),
    [
        ("context 802", 802, "cuDevicePrimaryCtxRetain: the fake's error 802"),
        ("module_load 209", 209, "cuModuleLoadDataEx: the fake's error 209"),
        ("module_load 222", 222, "cuModuleLoadDataEx: the fake's error 222"),
        ("module_load 218", 218, "error 218: ptxas fatal : the fake's log"),
        ("memory 2", 2, "cuMemAlloc_v2: the fake's error 2"),
        ("launch 209", 209, "cuLaunchKernel: the fake's error 209"),
        ("synchronize 700", 700, "cuCtxSynchronize: the fake's error 700"),
        ("wrong 1", None, "the numbers are wrong"),
    ],
)
def test_what_the_driver_refuses(
    fake_driver: FakeDriver, refuse: str, error: int | None, said: str
) -> None:
    env = fake_driver([ONE], refuse=refuse)
    trial = by_name(run_trials(machine(gpu()), timeout=PATIENCE, environ=env))["kernel"]
    assert (trial.outcome, trial.error) == (FAILED, error)
    assert said in trial.said


def test_one_gpu_of_several_fails(fake_driver: FakeDriver) -> None:
    env = fake_driver(MIXED, refuse=f"module_load 209 {MIXED[2].uuid}")
    found = run_trials(machine(*map(gpu, MIXED)), timeout=PATIENCE, environ=env)
    kernels = [trial for trial in found if trial.name == "kernel"]
    assert [(k.outcome, k.error) for k in kernels] == [
        (PASSED, None),
        (PASSED, None),
        (FAILED, 209),
    ]


def test_only_a_forced_compilation_fails(fake_driver: FakeDriver) -> None:
    env = fake_driver([ONE], refuse="forced_load 221")
    found = by_name(run_trials(machine(gpu()), timeout=PATIENCE, environ=env))
    assert found["kernel"].outcome is PASSED
    assert (found["forced jit"].outcome, found["forced jit"].error) == (FAILED, 221)


def test_a_person_who_forbids_jit_is_obeyed(fake_driver: FakeDriver) -> None:
    """The kernel runs as it would for this person; forced JIT asks another question."""
    env = fake_driver([ONE]) | {"CUDA_DISABLE_PTX_JIT": "1"}
    found = by_name(run_trials(machine(gpu()), timeout=PATIENCE, environ=env))
    assert (found["kernel"].error, found["forced jit"].outcome) == (223, PASSED)


def test_a_driver_that_does_not_start(fake_driver: FakeDriver) -> None:
    env = fake_driver([ONE], cuda_init=803)
    trial = by_name(run_trials(machine(gpu()), timeout=PATIENCE, environ=env))["kernel"]
    assert (trial.error, trial.said) == (803, "cuInit: the fake's error 803")


def test_no_driver_library(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_bytes(b"nonsense")
    env = {"PATH": "/usr/bin", "LD_LIBRARY_PATH": str(tmp_path)}
    trial = by_name(run_trials(machine(gpu()), timeout=PATIENCE, environ=env))["kernel"]
    assert (trial.outcome, trial.error) == (FAILED, None)
    assert "libcuda.so.1" in trial.said


def test_a_driver_without_these_calls(tmp_path: Path, fake_driver: FakeDriver) -> None:
    build_library(tmp_path / "drv" / "libcuda.so.1", "int cuInit(unsigned f) { return 0; }")
    env = fake_driver([ONE]) | {"LD_LIBRARY_PATH": str(tmp_path / "drv")}
    trial = by_name(run_trials(machine(gpu()), timeout=PATIENCE, environ=env))["kernel"]
    assert "undefined symbol: cuDeviceGet" in trial.said


def test_a_driver_that_hangs(fake_driver: FakeDriver) -> None:
    """The other trials would only hang as well; another GPU has its turn."""
    env = fake_driver(MIXED[:2], refuse=f"launch {HANG} {MIXED[0].uuid}")
    found = run_trials(machine(*map(gpu, MIXED[:2])), timeout=HANG_LIMIT, environ=env)
    first, second = found[: len(NAMES)], found[len(NAMES) :]
    assert first[0].outcome is TrialOutcome.TIMED_OUT
    assert "did not answer in time" in first[0].said
    assert {trial.outcome for trial in first[1:]} == {SKIPPED}
    assert second[0].outcome is PASSED


def test_a_driver_that_crashes(fake_driver: FakeDriver) -> None:
    env = fake_driver([ONE], refuse=f"synchronize {CRASH}")
    trial = by_name(run_trials(machine(gpu()), timeout=PATIENCE, environ=env))["kernel"]
    assert trial.outcome is TrialOutcome.CRASHED
    assert "SIGSEGV" in trial.said


def test_a_driver_that_prints_without_end(fake_driver: FakeDriver) -> None:
    env = fake_driver([ONE], refuse=f"memory {CHATTER}")
    trial = by_name(run_trials(machine(gpu()), timeout=PATIENCE, environ=env))["kernel"]
    assert (trial.outcome, trial.said) == (FAILED, "the run printed without end")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"visible": False}, "CUDA does not see it"),
        ({"mig": True}, "it is divided by MIG; its slices count"),
        ({"uuid": "8f1e"}, "its UUID is unknown, by which CUDA could take it"),
        ({"uuid": ""}, "its UUID is unknown, by which CUDA could take it"),
    ],
)
def test_gpus_that_are_out_of_reach(fields: dict[str, object], said: str) -> None:
    here = replace(gpu(), **fields)  # type: ignore[arg-type]
    assert run_trials(machine(here)) == (Trial("kernel", here.uuid, SKIPPED, said=said),)


def test_a_gpu_of_which_cuda_could_not_be_asked(fake_driver: FakeDriver) -> None:
    here = gpu(visible=None)
    found = run_trials(machine(here), timeout=PATIENCE, environ=fake_driver([ONE]))
    assert found[0].outcome is PASSED


def test_a_slice(fake_driver: FakeDriver) -> None:
    whole = FakeGpu("9.0", "NVIDIA H100", slices=2)
    here = replace(gpu(whole), uuid=whole.slice_uuid(1), mig=True)
    env = fake_driver([whole], refuse=f"launch 209 {whole.slice_uuid(0)}")
    assert run_trials(machine(here), timeout=PATIENCE, environ=env)[0].outcome is PASSED


def test_tegra_is_named_by_its_number(fake_driver: FakeDriver) -> None:
    here = replace(gpu(integrated=True, cuda_index=0), uuid="")
    found = run_trials(machine(here), timeout=PATIENCE, environ=fake_driver([ONE]))
    assert found[0].outcome is PASSED


@pytest.mark.parametrize(
    ("capability", "target"),
    [("3.0", "sm_30"), ("3.7", "sm_30"), ("5.0", "sm_50"), ("12.1", "sm_50"), (None, "sm_50")],
)
def test_the_target_of_the_text(capability: str | None, target: str) -> None:
    parsed = ComputeCapability.parse(capability) if capability else None
    assert f".target {target}\n" in write_ptx(parsed)


@pytest.mark.toolkit
@pytest.mark.parametrize("capability", ["3.0", "5.0"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_121"])
def test_ptxas_takes_the_text(
    packaged_tool: Callable[[str], Path], tmp_path: Path, capability: str, arch: str
) -> None:
    ptxas = packaged_tool("ptxas")
    (tmp_path / "x.ptx").write_text(write_ptx(ComputeCapability.parse(capability)))
    command = [str(ptxas), f"-arch={arch}", str(tmp_path / "x.ptx"), "-o", str(tmp_path / "x")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_what_the_text_computes() -> None:
    assert compute_words(3, 0xFFFFFFFF) == [0xFFF80000, 0x1966C7, 0x32CD8F]


# --- the kernel of csrc/ ----------------------------------------------------------------------


def nvcc_of(tmp_path: Path, fault: int = 0, body: str | None = None) -> str:
    """An nvcc that gives the kernel's version for the CPU."""
    library = build_on_cpu(tmp_path, "-D__CUDA_ARCH__=860", f"-DSMOKE_FAULT={fault}")
    text = f'echo "$@" > "{tmp_path}/words"; for last; do :; done; cp "{library}" "$last"\n'
    return str(write_script(tmp_path / "nvcc", text if body is None else body))


def test_the_kernel_that_nvcc_compiled(fake_driver: FakeDriver, tmp_path: Path) -> None:
    env = fake_driver([ONE], refuse="module_load 209")
    found = run_trials(machine(gpu(), nvcc=nvcc_of(tmp_path)), timeout=PATIENCE, environ=env)
    ran = {trial.name: trial.outcome for trial in found if trial.name not in trials.TORCH}
    assert ran == {"kernel": PASSED, "forced jit": PASSED, "no jit": PASSED}
    words = (tmp_path / "words").read_text()
    assert "-gencode=arch=compute_86,code=sm_86" in words
    assert "-gencode=arch=compute_86,code=compute_86" in words


@pytest.mark.parametrize(
    ("fault", "ended", "said"),
    [
        (1, (FAILED, 209), "no kernel image is available for execution on the device"),
        (2, (FAILED, None), "numbers are wrong"),
        (3, (TrialOutcome.CRASHED, None), "SIGSEGV"),
    ],
)
def test_faults_of_that_kernel(
    fake_driver: FakeDriver,
    tmp_path: Path,
    fault: int,
    ended: tuple[TrialOutcome, int | None],
    said: str,
) -> None:
    here = machine(gpu(), nvcc=nvcc_of(tmp_path, fault))
    trial = by_name(run_trials(here, timeout=PATIENCE, environ=fake_driver([ONE])))["kernel"]
    assert (trial.outcome, trial.error) == ended
    assert said in trial.said


@pytest.mark.parametrize("body", ["exit 1\n", "exit 0\n"])
def test_an_nvcc_that_fails_leaves_the_text(
    fake_driver: FakeDriver, tmp_path: Path, body: str
) -> None:
    nvcc = str(write_script(tmp_path / "nvcc", body))
    here = machine(gpu(), nvcc=nvcc)
    found = by_name(run_trials(here, timeout=PATIENCE, environ=fake_driver([ONE])))
    assert (found["kernel"].outcome, found["no jit"].outcome) == (PASSED, SKIPPED)


def test_a_gpu_that_nvcc_does_not_serve(fake_driver: FakeDriver, tmp_path: Path) -> None:
    """8.9 runs what was made for 8.6; nothing here serves 6.1."""
    both = (FakeGpu("6.1", "GTX 1080", 0), FakeGpu("8.9", "RTX 4090", 1))
    here = machine(*map(gpu, both), nvcc=nvcc_of(tmp_path))
    found = run_trials(here, timeout=PATIENCE, environ=fake_driver(both))
    last = [trial.outcome for trial in found if trial.name == "no jit"]
    assert last == [SKIPPED, PASSED]
    assert {trial.outcome for trial in found if trial.name == "kernel"} == {PASSED}


# --- torch ------------------------------------------------------------------------------------

#: A torch that fails as FAKE_TORCH says: the name of a trial, and how.
TORCH = """
import os, signal, time

class Error(RuntimeError):
    pass

def behave(name):
    print("some library prints", name)
    wanted, _, how = os.environ.get("FAKE_TORCH", "").partition("=")
    if wanted != name:
        return
    if how == "hang":
        time.sleep(600)
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    error = Error(how.partition("#")[0])
    if "#" in how:
        error.error_code = int(how.partition("#")[2])
    raise error

behave("import")
float32 = None

class Values:
    def __init__(self, value): self.value = value
    def __mul__(self, other): return self
    def __add__(self, other): return self
    def __sub__(self, other): return self
    def __matmul__(self, other):
        behave("matmul")
        return self
    def __eq__(self, other): return Values(True)
    def __getitem__(self, index): return self
    def cuda(self): return self
    def cpu(self): return self
    def abs(self): return Values(0.0)
    def max(self): return self
    def all(self): return self
    def item(self): return self.value

def arange(*a, **k):
    behave("torch")
    return Values(1999.0)

def ones(*a, **k): return Values(64.0)
def eye(*a, **k): return Values(4.0)

class linalg:
    @staticmethod
    def solve(a, b):
        behave("linalg")
        return Values(0.25)

class cuda:
    @staticmethod
    def synchronize(): pass
"""


@pytest.fixture
def fake_torch(tmp_path: Path) -> TorchBuild:
    root = tmp_path / "packages" / "torch"
    root.mkdir(parents=True)
    (root / "__init__.py").write_text(TORCH)
    return TorchBuild("2.14.1", str(root), CudaVersion(13, 0))


def run_torch(
    fake_driver: FakeDriver, torch: TorchBuild, behaviour: str = "", timeout: float = PATIENCE
) -> list[Trial]:
    env = fake_driver([ONE]) | {"FAKE_TORCH": behaviour}
    found = run_trials(machine(gpu(), torch=torch), timeout=timeout, environ=env)
    return [trial for trial in found if trial.name in trials.TORCH]


def test_torchs_operations(fake_driver: FakeDriver, fake_torch: TorchBuild) -> None:
    found = run_torch(fake_driver, fake_torch)
    assert [(t.name, t.outcome, t.error, t.said) for t in found] == [
        (name, PASSED, None, "") for name in trials.TORCH
    ]


IMAGE = "CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors"


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (f"torch={IMAGE}", 209),
        ("torch=CUDA error: invalid device function", 98),
        ("torch=CUDA error: whatever#222", 222),
        ("torch=the provided PTX was compiled with an unsupported toolchain.", 222),
        ("torch=CUDA error: CUBLAS_STATUS_ARCH_MISMATCH when calling `x`", None),
        ("torch=Found no NVIDIA driver on your system.", None),
    ],
)
def test_the_number_of_torchs_error(
    fake_driver: FakeDriver, fake_torch: TorchBuild, behaviour: str, error: int | None
) -> None:
    first = run_torch(fake_driver, fake_torch, behaviour)[0]
    assert (first.outcome, first.error) == (FAILED, error)
    assert first.said.startswith(behaviour.partition("=")[2].partition("#")[0][:40])
    assert "\n" not in first.said


@pytest.mark.parametrize("name", trials.TORCH)
def test_what_fails_does_not_take_the_rest_along(
    fake_driver: FakeDriver, fake_torch: TorchBuild, name: str
) -> None:
    found = run_torch(fake_driver, fake_torch, f"{name}={IMAGE}")
    assert [(t.name, t.outcome) for t in found] == [
        (other, FAILED if other == name else PASSED) for other in trials.TORCH
    ]


@pytest.mark.parametrize(
    ("how", "outcome"), [("hang", TrialOutcome.TIMED_OUT), ("crash", TrialOutcome.CRASHED)]
)
def test_one_that_does_not_come_back(
    fake_driver: FakeDriver, fake_torch: TorchBuild, how: str, outcome: TrialOutcome
) -> None:
    found = run_torch(fake_driver, fake_torch, f"matmul={how}", HANG_LIMIT)
    assert [t.outcome for t in found] == [PASSED, outcome, PASSED]


@pytest.mark.parametrize(
    ("how", "outcome", "said"),
    [
        ("undefined symbol: __nvJitLinkComplete", FAILED, "import torch: undefined symbol"),
        ("crash", TrialOutcome.CRASHED, "SIGSEGV"),
        ("hang", TrialOutcome.TIMED_OUT, "did not answer in time"),
    ],
)
def test_a_torch_that_cannot_be_imported(
    fake_driver: FakeDriver, fake_torch: TorchBuild, how: str, outcome: TrialOutcome, said: str
) -> None:
    found = run_torch(fake_driver, fake_torch, f"import={how}", HANG_LIMIT)
    assert [t.outcome for t in found] == [outcome, SKIPPED, SKIPPED]
    assert said in found[0].said
    assert found[1].said == "torch cannot be imported"


@pytest.mark.parametrize(
    ("torch", "reason"),
    [
        (None, "torch cannot be found: x"),
        (TorchBuild("2.14.1", "/env/torch", None), "this torch is not built with CUDA"),
    ],
)
def test_no_torch_to_try(fake_driver: FakeDriver, torch: TorchBuild | None, reason: str) -> None:
    here = replace(machine(gpu(), torch=torch), absences=(Absence("torch", reason),))
    found = by_name(run_trials(here, timeout=PATIENCE, environ=fake_driver([ONE])))
    assert [found[name].said for name in trials.TORCH] == [reason] * 3


@pytest.mark.torch
def test_the_installed_torch_without_a_driver(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_bytes(b"nonsense")
    env = {"PATH": "/usr/bin", "LD_LIBRARY_PATH": str(tmp_path)}
    here = machine(gpu(), torch=find_torch()[0])
    found = by_name(run_trials(here, timeout=PATIENCE, environ=env))
    assert {found[name].outcome for name in trials.TORCH} == {FAILED}
    assert "NVIDIA driver" in found["torch"].said
