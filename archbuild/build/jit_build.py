"""Builds one library of the JIT: once for all who ask at the same time, or not at all."""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from archbuild.build.costs import by_headers
from archbuild.build.engine import Running, build, plan
from archbuild.build.held import held
from archbuild.build.jit_folder import VARIABLE
from archbuild.build.jit_stamp import (
    Wanted,
    digest,
    is_ready,
    note_ready,
    read_dependencies,
)
from archbuild.build.link_edge import LinkWords, linked_files, with_link
from archbuild.build.ninja import BUILD_FILE
from archbuild.build.plan import BuildRequest, object_path
from archbuild.errors import BuildError, UsageError
from archbuild.model.build import BuildPlan, BuildRun
from archbuild.probe.writing import write_whole

#: Called with the objects by their sources and with the library: refuses what is not good.
Check = Callable[[Mapping[str, Path], Path], None]
#: Called with the words of a compiler.
OnOutput = Callable[[str], None]

_LOCK = "archbuild.lock"


@dataclass(frozen=True)
class Job:
    """One library to build.

    Args:
        request: Its sources and flags; ``root`` is the folder that it gets, ``folder``
            is chosen here.
        link: How it is linked.
        library: The file's name.
        wanted: What it has to be made of.
        include: Where the compilers look for headers: what a source costs is seen there.
        texts: Sources that are written first, by their names below the root.
    """

    request: BuildRequest
    link: LinkWords
    library: str
    wanted: Wanted
    include: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> Path:
        """Where the library stands when it is good."""
        return Path(self.request.root) / self.library


def source_digests(sources: tuple[str, ...], texts: Mapping[str, str]) -> dict[str, str]:
    """The digest of each source.

    Args:
        sources: Paths.
        texts: Sources that need not be there yet.

    Raises:
        UsageError: If one cannot be read, or is named twice.
    """
    found = {name: digest(_encoded(text)) for name, text in texts.items()}
    for source in sources:
        if source in found:
            raise UsageError(f"{source} is named twice.", "Name each source once.")
        try:
            found[source] = digest(Path(source).read_bytes())
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"{source} cannot be read: {said}.") from None
    return found


def build_library(job: Job, running: Running, check: Check, on_output: OnOutput) -> Path:
    """The library, built unless it stands there already, good and complete.

    Args:
        job: What to build.
        running: How.
        check: Looks at what was built.
        on_output: Called with what compilers said of a build that went well.

    Raises:
        BuildError: With the compiler's words; or if it is not good, or cannot be written.
        KeyboardInterrupt: If the person has pressed Ctrl-C.
    """
    root = Path(job.request.root)

    def say() -> None:
        running.on_say(f"another process is building {job.library}; waiting for it.")

    try:
        root.mkdir(parents=True, exist_ok=True)
        with held(root / _LOCK, say) as alone:
            if not is_ready(job.place, job.wanted):
                _build(job, running, check, on_output, alone=alone)
    except OSError as error:
        where = error.filename or root
        raise BuildError(
            f"{where}: {error.strerror or error}.",
            f"Make room there, or name another folder in {VARIABLE}.",
        ) from None
    return job.place


def _build(job: Job, running: Running, check: Check, on_output: OnOutput, *, alone: bool) -> None:
    root = Path(job.request.root)
    for name, text in job.texts.items():
        _write_text(root / name, text)
    began = time.time_ns()
    with _objects(job, alone=alone) as folder:
        made = f"{folder}/{job.library}"
        cost_of = by_headers(root, job.include)
        compiled = plan(replace(job.request, folder=folder), running.environ, cost_of)
        linked = with_link(compiled, job.link, made)
        done = build(linked, running)
        _refuse_failed(done, job)
        for run in done.runs:
            if run.output.strip():
                on_output(f"{run.label}:\n{run.output.rstrip()}")
        check(_by_source(job, compiled), root / made)
        files = {
            *read_dependencies(root / folder / BUILD_FILE, root),
            *(os.path.normpath(root / file) for file in linked_files(linked)),
        }
        _put_in_place(root / made, job.place)
        note_ready(job.place, job.wanted, files, began)


