"""The native reader of device code beside cuobjdump and unzip, whole processes.

python benchmarks/reader.py [--library FILE] [--wheel FILE ...] [--rounds 5]

Without --library it takes the libtorch_cuda.so of this environment's torch. Each row
is timed in turn with what it is held against; the table shows medians.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from timing import Command, Timing, machine_line, side_by_side

# What the installed program `archbuild` runs.
MAIN = "from archbuild.cli.main import program; program()"


@dataclass(frozen=True)
class Row:
    """One line of the table of speeds.

    Args:
        name: What is done.
        ours: The reader's command.
        theirs: What it is held against.
        least: At least this many times faster than that, or
        most: at most this part of its time.
        memory: Bytes that it may take, if that is bounded.
    """

    name: str
    ours: Command
    theirs: Command
    least: float | None = None
    most: float | None = None
    memory: int | None = None


def archbuild(*words: str) -> Command:
    """The command line as a process of its own."""
    # Compiled modules are used, as they are once the package is installed.
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    name = f"archbuild {' '.join(words[:-1])}"
    return Command(name, [sys.executable, "-c", MAIN, *words], env=variables)


def verifying(name: str, path: Path, *more: str) -> Command:
    """The command line, native; whatever it finds, the process ends well."""
    words = ["verify", str(path), "--runs-on", "8.0, 9.0", "--reader", "native", *more]
    code = f"from archbuild.cli.main import main; main({words!r})"
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return Command(name, [sys.executable, "-c", code], env=variables)


def library_rows(path: Path, cuobjdump: str) -> Iterator[Row]:
    listing = Command("cuobjdump --list-elf", [cuobjdump, "--list-elf", str(path)])
    symbols = Command("cuobjdump -symbols", [cuobjdump, "-symbols", str(path)])
    yield Row(f"show {path.name}", archbuild("show", str(path)), listing, least=50)
    yield Row(
        f"show --kernels {path.name}", archbuild("show", "--kernels", str(path)), symbols, least=8
    )


def wheel_rows(path: Path) -> Iterator[Row]:
    unzip = shutil.which("unzip")
    if unzip is None:
        raise SystemExit("unzip is not installed; the wheels are held against it.")
    name = path.name.partition("-")[0]
    other = Command("unzip -p", [unzip, "-p", str(path)])
    ours = verifying("verify", path, "--no-kernels")
    yield Row(f"verify {name} by architectures", ours, other, most=0.40, memory=250 << 20)
    ours = verifying("verify", path)
    yield Row(f"verify {name}, every kernel", ours, other, most=0.90, memory=250 << 20)


def render(row: Row, ours: Timing, theirs: Timing) -> str:
    ratio = theirs.median / ours.median
    if row.least is not None:
        told, met = f"{ratio:6.1f} x faster, wanted {row.least:.0f}", ratio >= row.least
    else:
        assert row.most is not None
        told, met = f"{1 / ratio:6.2f} of it, wanted {row.most:.2f}", 1 / ratio <= row.most
    if row.memory is not None:
        met = met and ours.memory <= row.memory
    verdict = "reached" if met else "MISSED"
    return (
        f"  {row.name:42}{ours.median:7.3f} s {ours.memory >> 20:5} MB"
        f"{theirs.median:9.3f} s  {row.theirs.name:22}{told:26} {verdict}"
    )


def torch_library() -> Path | None:
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / "lib" / "libtorch_cuda.so"
    return path if path.exists() else None


def find_cuobjdump() -> str:
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations or () if spec else ():
        for path in Path(place).glob("*/bin/cuobjdump*"):
            return str(path)
    found = shutil.which("cuobjdump")
    if found is None:
        raise SystemExit("No cuobjdump: pip install nvidia-cuda-cuobjdump")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path, default=torch_library())
    parser.add_argument("--wheel", type=Path, action="append", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows: list[Row] = []
    if options.library is not None:
        rows += library_rows(options.library, find_cuobjdump())
    for wheel in options.wheel:
        rows += wheel_rows(wheel)
    print(f"median of {options.rounds} rounds in turn, {machine_line()}")
    for row in rows:
        ours, theirs = side_by_side([row.ours, row.theirs], options.rounds)
        print(render(row, ours, theirs), flush=True)


if __name__ == "__main__":
    main()
