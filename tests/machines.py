"""Machines, toolkits and selections made of model values: no tool is asked."""

from __future__ import annotations

from collections.abc import Iterable

from archbuild.facts.toolkits import find_toolkit_row
from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.machine import Absence, Gpu, Machine, Toolkit, TorchBuild
from archbuild.model.version import CudaVersion
from archbuild.rules.selecting.request import choose_compiler, choose_request
from archbuild.rules.selecting.selection import Selection, select

#: Releases before and after every large change of what nvcc builds.
RELEASES = ("11.7", "11.8", "12.4", "12.9", "13.0", "13.5")


def toolkit(version: str, **fields: object) -> Toolkit:
    """The toolkit of a release, with what the table says that it builds."""
    row = find_toolkit_row(CudaVersion.parse(version))
    assert row is not None
    archs = tuple(sorted({*row.archs, *(arch.virtual for arch in row.archs)}))
    values = {
        "root": f"/opt/cuda-{version}",
        "nvcc": f"/opt/cuda-{version}/bin/nvcc",
        "version": row.version,
        "release": f"{version}.88",
        "archs": archs,
        "found_by": ("PATH",),
    }
    return Toolkit(**{**values, **fields})  # type: ignore[arg-type]


def gpus(*capabilities: str | None) -> tuple[Gpu, ...]:
    """A GPU for each capability; None is one that nobody could read."""
    return tuple(
        Gpu(
            f"GPU-{index}",
            f"Card{index}",
            ComputeCapability.parse(capability) if capability else None,
            index=index,
        )
        for index, capability in enumerate(capabilities)
    )


def torch_build(cuda: str | None = "13.0", archs: str | None = None) -> TorchBuild:
    """A torch, and what it holds: ``"sm_80 sm_90"``."""
    return TorchBuild(
        "2.14.1",
        "/env/torch",
        CudaVersion.parse(cuda) if cuda else None,
        archs=tuple(map(Arch.parse, archs.split())) if archs is not None else None,
    )


def machine(
    version: str | None = "13.0",
    *capabilities: str | None,
    torch: TorchBuild | None = None,
    absences: Iterable[tuple[str, str]] = (),
    **variables: str,
) -> Machine:
    """A machine with the toolkit of a release, these GPUs and these variables."""
    return Machine(
        "linux",
        "x86_64",
        "3.12.1",
        gpus=gpus(*capabilities),
        toolkits=(toolkit(version),) if version else (),
        torch=torch,
        variables=tuple(variables.items()),
        absences=tuple(Absence(what, reason) for what, reason in absences),
    )


def choose(
    subject: Machine,
    option: str | None = None,
    *,
    config: str | None = None,
    cuda: str | None = None,
) -> Selection:
    """The selection on a machine, the whole way from the request."""
    request = choose_request(subject, option=option, config=config)
    compiler = choose_compiler(subject, CudaVersion.parse(cuda) if cuda else None)
    return select(request, subject, compiler)


def names(archs: Iterable[Arch]) -> list[str]:
    """The architectures as nvcc names them."""
    return [str(arch) for arch in archs]
