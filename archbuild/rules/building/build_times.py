"""Where the time and the memory of a build went, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from archbuild.model.build import BuildRun, EdgeRun, Step


@dataclass(frozen=True)
class BuildTimes:
    """A build in numbers.

    Args:
        processors: As many passes ran at once as this at most, or as the build was allowed.
        busy: Share of the time in which that many processors had work, 0 to 1.
        load: Processors that had work, on average.
        sources: Each source and the seconds of all its passes, the slowest first.
        passes: The passes, the slowest first.
        largest: The pass with the highest peak of memory; None where none was measured.
        memory: Bytes that the passes which ran at one time can have held together: their
            peaks are added up, as if they fell together.
    """

    processors: int
    busy: float
    load: float
    sources: tuple[tuple[str, float], ...]
    passes: tuple[EdgeRun, ...]
    largest: EdgeRun | None
    memory: int


def measure(run: BuildRun, processors: int | None = None) -> BuildTimes:
    """The numbers of a build, from when its passes began and how long they took.

    Args:
        run: The build.
        processors: Those that it was allowed; None: as many as it was seen to use.
    """
    threads = {edge.label: edge.threads for edge in run.plan.edges}
    spans = list(_spans(run.runs, lambda each: threads.get(each.label, 1)))
    used = processors or max([1, *(work for _, work in spans)])
    total = max(run.seconds, 1e-9)
    busy = sum(seconds for seconds, work in spans if work >= used)
    load = sum(seconds * min(work, used) for seconds, work in spans)
    largest = max((r for r in run.runs if r.memory), key=lambda each: each.memory, default=None)
    held = max((size for _, size in _spans(run.runs, lambda each: each.memory)), default=0)
    return BuildTimes(
        used,
        min(1.0, busy / total),
        load / total,
        tuple(_slowest_sources(run.runs)),
        tuple(sorted(run.runs, key=lambda each: -each.seconds)),
        largest,
        max(held, largest.memory if largest else 0),  # a pass may have taken no time at all
    )


def _spans(runs: Iterable[EdgeRun], weigh: Callable[[EdgeRun], int]) -> Iterator[tuple[float, int]]:
    """Stretches of time with the sum of what the passes that ran then weigh."""
    events: list[tuple[float, int]] = []
    for run in runs:
        events += [(run.start, weigh(run)), (run.start + run.seconds, -weigh(run))]
    weight, before = 0, 0.0
    # At one moment those that end give way to those that begin.
    for moment, change in sorted(events):
        if moment > before:
            yield moment - before, weight
        weight, before = weight + change, moment


def memory_over_time(runs: Iterable[EdgeRun]) -> Iterator[tuple[float, int]]:
    """Moments, in seconds, with the bytes that are held from then on, by the passes' peaks."""
    moment = 0.0
    for seconds, memory in _spans(runs, lambda each: each.memory):
        yield moment, memory
        moment += seconds
    yield moment, 0


def _slowest_sources(runs: Iterable[EdgeRun]) -> list[tuple[str, float]]:
    seconds: dict[str, float] = {}
    for run in runs:
        if run.source is not None:
            seconds[run.source] = seconds.get(run.source, 0.0) + run.seconds
    return sorted(seconds.items(), key=lambda each: -each[1])


#: Headers that cost every pass seconds, and what kernels use of them.
LIGHTER = {
    "torch/extension.h": "torch/types.h",
    "torch/all.h": "torch/types.h",
    "torch/torch.h": "torch/types.h",
    "torch/python.h": "torch/types.h",
    "torch/types.h": "ATen/core/Tensor.h with ATen/Dispatch.h",
    "ATen/ATen.h": "ATen/core/Tensor.h with ATen/Dispatch.h",
}
#: Those which lean_headers replaces.
_LEAN = ("torch/extension.h", "torch/all.h", "torch/torch.h", "torch/python.h")
#: Seconds of a pass below which its headers are not worth a word.
_WORTH = 2.0
#: Seconds of a build from which a cache pays.
_LONG = 60.0


def advise_build(run: BuildRun, headers: Mapping[str, str]) -> tuple[str, ...]:
    """What would make the next build faster or lighter, the largest gain first.

    Args:
        run: The build.
        headers: The heaviest header that a source includes, as it is written there.
    """
    return (*_for_memory(run), *_for_headers(run, headers), *_for_cache(run))


def _for_memory(run: BuildRun) -> Iterator[str]:
    again = [each.label for each in run.runs if each.retried]
    if again:
        more = f" and {len(again) - 1} more" if len(again) > 1 else ""
        yield (
            f"{again[0]}{more} ran out of memory and had to run again alone: "
            "a smaller MAX_JOBS or more memory saves that."
        )


def _for_headers(run: BuildRun, headers: Mapping[str, str]) -> Iterator[str]:
    gains: list[tuple[float, str]] = []
    for source, header in headers.items():
        if header in LIGHTER:
            gains += _gain(source, header, run, headers)
    yield from (words for _, words in sorted(gains, key=lambda each: -each[0]))


def _gain(
    source: str, header: str, run: BuildRun, headers: Mapping[str, str]
) -> Iterator[tuple[float, str]]:
    """Seconds that a lighter header can spare in one source, and how to say so."""
    lean = ", or lean_headers" if header in _LEAN else ""
    cure = f"{LIGHTER[header]} would do{lean}."
    passes = [each for each in run.runs if each.source == source and each.step is Step.DEVICE]
    each = _cost_of(header, run.runs, headers)
    if passes and each >= _WORTH:
        where = f"each of {len(passes)} passes" if len(passes) > 1 else "the pass"
        words = f"{header} costs up to {each:.0f} s in {where} of {source}: {cure}"
        yield each * len(passes), words
    # A whole call of nvcc parses the header at least three times.
    whole = sum(r.seconds for r in run.runs if r.source == source and r.step is Step.NVCC)
    if whole >= 3 * _WORTH:
        yield whole, f"{source} takes {whole:.0f} s and includes {header}: {cure}"


def _cost_of(header: str, runs: Iterable[EdgeRun], headers: Mapping[str, str]) -> float:
    """The quickest device pass of any source that includes it: the header costs no more."""
    device = (run for run in runs if run.step is Step.DEVICE)
    return min((r.seconds for r in device if headers.get(r.source or "") == header), default=0.0)


def _for_cache(run: BuildRun) -> Iterator[str]:
    if run.launcher is None and run.seconds > _LONG:
        yield (
            "ccache or sccache would keep what was compiled for the next build: "
            'pip install "archbuild[cache]".'
        )
