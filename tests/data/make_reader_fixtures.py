"""Build the fixtures of the native reader from our own sources with the real tools.

The results are checked in, so that the tests need no tools. Run it again only to
change or to add a fixture::

    python tests/data/make_reader_fixtures.py --toolkit CUDA_13.0 --newer CUDA_13.5
        --ptxas-11 PTXAS_11.8 --ptxas-12 PTXAS_12.9 --nvfatbin LIBNVFATBIN_13

Each toolkit is the folder that holds ``bin/nvcc``; g++ and ar come from the PATH.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "reader"
SOURCES = HERE / "src"

ALL_13 = [
    ("compute_75", "sm_75"),
    ("compute_80", "sm_80"),
    ("compute_90", "sm_90"),
    ("compute_90a", "sm_90a"),
    ("compute_100f", "sm_103"),
    ("compute_100a", "sm_100a"),
    ("compute_120f", "sm_120f"),
    ("compute_121a", "sm_121a"),
]
PTX = [
    ("compute_90a", "compute_90a"),
    ("compute_100f", "compute_100f"),
    ("compute_120", "compute_120"),
]


def gencode(*pairs: tuple[str, str]) -> list[str]:
    return [f"-gencode=arch={virtual},code={code}" for virtual, code in pairs]


class Tools:
    """The tools of several releases, run in a folder of their own."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work

    def run(self, *command: object) -> None:
        variables = {k: v for k, v in os.environ.items() if not k.startswith("NVCC_")}
        subprocess.run([str(c) for c in command], cwd=self.work, env=variables, check=True)

    def nvcc(self, *arguments: object, newer: bool = False) -> None:
        root = self.options.newer if newer else self.options.toolkit
        # A fixed seed and a relative path, so that the names are the same everywhere.
        self.run(root / "bin/nvcc", "-frandom-seed=archbuild", *arguments)

    def fatbinary(self, *arguments: object) -> None:
        self.run(self.options.toolkit / "bin/fatbinary", *arguments)

    def link(self, output: str, *inputs: str) -> None:
        self.run("g++", "-shared", "-nostdlib", "-s", "-o", output, *inputs)

    def keep(self, *names: str) -> None:
        # nvlink notes where the toolkit lies; that is nobody's business.
        root = str(self.options.toolkit).encode()
        for name in names:
            data = (self.work / name).read_bytes()
            (HERE / name).write_bytes(data.replace(root, b"/cuda".ljust(len(root), b"_")))


def make_cubins(tools: Tools) -> None:
    """Bare cubins of both ABIs, and old ones in fatbins compressed by LZ4."""
    for number in ("75", "90", "90a", "100a", "103f", "120"):
        virtual = "100f" if number == "103f" else number
        pair = (f"compute_{virtual}", f"sm_{number}")
        tools.nvcc("-cubin", *gencode(pair), "fill.cu", "-o", f"cuda13_sm_{number}.cubin")
        tools.keep(f"cuda13_sm_{number}.cubin")
    tools.nvcc(
        "-cubin", "-rdc=true", *gencode(("compute_80", "sm_80")), "fill.cu", "-o", "rdc.cubin"
    )
    text = (SOURCES / "plain.ptx").read_text(encoding="ascii")
    for name, ptxas, number, version in (
        ("cuda11_sm_52", tools.options.ptxas_11, "52", "7.8"),
        ("cuda11_sm_86", tools.options.ptxas_11, "86", "7.8"),
        ("cuda12_sm_90a", tools.options.ptxas_12, "90a", "8.0"),
        ("cuda12_sm_90", tools.options.ptxas_12, "90", "8.0"),
        ("cuda12_sm_100a", tools.options.ptxas_12, "100a", "8.7"),
        ("cuda12_sm_103f", tools.options.ptxas_12, "103f", "8.8"),
    ):
        own = text.replace("7.8", version).replace("sm_75", f"sm_{number.replace('86', '75')}")
        (tools.work / "own.ptx").write_text(own, encoding="ascii")
        tools.run(ptxas, f"-arch=sm_{number}", "own.ptx", "-o", f"{name}.cubin")
        tools.keep(f"{name}.cubin")
    tools.fatbinary(
        "--create=old.fatbin",
        "-compress-all",
        "-compress-mode=speed",
        "--image3=kind=elf,sm=52,file=cuda11_sm_52.cubin",
        "--image3=kind=elf,sm=86,file=cuda11_sm_86.cubin",
        "--image3=kind=elf,sm=90a,file=cuda12_sm_90a.cubin",
        "--image3=kind=elf,sm=100a,file=cuda12_sm_100a.cubin",
        "--image3=kind=elf,sm=103f,file=cuda12_sm_103f.cubin",
        "--image3=kind=ptx,sm=75,file=plain.ptx",
    )
    tools.keep("rdc.cubin", "old.fatbin", "plain.ptx")


