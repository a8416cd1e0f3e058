"""What smoke found, stage by stage and GPU by GPU, and what makes it a failure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from archbuild.facts.cuda_errors import find_cuda_error
from archbuild.model.arch import Arch
from archbuild.model.gencode import Gencode
from archbuild.model.machine import Gpu, Toolkit
from archbuild.rules.building.smoke_numbers import Numbers, decode_arch, find_difference


class State(Enum):
    """How a stage ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Stage:
    """One of the four: compile, link, verify, run.

    Args:
        name: Which.
        state: How it ended.
        detail: A clause: why it failed or was skipped, or what it did.
        advice: What cures it.
        evidence: What the tool printed, whole, line by line.
    """

    name: str
    state: State
    detail: str = ""
    advice: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class GpuRun:
    """The kernel on one GPU.

    Args:
        gpu: The GPU.
        state: Whether its numbers are right.
        detail: What went wrong, or why it was skipped.
        ran: The virtual architecture whose code ran.
    """

    gpu: Gpu
    state: State
    detail: str = ""
    ran: Arch | None = None


@dataclass(frozen=True)
class SmokeReport:
    """What smoke found.

    Args:
        toolkit: The toolkit that was tried.
        targets: What the library must hold.
        stages: In order; those after a failure are skipped.
        runs: One for each GPU that was given.
        kept: Where the library was left, if asked for.
    """

    toolkit: Toolkit
    targets: tuple[Arch, ...]
    stages: tuple[Stage, ...]
    runs: tuple[GpuRun, ...] = ()
    kept: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(stage.state is not State.FAILED for stage in self.stages)

    @property
    def reason(self) -> str:
        """The first failure as a clause with its cure; empty where there is none."""
        for stage in self.stages:
            if stage.state is State.FAILED:
                return f"{stage.name}: {stage.detail}. {stage.advice}".strip()
        return ""

    @property
    def exit_code(self) -> int:
        """0 nothing failed, 1 something did."""
        return 0 if self.ok else 1


def sum_up(runs: Sequence[GpuRun], *, good: bool, wanted: bool) -> Stage:
    """The stage ``run`` from what happened on each GPU.

    Args:
        runs: The GPUs, also those that were skipped.
        good: Whether there was a good library to run.
        wanted: Whether a run was asked for.
    """
    tried = [run for run in runs if run.state is not State.SKIPPED]
    failed = [run for run in tried if run.state is State.FAILED]
    if failed:
        details = "; ".join(f"{run.gpu.name}: {run.detail}" for run in failed)
        return Stage("run", State.FAILED, details)
    if tried:
        return Stage("run", State.PASSED, f"on {len(tried)} of {len(runs)} GPUs")
    if not good:
        return Stage("run", State.SKIPPED, "not tried")
    if not wanted:
        return Stage("run", State.SKIPPED, "not run: not asked for")
    why = "no GPU that CUDA sees" if runs else "no GPU"
    return Stage("run", State.SKIPPED, f"not run: {why}")


def judge_answer(gpu: Gpu, answer: str, gencodes: Sequence[Gencode], expected: Numbers) -> GpuRun:
    """Hold what a run wrote against the CPU.

    Args:
        gpu: Where it ran.
        answer: The JSON of ``probe/run_smoke.py``.
        gencodes: What was built, so that code from elsewhere is noticed.
        expected: What the CPU computed.
    """
    data = _parse(answer)
    if data is None:
        return GpuRun(gpu, State.FAILED, "the run left no answer")
    if isinstance(data, str):
        return GpuRun(gpu, State.FAILED, data)
    ran = decode_arch(data.arch)
    if difference := find_difference(expected, data.numbers):
        return GpuRun(gpu, State.FAILED, difference, ran)
    if ran is None or ran not in {gencode.virtual for gencode in gencodes}:
        return GpuRun(gpu, State.FAILED, f"code for {ran} ran, which was not built", ran)
    return GpuRun(gpu, State.PASSED, "", ran)


@dataclass(frozen=True)
class _Answer:
    """What a run without an error wrote."""

    numbers: Numbers
    arch: int


def _parse(answer: str) -> _Answer | str | None:
    """The numbers; a text where the run says that it failed; None where it says nothing."""
    try:
        data = json.loads(answer)
        if "failure" in data:
            return str(data["failure"])
        if data["error"] != 0:
            known = find_cuda_error(data["error"])
            meaning = f" ({known.name}): {known.meaning}" if known else ""
            return f"CUDA error {data['error']}{meaning}"
        words, singles, doubles = (tuple(data[n]) for n in ("words", "singles", "doubles"))
        return _Answer(Numbers(words, singles, doubles), int(data["arch"]))
    except (ValueError, TypeError, KeyError):
        return None
