"""Toolkit and host compiler: whether extensions for these GPUs and this torch can be built."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from archbuild.model.arch import Arch, Stage
from archbuild.model.diagnosis import Diagnosis, Evidence
from archbuild.model.machine import Machine, Toolkit
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.code import GpuKind, destination_of, gpu_kinds
from archbuild.rules.covering.drivers import sass_floor, takes_sass
from archbuild.rules.covering.fit import DRIVER_TOO_OLD
from archbuild.rules.covering.reach import Reach, best_reach, nearest_virtual
from archbuild.rules.diagnosis import loading_kinds as kinds
from archbuild.rules.diagnosis.code_packages import gpu_words, uuids_of
from archbuild.rules.diagnosis.cures import (
    driver_commands,
    driver_of,
    floor_of,
    toolkit_command,
    toolkits_for,
)
from archbuild.rules.diagnosis.kind import diagnosis_of
from archbuild.rules.diagnosis.package_rules import check_built_for, check_packages

_APT = re.compile(r"ubuntu|debian")


def check_toolkit(machine: Machine) -> Iterator[Diagnosis]:
    """The toolkit that builds would take."""
    toolkit = machine.toolkit
    if toolkit is None:
        yield from _check_absent(machine)
        return
    yield from _check_misfit(toolkit, machine)
    yield from _check_gpus(toolkit, machine)
    yield from _check_driver(toolkit, machine)
    yield from _check_host(toolkit, machine)


def _check_absent(machine: Machine) -> Iterator[Diagnosis]:
    """No nvcc matters only where something has to be built."""
    torch, installed = machine.torch, machine.installed
    packages = installed.packages if installed is not None else ()
    of_torch = {package.name for package in packages if package.requires_torch}
    found = (*check_packages(machine), *check_built_for(machine))
    names = dict.fromkeys(
        name
        for finding in found
        if finding.code in ("D350", "D351", "D352", "D356")
        and (name := dict(finding.values).get("name")) in of_torch
    )
    if not names or torch is None or torch.cuda is None:
        return
    yield diagnosis_of(
        kinds.NO_TOOLKIT,
        evidence=(Evidence("nvcc", machine.absence("toolkit") or "-"),),
        commands=(toolkit_command(torch.cuda),),
        names=", ".join(name for name in names if name),
        cuda=str(torch.cuda),
    )


def _torch_cuda(machine: Machine) -> CudaVersion | None:
    return machine.torch.cuda if machine.torch is not None else None


def _check_misfit(toolkit: Toolkit, machine: Machine) -> Iterator[Diagnosis]:
    torch, cuda = machine.torch, _torch_cuda(machine)
    if torch is None or cuda is None or cuda.major == toolkit.version.major:
        return
    yield diagnosis_of(
        kinds.TOOLKIT_MISFIT,
        evidence=(
            Evidence(toolkit.nvcc, toolkit.release),
            Evidence(torch.root, f"{torch.version}, CUDA {cuda}"),
        ),
        commands=(toolkit_command(cuda),),
        file=toolkit.nvcc,
        version=str(toolkit.version),
        nvcc=toolkit.nvcc,
        torch=torch.version,
        cuda=str(cuda),
    )


def _check_gpus(toolkit: Toolkit, machine: Machine) -> Iterator[Diagnosis]:
    """GPUs for which this nvcc builds nothing that runs as it is."""
    lacking = [
        kind
        for kind in gpu_kinds(machine)
        if best_reach(toolkit.archs, kind.capability) in (Reach.NONE, Reach.JIT)
    ]
    if not lacking:
        return
    builders = toolkits_for(lacking)
    below = nearest_virtual(toolkit.archs, min(kind.capability for kind in lacking))
    wanted = _choose(builders, machine)
    yield diagnosis_of(
        kinds.TOOLKIT_TOO_OLD,
        evidence=_offers(machine.toolkits, lacking),
        commands=(toolkit_command(wanted),) if wanted is not None else (),
        gpus=uuids_of(lacking),
        file=toolkit.nvcc,
        version=str(toolkit.version),
        nvcc=toolkit.nvcc,
        devices=gpu_words(lacking),
        ptx=below.dotted if below is not None else "",
        first=str(builders[0]) if builders else "?",
        last=str(builders[-1]) if builders else "",
        archs=", ".join(str(kind.capability) for kind in lacking),
    )


def _choose(builders: Sequence[CudaVersion], machine: Machine) -> CudaVersion | None:
    """Of the releases that build for the GPUs that of torch, or the newest of its major."""
    cuda = _torch_cuda(machine)
    fitting = [v for v in builders if cuda is None or v.major == cuda.major]
    return cuda if cuda in builders else next(reversed(fitting or list(builders)), None)


def _offers(toolkits: Sequence[Toolkit], lacking: Sequence[GpuKind]) -> list[Evidence]:
    """What each toolkit here would build for them."""
    return [
        Evidence(
            toolkit.nvcc,
            ", ".join(
                f"{kind.capability}: {best_reach(toolkit.archs, kind.capability).value}"
                for kind in lacking
            ),
        )
        for toolkit in toolkits
    ]


def _check_driver(toolkit: Toolkit, machine: Machine) -> Iterator[Diagnosis]:
    """What this nvcc builds on a driver that is older than its whole major version."""
    refused = [
        kind
        for kind in gpu_kinds(machine)
        if takes_sass(
            destination_of(kind.capability, machine),
            Arch(Stage.REAL, kind.capability),
            toolkit.version,
        )
        is False
    ]
    if not refused:
        return
    windows = destination_of(refused[0].capability, machine).windows
    floor = sass_floor(toolkit.version, windows=windows)
    yield diagnosis_of(
        kinds.TOOLKIT_TOO_NEW,
        evidence=(
            Evidence(toolkit.nvcc, toolkit.release),
            Evidence("driver", driver_of(machine)),
        ),
        commands=driver_commands(floor, machine),
        errors=DRIVER_TOO_OLD,
        gpus=uuids_of(refused),
        file=toolkit.nvcc,
        version=str(toolkit.version),
        floor=floor_of(floor) or f"CUDA {toolkit.version}",
        driver=driver_of(machine),
    )


def _check_host(toolkit: Toolkit, machine: Machine) -> Iterator[Diagnosis]:
    installed = machine.installed
    host = installed.host if installed is not None else None
    if host is None or host.path is not None:
        return
    around = machine.surroundings
    apt = around is not None and _APT.match(around.distribution or "") is not None
    gcc = re.fullmatch(r"gcc (\d+)", host.most or "")
    yield diagnosis_of(
        kinds.NO_HOST,
        evidence=[
            Evidence(toolkit.nvcc, toolkit.release),
            *(Evidence("g++", o) for o in host.others),
        ],
        commands=(f"sudo apt install g++-{gcc[1]}",) if apt and gcc is not None else (),
        file=toolkit.nvcc,
        version=str(toolkit.version),
        most=host.most or "",
        others=", ".join(host.others),
    )
