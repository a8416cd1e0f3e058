"""Builds that tests make up: runs of passes, and the plan that they belong to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from archbuild.model.arch import Arch
from archbuild.model.build import BuildPlan, BuildRun, Edge, EdgeRun, Step


def run_of(
    source: str | None,
    arch: str | None = None,
    *,
    step: Step = Step.DEVICE,
    start: float = 0.0,
    seconds: float = 1.0,
    status: int = 0,
    **fields: Any,
) -> EdgeRun:
    """One pass that ran, labelled as the engine labels it."""
    name = source.rpartition("/")[2] if source else "device link"
    label = f"{name} {arch or step.value}"
    memory = fields.pop("memory", 100_000_000)
    return EdgeRun(label, step, source, arch, start, seconds, memory, status, **fields)


def plan_of(runs: Iterable[EdgeRun], **fields: Any) -> BuildPlan:
    """The plan of these passes."""
    edges = tuple(
        Edge(
            run.step,
            (f"{run.label}.out",),
            (run.source,) if run.source else (),
            (run.command or ("true",),),
            run.label,
            run.source,
            Arch.parse(run.arch) if run.arch else None,
        )
        for run in runs
    )
    values: dict[str, Any] = {"root": "/project", "folder": "/project/build", "objects": ()}
    return BuildPlan("demo._C", edges=edges, **{**values, **fields})


def build_of(runs: Iterable[EdgeRun], seconds: float = 10.0, **fields: Any) -> BuildRun:
    """A build in which just these passes ran."""
    known = tuple(runs)
    return BuildRun(plan_of(known), known, seconds, **fields)
