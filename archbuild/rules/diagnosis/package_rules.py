"""Installed packages with device code against the GPUs, the driver and torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from archbuild.facts.architectures import find_capability_row
from archbuild.facts.cudnn import CudnnRow, cudnn_floor
from archbuild.model.coverage import Cause, DriverFloor
from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.installed import CodePackage
from archbuild.model.machine import Machine
from archbuild.rules.covering.code import FileStanding, GpuKind, Standing, gpu_kinds
from archbuild.rules.diagnosis import code_kinds as kinds
from archbuild.rules.diagnosis.code_findings import (
    by_cause,
    code_finding,
    main_files,
    other_files,
)
from archbuild.rules.diagnosis.code_packages import (
    PackageStanding,
    cover,
    gpu_words,
    is_torch,
    is_vendor,
    packages_to_judge,
    torch_package,
    uuids_of,
)
from archbuild.rules.diagnosis.cures import (
    driver_commands,
    package_commands,
    reinstall,
    torch_command,
)
from archbuild.rules.diagnosis.kind import Kind, diagnosis_of

_LOST = (Standing.NOTHING, Standing.ELSEWHERE)
_BY_CAUSE = {Cause.PTX_TOO_NEW: kinds.PACKAGE_PTX, Cause.DRIVER_TOO_OLD: kinds.PACKAGE_REFUSED}
_CUDNN_PACKAGE = re.compile(r"nvidia-cudnn-cu\d+")


def check_packages(machine: Machine) -> Iterator[Diagnosis]:
    """Each package with device code, on every kind of GPU here."""
    found = gpu_kinds(machine)
    for package in packages_to_judge(machine):
        stood = [cover(package, kind, machine) for kind in found]
        if is_vendor(package):
            stood = [s for s in stood if _torch_serves(s.kind, machine)]
        yield from _check_main(package, stood, machine)
        yield from _check_refused(package, stood, machine)
        if not is_vendor(package):
            yield from _check_others(package, stood, machine)
        yield from _check_hip(package, found)


def _torch_serves(kind: GpuKind, machine: Machine) -> bool:
    """Whether torch, which brings NVIDIA's libraries, is not what lacks these GPUs."""
    torch = torch_package(machine)
    return torch is None or cover(torch, kind, machine).standing not in _LOST


def _check_main(
    package: CodePackage, stood: list[PackageStanding], machine: Machine
) -> Iterator[Diagnosis]:
    shown = [file for s in stood for file in s.files]
    for kind, standings in (
        (kinds.PACKAGE_NOTHING, _LOST),
        (kinds.PACKAGE_JIT, (Standing.JIT,)),
        (kinds.PACKAGE_UNKNOWN, (Standing.UNKNOWN,)),
    ):
        if concerned := main_files(stood, *standings):
            yield _finding(kind, package, concerned, machine, shown)


def _check_refused(
    package: CodePackage, stood: list[PackageStanding], machine: Machine
) -> Iterator[Diagnosis]:
    """What the driver refuses, in any library."""
    refused = main_files(stood, Standing.REFUSED) + other_files(stood, Standing.REFUSED)
    for concerned in by_cause(refused):
        verdict = concerned[0].verdict
        assert verdict is not None
        yield _finding(_BY_CAUSE[verdict.cause], package, concerned, machine, ())


def _check_others(
    package: CodePackage, stood: list[PackageStanding], machine: Machine
) -> Iterator[Diagnosis]:
    """What one of several libraries lacks, or a part of its regions."""
    served = [s for s in stood if s.standing not in _LOST]
    partly = main_files(served, Standing.PART) + other_files(served, Standing.PART)
    for kind, lacking in (
        (kinds.PACKAGE_LIBRARY, other_files(served, Standing.NOTHING)),
        (kinds.PACKAGE_PART, partly),
    ):
        for path in dict.fromkeys(file.file.path for file in lacking):
            concerned = tuple(file for file in lacking if file.file.path == path)
            yield _finding(kind, package, concerned, machine, ())


def _finding(
    kind: Kind,
    package: CodePackage,
    concerned: Iterable[FileStanding],
    machine: Machine,
    shown: Iterable[FileStanding],
) -> Diagnosis:
    files = list(concerned)
    places = tuple(dict.fromkeys(file.kind for file in files))
    floor = _floor(files)
    commands = list(package_commands(package, places, machine))
    if kind in _BY_CAUSE.values():
        driver = driver_commands(floor, machine)
        commands = [*commands, *driver] if package.requires_torch else [*driver, *commands]
    return code_finding(kind, package, files, machine, commands=commands, shown=shown)


