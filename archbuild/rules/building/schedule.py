"""How many edges run at once: never more than the processors and the memory there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from archbuild.errors import UsageError
from archbuild.model.build import Edge, Resources, Step

#: Bytes for each processor where nobody says how much memory is free.
ASSUMED_MEMORY = 2 << 30

# Of nvcc's time for one file the passes of the host compiler and cudafe++ are a
# quarter (47 of 181 s for six architectures of torch/extension.h, nvcc 13.0);
# --threads leaves them one after the other.
_SERIAL = 0.25

# More kinds of heavy edges than these change nothing that a pool could use.
_THRESHOLDS = 48


@dataclass(frozen=True)
class Schedule:
    """What ninja and nvcc are told.

    Args:
        jobs: For ``ninja -j``.
        heavy_from: Bytes: edges that take as much memory or more go into the pool
            ``heavy`` (:meth:`is_heavy`); None: no pool is needed.
        heavy_depth: How many of the pool run at once.
        threads: For ``nvcc --threads`` of an edge that is nvcc's whole call; of an
            edge whose own ``threads`` is lower, that.
        sentences: What a person should know, one each.
        roomy: Whether all that runs at once could take a quarter more memory.
    """

    jobs: int
    heavy_from: int | None
    heavy_depth: int
    threads: int
    sentences: tuple[str, ...] = ()
    roomy: bool = False

    def threads_of(self, edge: Edge) -> int:
        """The processors that an edge asks for; what its ``--threads`` says for nvcc's call."""
        return _load(edge, self.threads).width

    def memory_of(self, edge: Edge) -> int:
        """The bytes that an edge takes at its peak, all its threads together."""
        return _load(edge, self.threads).memory

    def is_heavy(self, edge: Edge) -> bool:
        """Whether an edge belongs into the pool ``heavy``."""
        return self.heavy_from is not None and self.memory_of(edge) >= self.heavy_from


@dataclass(frozen=True)
class _Load:
    """What an edge takes with a number of threads for nvcc."""

    seconds: float
    memory: int
    width: int


@dataclass(frozen=True)
class _Lanes:
    """One way to run them all.

    Args:
        seconds: How long that should take.
        jobs: How many run at once.
        heavy: How many of the heaviest are in the pool.
        depth: How many of those run at once.
        short: Whether more memory would allow more jobs.
    """

    seconds: float
    jobs: int
    heavy: int
    depth: int
    short: bool = False


def parse_limit(name: str, text: str | None) -> int | None:
    """Read MAX_JOBS or NVCC_THREADS.

    Args:
        name: The variable, for the message.
        text: Its value.

    Returns:
        None where it is not set, or blank.

    Raises:
        UsageError: If it is anything but a whole number from 1.
    """
    value = (text or "").strip()
    if not value:
        return None
    if not (value.isascii() and value.isdecimal() and len(value) <= 9 and int(value) > 0):
        raise UsageError(
            f"{name}={value[:40]} is no number of {_UNITS.get(name, 'jobs')}.",
            f"Give a whole number from 1 as an upper limit, or unset {name}.",
        )
    return int(value)


_UNITS = {"MAX_JOBS": "jobs", "NVCC_THREADS": "threads"}


def plan_schedule(
    edges: Sequence[Edge],
    resources: Resources,
    *,
    max_jobs: int | None = None,
    nvcc_threads: int | None = None,
) -> Schedule:
    """Choose the fastest way to run edges that never asks for more than there is.

    The cost of an edge that is nvcc's whole call (``Step.NVCC``) is: seconds of
    all its passes, memory of one; its ``threads`` are the passes that could run
    side by side. With ``--threads N`` it takes N times that memory.

    Args:
        edges: What is to be run.
        resources: What there is.
        max_jobs: MAX_JOBS, an upper limit.
        nvcc_threads: NVCC_THREADS, an upper limit.

    Returns:
        The schedule. Whatever ninja runs at once under it, the threads together
        are no more than the processors and the memory together no more than
        what is free, but for an edge that alone takes more: then there is one
        job, and a sentence names that edge.
    """
    processors = max(1, resources.processors)
    jobs = min(processors, max_jobs or processors)
    memory = resources.memory
    if memory is None:
        memory = ASSUMED_MEMORY * processors
    most_threads = min(processors, nvcc_threads or processors)
    threads, loads, lanes = _best_way(edges, most_threads, processors, jobs, memory)
    heavy = sorted((load.memory for load in loads), reverse=True)[: lanes.heavy]
    return Schedule(
        lanes.jobs,
        heavy[-1] if heavy else None,
        lanes.depth if heavy else lanes.jobs,
        threads,
        (
            *_about_processors(resources, lanes, max_jobs, threads),
            *_about_memory([edge.label for edge in edges], loads, resources, memory, lanes),
        ),
        resources.memory is not None and _most_at_once(loads, lanes) * 1.25 <= memory,
    )


def _most_at_once(loads: Sequence[_Load], lanes: _Lanes) -> int:
    """Bytes that may be taken at one time."""
    return sum(sorted((load.memory for load in loads), reverse=True)[: lanes.jobs])


def _best_way(
    edges: Sequence[Edge], most_threads: int, processors: int, jobs: int, memory: int
) -> tuple[int, list[_Load], _Lanes]:
    """The number of threads for nvcc with which all is done soonest, and how."""
    ways = []
    for threads in _thread_counts(edges, most_threads):
        loads = [_load(edge, threads) for edge in edges]
        if threads == 1 or all(load.memory <= memory for load in loads):
            ways.append((threads, loads, _best_lanes(loads, processors, jobs, memory)))
    # Of ways that take as long the first, which has the fewest threads.
    return min(ways, key=lambda way: way[2].seconds)


