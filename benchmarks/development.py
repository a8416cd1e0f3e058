"""What a development build saves: one source for six architectures, whole and in development.

python benchmarks/development.py [--arch LIST] [--full] [SOURCE.cu]

nvcc compiles the source to an object, with torch's flags and the lean headers, or
with torch's own (--full: minutes, and 3 GB). Seconds are of a processor.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from kernel_flags import kernel_flags, run_counted
from timing import Command, machine_line

from archbuild import select
from archbuild.build.lean import lean_flags
from archbuild.model.gencode import render_gencodes
from archbuild.rules.selecting.development import develop

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="7.5;8.0;8.6;9.0;10.0;12.0+PTX")
    parser.add_argument("--full", action="store_true")
    parser.add_argument(
        "source", nargs="?", default=ROOT / "tests" / "data" / "lean" / "cell.cu", type=Path
    )
    options = parser.parse_args()
    selection = select(options.arch).selection
    toolkit = selection.compiler.toolkit
    assert toolkit is not None
    headers = [] if options.full else lean_flags()
    print(f"{options.source.name} for {options.arch}, {machine_line()}, nvcc {toolkit.release}")
    whole = selection.gencodes
    for name, gencodes in (("whole", whole), ("development", develop(whole))):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "k.o"
            words = [toolkit.nvcc, *headers, *kernel_flags(), *render_gencodes(gencodes)]
            words += ["-Xcompiler", "-fPIC", "-c", "-o", str(out), str(options.source)]
            seconds, memory = run_counted(Command(name, words))
        print(f"  {name:12}{seconds:7.1f} s  {memory / 2**30:.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
