"""Builds the CUDA extensions of one setup.py, with torch or without."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archbuild.build.beside import manifest_path
from archbuild.build.cuda_stub import cuda_link_folder
from archbuild.build.engine import start_over
from archbuild.build.flavour import Flavour
from archbuild.build.folder import VARIABLE, build_folder, can_be_written
from archbuild.build.launcher import VARIABLE as LAUNCHER
from archbuild.build.launcher import prepare_launcher
from archbuild.build.link_folder import make_link_folder
from archbuild.build.verify_mode import VerifyMode, parse_verify_mode
from archbuild.cpp_extension.checks import (
    log_selection,
    prove_toolchain,
    require_cuobjdump,
    says_native,
)
from archbuild.cpp_extension.compiling import Compiling, Setting
from archbuild.cpp_extension.planning import PlannedExtension, plan_one
from archbuild.cpp_extension.running import make_running
from archbuild.errors import ArchbuildError
from archbuild.model.config import Config
from archbuild.model.launcher import Launcher
from archbuild.model.machine import Machine, Toolkit
from archbuild.probe.project import read_config
from archbuild.rules.selecting.request import unheeded
from archbuild.rules.selecting.source_table import unmatched_sources
from archbuild.services.select import select_archs

_log = logging.getLogger(__name__)

# Programs that nvcc calls, and that ccache does not look at.
_TOOLS = ("ptxas", "cudafe++", "fatbinary")


@dataclass(frozen=True)
class Builder:
    """What is the same for all CUDA extensions of one project, and their plans.

    Args:
        plans: Each extension's, by its name.
        setting: How they are compiled.
        mode: How much is checked.
        cuobjdump: The second reader; None: archbuild's own alone.
    """

    plans: Mapping[str, PlannedExtension]
    setting: Setting
    mode: VerifyMode
    cuobjdump: str | None

    def build(self, command: Any, extension: Any, run: Callable[[], None]) -> None:
        """Build one extension; a library that lacks a target is not left behind.

        Args:
            command: The ``build_ext`` command.
            extension: The extension.
            run: setuptools' or torch's own build of it, which is given our compiler.

        Raises:
            ArchbuildError: If it cannot be built, or is not good.
        """
        planned = self.plans[extension.name]
        folder = _folder(command, extension.name)
        if command.from_scratch:
            start_over(self.setting.root / folder, self.setting.running.on_say)
        compiling = Compiling(planned, folder, self.setting, command.compiler)
        with compiling.in_place(), _forced(command), _without(extension, planned):
            run()
        library = Path(command.get_ext_fullpath(extension.name))
        if not compiling.linked and manifest_path(library).exists():
            return
        # Here: they read device code, and of most builds nothing is new.
        from archbuild.cpp_extension.proving import check_built  # noqa: PLC0415
        from archbuild.cpp_extension.recording import record  # noqa: PLC0415

        try:
            if self.mode is not VerifyMode.OFF:
                check_built(planned.sources, compiling.objects, library, self.cuobjdump)
            limited = bool(getattr(extension, "py_limited_api", False))
            record(library, planned, compiling, self.setting, limited=limited)
        except ArchbuildError:
            library.unlink(missing_ok=True)
            manifest_path(library).unlink(missing_ok=True)
            raise
        if self.mode is not VerifyMode.OFF:  # else nobody has found it good
            compiling.settle(library)


def prepare(
    command: Any,
    extensions: Sequence[Any],
    flavour: Flavour,
    *,
    toolkit: str | None = None,
    torch: str | None = None,
    torch_folder: str | None = None,
    machine: Machine | None = None,
) -> Builder:
    """Choose the architectures, plan every extension, and prove the toolchain.

    Args:
        command: The ``build_ext`` command.
        extensions: Those with CUDA sources.
        flavour: How their compilers are called.
        toolkit: The root of the toolkit to use; None: the best there is.
        torch: The version compiled against; None without torch.
        torch_folder: Where it lies.
        machine: As it was before torch was told of the toolkit; None: as it is.

    Raises:
        ArchbuildError: If something cannot be built.
    """
    config = read_config()
    chosen = select_archs(
        getattr(command, "archs", None),
        toolkit=toolkit,
        config=config,
        gpus=any(map(says_native, extensions)),
        name="archs of BuildExtension",
    )
    found = chosen.selection.compiler.toolkit
    assert found is not None
    for text in unheeded(machine or chosen.machine):
        _log.warning("archbuild: %s", text)
    log_selection(chosen.selection)
    plans = {extension.name: plan_one(extension, chosen, config) for extension in extensions}
    paths = [os.fspath(path) for extension in extensions for path in extension.sources]
    for path in unmatched_sources(paths, config.sources):
        _log.warning("archbuild: [[tool.archbuild.sources]] %s matches no source", path)
    mode = parse_verify_mode(chosen.machine.variable("ARCHBUILD_VERIFY"))
    cuobjdump = require_cuobjdump(chosen.machine, mode)
    if cuobjdump is not None:
        proved = [planned.sources.extension for planned in plans.values()]
        prove_toolchain(found, proved, cuobjdump, chosen.machine)
    launcher = _launcher(config, found, plans)
    running = make_running(
        (planned.sources.extension.args["nvcc"] for planned in plans.values()),
        jobs=config.build.jobs,
        environ=launcher.environment(os.environ) if launcher else os.environ,
    )
    moving = {"cuda": found.root, **({"torch": torch_folder} if torch_folder else {})}
    setting = Setting(found, Path.cwd(), running, flavour, launcher, torch, moving)
    find_libraries(command, extensions, found)
    return Builder(plans, setting, mode, cuobjdump)


def _launcher(
    config: Config, toolkit: Toolkit, plans: Mapping[str, PlannedExtension]
) -> Launcher | None:
    folder = Path(toolkit.root)
    tools = [folder / "nvvm" / "bin" / "cicc", *(folder / "bin" / name for name in _TOOLS)]
    choice = prepare_launcher(
        os.environ.get(LAUNCHER) or config.build.launcher,
        environ=os.environ,
        root=str(Path.cwd()),
        one_virtual_serves_several=any(map(_shares_passes, plans.values())),
        tools=[str(tool) for tool in tools],
    )
    for note in choice.notes:
        _log.info("archbuild: %s", note)
    if choice.launcher is not None:
        _log.info("archbuild: %s keeps what is compiled", choice.launcher.name)
    return choice.launcher


def _shares_passes(planned: PlannedExtension) -> bool:
    """Whether a virtual architecture of some source is assembled for several real ones."""
    for one in planned.sources.built:
        real = [gencode.virtual for gencode in one.served.gencodes if gencode.code.is_real]
        if len(real) > len(set(real)):
            return True
    return False


def find_libraries(command: Any, extensions: Sequence[Any], toolkit: Toolkit) -> None:
    """Let the linker find the toolkit's libraries, and a stub of libcuda where one is asked for.

    Args:
        command: The ``build_ext`` command.
        extensions: Those that are given the folders.
        toolkit: Whose libraries.
    """
    place = Path(command.build_temp).absolute()
    links = make_link_folder(toolkit.lib, place / "archbuild-lib")
    host = (shlex.split(os.environ.get("CXX", "")) or ["g++"])[0]
    for extension in extensions:
        if links is not None:
            extension.library_dirs.append(str(links))
        words = [*extension.libraries, *(extension.extra_link_args or ())]
        folders = extension.library_dirs
        stub = cuda_link_folder(words, folders, toolkit, place / "archbuild-stub", host)
        if stub is not None:
            folders.append(stub)


@contextmanager
def _forced(command: Any) -> Iterator[None]:
    """Let setuptools always ask for the objects: ninja knows better what is up to date."""
    before, command.force = command.force, True
    try:
        yield
    finally:
        command.force = before


@contextmanager
def _without(extension: Any, planned: PlannedExtension) -> Iterator[None]:
    """Take the sources that are left out away for the build; a source distribution has them."""
    before = extension.sources
    left_out = {one.source.path for one in planned.sources.left_out}
    extension.sources = [path for path in planned.files if path not in left_out]
    try:
        yield
    finally:
        extension.sources = before


def _folder(command: Any, name: str) -> str:
    root, named = Path.cwd(), os.environ.get(VARIABLE)
    folder = build_folder(name, root, named, debug=bool(command.debug))
    if not named and not can_be_written(root / folder):
        return build_folder(name, root, str(Path(command.build_temp).absolute()))
    return folder
