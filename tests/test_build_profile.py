"""A build as a profile, as a trace and as what editors read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import Arch
from archbuild.model.build import BuildPlan, Edge, Step
from archbuild.report.build_profile import (
    clang_words,
    compile_commands_json,
    lanes,
    profile_document,
    profile_json,
    trace_json,
)
from tests.builds import build_of, run_of

_SCHEMA = json.loads(files("archbuild.report").joinpath("schemas/profile.json").read_text())

RUNS = (
    run_of("a.cu", "compute_90", start=0.5, seconds=2, command=("cicc", "-arch", "compute_90")),
    run_of("\u00fc b.cu", "sm_90a", step=Step.ASSEMBLE, start=0.25, status=-9, retried=True),
    run_of(None, step=Step.DEVICE_LINK, start=3.0, memory=0),
)


@pytest.mark.parametrize(
    "build",
    [
        build_of(RUNS, 4.00001),
        build_of((), 0.0),
        build_of(RUNS, 4.0, launcher="ccache", cache_hits=2, cache_misses=0),
        build_of([run_of("a.cu", step=step) for step in Step]),
    ],
)
def test_the_profile_fits_its_schema(build) -> None:
    document = json.loads(profile_json(build))
    jsonschema.validate(document, _SCHEMA)
    assert document == profile_document(build)
    assert len(document["edges"]) == len(build.runs)


def test_the_profile_has_every_number() -> None:
    first, second, third = profile_document(build_of(RUNS, 4.0))["edges"]
    assert [first["label"], second["label"], third["label"]] == [
        "\u00fc b.cu sm_90a",
        "a.cu compute_90",
        "device link device-link",
    ]
    assert (first["status"], first["retried"], first["step"]) == (-9, True, "assemble")
    assert second["command"] == ["cicc", "-arch", "compute_90"]
    assert (second["start"], second["seconds"], second["memory"]) == (0.5, 2, 100_000_000)
    assert (third["source"], third["arch"], third["memory"]) == (None, None, 0)


def test_the_schema_refuses_what_it_should() -> None:
    document = profile_document(build_of(RUNS))
    for change in ({"schema": "archbuild.profile/2"}, {"seconds": -1}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**document, **change}, _SCHEMA)
    assert {step.value for step in Step} == set(
        _SCHEMA["$defs"]["edge"]["properties"]["step"]["enum"]
    )


# --- the trace ---------------------------------------------------------------------------------


def _events(build, phase: str) -> list[dict[str, Any]]:
    return [each for each in json.loads(trace_json(build))["traceEvents"] if each["ph"] == phase]


def test_passes_of_a_trace() -> None:
    build = build_of(RUNS, 4.0)
    first, second, third = _events(build, "X")
    assert (first["ts"], first["dur"], first["name"]) == (500_000, 2_000_000, "a.cu compute_90")
    assert (first["tid"], second["tid"], third["tid"]) == (2, 1, 1)
    assert second["args"]["status"] == -9
    names = [each["args"]["name"] for each in _events(build, "M")]
    assert names == ["demo._C", "lane 1", "lane 2"]


def test_memory_of_a_trace() -> None:
    told = [(each["ts"], each["args"]["bytes"]) for each in _events(build_of(RUNS, 4.0), "C")]
    mb = 100_000_000
    assert told == [
        (0, 0),
        (250_000, mb),
        (500_000, 2 * mb),
        (1_250_000, mb),
        (2_500_000, 0),
        (3_000_000, 0),
        (4_000_000, 0),
    ]


_RUN = st.builds(
    lambda start, seconds: run_of("a.cu", start=start / 8, seconds=seconds / 8),
    st.integers(0, 99),
    st.integers(0, 40),
)


@given(st.lists(_RUN, max_size=30))
def test_passes_of_one_lane_follow_each_other(runs: list[Any]) -> None:
    chosen = lanes(runs)
    for lane in set(chosen):
        mine = sorted(
            (run.start, run.start + run.seconds)
            for run, each in zip(runs, chosen, strict=True)
            if each == lane
        )
        for (_, end), (start, _) in pairwise(mine):
            assert end <= start
    assert set(chosen) == set(range(len(set(chosen))))


# --- editors -----------------------------------------------------------------------------------

#: As nvcc 13.0 has it with -std=c++17 -I"in c" -DFOO="a b" -Xcompiler -fPIC.
PREPROCESS = (
    "gcc",
    "-std=c++17",
    "-D__CUDA_ARCH__=900",
    "-D__CUDA_ARCH_FEAT_SM90_ALL",
    "-D__CUDA_ARCH_SPECIFIC__=900",
    "-D__CUDA_ARCH_LIST__=800,900",
    *("-E", "-x", "c++", "-DCUDA_DOUBLE_MATH_FUNCTIONS", "-D__CUDACC__", "-D__NVCC__"),
    "-D__CUDACC_RELAXED_CONSTEXPR__",
    "-fPIC",
    *("-Iin c", "-I/cuda/bin/..//include", "-isystem", "/cuda/bin/..//include/cccl"),
    *("-D", "FOO=a b", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDA_API_VER_MAJOR__=13"),
    *("-D__NVCC_DIAG_PRAGMA_SUPPORT__=1", "-include", "cuda_runtime.h", "-include", "own.h"),
    *("-m64", "x.cu", "-o", "D/x.compute_90a.cpp1.ii"),
)
CLANG = [
    *("clang++", "-x", "cuda", "--cuda-gpu-arch=sm_90a", "--cuda-path=/cuda", "-std=c++17"),
    *("-fPIC", "-Iin c", "-I/cuda/bin/..//include", "-isystem", "/cuda/bin/..//include/cccl"),
    *("-D", "FOO=a b", "-include", "own.h", "-m64", "-c", "x.cu"),
]


def test_the_words_of_clang() -> None:
    assert clang_words(PREPROCESS, "x.cu", "sm_90a") == CLANG


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["/opt/cuda/bin/nvcc", "-c", "x.cu"], ["--cuda-path=/opt/cuda"]),
        (["C:\\CUDA 13\\bin\\nvcc.exe", "-c", "x.cu"], ["--cuda-path=C:\\CUDA 13"]),
        (["g++", "-I/c/bin/../targets/x86_64-linux/include", "x.cu"], ["--cuda-path=/c"]),
        (["nvcc", "-c", "x.cu"], []),
        (["g++", "-I/include", "-D"], []),
    ],
)
def test_the_toolkit_is_named_to_clang(words: list[str], path: list[str]) -> None:
    told = clang_words(words, "x.cu", None)
    assert [word for word in told if word.startswith("--cuda-path")] == path


def _edge(
    step: Step, source: str | None, words: Sequence[str], output: str, arch: str | None = None
) -> Edge:
    known = Arch.parse(arch) if arch else None
    return Edge(step, (output,), (), (tuple(words),), output, source, known)


def _commands(*edges: Edge, **given: Sequence[str]) -> list[dict[str, Any]]:
    plan = BuildPlan("demo._C", "/project", "/project/build", edges, ())
    commands = {name.replace("_", "."): words for name, words in given.items()}
    told: list[dict[str, Any]] = json.loads(compile_commands_json(plan, commands))
    return told


PASSES = (
    _edge(Step.PREPROCESS, "x.cu", ["gcc", "-E", "-DHOST"], "x.ii"),
    _edge(Step.SPLIT, "x.cu", ["cudafe++"], "x.cpp"),
    _edge(Step.PREPROCESS, "x.cu", PREPROCESS, "x.90a.ii", "compute_90a"),
    _edge(Step.PREPROCESS, "x.cu", ["gcc", "-E"], "x.80.ii", "compute_80"),
    _edge(Step.DEVICE, "x.cu", ["cicc"], "x.ptx", "compute_90a"),
    _edge(Step.HOST, "x.cu", ["gcc", "-c"], "x.o"),
)


def test_a_source_in_passes_is_shown_for_its_newest_architecture() -> None:
    (entry,) = _commands(*PASSES)
    assert entry == {
        "directory": "/project",
        "file": "x.cu",
        "arguments": CLANG,
        "output": "x.o",
    }


def test_a_command_that_is_given_stands_word_for_word() -> None:
    (entry,) = _commands(*PASSES, x_cu=["nvcc", "-c", "x.cu", "-o", "x.o"])
    assert entry["arguments"] == ["nvcc", "-c", "x.cu", "-o", "x.o"]


def test_every_source_has_one_entry() -> None:
    entries = _commands(
        *PASSES,
        _edge(Step.COMPILE, "b.cpp", ["/usr/bin/ccache", "g++", "-c", "b.cpp"], "b.o"),
        _edge(Step.NVCC, "y.cu", ["sccache", "/c/bin/nvcc", "--threads=4", "-DX", "y.cu"], "y.o"),
        _edge(Step.DEVICE_LINK, None, ["nvcc", "-dlink"], "dlink.o"),
        _edge(Step.FATBIN, "z.cu", ["fatbinary"], "z.fatbin"),
    )
    assert [(each["file"], each["output"]) for each in entries] == [
        ("x.cu", "x.o"),
        ("b.cpp", "b.o"),
        ("y.cu", "y.o"),
    ]
    assert entries[1]["arguments"] == ["g++", "-c", "b.cpp"]
    assert entries[2]["arguments"] == [
        *("clang++", "-x", "cuda", "--cuda-path=/c", "-DX", "-c", "y.cu")
    ]


def test_a_plan_without_edges() -> None:
    assert _commands() == []
