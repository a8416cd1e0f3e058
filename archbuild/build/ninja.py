"""A plan as a file for ninja, and ninja's run of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archbuild.build import run_pass
from archbuild.errors import BuildError
from archbuild.model.build import Edge, Step
from archbuild.probe.writing import write_whole
from archbuild.rules.building.schedule import Schedule

if TYPE_CHECKING:
    from ninja.ninja_syntax import Writer

BUILD_FILE = "build.ninja"
_RUNNER = "run_pass.py"
_RECORDS = "records"
_POOL = "heavy"
_ORDER = "order"
#: The lock that every edge shares while it runs.
RUNNING = "running"
_PROGRESS = re.compile(r"\[(\d+)/(\d+)\] (.*)")
_GET_NINJA = "Get it with: pip install ninja"

#: Told as each edge ends: how many are done, of how many, and the edge's label.
OnProgress = Callable[[int, int, str], None]


def find_ninja() -> str:
    """The ninja of this environment's package, else the one on PATH.

    Raises:
        BuildError: If there is none.
    """
    try:
        import ninja  # noqa: PLC0415  (absent from many environments)
    except ModuleNotFoundError:
        found = shutil.which("ninja")
        if found is None:
            raise BuildError("There is no ninja here, which runs the build.", _GET_NINJA) from None
        return found
    named = str(Path(ninja.BIN_DIR) / "ninja")
    return shutil.which("ninja", path=ninja.BIN_DIR) or named  # ninja.exe on Windows


def write_ninja(
    edges: Sequence[Edge], folder: Path, root: Path, schedule: Schedule, *, holds: bool = True
) -> Path:
    """Write the file; one with the same text stays as it is.

    Args:
        edges: What is to be run.
        folder: The build folder; what edges need besides is put there.
        root: The folder that commands run in: names in the file are relative to it.
        schedule: Which of them must not run all at once.
        holds: Whether what the edges start keeps the folder's lock as long as it runs, also
            when its parents were killed. A cache's server would keep it for ever.

    Raises:
        BuildError: If a path cannot be written in ninja's language.
        OSError: If the folder cannot be written.
    """
    import io  # noqa: PLC0415

    try:
        from ninja.ninja_syntax import Writer  # noqa: PLC0415  (absent from many environments)
    except ModuleNotFoundError:
        raise BuildError(
            "The package ninja, which runs the build, is missing.", _GET_NINJA
        ) from None

    (folder / _RECORDS).mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    output: Any = text  # whatever the package's hints say, it only writes to it
    writer = Writer(output, width=1 << 30)
    place = _place(folder, root)
    _put(folder / _RUNNER, Path(run_pass.__file__).read_text(encoding="utf-8"))
    writer.variable("ninja_required_version", "1.8")
    writer.variable("builddir", _value(place))
    _write_rules(writer, f"{place}/{_RUNNER}")
    if schedule.heavy_from is not None:
        writer.pool(_POOL, schedule.heavy_depth)
    for edge in edges:
        heavy = schedule.is_heavy(edge)
        _write_edge(writer, _tuned(edge, schedule), root, place, heavy=heavy, holds=holds)
    file = folder / BUILD_FILE
    _put(file, text.getvalue())
    return file


def _place(folder: Path, root: Path) -> str:
    """The build folder as ninja is told it, with slashes."""
    try:
        return os.path.relpath(folder, root).replace(os.sep, "/")
    except ValueError:  # another drive of Windows
        return folder.as_posix()


def _put(path: Path, text: str) -> None:
    """Write a text in one step, unless it stands there already."""
    data = text.encode(errors="surrogateescape")
    try:
        if path.read_bytes() == data:
            return
    except FileNotFoundError:
        pass
    write_whole(path, data)


def _write_rules(writer: Writer, runner: str) -> None:
    # One spelling, whoever calls: to ninja another command is another build.
    words = [os.path.realpath(sys.executable), "-I", "-S", runner]
    command = " ".join(_value(_quoted(word)) for word in words) + " $spec"
    about: dict[str, Any] = {
        "description": "$label",
        "restat": True,
        "rspfile": "$specfile",
        "rspfile_content": "$content",
    }
    writer.rule("run", command, **about)
    touch = "cmd /c type nul > $out" if os.name == "nt" else "touch $out"
    writer.rule(_ORDER, touch, description=_ORDER)
    writer.rule("compile", command, depfile="$dep", deps="gcc", **about)


def _tuned(edge: Edge, schedule: Schedule) -> Edge:
    """The edge, with the number of passes that nvcc is to run at once.

    As one word: ccache is told to leave that word out of its key.
    """
    threads = schedule.threads_of(edge)
    if edge.step is not Step.NVCC or threads < 2:
        return edge
    return replace(edge, tuning=(*edge.tuning, f"--threads={threads}"))


def _write_edge(
    writer: Writer, edge: Edge, root: Path, place: str, *, heavy: bool, holds: bool
) -> None:
    if not edge.commands:
        outputs, inputs = ([_path(file) for file in files] for files in (edge.outputs, edge.inputs))
        writer.build(outputs, _ORDER, inputs)
        return
    name = hashlib.sha256(edge.outputs[0].encode(errors="surrogateescape")).hexdigest()[:16]
    spec = f"{place}/{_RECORDS}/{name}"
    # In a file of its own: what stands there is no reason to run the edge again.
    aside = {
        "scratch": [asdict(one) for one in edge.scratch],
        "tuning": edge.tuning,
        "environ": dict(edge.environ),
    }
    _put(root / f"{spec}.aside", json.dumps(aside))
    variables = {
        "label": _value(edge.label),
        "spec": _value(_quoted(f"{spec}.run")),
        "specfile": _value(f"{spec}.run"),
        "content": _value(_spec(edge, spec, place, holds=holds)),
    }
    if edge.depfile:
        variables["dep"] = _value(edge.depfile)
    writer.build(
        [_path(output) for output in edge.outputs],
        "compile" if edge.depfile else "run",
        [_path(file) for file in edge.inputs],
        variables=variables,
        pool=_POOL if heavy else None,
    )


def _spec(edge: Edge, spec: str, place: str, *, holds: bool) -> str:
    """What the runner is told, on one line."""
    about = {
        "label": edge.label,
        "step": edge.step.value,
        "source": edge.source,
        "arch": None if edge.arch is None else str(edge.arch),
    }
    told = {
        "commands": edge.commands,
        "outputs": edge.outputs,
        "emptied": edge.emptied,
        "useless": edge.useless,
        "responses": [asdict(one) for one in edge.responses],
        "listing": [edge.listing, edge.depfile] if edge.listing else None,
        "aside": f"{spec}.aside",
        "made_with": edge.made_with,
        "lock": f"{place}/{RUNNING}",
        "holds": holds,
        "log": f"{spec}.log",
        "record": f"{spec}.json",
        "about": about,
    }
    return json.dumps(told)


def _value(text: str) -> str:
    """A text as ninja takes it for the value of a variable."""
    if "\n" in text or "\r" in text:
        raise BuildError(f"{text!r:.80} holds a line break, which no build can name.", "Rename it.")
    return text.replace("$", "$$")


def _path(text: str) -> str:
    """A path as ninja's own writer takes it: it escapes blanks and colons, but no dollars."""
    if "$ " in text or "|" in text:
        odd = "a bar" if "|" in text else "a dollar before a blank"
        raise BuildError(f"{text!r:.80} holds {odd}, which no build can name.", "Rename it.")
    return _value(text)


