"""The doctor beside torch's collect_env, and what is small enough for every start.

python benchmarks/doctor.py [--rounds 5]

Whole processes, in turn, in an empty folder; the table shows medians. Nothing is run on
a GPU, by either.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from timing import Command, Timing, machine_line, side_by_side

# What the installed program `archbuild` runs.
MAIN = "from archbuild.cli.main import program; program()"
# Findings and a machine of which not enough is known are answers as well.
ANSWERS = (0, 1, 4)
TIMES_FASTER, CHECK_SECONDS, GUARD_SECONDS = 3.0, 2.0, 0.005
VERDICTS = {True: "reached", False: "MISSED", None: ""}
GUARD = "_archbuild_guard"
IMPORT = f"""
import time
began = time.perf_counter()
import {GUARD}
print(time.perf_counter() - began)
"""


def environment() -> dict[str, str]:
    """Compiled modules are used, as they are once the package is installed."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def commands(folder: str) -> Iterator[Command]:
    """What is timed; collect_env only where torch is installed."""
    env, python = environment(), sys.executable
    doctor = [python, "-c", MAIN, "doctor"]
    yield Command("python -c pass", [python, "-c", "pass"], folder, env)
    yield Command("import archbuild", [python, "-c", "import archbuild"], folder, env)
    yield Command("archbuild doctor --check", [*doctor, "--check"], folder, env, ANSWERS)
    yield Command("archbuild doctor", [*doctor, "--no-run"], folder, env, ANSWERS)
    if importlib.util.find_spec("torch") is not None:
        words = [python, "-m", "torch.utils.collect_env"]
        yield Command("torch.utils.collect_env", words, folder, env)


def guard_seconds(folder: str, rounds: int) -> float:
    """The median of the guard's import, in fresh processes, without Python's own start."""
    spec = importlib.util.find_spec("archbuild.guard")
    assert spec is not None
    assert spec.origin is not None
    shutil.copyfile(spec.origin, Path(folder) / f"{GUARD}.py")
    words = [sys.executable, "-c", IMPORT]
    # In the first it is compiled.
    took = [_printed(words, folder) for _ in range(rounds + 1)]
    return statistics.median(took[1:])


def _printed(words: list[str], folder: str) -> float:
    ran = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, check=True)
    return float(ran.stdout)


def verdicts(timings: dict[str, Timing], guard: float) -> Iterator[tuple[str, str, bool | None]]:
    """Each line of the table: what, how long, whether it is as wanted; None: nothing is."""
    base = timings["python -c pass"].median
    added = timings["import archbuild"].median - base
    yield "import archbuild", f"{1000 * added:+.0f} ms to an empty start", None
    check = timings["archbuild doctor --check"].median
    yield "archbuild doctor --check", f"{check:.2f} s", check < CHECK_SECONDS
    yield "import of the guard", f"{1000 * guard:.1f} ms", guard < GUARD_SECONDS
    doctor, other = timings["archbuild doctor"], timings.get("torch.utils.collect_env")
    took = f"{doctor.median:.2f} s, {doctor.memory >> 20} MB"
    if other is not None:
        ratio = other.median / doctor.median
        took += f"; collect_env {other.median:.2f} s: {ratio:.1f} times faster"
        yield "archbuild doctor", took, ratio >= TIMES_FASTER
    else:
        yield "archbuild doctor", f"{took}; no torch to compare with", None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        timings = {one.name: one for one in side_by_side(list(commands(folder)), rounds)}
        guard = guard_seconds(folder, rounds)
    print(f"median of {rounds} rounds in turn, {machine_line()}")
    for name, took, reached in verdicts(timings, guard):
        print(f"  {name:28}{took:60}{VERDICTS[reached]}".rstrip())


if __name__ == "__main__":
    main()
