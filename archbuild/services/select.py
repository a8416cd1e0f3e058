"""Which architectures to build, here or on a recorded machine."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from archbuild.model.config import Config
from archbuild.model.machine import Machine
from archbuild.model.version import CudaVersion
from archbuild.probe.machine import query_machine
from archbuild.probe.torch_build import query_torch_archs
from archbuild.rules.request import (
    choose_compiler,
    choose_request,
    needs_gpus,
    needs_torch_archs,
)
from archbuild.rules.selection import Selection, select


@dataclass(frozen=True)
class Selected:
    """A selection, with the machine that it was made for.

    Args:
        selection: What to build.
        machine: As it was when the selection was made.
    """

    selection: Selection
    machine: Machine


def select_archs(
    arch: str | None = None,
    *,
    toolkit: str | None = None,
    cuda: CudaVersion | None = None,
    config: Config | None = None,
    machine: Machine | None = None,
    gpus: bool = False,
) -> Selected:
    """Decide what to build, asking the machine no more than the answer needs.

    Args:
        arch: An architecture list, as ``--arch`` takes it.
        toolkit: The root of the toolkit to use.
        cuda: A CUDA version to plan for where no nvcc is at hand.
        config: What the project says.
        machine: A recorded machine instead of this one.
        gpus: Ask for the GPUs also where the answer doesn't need them.

    Returns:
        The selection and the machine.

    Raises:
        ArchbuildError: As :func:`archbuild.rules.selection.select` and
            :func:`archbuild.rules.request.choose_compiler` do.
    """
    config = config or Config()
    if machine is None:
        asked = gpus or needs_gpus(os.environ, option=arch, config=config.archs)
        machine = query_machine(gpus=asked, toolkit=toolkit)
        machine = with_torch_archs(machine, arch, config)
    compiler = choose_compiler(machine, cuda)
    request = choose_request(machine, option=arch, config=config.archs)
    return Selected(select(request, machine, compiler), machine)


def with_torch_archs(machine: Machine, arch: str | None, config: Config) -> Machine:
    """The machine with torch's architectures, where they alone answer the request."""
    if machine.torch is None or not needs_torch_archs(machine, option=arch, config=config.archs):
        return machine
    return replace(machine, torch=replace(machine.torch, archs=query_torch_archs(machine.torch)))
