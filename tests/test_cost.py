"""What edges are expected to take, and what builds teach."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.facts.headers import HEADERS, LIGHTEST, find_header
from archbuild.model.build import Cost, EdgeRun, Step
from archbuild.rules.building.cost import (
    HEADROOM,
    estimate,
    estimate_device,
    estimate_host,
    estimate_split,
    heaviest_header,
    learn,
    refine,
)

GB = 10**9


def run(label: str, seconds: float, memory: int, status: int = 0) -> EdgeRun:
    return EdgeRun(label, Step.DEVICE, "a.cu", "sm_90", 0.0, seconds, memory, status)


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("torch/extension.h", "torch/extension.h"),
        ("torch\\extension.h", "torch/extension.h"),
        ("torch/csrc/stable/tensor.h", "torch/csrc/stable/"),
        ("torch/csrc/autograd/variable.h", "torch/"),
        ("ATen/native/cuda/Loops.cuh", "ATen/"),
        ("cub/block/block_reduce.cuh", "cub/"),
        ("cutlass/gemm/collective/sm90.hpp", "cutlass/gemm/collective/"),
        ("cutlass/epilogue/thread/linear.h", "cutlass/"),
        ("cuda_runtime.h", "cuda_runtime.h"),
    ],
)
def test_the_row_of_a_header_or_of_its_folder(name: str, header: str) -> None:
    row = find_header(name)
    assert row is not None
    assert row.header == header


@pytest.mark.parametrize("name", ["", "/", "my.h", "mytorch/extension.h", "x/torch/all.h", "torch"])
def test_what_nobody_measured_has_no_row(name: str) -> None:
    assert find_header(name) is None


def test_the_heaviest_decides() -> None:
    includes = ["vector", "ATen/ATen.h", "cuda_runtime.h", "torch/extension.h", "my.h"]
    assert heaviest_header(includes).header == "torch/extension.h"
    assert heaviest_header(["vector", "my.h"]) is LIGHTEST


def test_the_order_that_was_measured() -> None:
    order = ["torch/extension.h", "torch/all.h", "torch/types.h", "ATen/ATen.h", "torch/library.h"]
    order += ["ATen/core/Tensor.h", "torch/csrc/stable/library.h", "cuda_runtime.h"]
    costs = [estimate_device([name], 0) for name in order]
    assert costs == sorted(costs, key=lambda cost: -cost.memory)
    assert costs == sorted(costs, key=lambda cost: -cost.seconds)
    assert 3.0 * GB < costs[0].memory < 4.0 * GB
    assert costs[-1].memory < GB // 5


def test_every_row_is_of_this_world() -> None:
    for row in HEADERS:
        assert all(0 < seconds < 60 for seconds in (row.device, row.split, row.host))
        sizes = (row.device_memory, row.split_memory, row.host_memory)
        assert all(GB // 100 < size < 5 * GB for size in sizes)
        assert row.source
    assert len({row.header for row in HEADERS}) == len(HEADERS)


@pytest.mark.parametrize("estimator", [estimate_device, estimate_split, estimate_host])
def test_more_text_takes_more_but_not_without_end(estimator) -> None:
    none, some, much = (estimator([], size) for size in (0, 100_000, 10**9))
    assert none.seconds < some.seconds
    assert none.memory < some.memory < much.memory < 2 * GB


@given(st.sampled_from(Step), st.lists(st.text(max_size=20)), st.integers(-5, 10**9))
def test_every_step_has_a_cost(step: Step, includes: list[str], size: int) -> None:
    cost = estimate(step, includes, size)
    assert cost.seconds > 0
    assert cost.memory > 0


def test_nvccs_whole_call_takes_all_seconds_and_the_memory_of_one_pass() -> None:
    includes = ["torch/types.h"]
    one, six = (estimate(Step.NVCC, includes, 0, passes=passes) for passes in (1, 6))
    device = estimate(Step.DEVICE, includes, 0)
    assert math.isclose(six.seconds - one.seconds, 5 * device.seconds)
    assert one.memory == six.memory == device.memory


def test_an_iterator_of_includes_is_read_once() -> None:
    names = ["torch/types.h"]
    assert estimate(Step.NVCC, iter(names), 0) == estimate(Step.NVCC, names, 0)


# --- what was measured ----------------------------------------------------------------------------

_ESTIMATE = Cost(26.0, 3 * GB)


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (None, _ESTIMATE),
        (Cost(9.0, GB), Cost(9.0, int(GB * HEADROOM))),
        (Cost(90.0, 9 * GB), Cost(90.0, int(9 * GB * HEADROOM))),
        (Cost(9.0, 0), Cost(9.0, 3 * GB)),
        (Cost(0.0, GB), Cost(26.0, int(GB * HEADROOM))),
        (Cost(float("nan"), -1), _ESTIMATE),
        (Cost(float("inf"), GB), Cost(26.0, int(GB * HEADROOM))),
    ],
)
def test_what_was_measured_wins(measured: Cost | None, expected: Cost) -> None:
    assert refine(_ESTIMATE, measured) == expected


def test_the_last_build_teaches_and_failures_do_not() -> None:
    known = {"old": Cost(1.0, 1), "a": Cost(9.0, 9)}
    runs = [run("a", 2.0, 5), run("b", 3.0, 7), run("c", 0.1, 3, status=-9)]
    assert learn(runs, known) == {"old": Cost(1.0, 1), "a": Cost(2.0, 5), "b": Cost(3.0, 7)}
    assert known["a"] == Cost(9.0, 9)


def test_a_cache_that_answered_teaches_nothing_less() -> None:
    known = {"a": Cost(26.0, 3 * GB), "b": Cost(1.0, GB)}
    runs = [run("a", 0.05, GB // 50), run("b", 2.0, 2 * GB), run("c", 0.05, 9)]
    learnt = learn(runs, known, cached=True)
    assert learnt == {"a": Cost(26.0, 3 * GB), "b": Cost(2.0, 2 * GB)}
