"""The plan of an extension: edges, objects and their names, with no compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from archbuild.build.dryrun import Script, parse_dryrun, parse_wrapper
from archbuild.build.plan import BuildRequest, CudaUnit, HostUnit, flags_of, object_path, plan_build
from archbuild.model.build import BuildPlan, Cost, Step

DRYRUN = Path(__file__).parent / "data" / "dryrun"
FLAGS = ("-gencode=arch=compute_80,code=sm_80", "-O3")


def script(name: str = "two") -> Script:
    text = (DRYRUN / f"{name}.txt").read_text()
    parsed = parse_dryrun(text, lambda tool, _: tool if tool[0] == "/" else f"/tools/{tool}")
    assert parsed is not None
    return parsed


def request(**changes: object) -> BuildRequest:
    given = {
        "name": "pkg._C",
        "root": "/project",
        "folder": "build/archbuild/pkg._C",
        "nvcc": "/opt/cuda/bin/nvcc",
        "units": (
            CudaUnit("csrc/a.cu", FLAGS),
            CudaUnit("csrc/sub/a.cu", FLAGS),
            HostUnit("csrc/a.cpp", ("g++", "-O2"), ("-std=c++20",)),
        ),
    }
    return BuildRequest(**{**given, **changes})  # type: ignore[arg-type]


def planned(**changes: object) -> BuildPlan:
    return plan_build(request(**changes), {FLAGS: script()})


def test_each_object_is_made_once_and_in_the_order_of_the_sources() -> None:
    plan = planned()
    assert plan.objects == (
        "build/archbuild/pkg._C/obj/csrc/a.cu.o",
        "build/archbuild/pkg._C/obj/csrc/sub/a.cu.o",
        "build/archbuild/pkg._C/obj/csrc/a.cpp.o",
    )
    made = [output for edge in plan.edges for output in edge.outputs]
    assert len(made) == len(set(made))
    assert set(plan.objects) <= set(made)


def test_the_plan_is_the_same_every_time() -> None:
    assert planned() == planned()


def test_every_input_is_a_source_a_tool_or_made_by_an_edge() -> None:
    plan = planned()
    made = {output for edge in plan.edges for output in edge.outputs}
    known = made | {"csrc/a.cu", "csrc/sub/a.cu", "csrc/a.cpp"}
    for edge in plan.edges:
        assert {file for file in edge.inputs if not file.startswith("/")} <= known, edge


def test_a_change_of_a_compiler_compiles_again() -> None:
    for edge in planned(tools=("/usr/bin/g++",)).edges:
        wanted = "/usr/bin/g++" if edge.step is Step.COMPILE else "/opt/cuda/bin/nvcc"
        assert wanted in edge.inputs, edge


def test_what_setuptools_calls_depends_is_an_input_of_all() -> None:
    assert all("table.bin" in edge.inputs for edge in planned(depends=("table.bin",)).edges)


def test_headers_are_known_for_each_preprocessed_file() -> None:
    for edge in planned().edges:
        reads_headers = edge.step in (Step.PREPROCESS, Step.COMPILE)
        assert bool(edge.depfile) is reads_headers
        if edge.depfile:
            assert "-MF" in edge.commands[0]


def test_one_pass_of_each_architecture_and_source() -> None:
    labels = [edge.label for edge in planned().edges if edge.step is Step.ASSEMBLE]
    assert labels == ["a.cu sm_80", "a.cu sm_100f", "a.cu sm_103f"] * 2


def test_the_fatbin_goes_with_the_host_compiler_and_a_check_with_its_ptx() -> None:
    edges = planned().edges
    host = next(edge for edge in edges if edge.step is Step.HOST)
    assert [Path(words[0]).name for words in host.commands] == ["fatbinary", "gcc"]
    ptx = next(edge for edge in edges if edge.label == "a.cu compute_120")
    assert [Path(words[0]).name for words in ptx.commands] == ["cicc", "ptxas"]


def test_what_headers_swell_is_emptied_and_can_be_made_again() -> None:
    edges = planned().edges
    emptied = {file for edge in edges for file in edge.emptied}
    used = {one.file: one for edge in edges for one in edge.scratch}
    assert emptied == set(used)
    host = next(name for name in used if name.endswith(".cudafe1.cpp"))
    assert [Path(words[0]).name for words in used[host].restore] == ["gcc", "cudafe++"]


@pytest.mark.parametrize(
    "changes",
    [{"launcher": ("ccache",)}, {"named_nvcc": ("my-nvcc",)}],
    ids=["launcher", "named"],
)
def test_behind_another_program_nvcc_is_called_as_a_whole(changes: dict[str, object]) -> None:
    plan = planned(**changes)
    whole = [edge for edge in plan.edges if edge.step is Step.NVCC]
    assert len(whole) == 2
    words = whole[0].commands[0]
    assert words[0] in ("ccache", "my-nvcc")
    assert words[-4:] == ("-c", "csrc/a.cu", "-o", plan.objects[0])
    assert whole[0].threads == 1


def test_without_a_dry_run_nvcc_is_called_as_a_whole() -> None:
    plan = plan_build(request(), {FLAGS: None})
    assert [edge.step for edge in plan.edges] == [Step.NVCC, Step.NVCC, Step.COMPILE]
    assert "--threads" not in plan.edges[0].commands[0]


def test_a_launcher_stands_before_the_host_compiler_too() -> None:
    (host,) = [e for e in planned(launcher=("ccache",)).edges if e.step is Step.COMPILE]
    assert host.commands[0][:2] == ("ccache", "g++")
    assert host.commands[0][-1] == "-std=c++20"


def test_the_device_link_takes_all_objects_and_makes_one_more() -> None:
    plan = planned(device_link=("-dlink", "-gencode=arch=compute_80,code=sm_80"))
    link = plan.edges[-1]
    assert link.step is Step.DEVICE_LINK
    assert link.inputs == plan.objects[:-1]
    assert plan.objects[-1] == link.outputs[0]
    assert link.commands[0][:2] == ("/opt/cuda/bin/nvcc", "-dlink")


def test_each_edge_costs_what_is_known_of_it() -> None:
    def cost(source: str, step: Step, _passes: int) -> Cost:
        return Cost(26.0, 3 << 30) if (source, step) == ("csrc/a.cu", Step.DEVICE) else Cost(1, 1)

    plan = plan_build(request(), {FLAGS: script()}, cost)
    heavy = [edge.label for edge in plan.edges if edge.cost.memory > 1]
    assert sorted(heavy) == ["a.cu compute_100f", "a.cu compute_120", "a.cu compute_80"]


WRAPPER = (DRYRUN.parent / "dryrun" / "wrapper.c").read_text()


def with_wrapper() -> BuildPlan:
    text = parse_wrapper(WRAPPER)
    assert text is not None
    return plan_build(request(), {FLAGS: replace(script(), wrapper=text)})


def test_the_host_compiler_needs_no_fatbin_where_the_wrapper_is_known() -> None:
    edges = [edge for edge in with_wrapper().edges if edge.source == "csrc/a.cu"]
    host = next(edge for edge in edges if edge.step is Step.HOST)
    assert "-S" in host.commands[0]
    assert "-c" not in host.commands[0]
    (included,) = host.responses
    assert '.incbin \\"build/archbuild/pkg._C/obj/csrc/a.cu.o.passes/a.fatbin\\"' in included.text
    assert not any(file.endswith((".cubin", ".fatbin", ".ptx")) for file in host.inputs)
    last = next(edge for edge in edges if edge.step is Step.FATBIN)
    assert last.outputs == ("build/archbuild/pkg._C/obj/csrc/a.cu.o",)
    assert not any(word.startswith("--embedded-fatbin") for word in last.commands[0])
    assert "-x" not in last.commands[1]


def test_what_the_host_compiler_waits_for_stands_first() -> None:
    device = [edge.label for edge in with_wrapper().edges if edge.step is Step.DEVICE]
    assert device[0] == "a.cu compute_120"


def test_with_debug_information_the_host_compiler_waits_for_the_fatbin() -> None:
    known = script()
    (host,) = [one for one in known.passes if one.step is Step.HOST]
    debug = replace(host, command=(*host.command[:1], "-g", *host.command[1:]))
    passes = tuple(debug if one is host else one for one in known.passes)
    text = parse_wrapper(WRAPPER)
    plan = plan_build(request(), {FLAGS: replace(known, passes=passes, wrapper=text)})
    assert Step.FATBIN not in {edge.step for edge in plan.edges}


@pytest.mark.parametrize(
    "text", ["", "nothing", WRAPPER.replace(".quad", ".long"), WRAPPER + WRAPPER]
)
def test_a_wrapper_that_is_not_understood_is_none(text: str) -> None:
    assert parse_wrapper(text) is None


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("a.cu", "b/obj/a.cu.o"),
        ("./x/../a.cu", "b/obj/x/__up/a.cu.o"),
        ("../other/a.cu", "b/obj/__up/other/a.cu.o"),
        ("/project/csrc/a.cu", "b/obj/csrc/a.cu.o"),
        ("/elsewhere/a.cu", "b/obj/__outside/elsewhere/a.cu.o"),
        ("größe/my kernel.cu", "b/obj/größe/my kernel.cu.o"),
    ],
)
def test_objects_lie_as_their_sources_do(source: str, wanted: str) -> None:
    assert object_path("b", "/project", source) == wanted


def test_nvcc_is_asked_once_for_each_set_of_flags() -> None:
    units = (CudaUnit("a.cu", ("-O3",)), CudaUnit("b.cu", ("-O3",)), CudaUnit("c.cu", ("-O0",)))
    assert flags_of(units) == (("-O3",), ("-O0",))
