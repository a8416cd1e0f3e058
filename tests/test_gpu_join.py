"""The joining of three answers, without any process."""

from __future__ import annotations

from archbuild.model.arch import ComputeCapability
from archbuild.model.surroundings import SourceAnswer
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.probe.gpu_answer import CUDA, NVML, SMI, Answer, RawGpu
from archbuild.probe.gpu_join import GpuView, join_answers

HOPPER = ComputeCapability(9, 0)
NOT_ASKED = {source: Answer(source) for source in (NVML, CUDA, SMI)}


def raw(number: int, index: int, *, bare: bool = False, **more: object) -> RawGpu:
    uuid = f"{'' if bare else 'GPU-'}{number:08x}-1111-2222-3333-44444444444A"
    values = {"name": "H100", "capability": HOPPER, "pci": f"00000000:{number:02X}:00.0"} | more
    return RawGpu(uuid=uuid, index=index, memory=1, **values)  # type: ignore[arg-type]


def join(
    nvml: Answer = NOT_ASKED[NVML],
    cuda: Answer = NOT_ASKED[CUDA],
    smi: Answer = NOT_ASKED[SMI],
    kernel: DriverRelease | None = None,
) -> GpuView:
    return join_answers(nvml, cuda, smi, kernel)


def answer(source: str, *gpus: RawGpu, **more: object) -> Answer:
    return Answer(source, gpus, **({"complete": True} | more))  # type: ignore[arg-type]


def test_nothing_from_anyone_is_nothing() -> None:
    view = join()
    assert view == GpuView(sources=view.sources)
    assert [(a.source, a.ok) for a in view.sources] == [
        ("nvml", False),
        ("cuda driver", False),
        ("nvidia-smi", False),
    ]


def test_how_each_source_fared() -> None:
    lost = RawGpu(index=1, errors=("anything: GPU is lost",), code=15)
    nvml = answer(NVML, raw(1, 0), lost)
    cuda = answer(CUDA, code=100, said="cuInit gives error 100", reason="cuInit ...: hidden")
    smi = answer(SMI, complete=False, reason="it hung", said="it hung", timed_out=True)
    assert join(nvml, cuda, smi).sources == (
        SourceAnswer("nvml", False, 15, "GPU 1: GPU is lost"),
        SourceAnswer("cuda driver", False, 100, "cuInit gives error 100"),
        SourceAnswer("nvidia-smi", False, None, "it hung", timed_out=True),
    )


def test_one_value_that_cannot_be_read_is_no_failure_of_the_source() -> None:
    odd = raw(1, 0, errors=("memory: Unknown Error",), code=999)
    view = join(answer(NVML, odd))
    assert view.sources[0] == SourceAnswer("nvml", ok=True)
    assert view.gpus[0].errors == ("nvml: memory: Unknown Error",)


def test_shares_and_memory_are_kept_from_who_tells_them() -> None:
    nvml = answer(NVML, raw(1, 0, vgpu=True), raw(2, 1))
    cuda = answer(CUDA, raw(1, 0, bare=True, integrated=True))
    view = join(nvml, cuda)
    assert [(g.vgpu, g.integrated) for g in view.gpus] == [(True, True), (False, None)]


def test_uuids_match_without_prefix_and_in_any_case() -> None:
    cuda = raw(1, 5, bare=True)
    assert cuda.uuid is not None
    lower = RawGpu(cuda.uuid.lower(), index=5)
    (gpu,) = join(answer(NVML, raw(1, 0)), answer(CUDA, lower)).gpus
    assert (gpu.index, gpu.cuda_index, gpu.visible) == (0, 5, True)
    assert gpu.uuid.startswith("GPU-")


def test_the_order_is_nvmls_and_never_an_index_of_cuda_joins() -> None:
    nvml = answer(NVML, *(raw(n, n) for n in range(4)))
    cuda = answer(CUDA, *(raw(n, i, bare=True) for i, n in enumerate((3, 1, 2, 0))))
    view = join(nvml, cuda)
    assert [g.index for g in view.gpus] == [0, 1, 2, 3]
    assert [g.cuda_index for g in view.gpus] == [3, 1, 2, 0]


def test_a_pci_address_joins_where_there_is_no_uuid() -> None:
    nvml = answer(NVML, raw(1, 0), RawGpu(index=1, pci="00000000:02:00.0", name="H100"))
    view = join(nvml, answer(CUDA, raw(2, 0, bare=True), raw(1, 1, bare=True)))
    assert [g.cuda_index for g in view.gpus] == [1, 0]
    assert view.gpus[1].uuid.startswith("GPU-00000002")


def test_an_equal_index_alone_never_joins_cuda() -> None:
    view = join(answer(NVML, RawGpu(index=0)), answer(CUDA, raw(1, 0, bare=True)))
    assert len(view.gpus) == 2
    assert [g.visible for g in view.gpus] == [False, True]


