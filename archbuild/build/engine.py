"""Builds the objects of an extension: asks nvcc for its passes, plans, and lets ninja run."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from archbuild.build.costs import learn_from, refined
from archbuild.build.dryrun import Script, dryrun_words, parse_dryrun, parse_wrapper
from archbuild.build.huge_pages import make_library, must_ask, with_huge_pages
from archbuild.build.memory import fingerprint
from archbuild.build.ninja import (
    RUNNING,
    OnProgress,
    forget_begun,
    read_records,
    run_ninja,
    undo_unfinished,
    write_ninja,
)
from archbuild.build.passes import CostOf
from archbuild.build.plan import BuildRequest, flags_of, plan_build
from archbuild.errors import BuildError
from archbuild.model.build import BuildPlan, BuildRun, Edge, EdgeRun, Resources, Step
from archbuild.probe.process import run_limited
from archbuild.rules.building.schedule import plan_schedule

_NVCC_LIMIT = 60.0
# Variables by which gcc finds headers and its own programs; nvcc's own are in its passes.
_READ_BY_COMPILERS = (
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "SOURCE_DATE_EPOCH",
)
_READ_BY_NVCC = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN")
#: Under this name each build marks the records of its edges.
BUILD_VARIABLE = "ARCHBUILD_BUILD"


def _quiet(_done: int, _total: int, _label: str) -> None:
    return


@dataclass(frozen=True)
class Running:
    """How a build is run, as against what it builds.

    Args:
        resources: What it may use.
        max_jobs: An upper limit for the edges that run at once.
        nvcc_threads: An upper limit for the passes that one nvcc runs at once.
        keep_going: Whether other edges still run after one has failed.
        environ: The variables of the commands.
        on_progress: Called as each edge ends.
        on_say: Called with sentences for the log: how much runs at once and why, and
            that another build has the folder.
    """

    resources: Resources
    max_jobs: int | None = None
    nvcc_threads: int | None = None
    keep_going: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    on_progress: OnProgress = _quiet
    on_say: Callable[[str], None] = lambda _: None


def ask_for_passes(
    request: BuildRequest, environ: Mapping[str, str]
) -> dict[tuple[str, ...], Script | None]:
    """nvcc's passes for each set of flags; None where they are not understood.

    Args:
        request: What is to be built.
        environ: nvcc's variables: some of them add flags.
    """
    if request.whole:
        return {}
    return {flags: _passes(request.nvcc, flags, environ) for flags in flags_of(request.units)}


def _passes(nvcc: str, flags: tuple[str, ...], environ: Mapping[str, str]) -> Script | None:
    words = dryrun_words(flags)
    outcome = run_limited([nvcc, *words], timeout=_NVCC_LIMIT, env=environ)
    if not outcome.ok:
        return None  # nvcc itself will say what is wrong with these flags

    def find(name: str, path: str) -> str | None:
        return shutil.which(name, path=path)

    script = parse_dryrun(outcome.stderr, find)
    return None if script is None else replace(script, wrapper=_ask_for_wrapper(script))


# Any image will do.
_PTX = ".version 8.0\n.target sm_80\n.address_size 64\n"


def _ask_for_wrapper(script: Script) -> str | None:
    """What fatbinary writes with these flags around a fatbin."""
    (command,) = [one.command for one in script.passes if one.step is Step.FATBIN]
    replaced = ("--image", "--create=", "--embedded-fatbin=")
    words = [word for word in command if not word.startswith(replaced)]
    with TemporaryDirectory(prefix="archbuild-") as folder:
        place = Path(folder)
        (place / "any.ptx").write_text(_PTX, encoding="ascii")
        more = (
            f"--create={place / 'any.fatbin'}",
            f"--image3=kind=ptx,sm=80,file={place / 'any.ptx'}",
            f"--embedded-fatbin={place / 'any.c'}",
        )
        outcome = run_limited([*words, *more], timeout=_NVCC_LIMIT)
        if not outcome.ok:
            return None
        return parse_wrapper((place / "any.c").read_text(encoding="utf-8", errors="replace"))


def plan(request: BuildRequest, environ: Mapping[str, str], cost_of: CostOf) -> BuildPlan:
    """The plan, after asking nvcc for what it would run."""
    scripts = ask_for_passes(request, environ)
    tools = [tool for script in scripts.values() if script for tool in script.tools]
    # A dry run shows what nvcc's own variables add; a whole nvcc reads them unseen.
    names = (*_READ_BY_COMPILERS, *(_READ_BY_NVCC if request.whole else ()))
    told = [environ.get(name, "") for name in names]
    stamps = fingerprint(sorted({*tools, *request.tools, request.nvcc}), told)
    return plan_build(replace(request, tool_stamps=stamps), scripts, cost_of)


def start_over(folder: Path, on_wait: Callable[[str], None]) -> None:
    """Take away all that earlier builds of a folder have left, so that everything is built.

    Args:
        folder: The build folder; it need not be there.
        on_wait: Called where another build has it.

    Raises:
        BuildError: If the folder cannot be written.
    """
    if not folder.is_dir():
        return
    with only_build(folder, on_wait):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != "lock":
                path.unlink(missing_ok=True)


def build(plan: BuildPlan, running: Running) -> BuildRun:
    """Make the objects.

    Args:
        plan: What is to be made.
        running: How.

    Returns:
        What was done; some of it may have failed.

    Raises:
        BuildError: If ninja is not there or could not run; if the folder cannot be written.
        KeyboardInterrupt: If the person has pressed Ctrl-C.
    """
    folder, root = Path(plan.folder), Path(plan.root)
    name = uuid.uuid4().hex
    began = time.time()
    with only_build(folder, running.on_say):
        plan = replace(plan, edges=refined(plan.edges, folder))
        schedule = plan_schedule(
            plan.edges,
            running.resources,
            max_jobs=running.max_jobs,
            nvcc_threads=running.nvcc_threads,
        )
        for sentence in schedule.sentences:
            running.on_say(sentence)
        if schedule.roomy and must_ask(running.environ):
            plan = replace(plan, edges=_ask_for_huge_pages(plan.edges, folder, running.environ))
        file = write_ninja(plan.edges, folder, root, schedule, holds=not plan.cached)
        undo_unfinished(folder, root)
        try:
            status, said = run_ninja(
                file,
                root,
                jobs=schedule.jobs,
                keep_going=running.keep_going,
                environ={**running.environ, BUILD_VARIABLE: name},
                on_progress=running.on_progress,
            )
        finally:  # ninja has ended, and knows what every edge has done
            forget_begun(folder)
        runs = tuple(_run(record, began) for record in read_records(folder, name))
        learn_from(runs, plan.edges, folder, cached=plan.cached)
    done = BuildRun(plan, runs, time.time() - began)
    if status != 0 and not done.failed:
        raise BuildError(f"ninja could not run the build: {_reason(said)}.")
    return done


def _ask_for_huge_pages(
    edges: Sequence[Edge], folder: Path, environ: Mapping[str, str]
) -> tuple[Edge, ...]:
    """The edges with huge pages for nvcc's parsers; the host compiler makes what that takes."""
    compilers = [edge.commands[0][0] for edge in edges if edge.step is Step.PREPROCESS]
    library = make_library(folder, compilers[0]) if compilers else None
    return with_huge_pages(edges, environ, library)


