"""Runs one call of ``load``: its version in this process, its library, its import."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from archbuild.build.jit_build import Job, build_library
from archbuild.build.jit_folder import choose_place
from archbuild.build.jit_stamp import is_ready
from archbuild.build.link_folder import make_link_folder
from archbuild.build.source_plan import SourcesPlan
from archbuild.build.verify_mode import VerifyMode, parse_verify_mode
from archbuild.cpp_extension.checks import log_selection, require_cuobjdump
from archbuild.cpp_extension.jit_call import (
    RDC_CURE,
    JitCall,
    PlannedCall,
    job_of,
    key_of,
    plan_call,
)
from archbuild.cpp_extension.proving import check_built
from archbuild.cpp_extension.running import make_running, say
from archbuild.cpp_extension.torchs import TORCH

_log = logging.getLogger(__name__)


class Versions:
    """How often what a name stands for has changed in this process.

    A process keeps a library that it has loaded, so another one needs another name.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, object]] = {}
        self._lock = threading.Lock()

    def number(self, name: str, inputs: object) -> int:
        """0 for the first inputs of a name, and one more for each that differ.

        Args:
            name: The module's.
            inputs: All that decides what is built.
        """
        with self._lock:
            before, known = self._known.get(name, (-1, None))
            number = before if known == inputs else before + 1
            self._known[name] = (number, inputs)
            return number


_VERSIONS = Versions()


def run_call(call: JitCall) -> Any:
    """What ``load`` returns for this call.

    Raises:
        ArchbuildError: If it cannot be built; a BuildError is a RuntimeError as well.
    """
    with _heard(call.verbose):
        mode = parse_verify_mode(os.environ.get("ARCHBUILD_VERIFY"))
        planned = plan_call(call, only_best=mode is not VerifyMode.REQUIRE)
        library, name = _library(planned, mode)
        return _loaded(name, library, call)


def _library(planned: PlannedCall, mode: VerifyMode) -> tuple[Path, str]:
    call, key = planned.call, key_of(planned)
    inputs = (key, dict(planned.digests), call.build_directory)
    number = _VERSIONS.number(call.name, inputs)
    name = f"{call.name}_v{number}" if number else call.name

    # What nobody has looked at is not good for a caller who wants it looked at.
    noted = f"{key} unchecked" if mode is VerifyMode.OFF else key

    def job_in(folder: Path) -> Job:
        return job_of(planned, name, folder, noted)

    def ready_in(folder: Path) -> bool:
        job = job_in(folder)
        return is_ready(job.place, job.wanted)

    place = choose_place(call.name, key, call.build_directory, ready_in)
    if place.note:
        _log.warning("archbuild: %s", place.note)
    job = job_in(place.folder)
    if is_ready(job.place, job.wanted):
        _log.info("archbuild: %s is up to date", job.place)
        return job.place, name
    return _built(job, planned, mode), name


def _built(job: Job, planned: PlannedCall, mode: VerifyMode) -> Path:
    # Its warnings were told when it was made, for a library that is found as well.
    log_selection(replace(planned.plan.selection, warnings=()))
    for note in planned.plan.notes:
        _log.info("archbuild: %s", note)
    required = mode is VerifyMode.REQUIRE
    cuobjdump = require_cuobjdump(planned.chosen.machine, mode) if required else None
    links = make_link_folder(planned.toolkit.lib, Path(job.request.root) / "cuda-lib")
    if links is not None:
        link = replace(job.link, after=(*job.link.after, f"-L{links}"))
        job = replace(job, link=link)

    def check(objects: Mapping[str, Path], library: Path) -> None:
        if mode is not VerifyMode.OFF:
            check_built(
                SourcesPlan((), planned.plan), objects, library, cuobjdump, dlink_cure=RDC_CURE
            )

    running = make_running([planned.call.flags.nvcc])
    return build_library(job, running, check, say)


@contextmanager
def _heard(verbose: bool) -> Iterator[None]:
    """Let a caller who wants to see what happens see it, also where nobody set logging up."""
    logger = logging.getLogger("archbuild")
    if not verbose or (logger.hasHandlers() and logger.isEnabledFor(logging.INFO)):
        yield
        return
    handler, level, passed = logging.StreamHandler(), logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = passed


def _loaded(name: str, library: Path, call: JitCall) -> Any:
    """The module, the library's path once torch has loaded it, or the program's path."""
    if call.standalone:
        return str(library)
    if not call.module:
        TORCH.torch.ops.load_library(str(library))
        return str(library)
    spec = spec_from_file_location(name, library)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
