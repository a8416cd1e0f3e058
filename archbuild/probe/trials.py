"""Real work on every GPU: a kernel, torch's operations, the kernel again with and without JIT.

That CUDA sees a GPU, and that torch says so, proves nothing: no kernel has run by then.
Each trial runs in a process of its own, which sees that one GPU alone.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from archbuild.facts.cuda_errors import errors_in_text, find_cuda_error
from archbuild.model.installed import Trial, TrialOutcome
from archbuild.model.machine import Gpu, Machine
from archbuild.probe.process import Failure, Outcome, json_lines, run_limited
from archbuild.probe.trial_library import TrialLibrary, build_library
from archbuild.probe.trial_ptx import BLOCK, ENTRY, compute_words, write_ptx
from archbuild.rules.building.smoke_numbers import compute_numbers
from archbuild.rules.building.smoke_outcome import State, judge_answer

#: Seconds for each process.
TIMEOUT = 60.0
#: The names of trials, in the order in which they run.
KERNEL, FORCED_JIT, NO_JIT = "kernel", "forced jit", "no jit"
TORCH = ("torch", "matmul", "linalg")

_FORCE, _DISABLE = "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT"
_COUNT, _SEED = 1000, 20261130  # not a multiple of the block, so that its edge is tested
# Characters of an error that are kept: torch's have a paragraph of advice behind them.
_LONGEST = 500


@dataclass(frozen=True)
class _Work:
    """What the trials have in common.

    Args:
        machine: The machine.
        environ: The environment of each process.
        timeout: Seconds for each.
        folder: For what is built and written.
        library: The smoke kernel, compiled; None: there is no nvcc that can.
        torch_path: Where torch is imported from; empty: it cannot be.
        no_torch: Why not.
    """

    machine: Machine
    environ: Mapping[str, str]
    timeout: float
    folder: Path
    library: TrialLibrary | None
    torch_path: tuple[str, ...]
    no_torch: str


def run_trials(
    machine: Machine, *, timeout: float = TIMEOUT, environ: Mapping[str, str] | None = None
) -> tuple[Trial, ...]:
    """Run the trials on every GPU of a machine.

    The kernel is that of csrc/ where nvcc can compile it for the GPU, else one of PTX
    text. It runs as it would for anybody, then with CUDA_FORCE_PTX_JIT, which only
    PTX passes, and with CUDA_DISABLE_PTX_JIT, which only SASS passes. A GPU whose
    kernel does not come back is left alone after that.

    Args:
        machine: This machine, as it was asked.
        timeout: Seconds for each process; one GPU has up to six.
        environ: The environment; None: this process's.

    Returns:
        The trials, GPU by GPU; none without a GPU.
    """
    if not machine.gpus:
        return ()
    env = dict(os.environ if environ is None else environ)
    with tempfile.TemporaryDirectory(prefix="archbuild-trial-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        path, no_torch = _torch(machine)
        usable = [gpu for gpu in machine.gpus if not _is_out_of_reach(gpu, env)]
        library = build_library(machine.toolkit, usable, folder, env)
        work = _Work(machine, env, timeout, folder, library, path, no_torch)
        return tuple(trial for gpu in machine.gpus for trial in _trials_on(gpu, work))


def _torch(machine: Machine) -> tuple[tuple[str, ...], str]:
    """Where torch is to be imported from, and why it can't be."""
    if machine.torch is None:
        return (), machine.absence("torch") or "torch is not installed"
    if machine.torch.cuda is None:
        return (), "this torch is not built with CUDA"
    return (str(Path(machine.torch.root).parent), *filter(None, sys.path)), ""


def _is_out_of_reach(gpu: Gpu, env: Mapping[str, str]) -> str:
    """Why a process can't be given this GPU alone; empty: it can."""
    if gpu.visible is False:
        return "CUDA does not see it"
    if gpu.mig and not gpu.uuid.startswith("MIG-"):
        return "it is divided by MIG; its slices count"
    return "" if _name_for_cuda(gpu, env) else "its UUID is unknown, by which CUDA could take it"


