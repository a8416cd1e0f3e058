"""Where the views of the GPUs differ: CUDA_VISIBLE_DEVICES, order, MIG, and nothing known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.finding import Severity
from archbuild.model.machine import Gpu, Machine
from archbuild.rules.diagnosis import driver_kinds
from archbuild.rules.diagnosis import surrounding_kinds as kinds
from archbuild.rules.diagnosis.kind import diagnosis_of
from archbuild.rules.diagnosis.shell import set_variable, unset_variable
from archbuild.rules.diagnosis.sight import (
    CUDA,
    NO_DEVICE,
    code_of,
    cuda_sees,
    gpu_words,
    slices_of,
    source_evidence,
    whole_gpus,
)
from archbuild.rules.diagnosis.visible_devices import (
    Ending,
    VisibleDevices,
    parse_visible_devices,
)

_VARIABLE = "CUDA_VISIBLE_DEVICES"


def _value(machine: Machine) -> str | None:
    """As it is set; an empty one hides all, and is not the same as none."""
    return dict(machine.variables).get(_VARIABLE)


def _read(machine: Machine) -> VisibleDevices | None:
    value = _value(machine)
    if value is None or not machine.gpus:
        return None
    uuids = [gpu.uuid for gpu in machine.gpus if gpu.uuid]
    usable = [gpu for gpu in whole_gpus(machine) if not gpu.mig]
    slices = sum(gpu.uuid.startswith("MIG-") for gpu in machine.gpus)
    # CUDA numbers the GPUs that are not split, or else the slices.
    return parse_visible_devices(value, uuids, len(usable) or slices)


# --- CUDA_VISIBLE_DEVICES -------------------------------------------------------------------------


def check_visible(machine: Machine) -> Iterator[Diagnosis]:
    """What CUDA_VISIBLE_DEVICES hides, on purpose or not."""
    read = _read(machine)
    if read is None:
        return
    if not cuda_sees(machine):
        if read.hides_all and code_of(machine, CUDA) in (None, NO_DEVICE) and _is_hidden(machine):
            yield _all_hidden(read, machine)
            if read.ending in (Ending.NOT_THERE, Ending.AMBIGUOUS):
                yield _cut_short(read, machine)
    elif read.ending in (Ending.WHOLE, Ending.CLOSED):
        yield from _some_hidden(machine)
    elif read.chosen:
        yield _cut_short(read, machine)


def _is_hidden(machine: Machine) -> bool:
    """Whether CUDA has said that it sees none of them."""
    return any(gpu.visible is False for gpu in machine.gpus) or code_of(machine, CUDA) == NO_DEVICE


def _evidence(machine: Machine) -> list[Evidence]:
    seen = [Evidence(f"nvml {gpu.index}", f"{gpu.name} {gpu.uuid}") for gpu in machine.gpus]
    return [Evidence(_VARIABLE, _value(machine) or '""'), *seen]


def _all_hidden(read: VisibleDevices, machine: Machine) -> Diagnosis:
    entry = f'"{read.entry}"' if read.entry is not None else ""
    twice = read.ending is Ending.REPEATED
    return diagnosis_of(
        kinds.ALL_HIDDEN,
        evidence=[*_evidence(machine), *source_evidence(machine, CUDA)],
        commands=[unset_variable(machine, _VARIABLE)],
        gpus=[gpu.uuid for gpu in machine.gpus],
        value=_value(machine) or "",
        entry=entry if read.ending in (Ending.NOT_THERE, Ending.AMBIGUOUS) else "",
        twice=entry if twice else "",
        count=str(len(whole_gpus(machine))),
    )


def _some_hidden(machine: Machine) -> Iterator[Diagnosis]:
    # Of slices a process sees one in any case.
    whole = [gpu for gpu in whole_gpus(machine) if not gpu.mig]
    hidden = [gpu for gpu in whole if gpu.visible is False]
    if hidden:
        yield diagnosis_of(
            kinds.SOME_HIDDEN,
            evidence=_evidence(machine),
            commands=[unset_variable(machine, _VARIABLE)],
            gpus=[gpu.uuid for gpu in hidden],
            value=_value(machine) or "",
            hidden=gpu_words(hidden),
            seen=str(len(whole) - len(hidden)),
            count=str(len(whole)),
        )


def _cut_short(read: VisibleDevices, machine: Machine) -> Diagnosis:
    return diagnosis_of(
        kinds.CUT_SHORT,
        evidence=_evidence(machine),
        commands=[set_variable(machine, _VARIABLE, ",".join(read.taken) or "0")],
        value=_value(machine) or "",
        entry=f'"{read.entry}"',
    )


# --- order and number -----------------------------------------------------------------------------


def check_order(machine: Machine) -> Iterator[Diagnosis]:
    """GPUs that CUDA numbers otherwise than NVML does."""
    seen = [g for g in whole_gpus(machine) if g.cuda_index is not None and g.index is not None]
    asked = _numbers(_value(machine))
    if len(seen) < 2 and asked is None:
        return
    by_cuda = sorted(seen, key=lambda gpu: gpu.cuda_index or 0)
    if _differs([gpu.index or 0 for gpu in by_cuda], asked):
        pairs = [f"CUDA {gpu.cuda_index} = NVML {gpu.index} ({gpu.name})" for gpu in by_cuda]
        order = dict(machine.variables).get("CUDA_DEVICE_ORDER") or "FASTEST_FIRST"
        yield diagnosis_of(
            driver_kinds.ORDER,
            evidence=[Evidence("CUDA_DEVICE_ORDER", order)],
            commands=[set_variable(machine, "CUDA_DEVICE_ORDER", "PCI_BUS_ID")],
            gpus=[gpu.uuid for gpu in by_cuda],
            pairs=", ".join(pairs),
        )


def _differs(indices: Sequence[int], asked: Sequence[int] | None) -> bool:
    """Whether NVML's numbers, in CUDA's order, are others than were asked for, or not upwards.

    A GPU that is missing shifts the numbers and changes no order.
    """
    if asked is not None:
        return any(number != index for number, index in zip(asked, indices, strict=False))
    return list(indices) != sorted(indices)


def _numbers(value: str | None) -> Sequence[int] | None:
    """The numbers in the variable; None where it is not set; none of them if it holds UUIDs."""
    if value is None:
        return None
    entries = [entry.strip() for entry in value.split(",")]
    return [int(entry) for entry in entries if entry.isdecimal() and len(entry) < 5]


def check_number(machine: Machine) -> Iterator[Diagnosis]:
    """GPUs that NVML names and CUDA doesn't, without a variable that hides them."""
    whole = [gpu for gpu in whole_gpus(machine) if not gpu.mig]
    hidden = [gpu for gpu in whole if gpu.visible is False and not gpu.errors]
    if _value(machine) is not None or not cuda_sees(machine) or not hidden:
        return
    yield diagnosis_of(
        kinds.FEWER,
        confidence=Confidence.POSSIBLE,
        evidence=[Evidence(f"nvml {gpu.index}", f"{gpu.name} {gpu.uuid}") for gpu in hidden],
        gpus=[gpu.uuid for gpu in hidden],
        count=str(len(whole)),
        seen=str(sum(bool(gpu.visible) for gpu in whole)),
        hidden=gpu_words(hidden),
    )


