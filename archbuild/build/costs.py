"""What the edges of a build will take: by their headers, and by what they took before."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from archbuild.build.includes import Scan, scan_source
from archbuild.build.passes import CostOf
from archbuild.model.build import Cost, Edge, EdgeRun, Step
from archbuild.probe.writing import write_whole
from archbuild.rules.building.cost import estimate, learn, refine

_BOOK = "costs.json"
_LARGE = frozenset({"torch/extension.h", "torch/all.h", "torch/torch.h"})
# The lean headers have less in them than this one, and take less memory.
_LEAN = "ATen/ATen.h"


def by_headers(
    root: Path, include_dirs: Iterable[str], lean: Container[str] = frozenset()
) -> CostOf:
    """Estimates from what each source includes.

    Args:
        root: The project's root: sources are relative to it.
        include_dirs: Where the compiler looks for headers.
        lean: Sources that get the lean headers for torch's largest.
    """
    folders = [root / folder for folder in include_dirs]

    @cache
    def scan(source: str) -> Scan:
        return scan_source(root / source, folders, root=root)

    def cost_of(source: str, step: Step, passes: int) -> Cost:
        found = scan(source)
        includes = found.includes
        if source in lean and includes & _LARGE:
            includes = includes - _LARGE | {_LEAN}
        return estimate(step, includes, found.text_bytes, passes=passes)

    return cost_of


def refined(edges: Sequence[Edge], folder: Path) -> tuple[Edge, ...]:
    """The edges, with what earlier builds of this folder measured."""
    known = _read(folder)
    return tuple(replace(edge, cost=refine(edge.cost, known.get(_name(edge)))) for edge in edges)


def learn_from(
    runs: Sequence[EdgeRun], edges: Sequence[Edge], folder: Path, *, cached: bool
) -> None:
    """Keep what this build measured for the next one; it is lost where nothing can be written.

    Args:
        runs: What ran.
        edges: What was planned.
        folder: The build folder.
        cached: Whether a compiler cache may have answered in a compiler's place.
    """
    if not runs:
        return
    names = {(edge.source, edge.label): _name(edge) for edge in edges}
    named = [replace(run, label=names.get((run.source, run.label), run.label)) for run in runs]
    before = _read(folder)
    if cached:
        before = {_name(edge): edge.cost for edge in edges} | before
    costs = learn(named, before, cached=cached)
    text = json.dumps({name: [cost.seconds, cost.memory] for name, cost in costs.items()})
    with suppress(OSError):
        write_whole(folder / _BOOK, text.encode())


def _name(edge: Edge) -> str:
    """Labels name a file without its folder; two sources may bear one name."""
    return f"{edge.source}: {edge.label}"


def _read(folder: Path) -> dict[str, Cost]:
    try:
        told = json.loads((folder / _BOOK).read_text(encoding="utf-8"))
        return {name: Cost(float(pair[0]), int(pair[1])) for name, pair in told.items()}
    except (OSError, ValueError, TypeError, AttributeError, IndexError):
        return {}  # none yet, or damaged: the estimates stand