def make_fatbins(tools: Tools) -> None:
    """Each compression, every suffix, debug code, LTO-IR, concatenated entries."""
    small = gencode(("compute_90", "sm_90"), ("compute_90", "compute_90"))
    for mode in ("default", "size", "speed", "balance", "none"):
        name = f"mode_{mode}.fatbin"
        tools.nvcc("-fatbin", f"-compress-mode={mode}", *small, "fill.cu", "-o", name)
        tools.keep(name)
    every = gencode(*ALL_13, *PTX)
    tools.nvcc("-fatbin", "-compress-mode=size", *every, "fill.cu", "-o", "suffixes.fatbin")
    tools.nvcc("-fatbin", "-G", *small, "fill.cu", "-o", "debug.fatbin")
    lto = gencode(("compute_90", "lto_90"), ("compute_90", "sm_90"))
    tools.nvcc("-fatbin", "-rdc=true", *lto, "fill.cu", "-o", "lto.fatbin")
    for name, extra in (("concatenated", []), ("concatenated_rdc", ["-rdc=true"])):
        codes = gencode(*ALL_13, ("compute_120", "compute_120"))
        output = f"{name}.fatbin"
        tools.nvcc("-concat", "-fatbin", *extra, *codes, "fill.cu", "-o", output, newer=True)
        tools.keep(output)
    tools.keep("suffixes.fatbin", "debug.fatbin", "lto.fatbin")


def make_libraries(tools: Tools) -> None:
    """Libraries and objects, linked in the ways that people link them."""
    two = gencode(("compute_80", "sm_80"), ("compute_90", "sm_90"))
    both = [*two, *gencode(("compute_90", "compute_90"))]
    pic = ["-Xcompiler", "-fPIC"]
    size = ["-compress-mode=size"]
    for source in ("fill", "anonymous", "host_only"):
        tools.nvcc("-c", *pic, *size, *both, f"{source}.cu", "-o", f"{source}.o")
        tools.nvcc("-c", "-rdc=true", *pic, *both, f"{source}.cu", "-o", f"{source}_rdc.o")
    tools.link("two_units.so", "fill.o", "anonymous.o")
    tools.link("host_only.so", "host_only.o")
    tools.link("rdc_unlinked.so", "fill_rdc.o", "anonymous_rdc.o")
    tools.nvcc("-dlink", *pic, *two, "fill_rdc.o", "anonymous_rdc.o", "-o", "device_link.o")
    tools.link("rdc_linked.so", "fill_rdc.o", "anonymous_rdc.o", "device_link.o")
    # What nvcc -shared does unasked: a device link for its default architecture.
    tools.nvcc("-dlink", *pic, "fill.o", "-o", "default_link.o")
    tools.link("empty_image.so", "default_link.o", "fill.o")
    tools.run("ar", "qc", "static.a", "fill.o", "host_only.o")
    shutil.copyfile(tools.work / "anonymous.o", tools.work / "a_member_with_a_long_name.o")
    tools.run("ar", "q", "static.a", "a_member_with_a_long_name.o")
    tools.run("ar", "qcT", "thin.a", "fill.o")
    assembly = '.section .rodata\n.balign 16\n.incbin "mode_default.fatbin"\n'
    (tools.work / "rodata.s").write_text(assembly, encoding="ascii")
    (tools.work / "hip.s").write_text(
        '.section .hip_fatbin,"a"\n.ascii "__CLANG_OFFLOAD_BUNDLE__"\n', encoding="ascii"
    )
    tools.link("rodata.so", "rodata.s")
    tools.link("hip.so", "hip.s")
    tools.keep("fill.o", "fill_rdc.o", "two_units.so", "host_only.so", "rdc_unlinked.so")
    tools.keep("rdc_linked.so", "empty_image.so", "static.a", "thin.a", "rodata.so", "hip.so")


