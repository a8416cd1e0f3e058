"""Plans one extension of a setup.py, and says what a person should know of it."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archbuild.build.extension_plan import plan_extension
from archbuild.build.lean import has_lean_headers
from archbuild.build.source_files import expand_sources
from archbuild.build.source_plan import SourcesPlan, plan_sources
from archbuild.cpp_extension.checks import checked_host_compiler, own_flags
from archbuild.errors import UsageError
from archbuild.model.config import Config, LeanHeaders
from archbuild.model.source import Source
from archbuild.rules.selecting.development import DEV_VARIABLE, wants_development
from archbuild.rules.selecting.source_table import merge_sources
from archbuild.services.select import Selected, select_archs

_log = logging.getLogger(__name__)

#: The attribute of an extension under which its Sources are kept, by their paths.
SOURCES = "archbuild_sources"


@dataclass(frozen=True)
class PlannedExtension:
    """One extension, planned.

    Args:
        sources: Its CUDA sources, and what nvcc is given.
        lean: Whether its .cu files get lean headers.
        development: Whether one virtual architecture serves all.
        files: All its sources, patterns expanded.
    """

    sources: SourcesPlan
    lean: LeanHeaders
    development: bool
    files: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The extension's."""
        return self.sources.extension.name

    @property
    def recorded(self) -> tuple[object, ...]:
        """What the manifest has of it."""
        targets = self.sources.extension.library_targets
        return (targets, self.sources.sources, self.development)


def plan_one(extension: Any, chosen: Selected, config: Config) -> PlannedExtension:
    """Plan an extension, and put the architectures into its flags.

    The macros of sources that are built are put in.

    Args:
        extension: A setuptools extension; its ``archs`` win over the project's.
        chosen: What the project is built for.
        config: What its pyproject.toml says.

    Raises:
        ArchbuildError: If it cannot be built.
    """
    wanted = chosen.selection
    archs = getattr(extension, "archs", None)
    if archs is not None:
        name = f"archs of {extension.name}"
        wanted = select_archs(archs, machine=chosen.machine, name=name).selection
    host = checked_host_compiler(own_flags(extension), chosen)
    args = extension.extra_compile_args
    plan = plan_extension(extension.name, args, wanted, chosen.machine, host=host)
    for note in (*plan.selection.notes, *plan.notes) if plan.selection != wanted else plan.notes:
        _log.warning("archbuild: %s", note)
    if plan.selection != chosen.selection:
        built = ", ".join(map(str, plan.selection.targets))
        _log.info("archbuild: %s: %s  (%s)", extension.name, built, plan.selection.source)
    development = _is_development(extension, config)
    files = merge_sources(_sources(extension), config.sources)
    sources = plan_sources(plan, files, development=development)
    # Where nothing could be saved it is a whole build.
    development = development and sources.extension.gencodes != plan.gencodes
    _tell(sources, files)
    args = sources.extension.args
    extension.extra_compile_args = {name: list(flags) for name, flags in args.items()}
    extension.define_macros.extend((name, None) for name in sources.defines)
    paths = tuple(one.path for one in files)
    return PlannedExtension(sources, _lean(extension, config), development, paths)


def _sources(extension: Any) -> tuple[Source, ...]:
    """Its sources; those that were Sources or patterns when it was made are so again."""
    known: dict[str, Source] = getattr(extension, SOURCES, {})
    entries = [known.get(str(path), path) for path in extension.sources]
    return expand_sources(entries, Path.cwd())


def _tell(sources: SourcesPlan, files: tuple[Source, ...]) -> None:
    for text in sources.warnings:
        _log.warning("archbuild: %s", text)
    for text in sources.notes:
        _log.warning("archbuild: %s", text)
    own = {one.path: one.archs for one in files if one.archs is not None}
    for one in sources.built:
        if one.source.path in own:
            built = ", ".join(map(str, one.served.targets))
            _log.info("archbuild: %s: %s", one.source.path, built)


def _is_development(extension: Any, config: Config) -> bool:
    asked = getattr(extension, "dev", None)
    variable = os.environ.get(DEV_VARIABLE)
    return wants_development(asked, variable) or (
        asked is None and variable is None and config.build.development
    )


def _lean(extension: Any, config: Config) -> LeanHeaders:
    """Whether it gets lean headers: its own word, else the project's."""
    asked = getattr(extension, "lean_headers", None)
    if asked is None:
        lean = config.build.lean_headers
    else:
        lean = parse_lean(asked, f"lean_headers of {extension.name}")
    if lean is not LeanHeaders.OFF and not has_lean_headers():
        _log.warning("archbuild: there are no lean headers on this system: the full ones are used.")
        return LeanHeaders.OFF
    return lean


def parse_lean(asked: object, where: str) -> LeanHeaders:
    """Read ``lean_headers``: true, false or ``"auto"``.

    Raises:
        UsageError: If it is none of them.
    """
    lean = LeanHeaders.of(asked)
    if lean is not None:
        return lean
    raise UsageError(f"{where} is {asked!r:.40}.", 'Write True, False or "auto".')