def _quoted(word: str, system: str = os.name) -> str:
    """A word for the shell that ninja calls; on Windows it calls none."""
    if system == "nt":
        return subprocess.list2cmdline([word])
    import shlex  # noqa: PLC0415

    return shlex.quote(word)


def run_ninja(
    file: Path,
    root: Path,
    *,
    jobs: int,
    keep_going: bool = False,
    environ: Mapping[str, str],
    on_progress: OnProgress,
) -> tuple[int, str]:
    """Run it to its end.

    Args:
        file: What :func:`write_ninja` wrote.
        root: The folder that commands run in.
        jobs: Edges that run at once.
        keep_going: Whether other edges still run after one has failed.
        environ: The variables of the commands.
        on_progress: Called as each edge ends.

    Returns:
        ninja's status, and what it said besides its progress.

    Raises:
        BuildError: If there is no ninja.
        KeyboardInterrupt: If the person has pressed Ctrl-C; ninja and its children have
            ended then.
    """
    command = [find_ninja(), "-f", str(file), "-j", str(jobs), "-k", "0" if keep_going else "1"]
    variables = {**environ, "NINJA_STATUS": "[%f/%t] "}
    with subprocess.Popen(
        command,
        cwd=root,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as child:
        try:
            assert child.stdout is not None
            said = "".join(_other_lines(child.stdout, on_progress))
        except BaseException:
            # It asks its own children to end, waits for them and removes what they left.
            child.terminate()
            child.wait()
            raise
    return child.returncode, said


def _other_lines(lines: Iterator[str] | Any, on_progress: OnProgress) -> Iterator[str]:
    for line in lines:
        match = _PROGRESS.fullmatch(line.rstrip("\n"))
        if match is None:
            yield line
        elif match[3] != _ORDER:
            on_progress(int(match[1]), int(match[2]), match[3])


def read_records(folder: Path, build: str | None = None) -> Iterator[dict[str, Any]]:
    """What the edges recorded, in the order in which they ended.

    Args:
        folder: The build folder.
        build: Only those of the build of this name.
    """
    found: list[dict[str, Any]] = []
    for path in (folder / _RECORDS).glob("*.json"):
        try:
            record = json.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
        except (OSError, ValueError):  # another build writes, or one was killed while it did
            continue
        if isinstance(record, dict) and build in (None, record.get("build")):
            found.append(record)
    yield from sorted(found, key=lambda record: float(record.get("ended", 0)))


def undo_unfinished(folder: Path, root: Path) -> None:
    """Remove what the edges of a build have made that was killed together with its ninja.

    ninja has not noted them, and would believe an older note of the same outputs.

    Args:
        folder: The build folder.
        root: The folder that commands run in.
    """
    for mark in (folder / _RECORDS).glob(f"*{run_pass.BEGUN}"):
        try:
            outputs = json.loads(mark.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            outputs = []
        for output in outputs:
            (root / output).unlink(missing_ok=True)
        mark.unlink(missing_ok=True)


def forget_begun(folder: Path) -> None:
    """Remove the marks of edges that began, once ninja knows what became of them."""
    for mark in (folder / _RECORDS).glob(f"*{run_pass.BEGUN}"):
        mark.unlink(missing_ok=True)
