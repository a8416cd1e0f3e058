"""What a person is told of a build: failures once and whole, warnings, and where its time went."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from archbuild.build.includes import find_includes
from archbuild.errors import BuildError
from archbuild.model.arch import Arch
from archbuild.model.build import BuildPlan, BuildRun
from archbuild.probe.writing import write_whole
from archbuild.report.build import render_failures, render_summary, render_warnings
from archbuild.report.build_profile import compile_commands_json, profile_json, trace_json
from archbuild.rules.building.build_failure import explain_failure
from archbuild.rules.building.cost import heaviest_header
from archbuild.rules.building.lean_failure import explain_lean_failure

_log = logging.getLogger(__name__)

_WIDTH = 100
# A build that was this short needs no table of where its seconds went.
_WORTH_A_TABLE = 10.0
#: Names a folder in which profiles are written besides.
PROFILE_VARIABLE = "ARCHBUILD_PROFILE"


def refuse_failures(done: BuildRun, archs: Sequence[Arch], *, lean: bool) -> NoReturn:
    """Print what the compilers said, each message once, and fail the build.

    Args:
        done: A build of which something failed.
        archs: What this nvcc can build.
        lean: Whether the lean headers may be why.

    Raises:
        BuildError: Always: what failed, why where that is known, and the cure.
    """
    for line in render_failures(done, _width(), archs=archs):
        _log.error("%s", line)
    first = done.failed[0]
    names = ", ".join(dict.fromkeys(run.label for run in done.failed))
    missing = explain_lean_failure(first.output) if lean else None
    if missing is not None:
        raise BuildError(missing)
    known = explain_failure(first.output, first.status, source=first.source, archs=archs)
    if known is not None:
        raise BuildError(f"{names}: {known.clause}.", known.cure)
    raise BuildError(f"{names}: the compiler's own words stand above.")


def tell_build(done: BuildRun, folder: Path, *, processors: int) -> None:
    """Log warnings and the table at the end, and write the files for other programs.

    Args:
        done: A build that went well, and in which something was run.
        folder: The build folder: it gets ``compile_commands.json`` and ``profile.json``.
        processors: How many there are to be busy.
    """
    for line in render_warnings(done, _width()):
        _log.warning("%s", line)
    _write(folder / "profile.json", profile_json(done))
    _write(folder / "compile_commands.json", compile_commands_json(done.plan))
    place = os.environ.get(PROFILE_VARIABLE)
    if place:
        _write(Path(place) / f"{done.plan.name}.profile.json", profile_json(done))
        _write(Path(place) / f"{done.plan.name}.trace.json", trace_json(done))
    if done.seconds >= _WORTH_A_TABLE or done.cache_hits:
        headers = dict(_headers(done.plan, {run.source for run in done.runs if run.source}))
        for line in render_summary(done, _width(), headers, processors=processors):
            _log.info("%s", line)


def _headers(plan: BuildPlan, sources: Iterable[str]) -> Iterable[tuple[str, str]]:
    """For each source the header that costs it most."""
    root = Path(plan.root)
    for source in sources:
        row = heaviest_header(find_includes(root / source, root=root))
        yield source, row.header


def _width() -> int:
    return min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)


def _write(path: Path, text: str) -> None:
    """Write a file that nobody misses if it can't be written."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode(errors="surrogateescape"))
