"""GPUs through the real pynvml and ctypes, over fake driver libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.model.arch import ComputeCapability
from archbuild.model.machine import Gpu
from archbuild.model.surroundings import SourceAnswer
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.probe import gpus
from archbuild.probe.gpu_join import GpuView
from archbuild.probe.gpus import query_gpus, read_kernel_module
from tests.fakes import CHATTER, CRASH, HANG, MIXED, FakeDriver, FakeGpu, write_script

# Long enough for a busy machine: only the tests of a hang wait for it.
PATIENCE = 60.0
HANG_LIMIT = 3.0
SOURCES = ("nvml", "cuda driver", "nvidia-smi")
EIGHT = tuple(FakeGpu("9.0", "NVIDIA H100 80GB HBM3", n, 81559) for n in range(8))


def ask(env: dict[str, str], timeout: float = PATIENCE) -> GpuView:
    return query_gpus(timeout=timeout, environ=env, kernel_module=Path("/no/such/file"))


def sources(view: GpuView) -> dict[str, SourceAnswer]:
    return {answer.source: answer for answer in view.sources}


def reasons(view: GpuView) -> dict[str, str]:
    return {absence.what: absence.reason for absence in view.absences}


def test_one_gpu_by_all_three(fake_driver: FakeDriver) -> None:
    gpu = FakeGpu("8.9", "NVIDIA GeForce RTX 4090", 0, 24564)
    view = ask(fake_driver([gpu]))
    assert view.gpus == (
        Gpu(
            uuid=gpu.uuid,
            name="NVIDIA GeForce RTX 4090",
            capability=ComputeCapability(8, 9),
            index=0,
            cuda_index=0,
            visible=True,
            pci="00000000:01:00.0",
            memory=24564 << 20,
            seen_by=("nvml", "cuda", "nvidia-smi"),
            integrated=False,
        ),
    )
    assert view.sources == tuple(SourceAnswer(source, ok=True) for source in SOURCES)
    assert view.driver is not None
    assert view.driver.release == DriverRelease.parse("580.65.06")
    assert view.driver.cuda == CudaVersion(13, 0)
    assert view.absences == ()


def test_a_driver_without_a_gpu(fake_driver: FakeDriver) -> None:
    view = ask(fake_driver([]))
    assert view.gpus == ()
    assert view.driver is not None
    assert "error 100" in reasons(view)["cuda driver"]
    assert "No devices were found" in reasons(view)["nvidia-smi"]
    cuda = sources(view)["cuda driver"]
    assert (cuda.ok, cuda.code) == (False, 100)
    assert cuda.said.endswith("/libcuda.so.1 fails")
    assert sources(view)["nvml"].ok


def test_a_mixed_machine_in_another_order_of_cuda(fake_driver: FakeDriver) -> None:
    view = ask(fake_driver(MIXED, order="2 1 0"))
    assert [str(g.capability) for g in view.gpus] == ["6.1", "8.6", "12.0"]
    assert [g.index for g in view.gpus] == [0, 1, 2]
    assert [g.cuda_index for g in view.gpus] == [2, 1, 0]
    assert [g.memory for g in view.gpus] == [m << 20 for m in (8192, 24576, 32607)]


def test_eight_equal_ones_are_eight(fake_driver: FakeDriver) -> None:
    view = ask(fake_driver(EIGHT))
    assert len({g.uuid for g in view.gpus}) == 8
    assert all(g.visible for g in view.gpus)
    assert view.absences == ()


@pytest.mark.parametrize("wish", ["2", "GPU-00000003", f"{EIGHT[2].uuid},99,1"])
def test_nvml_four_and_cuda_one(fake_driver: FakeDriver, wish: str) -> None:
    env = fake_driver(EIGHT[:4]) | {"CUDA_VISIBLE_DEVICES": wish}
    view = ask(env)
    assert [g.visible for g in view.gpus] == [False, False, True, False]
    assert [g.cuda_index for g in view.gpus] == [None, None, 0, None]


@pytest.mark.parametrize("wish", ["", "-1"])
def test_all_are_hidden(fake_driver: FakeDriver, wish: str) -> None:
    view = ask(fake_driver(MIXED) | {"CUDA_VISIBLE_DEVICES": wish})
    assert [g.visible for g in view.gpus] == [False, False, False]
    assert "CUDA_VISIBLE_DEVICES" in reasons(view)["cuda driver"]


def test_mig_slices_come_after_their_gpu(fake_driver: FakeDriver) -> None:
    whole = FakeGpu("9.0", "NVIDIA H100", 1, 81559, slices=3)
    view = ask(fake_driver([EIGHT[0], whole]))
    uuids = [whole.slice_uuid(n) for n in range(3)]
    assert [g.uuid for g in view.gpus] == [EIGHT[0].uuid, whole.uuid, *uuids]
    assert [g.mig for g in view.gpus] == [False, True, True, True, True]
    assert [g.index for g in view.gpus] == [0, 1, 1, 1, 1]
    assert [g.visible for g in view.gpus] == [True, False, True, False, False]
    assert {str(g.capability) for g in view.gpus} == {"9.0"}
    assert {g.pci for g in view.gpus[1:]} == {whole.pci}
    assert view.gpus[2].memory == 10240 << 20
    assert "split into 3 MIG slices" in reasons(view)["mig"]


def test_another_slice_by_its_uuid(fake_driver: FakeDriver) -> None:
    whole = FakeGpu("8.0", "NVIDIA A100", slices=2)
    view = ask(fake_driver([whole]) | {"CUDA_VISIBLE_DEVICES": whole.slice_uuid(1)})
    assert [g.visible for g in view.gpus] == [False, False, True]


def test_a_slice_that_only_cuda_sees(fake_driver: FakeDriver) -> None:
    whole = FakeGpu("8.0", "NVIDIA A100", slices=2)
    view = ask(fake_driver([whole], nvml_init=999))
    assert [(g.uuid, g.seen_by) for g in view.gpus] == [
        (whole.uuid, ("nvidia-smi",)),
        (whole.slice_uuid(0), ("cuda",)),
    ]
    assert "lost device rules" in reasons(view)["nvml"]


def test_the_driver_is_not_loaded(fake_driver: FakeDriver) -> None:
    smi = 'echo "NVIDIA-SMI has failed because it couldn\'t communicate"; exit 9'
    view = ask(fake_driver(MIXED, nvml_init=9, cuda_init=100, smi=smi))
    assert view.gpus == ()
    for what in ("nvml", "nvidia-smi"):
        assert "modprobe nvidia" in reasons(view)[what]
    assert [(a.ok, a.code) for a in view.sources] == [(False, 9), (False, 100), (False, 9)]
    assert "couldn't communicate" in sources(view)["nvidia-smi"].said
    assert "modprobe" not in "".join(a.said for a in view.sources)


def test_libraries_that_cannot_be_loaded(fake_driver: FakeDriver, tmp_path: Path) -> None:
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        (tmp_path / name).write_text("no library")
    env = fake_driver(smi="exit 12") | {"LD_LIBRARY_PATH": str(tmp_path)}
    view = ask(env)
    assert view == GpuView((), None, view.absences, view.sources)
    assert [(a.ok, a.code) for a in view.sources] == [(False, 12), (False, None), (False, 12)]
    assert f"{tmp_path}/libcuda.so.1" in sources(view)["cuda driver"].said
    assert set(reasons(view)) == {"nvml", "cuda driver", "nvidia-smi"}
    for reason in reasons(view).values():
        assert "install one" in reason
    assert f"{tmp_path}/libcuda.so.1" in reasons(view)["cuda driver"]
    assert f"{tmp_path}/libnvidia-ml.so.1" in reasons(view)["nvml"]


def test_a_library_without_the_functions(fake_driver: FakeDriver, fake_libraries: Path) -> None:
    env = fake_driver(MIXED)
    swapped = Path(env["ARCHBUILD_FAKE_GPUS"]).parent
    (swapped / "libcuda.so.1").symlink_to(fake_libraries / "libnvidia-ml.so.1")
    (swapped / "libnvidia-ml.so.1").symlink_to(fake_libraries / "libcuda.so.1")
    view = ask(env | {"LD_LIBRARY_PATH": str(swapped)})
    assert [g.seen_by for g in view.gpus] == [("nvidia-smi",)] * 3
    assert [g.visible for g in view.gpus] == [None] * 3
    assert "undefined symbol" in reasons(view)["cuda driver"]
    assert "Function Not Found" in reasons(view)["nvml"]


def test_a_hang_of_nvml_ends_by_the_limit(fake_driver: FakeDriver) -> None:
    view = ask(fake_driver(MIXED, nvml_init=HANG), HANG_LIMIT)
    assert [g.seen_by for g in view.gpus] == [("cuda", "nvidia-smi")] * 3
    assert "did not answer in time (limit 3 s)" in reasons(view)["nvml"]
    nvml, *others = view.sources
    assert (nvml.ok, nvml.timed_out, nvml.crashed) == (False, True, False)
    assert [(a.ok, a.timed_out) for a in others] == [(True, False)] * 2
    assert view.driver is not None
    assert str(view.driver.release) == "580.65.06"


def test_a_hang_in_the_middle_keeps_what_came_before(fake_driver: FakeDriver) -> None:
    gpus = [*EIGHT[:2], FakeGpu("9.0", "NVIDIA H100", 2, fails="handle", code=HANG)]
    view = ask(fake_driver(gpus, smi="exit 1"), HANG_LIMIT)
    assert [g.seen_by for g in view.gpus] == [("nvml", "cuda"), ("nvml", "cuda"), ("cuda",)]
    assert "did not answer in time" in reasons(view)["nvml"]


def test_a_hang_of_all_three_takes_one_limit(fake_driver: FakeDriver) -> None:
    env = fake_driver(MIXED, nvml_init=HANG, cuda_init=HANG, smi="sleep 300")
    view = ask(env, HANG_LIMIT)
    assert view.gpus == ()
    assert [a.reason.count("did not answer in time") for a in view.absences] == [1, 1, 1]
    assert [(a.ok, a.timed_out, a.crashed) for a in view.sources] == [(False, True, False)] * 3


def test_a_crash_is_told_and_the_others_answer(fake_driver: FakeDriver) -> None:
    view = ask(fake_driver(MIXED, nvml_init=CRASH, cuda_init=CRASH))
    assert [g.seen_by for g in view.gpus] == [("nvidia-smi",)] * 3
    assert [str(g.capability) for g in view.gpus] == ["6.1", "8.6", "12.0"]
    for what in ("nvml", "cuda driver"):
        assert "was ended by SIGSEGV" in reasons(view)[what]
    assert [(a.ok, a.crashed) for a in view.sources] == [(False, True)] * 2 + [(True, False)]
    assert {gpu.visible for gpu in view.gpus} == {None}


def test_a_library_that_prints_without_end(
    fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archbuild.probe.process.OUTPUT_LIMIT", 10_000)
    view = ask(fake_driver(MIXED, cuda_init=CHATTER))
    assert "printed without end" in reasons(view)["cuda driver"]
    assert [g.visible for g in view.gpus] == [None] * 3


def test_one_of_eight_is_lost(fake_driver: FakeDriver) -> None:
    lost = FakeGpu("9.0", "NVIDIA H100 80GB HBM3", 3, 81559, fails="handle", code=15)
    env = fake_driver([*EIGHT[:3], lost, *EIGHT[4:]], smi="exit 255", order="0 1 2 4 5 6 7")
    view = ask(env)
    assert [g.index for g in view.gpus] == list(range(8))
    (said,) = view.gpus[3].errors
    assert view.gpus[3] == Gpu(
        "", "unknown GPU", None, 3, visible=False, seen_by=("nvml",), errors=(said,)
    )
    assert said.startswith("nvml: anything: GPU is lost")
    nvml = sources(view)["nvml"]
    assert (nvml.ok, nvml.code, nvml.said.partition(" (")[0]) == (
        False,
        15,
        "GPU 3: GPU is lost",
    )
    assert [g.errors for g in view.gpus if g.index != 3] == [()] * 7
    assert all(g.visible and g.capability for g in view.gpus if g.index != 3)
    assert "GPU is lost" in reasons(view)["gpu 3"]
    assert "restart the machine" in reasons(view)["gpu 3"]


def test_nvidia_smi_names_the_gpu_that_nvml_cannot(fake_driver: FakeDriver) -> None:
    lost = FakeGpu("9.0", "NVIDIA H100", 3, 81559, fails="handle", code=15)
    view = ask(fake_driver([*EIGHT[:3], lost], order="0 1 2"))
    assert [(g.index, g.uuid) for g in view.gpus][3] == (3, lost.uuid)
    assert view.gpus[3].seen_by == ("nvml", "nvidia-smi")


@pytest.mark.parametrize("field", ["uuid", "name", "capability", "pci", "memory"])
def test_what_one_call_does_not_tell_another_source_does(
    fake_driver: FakeDriver, field: str
) -> None:
    odd = FakeGpu("8.6", "NVIDIA RTX A6000", 1, 49140, fails=field, code=999)
    view = ask(fake_driver([EIGHT[0], odd]))
    assert len(view.gpus) == 2
    gpu = view.gpus[1]
    assert (gpu.uuid, gpu.name, str(gpu.capability)) == (odd.uuid, odd.name, "8.6")
    assert (gpu.pci, gpu.memory) == (odd.pci, 49140 << 20)
    assert f"nvml: {field}: Unknown Error" in reasons(view)["gpu 1"]
    assert "gpu 0" not in reasons(view)
    assert [error.partition(" (")[0] for error in gpu.errors] == [f"nvml: {field}: Unknown Error"]


def test_an_old_nvidia_smi_is_asked_for_less(fake_driver: FakeDriver) -> None:
    old = (
        'case "$1" in *compute_cap*) '
        "echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2;; esac\n"
        f"echo '0, {EIGHT[0].uuid}, 00000000:01:00.0, 81559, 440.33.01, NVIDIA H100'"
    )
    view = ask(fake_driver([], nvml_init=9, cuda_init=100, smi=old))
    assert [(g.uuid, g.capability, g.seen_by) for g in view.gpus] == [
        (EIGHT[0].uuid, None, ("nvidia-smi",))
    ]
    assert "capability cannot be read" in reasons(view)["gpu 0"]


def test_a_stub_of_the_driver_is_named(fake_driver: FakeDriver, fake_libraries: Path) -> None:
    view = ask(fake_driver([EIGHT[0]], cuda_init=34))
    assert str(fake_libraries / "libcuda.so.1") in reasons(view)["cuda driver"]
    assert "LD_LIBRARY_PATH" in reasons(view)["cuda driver"]
    assert view.gpus[0].visible is None


@pytest.mark.parametrize(("mode", "vgpu"), [(0, False), (1, False), (2, True), (3, False)])
def test_a_share_of_a_gpu_by_what_nvml_says(fake_driver: FakeDriver, mode: int, vgpu: bool) -> None:
    # A GPU that is handed through whole, or a host that hands out shares, is none.
    view = ask(fake_driver([FakeGpu("8.6", "NVIDIA A40-8Q", 0, 8192, mode=mode), EIGHT[1]]))
    assert [gpu.vgpu for gpu in view.gpus] == [vgpu, False]


@pytest.mark.parametrize("code", [1, 3, 13, 999])
def test_a_driver_that_does_not_tell_of_shares_is_no_error(
    fake_driver: FakeDriver, code: int
) -> None:
    odd = FakeGpu("8.6", "NVIDIA A40-8Q", mode=2, fails="mode", code=code)
    view = ask(fake_driver([odd]))
    assert [(gpu.vgpu, gpu.errors) for gpu in view.gpus] == [(False, ())]
    assert view.absences == ()


def test_a_gpu_without_memory_of_its_own(fake_driver: FakeDriver) -> None:
    orin = FakeGpu("8.7", "Orin (nvgpu)", integrated=True)
    view = ask(fake_driver([orin], nvml_init=12, smi="exit 1"))
    assert [(gpu.integrated, gpu.seen_by) for gpu in view.gpus] == [(True, ("cuda",))]
    unseen = ask(fake_driver([orin], cuda_init=999))
    assert [gpu.integrated for gpu in unseen.gpus] == [None]


def test_a_slice_is_as_integrated_as_its_gpu(fake_driver: FakeDriver) -> None:
    view = ask(fake_driver([FakeGpu("9.0", "NVIDIA H100", slices=2, mode=2)]))
    assert [gpu.vgpu for gpu in view.gpus] == [True, True, True]
    assert [gpu.integrated for gpu in view.gpus] == [None, False, None]


def test_no_pynvml(fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "_pynvml_folder", lambda: None)
    view = ask(fake_driver(MIXED))
    assert "pip install nvidia-ml-py" in reasons(view)["nvml"]
    assert not sources(view)["nvml"].ok
    assert "pynvml" in sources(view)["nvml"].said
    assert [g.seen_by for g in view.gpus] == [("cuda", "nvidia-smi")] * 3
    assert [g.index for g in view.gpus] == [0, 1, 2]


def test_a_broken_pynvml(fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "_pynvml_folder", lambda: "/no/such/folder")
    assert "not usable" in reasons(ask(fake_driver(MIXED)))["nvml"]


def test_no_nvidia_smi(fake_driver: FakeDriver, tmp_path: Path) -> None:
    if any(place.exists() for place in gpus._SMI_PLACES):
        pytest.skip("this machine has an nvidia-smi outside PATH")
    view = ask(fake_driver(MIXED) | {"PATH": str(tmp_path)})
    assert "not found" in reasons(view)["nvidia-smi"]
    assert [g.seen_by for g in view.gpus] == [("nvml", "cuda")] * 3


def test_an_nvidia_smi_that_cannot_run(fake_driver: FakeDriver, tmp_path: Path) -> None:
    write_script(tmp_path / "bin" / "nvidia-smi", "").write_text("#!/no/such/sh\n")
    view = ask(fake_driver(MIXED) | {"PATH": str(tmp_path / "bin")})
    assert "cannot be executed" in reasons(view)["nvidia-smi"]
    assert "cannot be executed" in sources(view)["nvidia-smi"].said


@pytest.mark.parametrize(
    ("line", "release"),
    [
        ("NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 20 2025", "580.65.06"),
        ("NVIDIA UNIX Open Kernel Module for x86_64  570.172.08  Release Build", "570.172.08"),
        ("NVIDIA UNIX x86_64 Kernel Module  garbage", None),
        ("", None),
    ],
)
def test_the_kernel_module_states_its_release(
    tmp_path: Path, line: str, release: str | None
) -> None:
    path = tmp_path / "version"
    path.write_text(f"NVRM version: {line}\nGCC version:  gcc version 12.2.0 (Debian 12.2.0)\n")
    found = read_kernel_module(path)
    assert (str(found) if found else None) == release


def test_the_kernel_module_answers_where_nothing_else_does(
    fake_driver: FakeDriver, tmp_path: Path
) -> None:
    path = tmp_path / "version"
    path.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue\n")
    env = fake_driver(nvml_init=18, cuda_init=803, smi="exit 18", cuda=0)
    view = query_gpus(timeout=PATIENCE, environ=env, kernel_module=path)
    assert view.driver is not None
    assert (str(view.driver.release), view.driver.cuda) == ("535.54.03", None)
    assert all("kernel module differ" in reason for reason in reasons(view).values())
    assert [a.code for a in view.sources] == [18, 803, 18]
