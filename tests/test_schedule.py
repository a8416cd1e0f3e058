"""How many edges run at once: the promise, held against every set that ninja may run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archbuild.errors import UsageError
from archbuild.model.build import Cost, Edge, Resources, Step
from archbuild.rules.building.schedule import ASSUMED_MEMORY, Schedule, parse_limit, plan_schedule

GB = 10**9


def edge(
    memory: int, seconds: float = 1.0, step: Step = Step.DEVICE, threads: int = 1, label: str = "x"
) -> Edge:
    return Edge(step, (), (), (), label, cost=Cost(seconds, memory), threads=threads)


def here(processors: int, memory: int | None) -> Resources:
    return Resources(processors, memory, "affinity", "MemAvailable")


_EDGES = st.lists(
    st.builds(
        edge,
        st.integers(0, 12) | st.integers(0, 40),
        st.floats(0, 100),
        st.sampled_from([Step.DEVICE, Step.NVCC, Step.HOST]),
        st.integers(1, 6),
    ),
    max_size=7,
)
_LIMITS = st.none() | st.integers(1, 12)


def sets_at_once(edges: Sequence[Edge], schedule: Schedule) -> list[tuple[Edge, ...]]:
    """Every set of edges that ninja may have running under a schedule."""
    return [
        chosen
        for size in range(1, min(schedule.jobs, len(edges)) + 1)
        for chosen in combinations(edges, size)
        if sum(map(schedule.is_heavy, chosen)) <= schedule.heavy_depth
    ]


@settings(max_examples=400, deadline=None)
@given(_EDGES, st.integers(1, 9), st.none() | st.integers(0, 60), _LIMITS, _LIMITS)
def test_no_set_asks_for_more_than_there_is(
    edges: list[Edge],
    processors: int,
    memory: int | None,
    max_jobs: int | None,
    nvcc_threads: int | None,
) -> None:
    resources = here(processors, memory)
    plan = plan_schedule(edges, resources, max_jobs=max_jobs, nvcc_threads=nvcc_threads)
    assert 1 <= plan.jobs <= min(processors, max_jobs or processors)
    assert 1 <= plan.threads <= min(processors, nvcc_threads or processors)
    assert 1 <= plan.heavy_depth <= plan.jobs
    limit = ASSUMED_MEMORY * processors if memory is None else memory
    alone = any(e.cost.memory > limit for e in edges)
    for chosen in sets_at_once(edges, plan):
        assert sum(map(plan.memory_of, chosen)) <= limit or (alone and len(chosen) == 1)
        widths = sum(map(plan.threads_of, chosen))
        assert widths <= processors or (len(chosen) == 1 and chosen[0].step is not Step.NVCC)
        assert not plan.roomy or sum(map(plan.memory_of, chosen)) * 1.25 <= limit
    assert not (plan.roomy and memory is None)
    if alone:
        assert plan.jobs == 1
        assert any("one thing runs at a time" in sentence for sentence in plan.sentences)


@settings(max_examples=200, deadline=None)
@given(_EDGES, st.integers(1, 9), st.integers(0, 60))
def test_one_more_job_would_be_too_many(edges: list[Edge], processors: int, memory: int) -> None:
    """Nothing is left unused that could be used without a pool."""
    edges = [e for e in edges if e.step is not Step.NVCC and e.threads == 1]
    plan = plan_schedule(edges, here(processors, memory))
    if plan.jobs < min(processors, len(edges)):
        more = Schedule(plan.jobs + 1, plan.heavy_from, plan.heavy_depth, plan.threads)
        assert (
            max(sum(map(more.memory_of, chosen)) for chosen in sets_at_once(edges, more)) > memory
        )


@pytest.mark.parametrize(("memory", "roomy"), [(24, True), (8, True), (7, False), (None, False)])
def test_whether_there_is_room_for_more(memory: int | None, roomy: bool) -> None:
    limit = None if memory is None else memory * GB
    assert plan_schedule([edge(3 * GB)] * 6, here(2, limit)).roomy is roomy


def test_six_passes_fit_side_by_side() -> None:
    plan = plan_schedule([edge(3 * GB, 26.0)] * 6, here(2, 24 * GB))
    assert (plan.jobs, plan.heavy_from) == (2, None)


def test_heavy_ones_wait_for_each_other_while_light_ones_run() -> None:
    edges = [edge(3 * GB, 26.0, label="ops.cu")] * 6 + [edge(GB // 10)] * 20
    plan = plan_schedule(edges, here(8, 7 * GB))
    assert (plan.jobs, plan.heavy_from, plan.heavy_depth) == (8, 3 * GB, 2)
    assert plan.is_heavy(edges[0])
    assert not plan.is_heavy(edges[-1])
    assert "7.0 GB of memory is free (MemAvailable): of the 6 heaviest" in plan.sentences[1]


def test_equal_edges_need_no_pool() -> None:
    plan = plan_schedule([edge(3 * GB)] * 40, here(8, 10 * GB))
    assert (plan.jobs, plan.heavy_from, plan.heavy_depth) == (3, None, 3)
    assert "no more jobs fit" in plan.sentences[-1]


@pytest.mark.parametrize("memory", [0, 2 * GB])
def test_what_alone_is_too_much_runs_alone_and_is_named(memory: int) -> None:
    edges = [edge(GB // 10), edge(3 * GB, label="ops.cu sm_90")]
    plan = plan_schedule(edges, here(8, memory))
    assert plan.jobs == 1
    assert plan.sentences[-1].startswith("ops.cu sm_90 alone is expected to take 3.0 GB, and ")


def test_unknown_memory_is_assumed_and_said() -> None:
    plan = plan_schedule([edge(3 * GB)] * 9, here(4, None))
    assert plan.jobs == 4 * ASSUMED_MEMORY // (3 * GB)
    assert "Nobody says how much memory is free here" in plan.sentences[1]


@pytest.mark.parametrize(
    ("sources", "processors", "memory", "jobs", "threads"),
    [
        (1, 8, 90 * GB, 1, 6),  # one file: all its six architectures at once
        (1, 4, 90 * GB, 1, 4),
        (1, 8, 10 * GB, 1, 3),  # three passes are what memory has room for
        (1, 8, 2 * GB, 1, 1),
        (2, 8, 90 * GB, 2, 4),
        (3, 8, 90 * GB, 3, 2),
        (40, 8, 90 * GB, 8, 1),  # files enough for every processor
        (40, 8, 10 * GB, 3, 1),
    ],
)
def test_threads_of_nvcc_fill_the_processors_that_files_leave(
    sources: int, processors: int, memory: int, jobs: int, threads: int
) -> None:
    edges = [edge(3 * GB, 180.0, Step.NVCC, 6)] * sources
    plan = plan_schedule(edges, here(processors, memory))
    assert (plan.jobs, plan.threads) == (jobs, threads)
    assert plan.jobs * plan.threads <= processors
    assert any("--threads" in sentence for sentence in plan.sentences) is (threads > 1)


def test_a_file_of_one_architecture_gets_one_thread() -> None:
    edges = [edge(GB, 100.0, Step.NVCC, 6), edge(GB, 20.0, Step.NVCC, 1)]
    plan = plan_schedule(edges, here(8, 90 * GB))
    assert (plan.jobs, plan.threads, plan.threads_of(edges[1])) == (2, 6, 1)


def test_the_limits_are_upper_limits() -> None:
    edges = [edge(GB, 100.0, Step.NVCC, 6)] * 2
    assert plan_schedule(edges, here(8, 90 * GB), nvcc_threads=2).threads == 2
    assert plan_schedule(edges, here(8, 90 * GB), max_jobs=1).jobs == 1
    plan = plan_schedule([edge(GB)] * 9, here(2, 90 * GB), max_jobs=64)
    assert plan.jobs == 2
    assert "MAX_JOBS is an upper limit: 2 processors" in plan.sentences[1]


def test_nothing_to_run() -> None:
    plan = plan_schedule([], here(4, 0))
    assert (plan.jobs, plan.heavy_from, plan.threads) == (4, None, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [(None, None), ("", None), ("  ", None), ("4", 4), (" 4\n", 4), ("007", 7)],
)
def test_limits_that_are_read(text: str | None, value: int | None) -> None:
    assert parse_limit("MAX_JOBS", text) == value


@pytest.mark.parametrize("text", ["0", "-1", "abc", "1.5", "+2", "٣", "1_0", "9" * 5000, "4 4"])
@pytest.mark.parametrize("name", ["MAX_JOBS", "NVCC_THREADS"])
def test_limits_that_make_no_sense(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}=") as caught:
        parse_limit(name, text)
    assert len(str(caught.value)) < 200
