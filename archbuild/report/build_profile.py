"""A build for programs: a profile of every pass, a trace to look at, and what editors read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from archbuild.model.build import BuildPlan, BuildRun, Edge, EdgeRun, Step
from archbuild.rules.building.build_times import memory_over_time

SCHEMA = "archbuild.profile/1"


def profile_json(run: BuildRun) -> str:
    """Every pass of a build, by ``report/schemas/profile.json``."""
    return json.dumps(profile_document(run), indent=2, ensure_ascii=True)


def profile_document(run: BuildRun) -> dict[str, Any]:
    """What :func:`profile_json` writes, as data."""
    return {
        "schema": SCHEMA,
        "name": run.plan.name,
        "root": run.plan.root,
        "seconds": _rounded(run.seconds),
        "launcher": run.launcher,
        "cache_hits": run.cache_hits,
        "cache_misses": run.cache_misses,
        "planned": len(run.plan.edges),
        "edges": [_edge(each) for each in sorted(run.runs, key=lambda each: each.start)],
    }


def _edge(run: EdgeRun) -> dict[str, Any]:
    return {
        "label": run.label,
        "step": run.step.value,
        "source": run.source,
        "arch": run.arch,
        "start": _rounded(run.start),
        "seconds": _rounded(run.seconds),
        "memory": run.memory,
        "status": run.status,
        "retried": run.retried,
        "command": list(run.command),
    }


def _rounded(seconds: float) -> float:
    return round(seconds, 4)


# --- a trace -----------------------------------------------------------------------------------


def trace_json(run: BuildRun) -> str:
    """The passes in the trace format of Chrome, which Perfetto opens.

    Passes that ran at one time stand in lanes below each other; the memory that
    they can have held together is a track of its own.
    """
    events = [*_named_lanes(run), *_pass_events(run.runs), *_memory_events(run.runs)]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, ensure_ascii=True)


def _named_lanes(run: BuildRun) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": run.plan.name}}
    for lane in sorted(set(lanes(run.runs))):
        args = {"name": f"lane {lane + 1}"}
        yield {"ph": "M", "name": "thread_name", "pid": 1, "tid": lane + 1, "args": args}


def _pass_events(runs: Sequence[EdgeRun]) -> Iterator[dict[str, Any]]:
    for run, lane in zip(runs, lanes(runs), strict=True):
        yield {
            "ph": "X",
            "name": run.label,
            "cat": run.step.value,
            "pid": 1,
            "tid": lane + 1,
            "ts": _microseconds(run.start),
            "dur": _microseconds(run.seconds),
            "args": {
                "source": run.source,
                "arch": run.arch,
                "memory": run.memory,
                "status": run.status,
                "retried": run.retried,
            },
        }


def _memory_events(runs: Iterable[EdgeRun]) -> Iterator[dict[str, Any]]:
    for moment, memory in memory_over_time(runs):
        yield {
            "ph": "C",
            "name": "memory, at most",
            "pid": 1,
            "tid": 0,
            "ts": _microseconds(moment),
            "args": {"bytes": memory},
        }


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6)


def lanes(runs: Sequence[EdgeRun]) -> list[int]:
    """For each pass the lowest lane, from 0, in which none of the others runs at its time."""
    free: list[float] = []
    chosen = [0] * len(runs)
    for index in sorted(range(len(runs)), key=lambda i: (runs[i].start, i)):
        run = runs[index]
        # Times are measured by different processes: a microsecond is nothing.
        lane = next((i for i, end in enumerate(free) if end <= run.start + 1e-6), len(free))
        if lane == len(free):
            free.append(0.0)
        free[lane] = run.start + run.seconds
        chosen[index] = lane
    return chosen


# --- editors -----------------------------------------------------------------------------------

#: Which pass of a source tells an editor most, the best first.
_BEST = (Step.COMPILE, Step.PREPROCESS, Step.NVCC)
#: Those that write the object.
_LAST = (Step.COMPILE, Step.HOST, Step.NVCC)
_LAUNCHERS = ("ccache", "sccache")


def compile_commands_json(
    plan: BuildPlan, commands: Mapping[str, Sequence[str]] | None = None
) -> str:
    """What editors read of a build, ``compile_commands.json``: one entry for each source.

    Args:
        plan: The build.
        commands: The command that is to stand for a source, word for word. For other
            CUDA sources it is written as clang takes CUDA, since clangd knows no nvcc.
    """
    given = commands or {}
    edges: dict[str, list[Edge]] = {}
    for edge in plan.edges:
        if edge.source is not None:
            edges.setdefault(edge.source, []).append(edge)
    entries = (_entry(plan.root, name, each, given.get(name)) for name, each in edges.items())
    return json.dumps([entry for entry in entries if entry], indent=2, ensure_ascii=True)


def _entry(
    root: str, source: str, edges: Sequence[Edge], command: Sequence[str] | None
) -> dict[str, Any] | None:
    words = list(command) if command else _editor_words(source, edges)
    objects = [edge.outputs[0] for edge in edges if edge.step in _LAST and edge.outputs]
    if not words:
        return None
    entry = {"directory": root, "file": source, "arguments": words}
    return {**entry, "output": objects[-1]} if objects else entry


def _editor_words(source: str, edges: Iterable[Edge]) -> list[str]:
    best = min((e for e in edges if e.step in _BEST and e.commands), key=_goodness, default=None)
    if best is None:
        return []
    words = list(best.commands[-1])
    if _stem(words[0]) in _LAUNCHERS:
        words = words[1:]
    if best.step is Step.COMPILE:
        return words
    return clang_words(words, source, str(best.arch.real) if best.arch else None)


def _goodness(edge: Edge) -> tuple[int, int]:
    """Lower is better: the step, then a newer architecture, for which kernels are written."""
    return _BEST.index(edge.step), -edge.arch.capability.number if edge.arch else 0


def _stem(path: str) -> str:
    r"""``nvcc`` of ``C:\cuda\bin\nvcc.exe``."""
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


#: Words of a command that clang needs for the same source, and whose value may stand by itself.
_WITH_VALUE = ("-I", "-isystem", "-iquote", "-idirafter", "-include", "-D", "-U")
_KEPT = re.compile(r"-(?:I|isystem|iquote|idirafter|D|U|std=|f|m(?:64|32|arch|tune)|W|pthread)")
#: What nvcc defines and includes by itself; clang has its own for CUDA.
_OF_NVCC = re.compile(
    r"-D(?:__CUDA_?ARCH|__CUDACC|__NVCC|__CUDA_API_VER|__NVCC_DIAG|CUDA_DOUBLE_MATH)"
)


def clang_words(words: Sequence[str], source: str, arch: str | None) -> list[str]:
    """A command of nvcc, or the preprocessor's that nvcc makes of it, as one of clang for CUDA.

    Args:
        words: ``nvcc ... -c x.cu``, or ``g++ -D__CUDACC__ ... -E -x c++ ... x.cu -o x.ii``.
        source: The source.
        arch: The real architecture to show it for, ``sm_90a``; None: clang's own choice.
    """
    kept: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        both = [word, next(rest, "")] if word in _WITH_VALUE else [word]
        if _is_kept("".join(both)):
            kept += both
    target = [f"--cuda-gpu-arch={arch}"] if arch else []
    return ["clang++", "-x", "cuda", *target, *_cuda_path(words), *kept, "-c", source]


def _is_kept(word: str) -> bool:
    if word.startswith("-include"):
        return word != "-includecuda_runtime.h"
    return bool(_KEPT.match(word)) and not _OF_NVCC.match(word)


def _cuda_path(words: Iterable[str]) -> Iterator[str]:
    """The toolkit: nvcc's own, or that whose include folder it names ``bin/..//include``."""
    for word in words:
        if _stem(word) == "nvcc" and (root := re.match(r"(.+)[/\\]bin[/\\]", word)):
            yield f"--cuda-path={root[1]}"
            return
        found = re.fullmatch(
            r"-I(.+?)[/\\]bin[/\\]+\.\.[/\\]+(?:targets[/\\].+[/\\])?include", word
        )
        if found:
            yield f"--cuda-path={found[1]}"
            return