# --- MIG ------------------------------------------------------------------------------------------


def check_mig(machine: Machine) -> Iterator[Diagnosis]:
    """GPUs in MIG mode: without a slice, or with several of which a process sees one."""
    named = (_value(machine) or "").strip().startswith("MIG-")
    for gpu in whole_gpus(machine):
        slices = slices_of(gpu, machine)
        if gpu.mig and not slices:
            yield _no_slice(gpu, machine)
        elif len(slices) > 1 and not named:
            yield _one_slice(gpu, slices, machine)


def _no_slice(gpu: Gpu, machine: Machine) -> Diagnosis:
    sees = cuda_sees(machine)
    return diagnosis_of(
        kinds.NO_SLICE,
        severity=Severity.WARNING if sees else Severity.ERROR,
        evidence=[
            Evidence("nvml", f"{gpu.name}: MIG mode on, no device"),
            *source_evidence(machine, CUDA),
        ],
        gpus=(gpu.uuid,),
        devices=gpu_words([gpu]),
        index=str(gpu.index or 0),
    )


def _one_slice(gpu: Gpu, slices: tuple[Gpu, ...], machine: Machine) -> Diagnosis:
    seen = next((g for g in slices if g.visible), None)
    other = next((g for g in slices if g is not seen), slices[0])
    return diagnosis_of(
        kinds.ONE_SLICE,
        evidence=[Evidence("nvml", f"{g.name} {g.uuid}") for g in slices],
        commands=["nvidia-smi -L", set_variable(machine, _VARIABLE, other.uuid)],
        gpus=[g.uuid for g in slices],
        devices=gpu_words([gpu]),
        count=str(len(slices)),
        slice=seen.uuid if seen is not None else "",
    )