def _name_for_cuda(gpu: Gpu, env: Mapping[str, str]) -> str:
    # Tegra's CUDA takes numbers alone, which count what the variable already chose.
    if gpu.integrated and gpu.cuda_index is not None and "CUDA_VISIBLE_DEVICES" not in env:
        return str(gpu.cuda_index)
    return gpu.uuid if gpu.uuid.startswith(("GPU-", "MIG-")) else ""


def _trials_on(gpu: Gpu, work: _Work) -> Iterator[Trial]:
    reason = _is_out_of_reach(gpu, work.environ)
    if reason:
        yield Trial(KERNEL, gpu.uuid, TrialOutcome.SKIPPED, said=reason)
        return
    first = _kernel(KERNEL, gpu, work, {})
    yield first
    rest = (*TORCH, FORCED_JIT, NO_JIT)
    if first.outcome is TrialOutcome.TIMED_OUT:
        yield from _skipped(rest, gpu, "the kernel before it did not come back")
        return
    yield from _torch_trials(gpu, work)
    # Without the cache of compiled PTX, which would hide a compiler that fails.
    yield _kernel(FORCED_JIT, gpu, work, {_FORCE: "1", _DISABLE: "", "CUDA_CACHE_DISABLE": "1"})
    if _takes_library(gpu, work):
        yield _kernel(NO_JIT, gpu, work, {_DISABLE: "1", _FORCE: ""})
    else:
        yield from _skipped([NO_JIT], gpu, "there is no nvcc to make SASS for it")


def _skipped(names: Sequence[str], gpu: Gpu, reason: str) -> Iterator[Trial]:
    for name in names:
        yield Trial(name, gpu.uuid, TrialOutcome.SKIPPED, said=reason)


