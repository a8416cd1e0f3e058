"""No official torch serves all GPUs of a machine: what is left."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from archbuild.facts.architectures import is_tegra
from archbuild.facts.toolkits import TOOLKITS
from archbuild.model.diagnosis import Diagnosis, Evidence
from archbuild.model.finding import Severity
from archbuild.model.machine import Machine
from archbuild.rules.covering.code import GpuKind, gpu_kinds
from archbuild.rules.covering.fit import NOTHING_FITS
from archbuild.rules.diagnosis import code_kinds as kinds
from archbuild.rules.diagnosis.code_packages import gpu_words, uuids_of
from archbuild.rules.diagnosis.cures import CPU_TORCH, set_variable, toolkits_for, torch_command
from archbuild.rules.diagnosis.kind import diagnosis_of


def check_no_torch(machine: Machine) -> Iterator[Diagnosis]:
    """With no torch there: a note where none could be had for all GPUs."""
    found = gpu_kinds(machine)
    unread = any(gpu.capability is None for gpu in machine.gpus)
    if machine.torch is None and found and not unread and torch_command(machine) is None:
        for finding in no_official_torch(machine):
            yield replace(finding, severity=Severity.NOTE)


def no_official_torch(machine: Machine, served: Collection[GpuKind] = ()) -> Iterator[Diagnosis]:
    """The finding that no official torch serves all GPUs; none on a Jetson, which has its own.

    Args:
        machine: The machine.
        served: What the installed torch serves: for these no other is installed.
    """
    found = gpu_kinds(machine)
    if any(is_tegra(kind.capability) is not False for kind in found):
        return
    best = best_part(machine)
    rest = [kind for kind in found if kind not in best]
    toolkits = toolkits_for(found)
    gone, oldest = _left_behind(found)
    yield diagnosis_of(
        kinds.NO_TORCH,
        evidence=[
            Evidence(gpu.uuid, f"{gpu.name} {kind.capability}")
            for kind in found
            for gpu in kind.gpus
        ],
        commands=_commands(machine, best, rest, there=set(best) <= set(served)),
        errors=NOTHING_FITS,
        gpus=uuids_of(found),
        devices=gpu_words(found),
        best=gpu_words(best),
        toolkit=str(toolkits[-1]) if toolkits else "",
        archs=f'"{";".join(str(kind.capability) for kind in found)}"',
        lost=gone,
        oldest=oldest,
    )


def _left_behind(found: Sequence[GpuKind]) -> tuple[str, str]:
    """The GPUs for which today's toolkits build nothing, and the last one that did."""
    newest = TOOLKITS[-1].version
    last = {kind: toolkits_for([kind]) for kind in found}
    gone = [kind for kind, versions in last.items() if versions and versions[-1].major < 12]
    if not gone or newest in toolkits_for(gone):
        return "", ""
    return gpu_words(gone), str(min(last[kind][-1] for kind in gone))


def best_part(machine: Machine) -> tuple[GpuKind, ...]:
    """The most GPUs that one official torch serves, newer ones first; empty: none at all."""
    found = gpu_kinds(machine)
    parts = [part for size in range(len(found) - 1, 0, -1) for part in combinations(found, size)]
    served = [part for part in parts if torch_command(_with(machine, part)) is not None]
    return max(served, key=_worth, default=())


def _worth(part: Sequence[GpuKind]) -> tuple[int, int]:
    return sum(len(kind.gpus) for kind in part), max(kind.capability.number for kind in part)


def _with(machine: Machine, part: Sequence[GpuKind]) -> Machine:
    return replace(machine, gpus=tuple(gpu for kind in part for gpu in kind.gpus))


def _commands(
    machine: Machine, best: Sequence[GpuKind], rest: Sequence[GpuKind], *, there: bool
) -> tuple[str, ...]:
    """The torch for the best part, unless it is there already, and the others hidden from it."""
    command = torch_command(_with(machine, best)) if best else None
    if command is None:
        return (CPU_TORCH,)
    shown = ",".join(gpu.uuid for kind in best for gpu in kind.gpus)
    hiding = (set_variable("CUDA_VISIBLE_DEVICES", shown, machine),) if rest else ()
    return hiding if there and hiding else (command, *hiding)
