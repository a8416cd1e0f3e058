"""Which architectures to build, here or on a recorded machine."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from functools import partial

from archbuild.model.config import Config
from archbuild.model.machine import Machine
from archbuild.model.version import CudaVersion
from archbuild.probe.machine import query_machine
from archbuild.probe.torch_build import query_torch_archs
from archbuild.rules.selecting.request import (
    Compiler,
    Request,
    choose_compiler,
    choose_request,
    needs_gpus,
    needs_torch_archs,
)

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from archbuild.rules.covering.places import Member
    from archbuild.rules.selecting.fleet import Outlook
    from archbuild.rules.selecting.selection import Selection


@dataclass(frozen=True)
class Selected:
    """A selection, with the machine that it was made for.

    Args:
        selection: What to build.
        machine: As it was when the selection was made.
        outlooks: What the build will do on each of several recorded machines.
        members: Their names, also of those without a GPU.
    """

    selection: Selection
    machine: Machine
    outlooks: tuple[Outlook, ...] = ()
    members: tuple[str, ...] = ()


def select_archs(
    arch: str | None = None,
    *,
    toolkit: str | None = None,
    cuda: CudaVersion | None = None,
    config: Config | None = None,
    machine: Machine | None = None,
    gpus: bool = False,
    name: str = "--arch",
    only_best: bool = False,
    machines: Sequence[Member] = (),
) -> Selected:
    """Decide what to build, asking the machine no more than the answer needs.

    Args:
        arch: An architecture list, as ``--arch`` takes it.
        toolkit: The root of the toolkit to use.
        cuda: A CUDA version to plan for where no nvcc is at hand.
        config: What the project says.
        machine: A recorded machine instead of this one.
        gpus: Ask for the GPUs also where the answer doesn't need them.
        name: Where ``arch`` was written, for people.
        only_best: Ask no more toolkits than the selection needs, and for no
            cuobjdump.
        machines: Recorded machines to build for, all with one list; without ``arch``
            it is made of their GPUs. ``machine`` then is the one that builds.

    Returns:
        The selection and the machine.

    Raises:
        ArchbuildError: As :func:`archbuild.rules.selecting.selection.select` and
            :func:`archbuild.rules.selecting.request.choose_compiler` do.
    """
    config = config or Config()
    question = None
    if machine is None:
        asked = gpus or (not machines and needs_gpus(os.environ, option=arch, config=config.archs))
        question = _Question(gpus=asked, toolkit=toolkit, only_best=only_best)
    # The rules are loaded while nvcc and the driver think about their answers.
    from archbuild.rules.selecting.selection import select  # noqa: PLC0415

    if question is not None:
        machine = question.answer()
        if not machines:
            machine = with_torch_archs(machine, arch, config)
    assert machine is not None
    compiler = choose_compiler(machine, cuda)
    if machines:
        return _select_for(machines, arch, machine, compiler)
    request = choose_request(machine, option=arch, config=config.archs, name=name)
    return Selected(select(request, machine, compiler), machine)


def _select_for(
    members: Sequence[Member], arch: str | None, builder: Machine, compiler: Compiler
) -> Selected:
    """One selection for several machines, and what it does on each."""
    from archbuild.rules.selecting import fleet  # noqa: PLC0415 -- as above
    from archbuild.rules.selecting.selection import select  # noqa: PLC0415

    machine = fleet.with_fleet(builder, members)
    native = arch is None or arch.strip().lower() == "native"
    request = fleet.fleet_request(builder, members) if native else Request("--arch", arch)
    selection = select(request, machine, compiler)
    outlooks = fleet.foresee(selection, members)
    warnings = (*selection.warnings, *fleet.fleet_warnings(outlooks))
    if native:
        warnings += fleet.older_toolkit(outlooks, selection.compiler.version)
    names = tuple(member.name for member in members)
    return Selected(replace(selection, warnings=warnings), machine, outlooks, names)


def with_torch_archs(machine: Machine, arch: str | None, config: Config) -> Machine:
    """The machine with torch's architectures, where they alone answer the request."""
    if machine.torch is None or not needs_torch_archs(machine, option=arch, config=config.archs):
        return machine
    return replace(machine, torch=replace(machine.torch, archs=query_torch_archs(machine.torch)))


class _Question(threading.Thread):
    """The question for the machine, which mostly waits for other programs."""

    def __init__(self, *, gpus: bool, toolkit: str | None, only_best: bool) -> None:
        super().__init__(name="archbuild-machine")
        self._ask = partial(query_machine, gpus=gpus, toolkit=toolkit, only_best=only_best)
        self._answer: Machine | BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._answer = self._ask()
        except BaseException as error:
            self._answer = error

    def answer(self) -> Machine:
        """The machine; what asking for it raised is raised here."""
        self.join()
        if isinstance(self._answer, BaseException):
            raise self._answer
        assert self._answer is not None
        return self._answer