def _reason(said: str) -> str:
    """The line that tells most: ninja's own error, else what stands last before its farewell."""
    lines = [line.strip().rstrip(".") for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ninja: error:", "ninja: fatal:"))]
    others = [line for line in lines if not line.startswith("ninja: build stopped")]
    return (errors or others or lines or ["it gave no reason"])[-1].removeprefix("ninja: ")


def _run(record: Mapping[str, Any], began: float) -> EdgeRun:
    return EdgeRun(
        label=record["label"],
        step=Step(record["step"]),
        source=record["source"],
        arch=record["arch"],
        start=record["began"] - began,
        seconds=record["ended"] - record["began"],
        memory=record["memory"],
        status=record["status"],
        output=record["output"],
        retried=record["retried"],
        command=tuple(record["command"]),
    )


@contextmanager
def only_build(folder: Path, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold a build folder alone; another process that wants it waits.

    Raises:
        BuildError: If the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise BuildError(
            f"{folder} cannot be written: {error.strerror}.",
            "Objects are kept there from one build to the next; make it writable, or name "
            "another place in ARCHBUILD_BUILD_DIR.",
        ) from None
    try:
        _take(file, folder, on_wait)
        _wait_for_orphans(folder, on_wait)
        yield
    finally:
        os.close(file)


def _wait_for_orphans(folder: Path, on_wait: Callable[[str], None]) -> None:
    """Wait for the compilers of a build that was killed: they still write."""
    try:
        file = os.open(folder / RUNNING, os.O_RDWR)
    except OSError:
        return
    try:
        _take(file, folder, on_wait)
    finally:
        os.close(file)


def _take(file: int, folder: Path, on_wait: Callable[[str], None]) -> None:
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:  # Windows: ninja itself refuses a log that another one writes
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        on_wait(f"another build is at work in {folder}; waiting for it.")
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return
