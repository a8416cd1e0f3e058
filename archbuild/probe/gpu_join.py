"""Three answers about the GPUs joined into one view; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archbuild.model.machine import Absence, Driver, Gpu
from archbuild.model.surroundings import SourceAnswer
from archbuild.model.version import DriverRelease
from archbuild.probe.gpu_answer import CUDA, NVML, SMI, Answer, RawGpu

# The names under which a source's absence is found in a Machine.
_WHAT = {NVML: "nvml", CUDA: "cuda driver", SMI: "nvidia-smi"}

# One GPU, by the source that sees it.
_Row = dict[str, RawGpu]


@dataclass(frozen=True)
class GpuView:
    """The GPUs of a machine and its driver.

    Args:
        gpus: NVML's order first, then those that only others see. A MIG slice
            comes after its GPU.
        driver: None where there is no sign of one.
        absences: What could not be read, with the reason.
        sources: How each source fared.
    """

    gpus: tuple[Gpu, ...] = ()
    driver: Driver | None = None
    absences: tuple[Absence, ...] = ()
    sources: tuple[SourceAnswer, ...] = ()


def join_answers(
    nvml: Answer, cuda: Answer, smi: Answer, kernel: DriverRelease | None = None
) -> GpuView:
    """Join what the sources say of each GPU, by UUID or else by PCI address.

    Args:
        nvml: NVML's answer, which names and orders the GPUs.
        cuda: The CUDA driver's, which says what CUDA sees.
        smi: nvidia-smi's.
        kernel: The release of the kernel module, where that is known.
    """
    rows: list[_Row] = [{NVML: raw} for raw in nvml.gpus]
    for answer in (smi, cuda):
        for raw in answer.gpus:
            row = _row_of(rows, raw, answer.source)
            if row is None:
                rows.append({answer.source: raw})
            else:
                row[answer.source] = raw
    gpus = tuple(_gpu(row, rows, cuda) for row in rows)
    answers = (nvml, cuda, smi)
    missing = [_absence(answer) for answer in answers if answer.reason]
    unread = [absence for gpu in gpus for absence in _unread(gpu)]
    absences = (*missing, *unread, *_slices(gpus))
    return GpuView(gpus, _driver(nvml, cuda, smi, kernel), absences, tuple(map(_source, answers)))


def _absence(answer: Answer) -> Absence:
    return Absence(_WHAT[answer.source], answer.reason)


def _source(answer: Answer) -> SourceAnswer:
    """How a source fared; one that knows of a GPU and can tell nothing of it has failed."""
    what = _WHAT[answer.source]
    lost = next((gpu for gpu in answer.gpus if gpu.errors and gpu.uuid is None), None)
    if answer.complete and not answer.reason and lost is not None:
        said = f"GPU {lost.index}: {lost.errors[0].removeprefix('anything: ')}"
        return SourceAnswer(what, False, lost.code, said)
    return SourceAnswer(
        what,
        answer.complete and not answer.reason,
        answer.code,
        answer.said,
        answer.timed_out,
        answer.crashed,
    )


def _row_of(rows: list[_Row], raw: RawGpu, source: str) -> _Row | None:
    free = [row for row in rows if source not in row]
    for same in (_same_uuid, _same_pci, _same_nvml_index if source == SMI else _never):
        for row in free:
            if any(same(other, raw) for other in row.values()):
                return row
    return None


def _same_uuid(one: RawGpu, other: RawGpu) -> bool:
    return one.uuid is not None and other.uuid is not None and _bare(one.uuid) == _bare(other.uuid)


def _bare(uuid: str) -> str:
    return uuid.upper().removeprefix("GPU-").removeprefix("MIG-")


def _same_pci(one: RawGpu, other: RawGpu) -> bool:
    # A slice has its GPU's address and is not that GPU.
    whole = one.parent is None and other.parent is None
    return whole and one.pci is not None and one.pci == other.pci


def _same_nvml_index(one: RawGpu, other: RawGpu) -> bool:
    # nvidia-smi counts as NVML does; this is for a GPU of which NVML can tell nothing else.
    return one.uuid is None and one.pci is None and one.index == other.index


def _never(_one: RawGpu, _other: RawGpu) -> bool:
    return False


def _views(row: _Row) -> list[RawGpu]:
    return [row[source] for source in (NVML, CUDA, SMI) if source in row]


def _gpu(row: _Row, rows: list[_Row], cuda: Answer) -> Gpu:
    views = _views(row)
    first = row.get(NVML) or row.get(SMI)
    whole = _whole(views[0], rows)
    is_slice = views[0].parent is not None
    around = [*views, *(whole if is_slice else [])]
    seen = row.get(CUDA)
    return Gpu(
        uuid=_uuid(views, is_slice=is_slice),
        name=next((v.name for v in around if v.name), "unknown GPU"),
        capability=next((v.capability for v in around if v.capability), None),
        index=first.index if first else None,
        cuda_index=seen.index if seen else None,
        visible=True if seen else (False if cuda.complete else None),
        pci=next((v.pci for v in around if v.pci), None),
        memory=next((v.memory for v in views if v.memory is not None), None),
        mig=any(v.mig for v in views),
        seen_by=tuple(source for source in (NVML, CUDA, SMI) if source in row),
        vgpu=any(v.vgpu for v in around),
        integrated=next((v.integrated for v in around if v.integrated is not None), None),
        errors=_errors(row),
    )


def _errors(row: _Row) -> tuple[str, ...]:
    return tuple(f"{source}: {error}" for source, raw in row.items() for error in raw.errors)


def _whole(raw: RawGpu, rows: list[_Row]) -> list[RawGpu]:
    """The GPU whose slice this is, as the sources see it."""
    if raw.parent is None:
        return []
    key = RawGpu(uuid=raw.parent)
    return next((_views(r) for r in rows if any(_same_uuid(v, key) for v in r.values())), [])


def _uuid(views: list[RawGpu], *, is_slice: bool) -> str:
    uuid = next((v.uuid for v in views if v.uuid), "")
    if not uuid or uuid.startswith(("GPU-", "MIG-")):
        return uuid
    return f"{'MIG' if is_slice else 'GPU'}-{uuid}"


def _driver(nvml: Answer, cuda: Answer, smi: Answer, kernel: DriverRelease | None) -> Driver | None:
    release = nvml.release or smi.release or kernel
    # CUDA's own word first: a cuda-compat library is newer than the driver.
    version = cuda.cuda or nvml.cuda
    return Driver(release, version) if release or version else None


def _unread(gpu: Gpu) -> Iterator[Absence]:
    """What no source could tell of this GPU, and what failed on the way."""
    fields = {"UUID": gpu.uuid, "capability": gpu.capability, "memory": gpu.memory}
    lacks = [name for name, value in fields.items() if not value]
    errors = "; ".join(gpu.errors)
    if lacks or errors:
        missing = f"its {' and '.join(lacks)} cannot be read" if lacks else "not all can be read"
        number = gpu.uuid if gpu.index is None else gpu.index
        yield Absence(f"gpu {number}", f"{missing} ({errors})" if errors else missing)


def _slices(gpus: tuple[Gpu, ...]) -> Iterator[Absence]:
    """A word on MIG where CUDA does not see every slice."""
    for gpu in gpus:
        mine = [g for g in gpus if g.mig and g is not gpu and g.index == gpu.index]
        hidden = [g for g in mine if g.visible is False]
        if gpu.mig and gpu.uuid.startswith("GPU-") and hidden:
            yield Absence(
                "mig",
                f"GPU {gpu.index} is split into {len(mine)} MIG slices, of which a process sees "
                "one: name another by its MIG-UUID in CUDA_VISIBLE_DEVICES",
            )
