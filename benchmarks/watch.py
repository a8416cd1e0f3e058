"""Run a build, and watch its whole process tree: memory, and how busy the processors are."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from timing import Command

_PAUSE = 1.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Watched:
    """One build.

    Args:
        seconds: Wall time.
        memory: The most bytes that all its processes held at one time, as seen once a
            second: looking more often takes from a build that keeps all processors
            busy. Pages that several share count once for each.
        busy: The part of the time in which all processors of this machine were at
            work, whoever used them: so nothing else may run beside it.
        status: Its exit status, minus a signal's number.
        said: The end of what it printed.
    """

    seconds: float
    memory: int
    busy: float
    status: int
    said: str = ""


def watch(command: Command) -> Watched:
    """Run a command to its end."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            command.words,
            cwd=command.cwd,
            env=command.env,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        most, samples = 0, [_idle()]
        try:
            while _runs_on(process):
                most = max(most, sum(map(_resident, _tree(process.pid))))
                samples.append(_idle())
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
        seconds = time.perf_counter() - began
        output.seek(0)
        said = output.read().decode(errors="replace")[-4000:]
    return Watched(seconds, most, _busy(samples), process.returncode, said)


def _runs_on(process: subprocess.Popen[bytes]) -> bool:
    """Wait for a second, or until it has ended."""
    try:
        process.wait(_PAUSE)
    except subprocess.TimeoutExpired:
        return True
    return False


def _idle() -> tuple[float, float]:
    """When, and the seconds that the processors which we may use have been idle."""
    allowed = os.sched_getaffinity(0)
    idle = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in allowed:
            idle += int(ticks[3]) + int(ticks[4])
    return time.perf_counter(), idle / _TICKS


def _busy(samples: list[tuple[float, float]]) -> float:
    """The share of the time in which hardly any processor was idle."""
    total = full = 0.0
    for (then, idle_then), (now, idle_now) in pairwise(samples):
        total += now - then
        if idle_now - idle_then < 0.15 * (now - then):
            full += now - then
    return full / total if total else 0.0


def _tree(root: int) -> Iterator[int]:
    """A process and all that came from it and still run."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(words[1]), []).append(int(path.parent.name))
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children.get(process, [])


def _resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