def make_rare_kinds(tools: Tools) -> None:
    """What only libnvfatbin writes on Linux: the mark of Windows, Tile IR; and -reloc."""
    library = ctypes.CDLL(str(tools.options.nvfatbin))
    cubin = (tools.work / "cuda13_sm_90.cubin").read_bytes()
    ptx = (tools.work / "plain.ptx").read_bytes() + b"\0"
    windows = [
        ("nvFatbinAddCubin", cubin, [b"90", b"fill.cu"]),
        ("nvFatbinAddPTX", ptx, [b"75", b"fill.cu", b"-O3"]),
    ]
    tile = [("nvFatbinAddTileIR", b"\x7fTileIR\0" + bytes(100), [b"fill.cu", b"-O3"])]
    (HERE / "windows.fatbin").write_bytes(_nvfatbin(library, "-host=windows", windows))
    (HERE / "tile.fatbin").write_bytes(_nvfatbin(library, "-host=linux", tile))
    tools.fatbinary("--create=relocatable_ptx.fatbin", "--image2=kind=reloc,file=fill_rdc.o")
    tools.keep("relocatable_ptx.fatbin")


def _nvfatbin(
    library: ctypes.CDLL, host: str, images: list[tuple[str, bytes, list[bytes]]]
) -> bytes:
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = (ctypes.c_char_p * 3)(host.encode(), b"-64", b"-compress-all")
    _check(library.nvFatbinCreate(ctypes.byref(handle), options, ctypes.c_size_t(3)))
    for function, data, rest in images:
        _check(getattr(library, function)(handle, data, ctypes.c_size_t(len(data)), *rest))
    _check(library.nvFatbinSize(handle, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library.nvFatbinGet(handle, buffer))
    return buffer.raw


def _check(result: int) -> None:
    if result:
        raise SystemExit(f"libnvfatbin answered {result}")


def make_windows_files() -> None:
    """A library and an object of Windows, by a small writer of our own."""
    executable = (HERE / "windows.fatbin").read_bytes()
    relocatable = (HERE / "relocatable_ptx.fatbin").read_bytes()
    sections = [
        (b".text", b"\xc3" * 32, 0x60000020),
        (b".rdata", b"_Z4fillIfEvPT_S0_\0", 0x40000040),
        (b".nv_fatb", executable, 0x40000040),
        (b".nvFatBi", struct.pack("<IIQQ", 0x466243B1, 1, 0, 0), 0xC0000040),
    ]
    (HERE / "windows.dll").write_bytes(_pe(sections, linked=True))
    objects = [sections[0], (b".nv_fatb", executable, 0x40000040)]
    objects.append((b"__nv_rel", relocatable, 0x40000040))
    (HERE / "windows.obj").write_bytes(_pe(objects, linked=False))


def _pe(sections: list[tuple[bytes, bytes, int]], *, linked: bool) -> bytes:
    optional = bytes(240) if linked else b""
    start = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0" if linked else b""
    coff = struct.pack("<HHIIIHH", 0x8664, len(sections), 0, 0, 0, len(optional), 0x2022)
    align = 512 if linked else 4
    offset = _up(len(start) + len(coff) + len(optional) + 40 * len(sections), align)
    rows, body, address = b"", b"", 0x1000
    for name, data, flags in sections:
        stored = data.ljust(_up(len(data), align), b"\0")
        memory, place = (len(data), address) if linked else (0, 0)
        rows += struct.pack(
            "<8sIIIIIIHHI", name, memory, place, len(stored), offset, 0, 0, 0, 0, flags
        )
        body += stored
        offset += len(stored)
        address += _up(len(data), 0x1000)
    return (start + coff + optional + rows).ljust(offset - len(body), b"\0") + body


def _up(value: int, align: int) -> int:
    return -(-value // align) * align


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("toolkit", "newer", "ptxas-11", "ptxas-12", "nvfatbin"):
        parser.add_argument(f"--{name}", type=lambda text: Path(text).absolute(), required=True)
    options = parser.parse_args()
    for old in HERE.iterdir():
        if old.is_file():
            old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for source in SOURCES.iterdir():
            shutil.copyfile(source, work / source.name)
        tools = Tools(options, work)
        make_cubins(tools)
        make_fatbins(tools)
        make_libraries(tools)
        make_rare_kinds(tools)
    make_windows_files()
    total = sum(path.stat().st_size for path in HERE.iterdir() if path.is_file())
    print(f"{len(list(HERE.iterdir()))} fixtures, {total} bytes")


if __name__ == "__main__":
    main()
