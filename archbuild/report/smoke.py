"""The outcome of smoke: stages and GPUs for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from archbuild.model.record import encode
from archbuild.report.text import Ink, pad, paint, wrap
from archbuild.rules.building.smoke_outcome import GpuRun, SmokeReport, Stage, State

SCHEMA = "archbuild.smoke/1"
#: Lines of a tool's output that people see; JSON has all of them.
_FIRST_LINES = 12
_INKS = {State.PASSED: Ink.GREEN, State.FAILED: Ink.RED, State.SKIPPED: Ink.YELLOW}
_WORDS = {State.PASSED: "ok", State.FAILED: "FAILED", State.SKIPPED: "-"}


def render_smoke(report: SmokeReport, width: int, color: bool = False) -> str:
    """The report for people, without a newline at the end.

    Args:
        report: What smoke found.
        width: No line has more columns than this; at least 20 are taken.
        color: Whether to colour it for a terminal.
    """
    width = max(width, 20)
    targets = ", ".join(map(str, report.targets))
    lines = wrap(f"nvcc {report.toolkit.release} ({report.toolkit.nvcc})", width, "  ")
    lines += wrap(f"targets: {targets}", width, "  ")
    for stage in report.stages:
        lines += _stage(stage, width, color=color)
        if stage.name == "run":
            lines += [line for run in report.runs for line in _run(run, width)]
    if report.kept is not None:
        lines += wrap(f"kept: {report.kept}", width, "  ")
    lines.append(paint(*_verdict(report), color=color))
    return "\n".join(lines)


def _verdict(report: SmokeReport) -> tuple[str, Ink]:
    return ("smoke passed", Ink.GREEN) if report.ok else ("smoke failed", Ink.RED)


def _stage(stage: Stage, width: int, *, color: bool) -> Iterator[str]:
    text = f"{pad(stage.name, 8)}{pad(_WORDS[stage.state], 7)} {stage.detail}".rstrip()
    lines = wrap(text, width, "  ")
    yield paint(lines[0], _INKS[stage.state], color=color)
    yield from lines[1:]
    if stage.state is State.FAILED:
        for line in stage.evidence[:_FIRST_LINES]:
            yield from wrap(f"  | {line}", width, "  | ")
        left = len(stage.evidence) - _FIRST_LINES
        if left > 0:
            yield from wrap(f"  | and {left} more lines: --json has them", width, "  | ")
        if stage.advice:
            yield from wrap(f"  {stage.advice}", width, "  ")


def _run(run: GpuRun, width: int) -> list[str]:
    capability = f" ({run.gpu.capability})" if run.gpu.capability else ""
    said = run.detail or f"right numbers, by code for {run.ran}"
    return wrap(f"  {run.gpu.name}{capability}: {run.state.value}: {said}", width, "    ")


def smoke_json(report: SmokeReport) -> str:
    """The report for programs, by ``report/schemas/smoke.json``."""
    return json.dumps(smoke_document(report), indent=2, ensure_ascii=True)


def smoke_document(report: SmokeReport) -> dict[str, Any]:
    """What :func:`smoke_json` writes, as data."""
    toolkit = report.toolkit
    return {
        "schema": SCHEMA,
        "ok": report.ok,
        "reason": report.reason,
        "toolkit": {"root": toolkit.root, "nvcc": toolkit.nvcc, "release": toolkit.release},
        "targets": encode(report.targets),
        "stages": encode(report.stages),
        "gpus": [_gpu(run) for run in report.runs],
        "kept": report.kept,
    }


def _gpu(run: GpuRun) -> dict[str, Any]:
    gpu = {"uuid": run.gpu.uuid, "name": run.gpu.name, "capability": encode(run.gpu.capability)}
    return {**gpu, "state": run.state.value, "detail": run.detail, "ran": encode(run.ran)}
