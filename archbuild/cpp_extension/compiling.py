"""Stands in for the compile and link functions of setuptools' compiler, for one extension."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from archbuild.build.costs import by_headers
from archbuild.build.engine import Running, build, plan
from archbuild.build.extension_plan import by_language, is_cuda_source
from archbuild.build.flavour import Flavour
from archbuild.build.launcher import read_counts
from archbuild.build.lean import (
    LeanMemory,
    lean_flags,
    needs_full,
    read_lean_memory,
    write_lean_memory,
)
from archbuild.build.linking import is_linked, link_key, note_linked, read_by_linker
from archbuild.build.lto_toolkit import nvcc_for_lto
from archbuild.build.plan import BuildRequest, CudaUnit, HostUnit
from archbuild.build.stable_paths import StablePaths, link_moving
from archbuild.build.torch_flags import CompileCall
from archbuild.cpp_extension.planning import PlannedExtension
from archbuild.cpp_extension.setuptools_compiler import compiler_words
from archbuild.model.build import BuildRun
from archbuild.model.config import LeanHeaders
from archbuild.model.launcher import Launcher
from archbuild.model.machine import Toolkit

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setting:
    """What is the same for all extensions of a project.

    Args:
        toolkit: Where nvcc is.
        root: The folder of the project.
        running: How ninja is run.
        flavour: How the compilers are called.
        launcher: What stands before them; None: nothing does.
        torch: The version compiled against; None without torch.
        moving: Folders that lie elsewhere in other environments, by a short name each.
    """

    toolkit: Toolkit
    root: Path
    running: Running
    flavour: Flavour
    launcher: Launcher | None = None
    torch: str | None = None
    moving: Mapping[str, str] = field(default_factory=dict)


class Compiling:
    """One extension's compile and link.

    Args:
        planned: The extension's plan.
        folder: Where its objects are kept, as the plan names it.
        setting: What is the same for all.
        compiler: setuptools' compiler.
    """

    def __init__(
        self, planned: PlannedExtension, folder: str, setting: Setting, compiler: Any
    ) -> None:
        self._planned, self._folder = planned, folder
        self._setting, self._compiler = setting, compiler
        self._key = ""
        self.objects: dict[str, Path] = {}
        self.lean: frozenset[str] = frozenset()
        self.flags: tuple[str, ...] = ()
        self.linked = False

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let setuptools call this one while it builds the extension."""
        compile_before, self._link = self._compiler.compile, self._compiler.link_shared_object
        self._compiler.compile, self._compiler.link_shared_object = self.compile, self.link
        try:
            yield
        finally:
            self._compiler.compile = compile_before
            self._compiler.link_shared_object = self._link

    def compile(  # noqa: PLR0917  (setuptools' own signature)
        self,
        sources: Sequence[str],
        output_dir: str | None = None,  # noqa: ARG002  (ours outlasts it)
        macros: Sequence[tuple[Any, ...]] | None = None,
        include_dirs: Sequence[str] | None = None,
        debug: bool = False,
        extra_preargs: Sequence[str] | None = None,  # noqa: ARG002
        extra_postargs: Any = None,
        depends: Sequence[str] | None = None,
    ) -> list[str]:
        """What setuptools' compilers have under this name: the objects of these sources."""
        words = compiler_words(self._compiler, debug=bool(debug))  # first: it finds the folders
        call = CompileCall(
            tuple(sources),
            (*(macros or ()), *self._compiler.macros),
            self._folders(include_dirs or ()),
            bool(debug),
            by_language(extra_postargs or ()),
            words,
            tuple(path for path in depends or () if (self._setting.root / path).exists()),
        )
        done = self._build(call)
        if done.runs:
            self._tell(done)
        objects = [str(self._setting.root / obj) for obj in done.plan.objects]
        self.objects = dict(zip(sources, map(Path, objects), strict=False))
        return objects

    def _tell(self, done: BuildRun) -> None:
        # Here: there is nothing to tell of most builds.
        from archbuild.cpp_extension.telling import tell_build  # noqa: PLC0415

        tell_build(done, self._place, processors=self._setting.running.resources.processors)

    def _folders(self, own: Sequence[str]) -> tuple[str, ...]:
        more = [*self._compiler.include_dirs, *type(self._compiler).include_dirs]
        # An empty one would make `-I` swallow the next word.
        return tuple(folder for folder in [*own, *more] if folder)

    # --- compiling ------------------------------------------------------------------------

    def _build(self, call: CompileCall) -> BuildRun:
        """Make the objects; with ``lean_headers="auto"`` again for what needs the full ones."""
        memory = read_lean_memory(self._place)
        while True:
            self.lean = frozenset(self._lean_sources(call.sources, memory))
            done = self._build_once(call)
            if not done.failed:
                return done
            fuller = self._fuller(done, memory)
            if fuller == memory:
                from archbuild.cpp_extension.telling import refuse_failures  # noqa: PLC0415

                lean = self._planned.lean is LeanHeaders.ON
                refuse_failures(done, self._setting.toolkit.archs, lean=lean)
            write_lean_memory(self._place, fuller)
            memory = fuller

    def _build_once(self, call: CompileCall) -> BuildRun:
        running = self._setting.running
        if self._planned.lean is LeanHeaders.AUTO:
            running = replace(running, keep_going=True)
        cost_of = by_headers(self._setting.root, call.include_dirs, self.lean)
        planned = plan(self._request(call), running.environ, cost_of)
        launcher = self._setting.launcher
        if launcher is None:
            return build(planned, running)
        before = read_counts(launcher, running.environ)
        done = build(planned, running)
        after = read_counts(launcher, running.environ)
        done = replace(done, launcher=launcher.name)
        if before is None or after is None:
            return done
        return replace(
            done,
            cache_hits=(after - before).hits,
            cache_misses=(after - before).misses,
        )

    def _lean_sources(self, sources: Iterable[str], memory: LeanMemory) -> Iterator[str]:
        if self._planned.lean is LeanHeaders.OFF:
            return
        for source in filter(is_cuda_source, sources):
            known = self._planned.lean is LeanHeaders.AUTO and memory.needs_full(
                source, self._setting.torch or ""
            )
            if not known:
                yield source

    def _fuller(self, done: BuildRun, memory: LeanMemory) -> LeanMemory:
        """The memory, with those sources in it that failed for want of the full headers."""
        if self._planned.lean is not LeanHeaders.AUTO:
            return memory
        failed = dict.fromkeys(
            run.source for run in done.failed if run.source in self.lean and needs_full(run.output)
        )
        for source in filter(None, failed):
            _log.warning(
                "archbuild: %s needs more than the lean headers: it gets torch's own, now and "
                "until it changes",
                source,
            )
            memory = memory.with_full(source, self._setting.torch or "")
        return memory

    def _request(self, call: CompileCall) -> BuildRequest:
        setting, flavour = self._setting, self._setting.flavour
        stable = self._stable_paths()
        units = tuple(
            self._own(flavour.unit(source, call, is_cuda=is_cuda_source(source)))
            for source in call.sources
        )
        self.flags = next((unit.flags for unit in units if isinstance(unit, CudaUnit)), ())
        device_link = flavour.device_link(call)
        return BuildRequest(
            name=self._planned.name,
            root=str(setting.root),
            folder=self._folder,
            nvcc=stable.through([setting.toolkit.nvcc])[0],
            units=tuple(_through(stable, unit) for unit in units),
            device_link=device_link,
            launcher=setting.launcher.prefix if setting.launcher else (),
            tools=tuple(filter(None, [shutil.which(flavour.host(call))])),
            named_nvcc=flavour.platform.split_words(os.environ.get("PYTORCH_NVCC", "")),
            linking_nvcc=self._linking_nvcc(device_link),
            torch=setting.torch,
            platform=flavour.platform,
        )

    def _own(self, unit: CudaUnit | HostUnit) -> CudaUnit | HostUnit:
        """A source with the architectures and headers that are its own."""
        if isinstance(unit, HostUnit):
            return unit
        flags = self._planned.sources.flags_of(unit.source, unit.flags)
        if unit.source in self.lean:
            flags = (*lean_flags(), *flags)
        return replace(unit, flags=flags)

    def _stable_paths(self) -> StablePaths:
        """With ccache, links in the place of folders that move: its key holds their paths."""
        launcher = self._setting.launcher
        if launcher is None or launcher.name != "ccache":
            return StablePaths({})
        root = str(self._setting.root)
        return link_moving(f"{self._folder}/at", self._setting.moving, root=root)

    def _linking_nvcc(self, device_link: Sequence[str] | None) -> str | None:
        if device_link is None or "-dlto" not in device_link:
            return None
        return nvcc_for_lto(self._setting.toolkit, self._place / "lto")

    # --- linking --------------------------------------------------------------------------

    def link(self, objects: Sequence[str], output_filename: str, **options: Any) -> None:
        """Link with setuptools' own function, unless the library is what that would make."""
        library = Path(output_filename)
        words = [options, vars(self._compiler).get("linker_so")]
        words += [os.environ.get(name) for name in ("LDFLAGS", "LIBRARY_PATH")]
        # What the manifest says belongs to it: objects may come out the same with other flags.
        words += [self._planned.recorded, self.flags, sorted(self.lean), self._setting.torch]
        folders = [*(options.get("library_dirs") or ()), *self._compiler.library_dirs]
        more = [*(options.get("extra_preargs") or ()), *(options.get("extra_postargs") or ())]
        read = read_by_linker(options.get("libraries") or (), folders, more)
        self._key = link_key(words, [*objects, *read])
        self.linked = not is_linked(self._place, self._key, library)
        if self.linked:
            self._link(objects, output_filename, **options)
        else:
            _log.info("archbuild: %s is up to date", library.name)

    def settle(self, library: Path) -> None:
        """Note that the library was found good: it is not linked and checked again."""
        note_linked(self._place, self._key, library)

    @property
    def _place(self) -> Path:
        return self._setting.root / self._folder


def _through(stable: StablePaths, unit: CudaUnit | HostUnit) -> CudaUnit | HostUnit:
    if isinstance(unit, CudaUnit):
        return replace(unit, flags=stable.through(unit.flags))
    return replace(unit, command=stable.through(unit.command), after=stable.through(unit.after))