def test_a_gpu_that_one_source_alone_sees_is_kept() -> None:
    view = join(answer(NVML, raw(1, 0)), answer(CUDA, raw(2, 0, bare=True)), answer(SMI, raw(3, 7)))
    assert [g.seen_by for g in view.gpus] == [(NVML,), (SMI,), (CUDA,)]
    assert [g.index for g in view.gpus] == [0, 7, None]
    assert view.gpus[2].uuid == raw(2, 0).uuid


def test_a_part_of_cudas_answer_hides_nothing() -> None:
    nvml = answer(NVML, raw(1, 0), raw(2, 1))
    cuda = answer(CUDA, raw(1, 0, bare=True), complete=False, reason="it crashed")
    assert [g.visible for g in join(nvml, cuda).gpus] == [True, None]


def test_each_value_comes_from_the_first_that_knows_it() -> None:
    nvml = answer(NVML, raw(1, 0, name=None, capability=None))
    smi = answer(SMI, raw(1, 0, name="smi's", capability=ComputeCapability(8, 0)))
    cuda = answer(CUDA, raw(1, 0, bare=True, name="cuda's"))
    (gpu,) = join(nvml, cuda, smi).gpus
    assert (gpu.name, gpu.capability) == ("cuda's", HOPPER)


def test_the_driver_from_whoever_knows_it() -> None:
    release = DriverRelease.parse("570.1")
    kernel = DriverRelease.parse("550.1")
    nvml = answer(NVML, release=release, cuda=CudaVersion(12, 8))
    driver = join(nvml, kernel=kernel).driver
    assert driver is not None
    assert (driver.release, driver.cuda) == (release, CudaVersion(12, 8))
    # A cuda-compat library serves a newer CUDA than the driver brings.
    driver = join(nvml, answer(CUDA, cuda=CudaVersion(13, 0))).driver
    assert driver is not None
    assert driver.cuda == CudaVersion(13, 0)
    driver = join(kernel=kernel).driver
    assert driver is not None
    assert (driver.release, driver.cuda) == (kernel, None)


def test_reasons_are_kept_under_the_name_of_the_source() -> None:
    view = join(*(Answer(source, reason=f"no {source}") for source in (NVML, CUDA, SMI)))
    assert {a.what: a.reason for a in view.absences} == {
        "nvml": "no nvml",
        "cuda driver": "no cuda",
        "nvidia-smi": "no nvidia-smi",
    }


def test_what_no_source_tells_is_named() -> None:
    bare = RawGpu("GPU-9", index=3, errors=("memory: GPU is lost",))
    (absence,) = join(answer(NVML, bare)).absences
    assert absence.what == "gpu 3"
    assert absence.reason == (
        "its capability and memory cannot be read (nvml: memory: GPU is lost)"
    )
    (absence,) = join(cuda=answer(CUDA, RawGpu("abc", index=0, memory=1))).absences
    assert (absence.what, absence.reason) == ("gpu GPU-abc", "its capability cannot be read")


def test_slices_of_two_gpus_are_told_apart() -> None:
    nvml = answer(
        NVML,
        raw(1, 0, mig=True),
        RawGpu("MIG-a", "1g", None, 0, None, 1, mig=True, parent=raw(1, 0).uuid),
        raw(2, 1, mig=True),
        RawGpu("MIG-b", None, None, 1, None, 1, mig=True, parent=raw(2, 1).uuid),
        RawGpu("MIG-c", None, None, 1, None, 1, mig=True, parent=raw(2, 1).uuid),
    )
    cuda = answer(
        CUDA,
        RawGpu("a", "1g", HOPPER, 0, raw(1, 0).pci, 1, mig=True, parent=raw(1, 0, bare=True).uuid),
        RawGpu("c", "1g", HOPPER, 1, raw(2, 1).pci, 1, mig=True, parent=raw(2, 1, bare=True).uuid),
    )
    view = join(nvml, cuda)
    assert [g.visible for g in view.gpus] == [False, True, False, False, True]
    assert [g.pci for g in view.gpus][3:] == [raw(2, 1).pci] * 2
    assert {g.capability for g in view.gpus} == {HOPPER}
    assert view.gpus[3].name == "H100"
    assert [a.what for a in view.absences] == ["mig"]
    assert view.absences[0].reason.startswith("GPU 1 is split into 2")


def test_an_old_driver_that_gives_a_slice_its_gpus_uuid() -> None:
    nvml = answer(
        NVML,
        raw(1, 0, mig=True),
        RawGpu("MIG-GPU-1/1/0", None, None, 0, None, 1, mig=True, parent=raw(1, 0).uuid),
    )
    view = join(nvml, answer(CUDA, raw(1, 0, bare=True)))
    assert [g.visible for g in view.gpus] == [True, False]
