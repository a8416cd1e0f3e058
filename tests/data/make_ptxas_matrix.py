"""Ask real ptxas which PTX target it assembles for which real architecture.

The answers lie beside this script in ``ptxas_matrix.tsv``, and the tests hold
``archbuild.rules.covering.coverage`` against them. To make them again::

    python tests/data/make_ptxas_matrix.py PTXAS... > tests/data/ptxas_matrix.tsv

One row per ptxas and PTX target: the CUDA release, the target as it stands
after ``.target``, and every ``-arch`` that takes it, in order. A target that
the release doesn't know, or no longer makes code for, is asked for all the
same: 13.0 still takes PTX of sm_101, and makes code for sm_110 from it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HEADER = "cuda\ttarget\taccepted\n"
SOURCE = ".version {isa}\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"
# The PTX ISA that each release stamps on its own output.
ISAS = {"11.8": "7.8", "12.9": "8.8", "13.0": "9.0", "13.5": "9.5"}


def ask(ptxas: Path, *arguments: str) -> str:
    """What ptxas prints; fails where it does."""
    command = [str(ptxas), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def release_of(ptxas: Path) -> str:
    """The CUDA release of this ptxas, ``12.9``."""
    match = re.search(r"release (\d+\.\d+)", ask(ptxas, "--version"))
    if match is None:
        raise SystemExit(f"{ptxas} tells no release")
    return match[1]


def number_of(arch: str) -> tuple[int, str]:
    """The key by which architectures are ordered: as numbers, not as text."""
    return int(re.sub(r"\D", "", arch)), arch


def architectures_of(ptxas: Path) -> list[str]:
    """Every real architecture that ``-arch`` takes, ordered."""
    _, _, tail = ask(ptxas, "--help").partition("--gpu-name <")
    values = tail.partition("Allowed values")[2].partition("Default value")[0]
    return sorted(set(re.findall(r"'(sm_\d+[af]?)'", values)), key=number_of)


def assembles(ptxas: Path, source: Path, arch: str) -> bool:
    """Whether ptxas makes a cubin for ``arch`` from this PTX."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(ptxas), f"-arch={arch}", str(source), "-o", f"{folder}/k.cubin"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def matrix(ptxas: Path, targets: list[str]) -> list[str]:
    """Every row for one ptxas, as lines."""
    release = release_of(ptxas)
    archs = architectures_of(ptxas)
    rows = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        source = Path(folder) / "k.ptx"
        for target in targets:
            source.write_text(SOURCE.format(isa=ISAS[release], target=target))
            answers = list(pool.map(lambda arch: assembles(ptxas, source, arch), archs))
            taken = [arch for arch, good in zip(archs, answers, strict=True) if good]
            rows.append(f"{release}\t{target}\t{','.join(taken)}\n")
    return rows


def render(tools: list[Path]) -> str:
    """The whole file."""
    every = {arch for ptxas in tools for arch in architectures_of(ptxas)}
    targets = sorted(every, key=number_of)
    return HEADER + "".join(row for ptxas in tools for row in matrix(ptxas, targets))


if __name__ == "__main__":
    sys.stdout.write(render([Path(name) for name in sys.argv[1:]]))
