"""The command that installs the torch for a machine: the cure of many findings."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from archbuild.errors import NoGpuError, UsageError
from archbuild.facts.torch_wheels import INDEX
from archbuild.model.coverage import Destination
from archbuild.model.machine import Machine
from archbuild.rules.covering.drivers import knows_device
from archbuild.rules.recommending.choosing import recommend
from archbuild.rules.recommending.result import Combination, Outcome, Wish
from archbuild.rules.recommending.wish import make_wish


def install_command(machine: Machine) -> str | None:
    """The command that installs the newest torch which serves every GPU of a machine.

    Args:
        machine: With its GPUs, driver and Python.

    Returns:
        A line for a shell; None where no wheel is known to serve all of them.
    """
    try:
        answer = recommend(make_wish(_with_driver_to_come(machine), seen=True), date.max)
    except (NoGpuError, UsageError):
        return None
    if answer.best is None or answer.outcome not in (Outcome.ALL, Outcome.PARTLY):
        return None
    return pip_command(answer.best, answer.wish)


def _with_driver_to_come(machine: Machine) -> Machine:
    """Without its driver, where that doesn't know a GPU: another one has to come first."""
    windows = machine.system == "win32" or bool(machine.surroundings and machine.surroundings.wsl)
    known = [gpu.capability for gpu in machine.gpus if gpu.capability is not None]
    places = (Destination(capability, machine.driver, windows) for capability in known)
    if machine.driver is None or all(knows_device(place) is not False for place in places):
        return machine
    return replace(machine, driver=None)


def requirement(combination: Combination) -> str:
    """What stands on a requirement line: ``torch==2.14.*``."""
    return f"torch=={combination.torch}.*"


def index_of(combination: Combination) -> str:
    """The index that has this wheel."""
    return f"{INDEX}/{combination.tag}"


def pip_command(combination: Combination, wish: Wish) -> str:
    """The line for pip.

    A torch of the same release and another CUDA counts as installed to pip, which
    then leaves it; so it has to be told.

    Args:
        combination: What to install.
        wish: For the torch that is installed.
    """
    again = " --force-reinstall" if is_in_the_way(combination, wish) else ""
    return f'pip install{again} "{requirement(combination)}" --index-url {index_of(combination)}'


def uv_command(combination: Combination, wish: Wish) -> str:
    """The line for uv; see :func:`pip_command`."""
    again = " --reinstall-package torch" if is_in_the_way(combination, wish) else ""
    return f'uv pip install{again} "{requirement(combination)}" --index-url {index_of(combination)}'


def is_in_the_way(combination: Combination, wish: Wish) -> bool:
    """Whether the same release with another CUDA is installed."""
    own = wish.installed
    return own is not None and own.torch == combination.torch and own.cuda != combination.cuda
