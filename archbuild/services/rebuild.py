"""Build an installed package again for the GPUs that are here."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from archbuild.errors import BuildError, NotKnownError, UnreadableError, UsageError
from archbuild.model.config import Config
from archbuild.model.installed import CodePackage
from archbuild.model.machine import Machine
from archbuild.probe.installations import normal_name
from archbuild.probe.machine import query_machine
from archbuild.probe.packages import find_package
from archbuild.probe.provenance import write_origin
from archbuild.probe.resources import query_resources
from archbuild.rules.building.build_failure import explain_failure
from archbuild.rules.rebuilding.plan import RebuildPlan, plan_rebuild
from archbuild.rules.selecting.request import DETECTED, TORCH, choose_compiler, choose_request
from archbuild.rules.selecting.selection import select

# Of what pip prints, what is kept to find out why it failed.
_KEPT = 1 << 20


def plan(
    package: str,
    *,
    archs: str | None = None,
    source: str | None = None,
    machine: Machine | None = None,
) -> RebuildPlan:
    """Find out how a package was installed, and how it is built again for these GPUs.

    Args:
        package: The name of an installed package.
        archs: An architecture list in place of the GPUs.
        source: A folder or address in place of where it was installed from.
        machine: In place of this one.

    Raises:
        UsageError: If it is not installed, or pip can't build it.
        NotKnownError: If there is no GPU and no list, or no toolkit.
    """
    found = _find(package, machine)
    if found is None:
        recorded = machine is not None and machine.installed is not None
        where = "on that machine" if recorded else f"in this environment ({sys.prefix})"
        raise UsageError(
            f"{package} is not installed {where}, or holds no device code.",
            "Look at the names: pip list",
        )
    here = machine or query_machine()
    request = choose_request(here, option=archs, config=Config().archs)
    if request.source == TORCH or (request.text is None and request.source != DETECTED):
        raise NotKnownError(
            f"There is no GPU here to build {package} for.", 'Name some: --arch "RTX 4090, 12.0"'
        )
    selection = select(request, here, choose_compiler(here))
    return plan_rebuild(_from(found, source), here, selection, query_resources())


def _find(name: str, machine: Machine | None) -> CodePackage | None:
    """The package as it is installed: on the machine of a record, if that holds packages."""
    if machine is None or machine.installed is None or not machine.installed.packages:
        return find_package(name)
    wanted = normal_name(name)
    packages = machine.installed.packages
    return next((one for one in packages if normal_name(one.name) == wanted), None)


def _from(package: CodePackage, source: str | None) -> CodePackage:
    if source is None:
        return package
    path = Path(source)
    if "://" not in source and not path.exists():
        raise UsageError(f"{source} is not there.", "Name a folder with a pyproject.toml.")
    return replace(package, direct_url=source if "://" in source else str(path.resolve()))


def build_wheel(planned: RebuildPlan, folder: Path) -> Path:
    """Build the wheel into a folder; nothing that is installed is touched.

    What pip prints goes on to standard error.

    Args:
        planned: By :func:`plan`.
        folder: Where the wheel goes; empty.

    Returns:
        The wheel.

    Raises:
        NotKnownError: If this environment has no pip.
        BuildError: If the build fails.
    """
    _run(planned.build_words(str(folder)), dict(planned.environment), planned.package)
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise BuildError(
            f"pip left {len(wheels)} wheels of {planned.package}.", "See what it printed above."
        )
    return wheels[0]


def install_wheel(wheel: Path, planned: RebuildPlan) -> None:
    """Put a wheel in the place of what is installed; where that came from stays on record.

    Raises:
        NotKnownError: If this environment has no pip.
        BuildError: If pip fails.
    """
    _run(planned.install_words(str(wheel.parent)), {}, planned.package)
    if planned.origin is not None:
        write_origin(planned.package, planned.origin)


def keep_wheel(wheel: Path, folder: Path) -> Path:
    """Copy a wheel to where a person wants it.

    Raises:
        UnreadableError: If it can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy2(wheel, folder / wheel.name))
    except OSError as error:
        raise UnreadableError(
            f"{folder} cannot be written: {error.strerror}.", "Name another folder: --keep DIR"
        ) from None


def _run(words: tuple[str, ...], variables: dict[str, str], package: str) -> None:
    if importlib.util.find_spec("pip") is None:
        raise NotKnownError(
            f"There is no pip in this environment ({sys.prefix}).",
            "Put it there: python -m ensurepip, or uv pip install pip",
        )
    command = [sys.executable, "-m", "pip", *words]
    env = {**os.environ, **variables, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    said = bytearray()
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
            said += line
            del said[:-_KEPT]
    if process.returncode:
        told = explain_failure(said.decode(errors="replace"), process.returncode)
        why = f": {told.clause}" if told is not None else ""
        cure = told.cure if told is not None else "pip's own words stand above."
        raise BuildError(f"{package} could not be built or installed{why}.", cure)
