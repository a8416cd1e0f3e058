"""Compile kernel files with torch's full headers and with the lean ones; compare the device code.

python benchmarks/lean_images.py [--arch "8.0 9.0"] [--keep FOLDER] [SOURCE.cu ...]

Without sources: those of examples/ and of tests/data/lean/. Each is compiled to
a cubin for each architecture, which is one device pass, by the same nvcc with
the same flags; the two words that bring in the lean headers are all that
differs. Cubins are compared byte by byte and, where bytes differ, section by
section (a kernel's code is its section .text.NAME) with the names that the
compiler makes up put aside: hashes in anonymous namespaces, and the numbers of
strings that kernels print. Seconds are of a processor, so that others who use
the machine count little.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_flags import kernel_flags, run_counted
from timing import Command, machine_line

from archbuild import select
from archbuild.binary import elf
from archbuild.binary.source import BytesSource
from archbuild.build.lean import lean_flags

ROOT = Path(__file__).resolve().parents[1]
_MADE_UP = re.compile(
    rb"(?<=_GLOBAL__N__)[0-9a-f]{8}(?=_)|(?<=_INTERNAL_)[0-9a-f]{8}(?=_)|(?<=_cu_)[0-9a-f]{8}"
    rb"|(?<=\$str\$)\d+"
)
_NO_BYTES = 8
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class Pass:
    """One device pass: the cubin, and what it took."""

    cubin: bytes
    sections: dict[str, bytes]
    seconds: float
    memory: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="8.0 9.0")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("sources", nargs="*", type=Path)
    options = parser.parse_args()
    selection = select(options.arch).selection
    toolkit = selection.compiler.toolkit
    assert toolkit is not None
    print(f"{machine_line()}; nvcc {toolkit.release}; processor seconds and GiB of one device pass")
    print(f"{'source':16}{'arch':8}{'full':>14}{'lean':>14}   kernels")
    equal = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for source in options.sources or list(_sources()):
            for arch in [target for target in selection.targets if target.is_real]:
                words = [toolkit.nvcc, f"-arch={arch}", *kernel_flags()]
                full = _compile(words, source, folder / f"{source.stem}.{arch}.full.cubin")
                lean = _compile(
                    [words[0], *lean_flags(), *words[1:]],
                    source,
                    folder / f"{source.stem}.{arch}.lean.cubin",
                )
                differing = list(_differing(full, lean))
                equal = equal and not differing
                print(_row(source, str(arch), full, lean, differing), flush=True)
    sys.exit(0 if equal else 1)


def _sources() -> Iterator[Path]:
    yield from sorted((ROOT / "tests" / "data" / "lean").glob("*.cu"))
    yield from sorted((ROOT / "examples").rglob("*.cu"))


def _compile(words: Sequence[str], source: Path, out: Path) -> Pass:
    command = Command(out.name, [*words, "-cubin", "-o", str(out), str(source)])
    seconds, memory = run_counted(command)
    return Pass(out.read_bytes(), _sections(out), seconds, memory)


def _sections(cubin: Path) -> dict[str, bytes]:
    """What the sections hold, by name, without made-up names."""
    source = BytesSource(cubin.name, cubin.read_bytes())
    found = {
        section.name: source.read(section.offset, section.size)
        for section in elf.read_sections(source, elf.read_header(source))
        if section.type != _NO_BYTES
    }
    names = found.pop(".strtab")
    found.pop(".shstrtab")
    found[".symtab"] = b"\n".join(_symbols(found[".symtab"], names))
    return {_plain(name.encode()).decode(): _plain(data) for name, data in found.items()}


def _symbols(table: bytes, names: bytes) -> Iterator[bytes]:
    """Each symbol in order, its name in place of where the name lies."""
    for offset, *rest in _SYMBOL.iter_unpack(table):
        name = names[offset : names.index(b"\0", offset)]
        yield name + repr(rest).encode()


def _plain(data: bytes) -> bytes:
    return _MADE_UP.sub(b"#", data)


def _differing(full: Pass, lean: Pass) -> Iterator[str]:
    """Sections that one of them lacks, or that differ once made-up names are put aside."""
    for name in sorted(full.sections.keys() | lean.sections.keys()):
        if full.sections.get(name) != lean.sections.get(name):
            yield name


def _row(source: Path, arch: str, full: Pass, lean: Pass, differing: Sequence[str]) -> str:
    kernels = sum(name.startswith(".text.") for name in full.sections)
    if full.cubin == lean.cubin:
        verdict = "equal, byte by byte"
    elif not differing:
        verdict = "equal but for made-up names"
    else:
        verdict = f"DIFFERENT: {', '.join(differing)}"
    return (
        f"{source.name:16}{arch:8}{_figures(full):>14}{_figures(lean):>14}   {kernels}, {verdict}"
    )


def _figures(one: Pass) -> str:
    return f"{one.seconds:.1f} s {one.memory / 2**30:.2f}"


if __name__ == "__main__":
    main()
