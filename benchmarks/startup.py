"""How long the quick commands take, beside ``python -c pass``.

python benchmarks/startup.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace

from timing import Command, machine_line, side_by_side


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    run = [sys.executable, "-m", "archbuild"]
    commands = [
        Command("python -c pass", [sys.executable, "-c", "pass"]),
        Command("import archbuild", [sys.executable, "-c", "import archbuild"]),
        Command("archbuild --version", [*run, "--version"]),
        Command("archbuild flags --arch 9.0", [*run, "flags", "--arch", "9.0"]),
        Command("archbuild gpus", [*run, "gpus"]),
    ]
    with tempfile.TemporaryDirectory() as empty:
        timings = side_by_side([replace(command, cwd=empty) for command in commands], rounds)
    base = timings[0].median
    print(f"start-up, whole process, median of {rounds} rounds in turn, {machine_line()}")
    for timing in timings:
        extra = 1000 * (timing.median - base)
        print(f"  {timing.name:28}{1000 * timing.median:8.0f} ms   {extra:+6.0f} ms")


if __name__ == "__main__":
    main()