def _thread_counts(edges: Sequence[Edge], most: int) -> range:
    passes = [edge.threads for edge in edges if edge.step is Step.NVCC]
    return range(1, max(1, min(most, max(passes, default=1))) + 1)


def _load(edge: Edge, threads: int) -> _Load:
    if edge.step is not Step.NVCC:
        return _Load(edge.cost.seconds, edge.cost.memory, max(1, edge.threads))
    width = max(1, min(threads, edge.threads))
    seconds = edge.cost.seconds * (_SERIAL + (1 - _SERIAL) / width)
    return _Load(seconds, edge.cost.memory * width, width)


# --- the fastest of the safe ways ----------------------------------------------------------------


def _best_lanes(loads: Sequence[_Load], processors: int, most: int, memory: int) -> _Lanes:
    """The fastest safe number of jobs, with the heaviest edges in a pool if that helps."""
    by_memory = sorted(loads, key=lambda load: load.memory, reverse=True)
    most = min(most, _within_processors(loads, processors))
    totals = [0, *accumulate(load.memory for load in by_memory)]
    seconds = [0.0, *accumulate(load.seconds for load in by_memory)]
    longest = max((load.seconds for load in loads), default=0.0)

    def lanes(jobs: int, heavy: int, depth: int) -> _Lanes:
        light = _rounds(seconds[-1], len(loads), jobs)
        expected = max(longest, light, _rounds(seconds[heavy], heavy, depth))
        return _Lanes(expected, jobs, heavy, depth, short=jobs < most)

    best = lanes(_most_jobs(totals, 0, 0, most, memory), 0, 0)
    if best.jobs == most or totals[min(1, len(loads))] > memory:
        return best
    for heavy in _cuts(by_memory):
        for depth in range(1, most):
            if _worst(totals, heavy, depth, depth) > memory:
                break
            jobs = _most_jobs(totals, heavy, depth, most, memory)
            best = min(best, lanes(jobs, heavy, depth), key=lambda way: (way.seconds, -way.jobs))
    return best


def _within_processors(loads: Sequence[_Load], processors: int) -> int:
    """How many edges can run at once whichever they are; one always can."""
    widths = accumulate(sorted((load.width for load in loads), reverse=True))
    return max(1, sum(total <= processors for total in widths)) if loads else processors


def _worst(totals: Sequence[int], heavy: int, depth: int, jobs: int) -> int:
    """The most memory that so many jobs can take, of which ``depth`` at most are heavy."""
    inside = min(heavy, depth, jobs)
    outside = min(heavy + jobs - inside, len(totals) - 1)
    return totals[inside] + totals[outside] - totals[heavy]


def _most_jobs(totals: Sequence[int], heavy: int, depth: int, most: int, memory: int) -> int:
    """The highest number of jobs that always fits, at least one."""
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        fits = _worst(totals, heavy, depth, middle) <= memory
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _cuts(by_memory: Sequence[_Load]) -> list[int]:
    """Where the heavy ones may end: never between two of the same memory, nor after all."""
    ends = [
        index
        for index in range(1, len(by_memory))
        if by_memory[index - 1].memory > by_memory[index].memory
    ]
    return ends[:: max(1, len(ends) // _THRESHOLDS)]


def _rounds(seconds: float, count: int, lanes: int) -> float:
    """The time for edges of like length, so many at once: whole rounds of them."""
    return -(-count // lanes) * seconds / count if count and lanes else 0.0


# --- what people are told --------------------------------------------------------------------


def _about_processors(
    resources: Resources, lanes: _Lanes, max_jobs: int | None, threads: int
) -> Iterator[str]:
    plural = "processor" if resources.processors == 1 else "processors"
    why = f" ({resources.why_processors})" if resources.why_processors else ""
    limit = f", MAX_JOBS={max_jobs}" if max_jobs is not None else ""
    yield f"{lanes.jobs} at once at most: {resources.processors} {plural}{why}{limit}."
    if max_jobs is not None and max_jobs > resources.processors:
        yield f"MAX_JOBS is an upper limit: {resources.processors} {plural} run no more than that."
    if threads > 1:
        yield f"nvcc compiles for {threads} architectures of a file at once (--threads {threads})."


def _about_memory(
    labels: Sequence[str],
    loads: Sequence[_Load],
    resources: Resources,
    memory: int,
    lanes: _Lanes,
) -> Iterator[str]:
    free = f"{_size(memory)} of memory is free"
    if resources.memory is None:
        free = f"{_size(memory)} of memory is assumed"
        each = _size(ASSUMED_MEMORY)
        yield f"Nobody says how much memory is free here: {each} for each processor is assumed."
    elif resources.why_memory:
        free += f" ({resources.why_memory})"
    most, label = max(((load.memory, i) for i, load in enumerate(loads)), default=(0, -1))
    if most > memory:
        yield (
            f"{labels[label]} alone is expected to take {_size(most)}, and {free}: "
            "one thing runs at a time."
        )
    elif lanes.heavy:
        yield (
            f"{free[0].upper()}{free[1:]}: of the {lanes.heavy} heaviest, up to {_size(most)} "
            f"each, {lanes.depth} at a time."
        )
    elif lanes.short:
        yield f"{free}, and {labels[label]} is expected to take {_size(most)}: no more jobs fit."


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 50_000_000 else f"{count / 1e6:.0f} MB"