def _floor(files: Iterable[FileStanding]) -> DriverFloor | None:
    floors = [file.verdict.floor for file in files if file.verdict is not None]
    return max((floor for floor in floors if floor), key=lambda f: f.cuda, default=None)


def _check_hip(package: CodePackage, found: tuple[GpuKind, ...]) -> Iterator[Diagnosis]:
    code = [file for file in package.files if file.hip or file.groups]
    if found and code and all(file.hip and not file.groups for file in code):
        yield diagnosis_of(
            kinds.PACKAGE_HIP,
            evidence=[Evidence(file.path, "hip") for file in code],
            commands=(f"pip install --force-reinstall {package.name}",),
            gpus=uuids_of(found),
            file=code[0].path,
            name=package.name,
            version=package.version,
            devices=gpu_words(found),
        )


# --- what holds whatever the GPU ------------------------------------------------------------------


def check_readable(machine: Machine) -> Iterator[Diagnosis]:
    """Libraries that could not be read, of which nothing can be said."""
    installed = machine.installed
    for package in installed.packages if installed is not None else ():
        for file in package.files:
            if file.trouble:
                yield diagnosis_of(
                    kinds.UNREADABLE,
                    evidence=(Evidence(file.path, file.trouble),),
                    commands=(reinstall(package.name, package.version),),
                    file=file.path,
                    library=file.path,
                    name=package.name,
                    version=package.version,
                    trouble=file.trouble.rstrip("."),
                )


def check_built_for(machine: Machine) -> Iterator[Diagnosis]:
    """Extensions that were built for another torch than the one installed."""
    installed, torch = machine.installed, machine.torch
    for package in installed.packages if installed is not None and torch is not None else ():
        assert torch is not None
        if is_torch(package) or package.built_for is None:
            continue
        if _series(package.built_for) != _series(torch.version):
            yield diagnosis_of(
                kinds.OTHER_TORCH,
                confidence=Confidence.LIKELY,
                evidence=(
                    Evidence(package.name, package.built_for),
                    Evidence(torch.root, torch.version),
                ),
                commands=package_commands(package, gpu_kinds(machine), machine),
                file=package.files[0].path if package.files else None,
                name=package.name,
                version=package.version,
                built=package.built_for,
                torch=torch.version,
            )


def _series(version: str) -> tuple[str, ...]:
    """``2.7`` of 2.7.1+cu126: what an extension is bound to."""
    return tuple(version.split("+", maxsplit=1)[0].split(".")[:2])


def check_cudnn(machine: Machine) -> Iterator[Diagnosis]:
    """Whether cuDNN still has the GPUs: a floor of its own."""
    version, package = _cudnn(machine)
    if version is None:
        return
    lost: dict[tuple[CudnnRow, str], list[GpuKind]] = {}
    for kind in gpu_kinds(machine):
        row = find_capability_row(kind.capability)
        floor = cudnn_floor(version, row.generation) if row is not None and not row.tegra else None
        if row is not None and floor is not None:
            lost.setdefault((floor, row.generation), []).append(kind)
    for (floor, generation), found in lost.items():
        yield diagnosis_of(
            kinds.CUDNN,
            evidence=(Evidence(package, version), Evidence(floor.source, floor.date.isoformat())),
            commands=_older_cudnn(package, floor, machine),
            gpus=uuids_of(found),
            version=version,
            devices=gpu_words(found),
            generation=generation,
            below=floor.below,
        )


def _older_cudnn(package: str, floor: CudnnRow, machine: Machine) -> tuple[str, ...]:
    """The command that gets an older cuDNN; of CUDA 13 there never was one."""
    if package.endswith("cu13"):
        command = torch_command(machine) if machine.torch is not None else None
        return (command,) if command is not None else ()
    return (f'pip install "{package}<{floor.below}"',)


def _cudnn(machine: Machine) -> tuple[str | None, str]:
    """The cuDNN that would be loaded, and the package that brings it."""
    installed, torch = machine.installed, machine.torch
    if installed is None:
        return None, ""
    found = [d for d in installed.distributions if _CUDNN_PACKAGE.fullmatch(d.name.lower())]
    cuda = torch.cuda if torch is not None else None
    name = found[0].name if found else f"nvidia-cudnn-cu{cuda.major if cuda is not None else 12}"
    return installed.cudnn or (found[0].version if found else None), name