def _environ(gpu: Gpu, work: _Work, changes: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process for one GPU; an empty change takes a variable away."""
    wanted = {"CUDA_VISIBLE_DEVICES": _name_for_cuda(gpu, work.environ), **changes}
    env = {k: v for k, v in work.environ.items() if k not in wanted}
    return {**env, **{name: value for name, value in wanted.items() if value}}


# --- the kernel -------------------------------------------------------------------------------


def _takes_library(gpu: Gpu, work: _Work) -> bool:
    return work.library is not None and gpu.uuid in work.library.gpus


def _kernel(name: str, gpu: Gpu, work: _Work, changes: Mapping[str, str]) -> Trial:
    run = _run_library if _takes_library(gpu, work) else _run_ptx
    started = time.monotonic()
    trial = run(Trial(name, gpu.uuid, TrialOutcome.FAILED), gpu, work, changes)
    return replace(trial, seconds=round(time.monotonic() - started, 3))


def _run_library(trial: Trial, gpu: Gpu, work: _Work, changes: Mapping[str, str]) -> Trial:
    assert work.library is not None
    answer = work.folder / "answer.json"
    answer.unlink(missing_ok=True)
    words = [str(work.library.path), "0", str(_COUNT), str(_SEED), str(answer)]
    outcome = _child("run_smoke.py", words, _environ(gpu, work, changes), work.timeout)
    if not outcome.ok:
        return _ended(trial, outcome)
    try:
        text = answer.read_text("utf-8")
        error = json.loads(text).get("error")
    except (OSError, ValueError, AttributeError):
        return replace(trial, said="the run left no answer")
    if isinstance(error, int) and error != 0:
        return _failed(trial, error, "")
    run = judge_answer(gpu, text, work.library.gencodes, compute_numbers(_COUNT, _SEED))
    return _judged(trial, run.detail, good=run.state is State.PASSED)


def _run_ptx(trial: Trial, gpu: Gpu, work: _Work, changes: Mapping[str, str]) -> Trial:
    words = [write_ptx(gpu.capability), ENTRY, str(_COUNT), str(_SEED), str(BLOCK)]
    outcome = _child("run_ptx.py", words, _environ(gpu, work, changes), work.timeout)
    if not outcome.ok:
        return _ended(trial, outcome)
    record = next(iter(json_lines(outcome.stdout)), {})
    if "words" in record:
        good = record["words"] == compute_words(_COUNT, _SEED)
        return _judged(trial, "the numbers are wrong", good=good)
    error, call = record.get("error"), record.get("call")
    said = ": ".join(str(part) for part in (call, record.get("said")) if part)
    return _failed(trial, error, said or "the run left no answer")


def _child(script: str, words: Sequence[str], env: Mapping[str, str], timeout: float) -> Outcome:
    path = Path(__file__).with_name(script)
    return run_limited([sys.executable, "-I", str(path), *words], timeout=timeout, env=env)


def _ended(trial: Trial, outcome: Outcome) -> Trial:
    """A trial whose process gave no answer."""
    kind = TrialOutcome.FAILED
    if outcome.failure is Failure.TIMED_OUT:
        kind = TrialOutcome.TIMED_OUT
    # Windows has no signals: it ends such a process with a status of this size.
    elif outcome.returncode is not None and not 0 <= outcome.returncode < 1 << 30:
        kind = TrialOutcome.CRASHED
    return replace(trial, outcome=kind, said=f"the run {outcome.reason}")


def _failed(trial: Trial, error: object, said: str) -> Trial:
    """A trial that gave an error; what it said names it where it gave no number."""
    known = errors_in_text(said)
    number = error if isinstance(error, int) else next((row.number for row in known), None)
    row = None if number is None else find_cuda_error(number)
    return replace(trial, error=number, said=_line(said or (row.text if row else "")))


def _judged(trial: Trial, detail: str, *, good: bool) -> Trial:
    return replace(trial, outcome=TrialOutcome.PASSED) if good else replace(trial, said=detail)


def _line(text: str) -> str:
    """Words in one printable line."""
    plain = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return plain[:_LONGEST]


# --- torch ------------------------------------------------------------------------------------


def _torch_trials(gpu: Gpu, work: _Work) -> Iterator[Trial]:
    """All in one process; after a failure it is of no more use, and the rest gets another."""
    if not work.torch_path:
        yield from _skipped(TORCH, gpu, work.no_torch)
        return
    left = list(TORCH)
    while left:
        done = _torch_process(left, gpu, work)
        yield from done
        left = left[len(done) :]


def _torch_process(names: Sequence[str], gpu: Gpu, work: _Work) -> list[Trial]:
    """The trials that one process came to, at least one."""
    started = time.monotonic()
    words = [json.dumps(work.torch_path), json.dumps(names)]
    outcome = _child("run_torch.py", words, _environ(gpu, work, {}), work.timeout)
    seconds = round(time.monotonic() - started, 3)
    every = list(json_lines(outcome.stdout))
    records = {str(r["name"]): r for r in every if "name" in r}
    blank = [Trial(name, gpu.uuid, TrialOutcome.FAILED) for name in names]
    if not any(record.get("begin") in names for record in every):
        import_error = records.get("import")
        first = _unanswered(blank[0], outcome)
        if import_error is not None:
            first = _failed(blank[0], None, str(import_error.get("said")))
        return [first, *_skipped(names[1:], gpu, "torch cannot be imported")]
    done = [_told(trial, records[trial.name]) for trial in blank if trial.name in records]
    if len(done) < len(names) and (not outcome.ok or not done):
        done.append(_unanswered(blank[len(done)], outcome))
    return [replace(done[0], seconds=seconds), *done[1:]]


def _told(trial: Trial, record: Mapping[str, object]) -> Trial:
    said = str(record.get("said") or "")
    if not said and record.get("error") is None:
        return replace(trial, outcome=TrialOutcome.PASSED)
    return _failed(trial, record.get("error"), said)


def _unanswered(trial: Trial, outcome: Outcome) -> Trial:
    if outcome.ok:
        return replace(trial, said="the run left no answer")
    return _ended(trial, outcome)
