"""GPUs that fail, each for itself, and sources that hang or crash."""

from __future__ import annotations

from collections.abc import Iterator

from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.machine import Gpu, Machine
from archbuild.rules.diagnosis import driver_kinds as kinds
from archbuild.rules.diagnosis.kind import diagnosis_of
from archbuild.rules.diagnosis.sight import (
    LOST,
    NVML,
    SMI,
    around,
    broke_off,
    code_of,
    cuda_sees,
    gpu_words,
    source_evidence,
    whole_gpus,
)

_LOST = ("gpu is lost", "fallen off the bus", "requires reset", "reset required")
#: What is asked first of a GPU, so that an error there is the GPU's and not the question's.
_FIRST = ("anything", "uuid", "name", "pci")


def check_gpus(machine: Machine) -> Iterator[Diagnosis]:
    """GPUs that are lost, or that give errors where others don't."""
    for gpu in whole_gpus(machine):
        if _is_lost(gpu):
            yield _lost([gpu], machine)
        elif _fails(gpu):
            yield _failing(gpu, machine)
    told = LOST in (code_of(machine, NVML), code_of(machine, SMI))
    if told and not any(map(_is_lost, machine.gpus)):
        yield _lost([], machine)


def _is_lost(gpu: Gpu) -> bool:
    return any(sign in error.lower() for error in gpu.errors for sign in _LOST)


def _fails(gpu: Gpu) -> bool:
    """Whether something of it failed that every GPU can tell."""
    if gpu.errors and gpu.capability is None:
        return True
    if any(f" {field}:" in f" {error}" for error in gpu.errors for field in _FIRST):
        return True
    return bool(gpu.errors) and gpu.visible is False


def _lost(gpus: list[Gpu], machine: Machine) -> Diagnosis:
    seen = [Evidence(f"GPU {gpu.index}", error) for gpu in gpus for error in gpu.errors]
    return diagnosis_of(
        kinds.LOST,
        evidence=[*seen, *source_evidence(machine)],
        gpus=_uuids(gpus),
        devices=gpu_words(gpus),
    )


def _failing(gpu: Gpu, machine: Machine) -> Diagnosis:
    return diagnosis_of(
        kinds.GPU_FAILS,
        confidence=Confidence.LIKELY,
        evidence=[
            *(Evidence(f"GPU {gpu.index}", error) for error in gpu.errors),
            *source_evidence(machine),
        ],
        gpus=_uuids([gpu]),
        devices=gpu_words([gpu]),
        said=gpu.errors[0].rpartition(": ")[2],
    )


def _uuids(gpus: list[Gpu]) -> tuple[str, ...]:
    """Of a GPU that cannot be asked not even that is known."""
    return tuple(gpu.uuid or f"NVML-{gpu.index}" for gpu in gpus)


# --- sources --------------------------------------------------------------------------------------


def check_sources(machine: Machine) -> Iterator[Diagnosis]:
    """Sources that hang, and sources that crash."""
    broken = [s for s in around(machine).sources if broke_off(s)]
    names = [s.source for s in broken]
    if names:
        yield diagnosis_of(
            kinds.NO_ANSWER,
            confidence=Confidence.LIKELY if cuda_sees(machine) else Confidence.CERTAIN,
            evidence=source_evidence(machine, *names),
            sources=", ".join(names),
            said=", ".join(dict.fromkeys(s.said for s in broken if s.said)) or "nothing",
        )
