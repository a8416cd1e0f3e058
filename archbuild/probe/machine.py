"""Everything known about this machine as one value, which can be saved and read again."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from archbuild.errors import RecordError, UnreadableError
from archbuild.model.machine import VARIABLES, Absence, Machine, Toolkit, TorchBuild
from archbuild.probe.cuobjdump import find_cuobjdump
from archbuild.probe.places import this_processor
from archbuild.probe.toolkits import find_toolkits
from archbuild.probe.torch_build import find_torch
from archbuild.probe.writing import write_whole

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load

if TYPE_CHECKING:
    from archbuild.model.installed import Installed
    from archbuild.model.surroundings import Surroundings
    from archbuild.probe.gpu_join import GpuView

# A record of a thousand GPUs has less than a megabyte; a larger file is something else.
_RECORD_LIMIT = 16 << 20


@dataclass(frozen=True)
class _Software:
    """What is installed to build with."""

    toolkits: tuple[Toolkit, ...] = ()
    cuobjdump: str | None = None
    torch: TorchBuild | None = None
    absences: tuple[Absence, ...] = ()
    installed: Installed | None = None


def query_machine(
    *,
    environ: Mapping[str, str] | None = None,
    gpus: bool = True,
    toolkit: str | None = None,
    toolkits: bool = True,
    torch: bool = True,
    only_best: bool = False,
    deep: bool = False,
    packages: bool = True,
    root: Path = Path("/"),
) -> Machine:
    """Ask this machine, but for what the caller has no use for.

    Args:
        environ: The environment variables; None: this process's.
        gpus: Whether to ask for GPUs and driver.
        toolkit: The folder of a toolkit that comes first.
        toolkits: Whether to look for toolkits and cuobjdump.
        torch: Whether to look for torch.
        only_best: Leave it at a toolkit that no other can outrank, and at no
            cuobjdump: enough to say what can be built.
        deep: Also what stands around the GPUs, what is installed that holds device
            code, and the day.
        packages: With ``deep``, whether to read what is installed.
        root: The folder that holds ``proc``, ``sys`` and so on.

    Returns:
        The machine; what is missing is None or empty, with its reason.

    Raises:
        UsageError: If ``toolkit`` is no folder of a toolkit.
        ToolError: If the nvcc in ``toolkit`` does not work.
    """
    env = os.environ if environ is None else environ
    find = partial(_find_software, env, toolkit, torch=torch)
    if not toolkits:
        find = partial(_find_torch_alone, torch=torch)
    elif only_best:
        find = partial(_find_best, env, toolkit, torch=torch)
    around = partial(_around, env, root) if deep else None
    if deep and packages:
        find = partial(_with_installed, find, env)
    machine = _with_gpus(find, around, env, root) if gpus else _alone(find, around, env)
    return replace(machine, taken=time.strftime("%Y-%m-%d")) if deep else machine


def _alone(
    find: Callable[[], _Software], around: Callable[[], Surroundings] | None, env: Mapping[str, str]
) -> Machine:
    machine = _join(find(), env)
    return replace(machine, surroundings=around()) if around else machine


def _with_gpus(
    find: Callable[[], _Software],
    around: Callable[[], Surroundings] | None,
    env: Mapping[str, str],
    root: Path,
) -> Machine:
    from archbuild.probe.gpus import query_gpus  # noqa: PLC0415 -- costs what it costs only here

    views: list[GpuView] = []
    ask = partial(query_gpus, environ=env, kernel_module=root / "proc/driver/nvidia/version")
    # This mostly waits. It is no daemon: on an interrupt it still ends what it started.
    question = threading.Thread(target=lambda: views.append(ask()))
    question.start()
    try:
        surroundings = around() if around else None
        software = find()
    finally:
        question.join()
    view = views[0]
    machine = _join(software, env)
    return replace(
        machine,
        gpus=view.gpus,
        driver=view.driver,
        absences=(*view.absences, *machine.absences),
        surroundings=surroundings and replace(surroundings, sources=view.sources),
    )


def _around(env: Mapping[str, str], root: Path) -> Surroundings:
    from archbuild.probe.surroundings import query_surroundings  # noqa: PLC0415 -- only if asked

    return query_surroundings(root=root, environ=env)


def _with_installed(find: Callable[[], _Software], env: Mapping[str, str]) -> _Software:
    """The software, and what is installed that holds device code."""
    from archbuild.probe.installed import query_installed  # noqa: PLC0415 -- only if asked

    software = find()
    installed = query_installed(toolkits=software.toolkits, torch=software.torch, environ=env)
    return replace(software, installed=installed)


def _find_torch_alone(*, torch: bool) -> _Software:
    build, no_torch = find_torch() if torch else (None, ())
    return _Software(torch=build, absences=no_torch)


def _find_best(env: Mapping[str, str], explicit: str | None, *, torch: bool) -> _Software:
    build, no_torch = find_torch() if torch else (None, ())
    found, absences = find_toolkits(environ=env, torch=build, explicit=explicit, only_best=True)
    return _Software(found, None, build, (*absences, *no_torch))


def _find_software(env: Mapping[str, str], explicit: str | None, *, torch: bool) -> _Software:
    build, no_torch = find_torch() if torch else (None, ())
    found, absences = find_toolkits(environ=env, torch=build, explicit=explicit)
    cuobjdump, note = find_cuobjdump(found, environ=env)
    notes = (note,) if note else ()
    return _Software(found, cuobjdump, build, (*absences, *notes, *no_torch))


def _join(software: _Software, env: Mapping[str, str]) -> Machine:
    return Machine(
        system=sys.platform,
        processor=this_processor(),
        python=".".join(map(str, sys.version_info[:3])),
        toolkits=software.toolkits,
        torch=software.torch,
        cuobjdump=software.cuobjdump,
        variables=tuple((name, env[name]) for name in VARIABLES if name in env),
        absences=software.absences,
        installed=software.installed,
    )


def read_machine(path: str | Path) -> Machine:
    """Read a machine that :func:`write_machine` saved.

    Raises:
        RecordError: If the file is not there, cannot be read, is no record,
            or is of a newer archbuild.
    """
    from archbuild.model.record import parse_machine  # noqa: PLC0415 -- costs 10 ms

    try:
        with Path(path).open("rb") as file:
            data = file.read(_RECORD_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecordError(f"{path} cannot be read: {reason}.", _ADVICE) from None
    if len(data) > _RECORD_LIMIT:
        raise RecordError(f"{path} is too large for a machine record.", _ADVICE)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RecordError(f"{path} is no machine record: it is no text.", _ADVICE) from None
    return parse_machine(text, str(path))


_ADVICE = "Write one with: archbuild gpus --save FILE"


def write_machine(machine: Machine, path: str | Path) -> None:
    """Save a machine; a file that is there stays whole until the new one is.

    Raises:
        UnreadableError: If the file cannot be written.
    """
    from archbuild.model.record import render_machine  # noqa: PLC0415 -- costs 10 ms

    text = render_machine(machine)
    try:
        _write(Path(path).resolve(), text.encode())
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableError(
            f"{path} cannot be written: {reason}.", "Name a file in a folder that you may write to."
        ) from None


def _write(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(data)  # A pipe or a terminal, which nothing can take the place of.
        return
    write_whole(path, data)
