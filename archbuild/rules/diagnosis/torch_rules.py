"""torch against the GPUs and the driver: one finding for each thing that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from archbuild.model.arch import ComputeCapability
from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.installed import CodePackage
from archbuild.model.machine import Gpu, Machine, TorchBuild
from archbuild.rules.covering.code import GpuKind, Standing, gpu_kinds
from archbuild.rules.diagnosis import code_kinds as kinds
from archbuild.rules.diagnosis.code_findings import (
    by_cause,
    code_finding,
    main_files,
    other_files,
    split_ran,
)
from archbuild.rules.diagnosis.code_packages import (
    PackageStanding,
    cover,
    evidence_of,
    gpu_words,
    torch_package,
    uuids_of,
)
from archbuild.rules.diagnosis.cures import driver_commands, linalg_command, torch_command
from archbuild.rules.diagnosis.kind import diagnosis_of
from archbuild.rules.diagnosis.loading_kinds import DISAGREES
from archbuild.rules.diagnosis.no_torch import no_official_torch

_LOST = (Standing.NOTHING, Standing.ELSEWHERE)


def check_torch(machine: Machine) -> Iterator[Diagnosis]:
    """Whether torch is one for these GPUs, and whether its libraries serve them."""
    torch, found = machine.torch, gpu_kinds(machine)
    if torch is not None and torch.cuda is None and found:
        yield _without_cuda(torch, found, machine)
    package = torch_package(machine)
    if torch is None or torch.cuda is None or package is None:
        return
    if found:
        stood = [cover(package, kind, machine) for kind in found]
        yield from _check_main(package, stood, machine)
        yield from _check_libraries(package, stood, machine)
    else:
        yield from _check_differing(package, machine)


def _without_cuda(torch: TorchBuild, found: tuple[GpuKind, ...], machine: Machine) -> Diagnosis:
    command = torch_command(machine)
    return diagnosis_of(
        kinds.TORCH_CPU if torch.hip is None else kinds.TORCH_HIP,
        evidence=(Evidence(torch.root, torch.version),),
        commands=(command,) if command is not None else (),
        gpus=uuids_of(found),
        file=torch.root,
        version=torch.version,
        devices=gpu_words(found),
        board=board_of(machine),
        hip=torch.hip or "",
    )


def board_of(machine: Machine) -> str:
    """The Jetson that this is; empty where it is none."""
    around = machine.surroundings
    return (around.jetson or "") if around is not None else ""


# --- its main library -----------------------------------------------------------------------------


def _check_main(
    package: CodePackage, stood: list[PackageStanding], machine: Machine
) -> Iterator[Diagnosis]:
    sure = Confidence.CERTAIN if all(f.size for f in package.files) else Confidence.LIKELY
    ran, lost = split_ran(main_files(stood, *_LOST), machine)
    if ran:
        yield code_finding(DISAGREES, package, ran, machine, commands=DISAGREES.commands)
    if lost:
        shown = [file for s in stood for file in s.files]
        command = torch_command(machine)
        if command is None:
            served = [s.kind for s in stood if s.standing is Standing.SERVED]
            yield from no_official_torch(machine, served)
        yield code_finding(
            kinds.TORCH_NOTHING,
            package,
            lost,
            machine,
            commands=_newer(machine),
            shown=shown,
            confidence=sure,
            tag=_tag_of(command),
        )
    yield from _check_refused(package, stood, machine)
    if jit := main_files(stood, Standing.JIT):
        yield code_finding(kinds.TORCH_JIT, package, jit, machine, commands=_newer(machine))
    _, unknown = split_ran(main_files(stood, Standing.UNKNOWN), machine)
    if unknown:
        yield code_finding(kinds.TORCH_UNKNOWN, package, unknown, machine, board=board_of(machine))


def _check_refused(
    package: CodePackage, stood: list[PackageStanding], machine: Machine
) -> Iterator[Diagnosis]:
    """What the driver is too old for: SASS of a newer CUDA, or PTX."""
    for refused in by_cause(main_files(stood, Standing.REFUSED)):
        floors = [file.verdict.floor for file in refused if file.verdict is not None]
        floor = max((f for f in floors if f), key=lambda f: f.cuda, default=None)
        cuda = machine.torch.cuda if machine.torch is not None else None
        yield code_finding(
            kinds.TORCH_REFUSED,
            package,
            refused,
            machine,
            commands=(*driver_commands(floor, machine), *_newer(machine)),
            cuda=str(cuda or ""),
        )


def _tag_of(command: str | None) -> str:
    """``cu128`` of the command that installs it; empty where there is none."""
    if command is None:
        return ""
    index = re.search(r"/whl/(\w+)", command)
    return index[1] if index is not None else "CUDA"


def _newer(machine: Machine) -> tuple[str, ...]:
    command = torch_command(machine)
    return (command,) if command is not None else ()


# --- its other libraries --------------------------------------------------------------------------


def _check_libraries(
    package: CodePackage, stood: list[PackageStanding], machine: Machine
) -> Iterator[Diagnosis]:
    """Libraries that lack a GPU which the main one serves, and regions of the main one."""
    served = [s for s in stood if s.main is not None and s.main.standing not in _LOST]
    lacking = other_files(served, *_LOST) + main_files(served, Standing.PART)
    paths = dict.fromkeys(file.file.path for file in lacking)
    for path in paths:
        concerned = [file for file in lacking if file.file.path == path]
        yield code_finding(
            kinds.TORCH_LIBRARY,
            package,
            concerned,
            machine,
            commands=linalg_command(path, [file.kind for file in concerned], machine),
            shown=[file for s in served for file in s.files],
        )


#: Capabilities at which libraries of one package are held against each other with no GPU.
_ASKED = ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1")


def _check_differing(package: CodePackage, machine: Machine) -> Iterator[Diagnosis]:
    """With no GPU known: what a library lacks that the main one serves."""
    bare = replace(machine, driver=None)
    asked = [_kind_at(ComputeCapability.parse(number)) for number in _ASKED]
    stood = [cover(package, kind, bare) for kind in asked]
    served = [s for s in stood if s.main is not None and s.main.standing not in _LOST]
    lacking = other_files(served, *_LOST)
    for path in dict.fromkeys(file.file.path for file in lacking):
        concerned = [file for file in lacking if file.file.path == path]
        main = next(s.main for s in served if s.kind == concerned[0].kind)
        assert main is not None
        yield diagnosis_of(
            kinds.TORCH_DIFFERS,
            evidence=evidence_of((*concerned, main)),
            file=path,
            library=path,
            name=package.name,
            version=package.version,
            archs=", ".join(str(file.kind.capability) for file in concerned),
            main=main.file.path,
        )


def _kind_at(capability: ComputeCapability) -> GpuKind:
    return GpuKind(capability, (Gpu(f"any-{capability}", "any GPU", capability),))