def _by_source(job: Job, compiled: BuildPlan) -> dict[str, Path]:
    objects = [Path(job.request.root, obj) for obj in compiled.objects]
    return {unit.source: obj for unit, obj in zip(job.request.units, objects, strict=False)}


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _write_text(path: Path, text: str) -> None:
    """Write a source; one that is the same stays, and with it what was made of it."""
    data = _encoded(text)
    if not path.exists() or path.read_bytes() != data:
        write_whole(path, data)


def _put_in_place(made: Path, library: Path) -> None:
    """Let the library stand in its place in one step, complete."""
    copy = library.with_name(f"{library.name}.{uuid.uuid4().hex}")
    try:
        shutil.copy2(made, copy)
        copy.replace(library)
    finally:
        copy.unlink(missing_ok=True)


def _refuse_failed(done: BuildRun, job: Job) -> None:
    """Tell what the compilers said, each thing once, and who said it.

    Raises:
        BuildError: If an edge has failed.
    """
    if not done.failed:
        return
    said = "\n".join(dict.fromkeys(run.output.strip() for run in done.failed if run.output.strip()))
    names = ", ".join(dict.fromkeys(run.label for run in done.failed))
    raise BuildError(f"{said}\n{job.request.name} was not built: {names} failed.")


# --- the folder of objects ------------------------------------------------------------------------


@contextmanager
def _objects(job: Job, *, alone: bool) -> Iterator[str]:
    """The folder for objects, by its name: the last build's, unless that was killed.

    The compilers of a killed build run on for a while. They write into the folder that
    they were started for, so nobody uses that one again.
    """
    root, name = Path(job.request.root), job.library
    state = root / f"{name}.state.json"
    known = _read_state(state) if alone else {}
    folder = f"{name}.objects"
    if not alone or known.get("busy"):
        folder = f"{folder}-{uuid.uuid4().hex[:8]}"
    elif known.get("folder"):
        folder = str(known["folder"])
    _forget_changed(job, folder, known.get("sources"))
    told: dict[str, Any] = {"folder": folder, "sources": dict(job.wanted.sources), "busy": True}
    if alone:
        write_whole(state, json.dumps(told).encode())
        _remove_others(root, name, folder)
    try:
        yield folder
    finally:  # it is not reached where the process is killed
        _end(state, told, root / folder, alone=alone)


def _end(state: Path, told: Mapping[str, Any], folder: Path, *, alone: bool) -> None:
    """Note that no compiler runs any more; if that cannot be written, a new folder is next."""
    if not alone:
        shutil.rmtree(folder, ignore_errors=True)
        return
    with suppress(OSError):
        write_whole(state, json.dumps({**told, "busy": False}).encode())


def _read_state(state: Path) -> dict[str, Any]:
    try:
        known = json.loads(state.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):  # nobody knows who works there
        return {"busy": True}
    return known if isinstance(known, dict) else {"busy": True}


def _forget_changed(job: Job, folder: str, before: object) -> None:
    """Remove what was made of sources that have another content now.

    ninja goes by times, and a source that was moved back has an old one.
    """
    known = before if isinstance(before, dict) else {}
    root = Path(job.request.root)
    for unit in job.request.units:
        if known.get(unit.source) != job.wanted.sources.get(unit.source):
            obj = root / object_path(folder, str(root), unit.source)
            obj.unlink(missing_ok=True)
            shutil.rmtree(f"{obj}.passes", ignore_errors=True)


def _remove_others(root: Path, name: str, folder: str) -> None:
    for other in root.iterdir():
        if other.name.startswith(f"{name}.objects") and other.name != folder:
            shutil.rmtree(other, ignore_errors=True)
