"""Time whole commands side by side: in turn, several rounds, the median told."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command to time.

    Args:
        name: For the table.
        words: The program and its arguments.
        cwd: Where to run it.
        env: Its whole environment; None: this process's.
        codes: The exit codes with which it has done its work.
    """

    name: str
    words: Sequence[str]
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    codes: Sequence[int] = (0,)


@dataclass(frozen=True)
class Timing:
    """What became of a command over all rounds.

    Args:
        name: For the table.
        seconds: Wall time of each round.
        memory: Largest resident memory of one process, bytes, over all rounds.
    """

    name: str
    seconds: tuple[float, ...]
    memory: int

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.seconds)


def run_once(command: Command) -> tuple[float, int]:
    """Run it; seconds and the peak memory of its largest process, in bytes."""
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen(
            command.words,
            cwd=command.cwd,
            env=command.env,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        # wait4 counts this child and its own children alone.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in command.codes:
            said.seek(0)
            words = said.read().decode(errors="replace")
            raise SystemExit(f"{command.name} failed: {words[-2000:]}")
    return seconds, usage.ru_maxrss * 1024


def side_by_side(commands: Sequence[Command], rounds: int, *, warm: bool = True) -> list[Timing]:
    """Run the commands in turn, A B A B, so that a drifting machine hits them alike.

    Args:
        commands: What to run.
        rounds: How often each is counted.
        warm: Whether one round that isn't counted comes first.
    """
    if warm:
        for command in commands:
            run_once(command)
    seconds: dict[str, list[float]] = {command.name: [] for command in commands}
    memory = dict.fromkeys(seconds, 0)
    for _ in range(rounds):
        for command in commands:
            took, peak = run_once(command)
            seconds[command.name].append(took)
            memory[command.name] = max(memory[command.name], peak)
    return [Timing(name, tuple(took), memory[name]) for name, took in seconds.items()]


def machine_line() -> str:
    """The processors that this process may use, in a few words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} processors"
