"""Make the small binaries that the tests of the readers read.

Run it with an nvcc 13.0 and a cuobjdump 13.5 in the environment::

    python tests/data/make_fixtures.py [FOLDER]

FOLDER is this script's own where none is given. Every binary comes from the
sources below and stays under 60 KB; ``dumps/`` records what cuobjdump prints of
each, so that most tests need no toolkit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

KERNEL = """
extern "C" __global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }
"""
SECOND = """
__device__ float shared_by_units(float x) { return x + 1.0f; }
extern "C" __global__ void shift(float *x) { x[threadIdx.x] = shared_by_units(*x); }
"""
# Which kernel is launched depends on the architecture, and the host is told of the one
# that the last of them has: a launch on the others ends in error 98.
BY_ARCH = """
template <int N> __global__ void step(float *x) { x[threadIdx.x] += N; }
extern "C" __global__ void scale(float *x) { x[threadIdx.x] *= 2; }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr int size = 2;
#else
constexpr int size = 1;
#endif
void launch(float *x) {
  scale<<<1, 1>>>(x);
  step<size><<<1, 1>>>(x);
}
"""
HOST_ONLY = "int answer() { return 42; }\n"
CLASSIC = [
    "-gencode=arch=compute_86,code=sm_86",
    "-gencode=arch=compute_120,code=sm_120",
    "-gencode=arch=compute_120,code=compute_120",
]
SUFFIXED = [
    "-gencode=arch=compute_90a,code=sm_90a",
    "-gencode=arch=compute_100f,code=sm_103",
    "-gencode=arch=compute_120f,code=sm_120f",
    "-gencode=arch=compute_90a,code=compute_90a",
]
UPWARDS = [
    "-gencode=arch=compute_89,code=sm_89",
    "-gencode=arch=compute_89,code=compute_89",
]
ONLY_SPECIFIC = [
    "-gencode=arch=compute_90a,code=sm_90a",
    "-gencode=arch=compute_100a,code=sm_100a",
]
LIMIT = 60_000
STAMP = (2026, 1, 1, 0, 0, 0)


class Maker:
    """The tools, and a folder for what lies between source and fixture."""

    def __init__(self, out: Path, work: Path) -> None:
        self.out, self.work = out, work
        bin_dir = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin"
        path = f"{bin_dir}{os.pathsep}{os.environ['PATH']}"
        self.nvcc = shutil.which("nvcc", path=path)
        self.cuobjdump = shutil.which("cuobjdump", path=path)
        assert self.nvcc, "no nvcc"
        assert self.cuobjdump, "no cuobjdump"
        sources = {"kernel.cu": KERNEL, "second.cu": SECOND, "host.cu": HOST_ONLY}
        sources["by_arch.cu"] = BY_ARCH
        for name, text in {**sources, "plain.c": "int plain;\n"}.items():
            (work / name).write_text(text)

    def run(self, *command: str | Path) -> str:
        """Run a command in the folder of intermediate files."""
        words = [str(word) for word in command]
        done = subprocess.run(words, cwd=self.work, check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout

    def compile(self, source: str, target: str, *flags: str) -> None:
        """Compile one source into an object, a cubin or a fatbin."""
        mode = {".cubin": "-cubin", ".fatbin": "-fatbin"}.get(Path(target).suffix, "-c")
        self.run(self.nvcc, mode, "-Xcompiler=-fPIC", *flags, source, "-o", target)

    def nvcc_link(self, target: str, *words: str) -> None:
        """Link as nvcc does: with an implicit device link; the CUDA runtime stays outside."""
        # With -cudart=none nvcc leaves the device link out (13.0); -cudart=shared
        # wants a libcudart.so, which the packages lack.
        root = Path(self.nvcc).parent.parent
        runtime = self.work / "libcudart.so"
        runtime.unlink(missing_ok=True)
        runtime.symlink_to(root / "lib" / "libcudart.so.13")
        libs = ["-cudart=shared", "-L.", f"-L{root / 'lib'}"]
        self.run(self.nvcc, "-shared", *libs, *words, "-o", target)
        self.run("strip", "--strip-unneeded", target)
        # nvlink leaves its command line in a note, with the place of the toolkit.
        data = (self.work / target).read_bytes()
        here = bytes(root)
        (self.work / target).write_bytes(data.replace(here, b"/toolkit".ljust(len(here), b"/")))

    def host_link(self, target: str, *words: str) -> None:
        """Link as setuptools does: g++ knows nothing of device code."""
        self.run("g++", "-shared", *words, "-o", target)
        self.run("strip", "--strip-unneeded", target)

    def keep(self, *names: str) -> None:
        """Check the sizes and copy into the repository."""
        for name in names:
            size = (self.work / name).stat().st_size
            assert size < LIMIT, f"{name} has {size} bytes"
            shutil.copyfile(self.work / name, self.out / name)

    def record(self, name: str) -> None:
        """Write down what cuobjdump prints, with the folder taken out."""
        for suffix, options in (("", ()), (".all", ("-all",)), (".symbols", ("-all", "-symbols"))):
            text = self.run(self.cuobjdump, *options, self.out / name)
            text = text.replace(f"{self.out}/", "/fixtures/")
            (self.out / "dumps" / f"{name}{suffix}.txt").write_text(text)


def make_units(maker: Maker) -> None:
    """Objects, and the libraries that a linker makes of them."""
    maker.compile("kernel.cu", "classic.o", *CLASSIC)
    maker.compile("kernel.cu", "suffixed.o", *SUFFIXED)
    maker.compile("host.cu", "host_only.o", *CLASSIC)
    maker.compile("second.cu", "rdc.o", "-rdc=true", *CLASSIC)
    maker.compile("kernel.cu", "debug.o", "-G", "-gencode=arch=compute_90,code=sm_90")
    maker.compile("kernel.cu", "lto.o", "-rdc=true", "-gencode=arch=compute_90,code=lto_90")
    maker.run("gcc", "-c", "-fPIC", "plain.c")
    maker.host_link("classic.so", "classic.o")
    maker.nvcc_link("classic_nvcc.so", "classic.o", *CLASSIC)
    maker.nvcc_link("empty_default.so", "classic.o")
    maker.nvcc_link("empty_only.so", "plain.o")
    maker.nvcc_link("rdc.so", "rdc.o", *CLASSIC)
    maker.host_link("rdc_unlinked.so", "rdc.o")
    maker.host_link("mixed.so", "rdc.o", "classic.o")
    maker.host_link("plain.so", "plain.o")


def make_faulty(maker: Maker) -> None:
    """What people shipped and should not have."""
    maker.compile("kernel.cu", "upwards.o", *UPWARDS)
    maker.compile("kernel.cu", "only_specific.o", *ONLY_SPECIFIC)
    two = CLASSIC[:2]
    maker.compile("by_arch.cu", "by_arch.o", *two)
    maker.host_link("upwards.so", "upwards.o")
    maker.host_link("only_specific.so", "only_specific.o")
    maker.host_link("unregistered.so", "by_arch.o")


def make_bare(maker: Maker) -> None:
    """Cubins, fatbins and an archive."""
    maker.compile("kernel.cu", "specific.cubin", "-arch=sm_90a")
    maker.compile("kernel.cu", "family.cubin", "-arch=sm_120f")
    maker.compile("second.cu", "relocatable.cubin", "-rdc=true", "-arch=sm_86")
    maker.compile("kernel.cu", "classic.fatbin", *CLASSIC)
    maker.compile("second.cu", "rdc.fatbin", "-rdc=true", *CLASSIC)
    maker.run("ar", "rcsD", "units.a", "classic.o", "plain.o", "rdc.o")


def make_blind(maker: Maker) -> None:
    """What cuobjdump says nothing about, although something is there."""
    blob = ", ".join(map(str, (maker.work / "classic.fatbin").read_bytes()))
    text = f"__attribute__((aligned(8))) const unsigned char blob[] = {{{blob}}};\n"
    (maker.work / "rodata.c").write_text(text)
    maker.host_link("rodata.so", "-fPIC", "rodata.c")
    # A library beside whose own code lies a fatbin as data, for nvJitLink or the driver.
    blob = ", ".join(map(str, (maker.work / "rdc.fatbin").read_bytes()))
    text = f"__attribute__((aligned(8))) const unsigned char blob[] = {{{blob}}};\n"
    (maker.work / "carried.c").write_text(text)
    maker.host_link("carrier.so", "-fPIC", "carried.c", "classic.o")
    section = '__attribute__((section(".hip_fatbin"))) const char bundle[16] = "x";\n'
    (maker.work / "hip.c").write_text(section)
    maker.host_link("hip.so", "-fPIC", "hip.c")


def make_wheel(maker: Maker) -> None:
    """A wheel around two libraries, the same bytes each time."""
    info = "fixture-1.0.dist-info"
    wheel = "Wheel-Version: 1.0\nGenerator: fixture\nRoot-Is-Purelib: false\n"
    members: dict[str, bytes] = {
        "fixture/__init__.py": b"",
        "fixture/_C.so": (maker.work / "classic.so").read_bytes(),
        "fixture/_host.so": (maker.work / "plain.so").read_bytes(),
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: fixture\nVersion: 1.0\n",
        f"{info}/WHEEL": f"{wheel}Tag: py3-none-linux_x86_64\n".encode(),
        f"{info}/RECORD": b"",
    }
    target = maker.work / "fixture-1.0-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), data, zipfile.ZIP_DEFLATED)


RECORDED = (
    "classic.o",
    "suffixed.o",
    "host_only.o",
    "rdc.o",
    "debug.o",
    "lto.o",
    "classic.so",
    "classic_nvcc.so",
    "empty_default.so",
    "empty_only.so",
    "rdc.so",
    "rdc_unlinked.so",
    "mixed.so",
    "classic.fatbin",
    "rdc.fatbin",
    "units.a",
)
SILENT = (
    "upwards.so",
    "only_specific.so",
    "unregistered.so",
    "plain.so",
    "rodata.so",
    "carrier.so",
    "hip.so",
    "specific.cubin",
    "family.cubin",
    "relocatable.cubin",
    "fixture-1.0-py3-none-linux_x86_64.whl",
)


def main() -> None:
    """Make all of them."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    out = out if len(sys.argv) > 1 else out.parent
    (out / "dumps").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        maker = Maker(out, Path(work))
        for make in (make_units, make_faulty, make_bare, make_blind, make_wheel):
            make(maker)
        maker.keep(*RECORDED, *SILENT)
        for name in RECORDED:
            maker.record(name)


if __name__ == "__main__":
    main()
