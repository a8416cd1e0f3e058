"""Build examples/axpy with archbuild's BuildExtension and with torch's, same architectures.

python benchmarks/axpy_build.py [--rounds 3] [--arch LIST]

Each build starts in an empty folder. TORCH_NO_COMPILER_WRAPPER=1 and an empty
cache keep compiler caches out of both; the one word that differs is the import
in setup.py. torch is told where nvcc is, and is given the links to libraries
that the packages lack, since it finds neither by itself.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from timing import Command, Timing, machine_line, run_once

from archbuild import select
from archbuild.build.link_folder import make_link_folder

ROOT = Path(__file__).resolve().parents[1]
ARCHS = "7.5;8.0;8.6;9.0;10.0;12.0+PTX"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arch", default=ARCHS)
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {"torch": [], "archbuild": []}
    memory = dict.fromkeys(seconds, 0)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            for name, taken in seconds.items():
                command = prepare(Path(folder) / f"{name}-{number}", name, options.arch)
                took, peak = run_once(command)
                taken.append(took)
                memory[name] = max(memory[name], peak)
    timings = {name: Timing(name, tuple(took), memory[name]) for name, took in seconds.items()}
    print(f"examples/axpy for {options.arch}, {options.rounds} rounds in turn, {machine_line()}")
    for timing in timings.values():
        every = " ".join(f"{took:.1f}" for took in timing.seconds)
        print(
            f"  {timing.name:10}{timing.median:7.1f} s  ({every})  {timing.memory / 2**30:.2f} GiB"
        )
    print(f"  archbuild / torch: {timings['archbuild'].median / timings['torch'].median:.2f}")


def prepare(folder: Path, name: str, archs: str) -> Command:
    """A copy of the example in an empty folder, built by either BuildExtension."""
    shutil.copytree(ROOT / "examples" / "axpy", folder)
    env = {k: v for k, v in os.environ.items() if k not in ("CUDA_HOME", "CUDA_PATH")}
    env |= {
        "TORCH_CUDA_ARCH_LIST": archs,
        "TORCH_NO_COMPILER_WRAPPER": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    if name == "torch":
        setup = folder / "setup.py"
        setup.write_text(
            setup.read_text().replace("archbuild.cpp_extension", "torch.utils.cpp_extension")
        )
        toolkit = select(archs).selection.compiler.toolkit
        assert toolkit is not None
        env["CUDA_HOME"] = toolkit.root
        links = make_link_folder(toolkit.lib, folder / "links")
        if links is not None:
            env["LIBRARY_PATH"] = str(links)
    words = [sys.executable, "setup.py", "build_ext", "--inplace"]
    return Command(name, words, cwd=str(folder), env=env)


if __name__ == "__main__":
    main()
