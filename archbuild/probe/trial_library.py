"""The smoke kernel of csrc/, compiled for the GPUs of a machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from archbuild.errors import UnreadableError
from archbuild.model.gencode import Gencode, render_gencodes
from archbuild.model.machine import Gpu, Toolkit
from archbuild.probe.process import run_limited
from archbuild.probe.smoke_source import find_source
from archbuild.rules.covering.reach import nearest_real

# Seconds; one architecture takes about one.
_NVCC_TIMEOUT = 120.0


@dataclass(frozen=True)
class TrialLibrary:
    """The library.

    Args:
        path: Where it lies.
        gencodes: What it was built for: SASS and PTX of each.
        gpus: The UUIDs of the GPUs which it has SASS for.
    """

    path: Path
    gencodes: tuple[Gencode, ...]
    gpus: tuple[str, ...]


def build_library(
    toolkit: Toolkit | None, gpus: Iterable[Gpu], folder: Path, environ: Mapping[str, str]
) -> TrialLibrary | None:
    """Compile the smoke kernel for GPUs, natively, with PTX of the same besides.

    Args:
        toolkit: Whose nvcc to take; None: none.
        gpus: Which GPUs.
        folder: Where to put it.
        environ: The environment of nvcc.

    Returns:
        None where there is no nvcc, it serves none of the GPUs, or it fails: whether a
        toolchain works is the question of ``archbuild smoke``.
    """
    if toolkit is None:
        return None
    chosen = dict(_gencodes(toolkit, gpus))
    gencodes = tuple(dict.fromkeys(g for pair in chosen.values() for g in pair))
    try:
        source = find_source()
    except UnreadableError:
        return None
    windows = sys.platform == "win32"
    library = folder / ("trial.dll" if windows else "libtrial.so")
    places = [f"-I{path}" for path in toolkit.include] + [f"-L{path}" for path in toolkit.lib]
    words = [*([] if windows else ["-Xcompiler=-fPIC"]), *render_gencodes(gencodes), *places]
    command = [toolkit.nvcc, "-shared", *words, str(source), "-o", str(library)]
    env = {**environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))}
    if not gencodes or not run_limited(command, timeout=_NVCC_TIMEOUT, env=env).ok:
        return None
    return TrialLibrary(library, gencodes, tuple(chosen)) if library.is_file() else None


def _gencodes(
    toolkit: Toolkit, gpus: Iterable[Gpu]
) -> Iterator[tuple[str, tuple[Gencode, Gencode]]]:
    """For each GPU that this nvcc can serve natively: the SASS, and PTX of the same."""
    for gpu in gpus:
        if gpu.capability is None:
            continue
        real = nearest_real(toolkit.archs, gpu.capability)
        if real is not None:
            yield gpu.uuid, (Gencode.for_target(real), Gencode.for_target(real.virtual))
