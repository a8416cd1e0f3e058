"""What each source of an extension is compiled for, and what the library holds of it."""

from __future__ import annotations

import pytest

from archbuild.build.extension_plan import plan_extension
from archbuild.build.source_plan import SourcesPlan, plan_sources
from archbuild.errors import UnsupportedTargetError, UsageError
from archbuild.model.source import Source
from tests.machines import choose, machine


def planned(
    *sources: Source, archs: str = "8.0;9.0;10.0+PTX", dev: bool = False, **args: list[str]
) -> SourcesPlan:
    subject = machine("13.0")
    given = args or {"nvcc": []}
    extension = plan_extension("pkg._C", given, choose(subject, archs), subject)
    return plan_sources(extension, sources, development=dev)


def names(targets: object) -> list[str]:
    return [str(target) for target in targets]  # type: ignore[attr-defined]


def test_a_source_without_a_list_gets_all() -> None:
    plan = planned(Source("a.cu"), Source("b.cpp"))
    assert names(plan.targets_of("a.cu")) == ["sm_80", "sm_90", "sm_100", "compute_100"]
    assert [one.source.path for one in plan.sources] == ["a.cu"]


def test_sources_of_their_own_and_the_macros_that_stand_for_them() -> None:
    plan = planned(
        Source("a.cu"),
        Source("h.cu", archs="9.0a", define="H"),
        Source("t.cu", archs="12.0", define="T"),
        Source("m.cu", archs="9.0+", define="H"),
    )
    assert names(plan.targets_of("h.cu")) == ["sm_90a"]
    assert names(plan.targets_of("m.cu")) == ["sm_90", "sm_100", "compute_100"]
    assert [one.source.path for one in plan.left_out] == ["t.cu"]
    assert plan.defines == ("H",)
    assert "t.cu is left out: it is meant for 12.0" in plan.warnings[0]
    held = names(plan.extension.library_targets)
    assert held == ["sm_80", "sm_90", "sm_90a", "sm_100", "compute_100"]


def test_the_flags_of_a_source_name_its_architectures_alone() -> None:
    plan = planned(Source("a.cu"), Source("h.cu", archs="9.0a"))
    flags = ("-O3", *plan.extension.args["nvcc"])
    assert plan.flags_of("a.cu", flags) == flags
    assert plan.flags_of("h.cu", flags) == ("-O3", "-gencode=arch=compute_90a,code=sm_90a")


def test_a_required_source_that_serves_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"h\.cu is required"):
        planned(Source("a.cu"), Source("h.cu", archs="12.0", required=True))


def test_no_source_at_all_is_an_error() -> None:
    with pytest.raises(UnsupportedTargetError, match=r"No CUDA source of pkg\._C would be built"):
        planned(Source("h.cu", archs="12.0"))


def test_what_nvcc_cannot_build_is_an_error_before_anything_is_compiled() -> None:
    subject = machine("12.8")  # the first `f` came with 12.9
    extension = plan_extension("pkg._C", {"nvcc": []}, choose(subject, "8.0;10.0"), subject)
    with pytest.raises(UnsupportedTargetError, match=r"archs of h\.cu"):
        plan_sources(extension, [Source("a.cu"), Source("h.cu", archs="10.0f")])


def test_a_development_build_has_one_virtual_architecture() -> None:
    plan = planned(Source("a.cu"), Source("h.cu", archs="9.0a"), dev=True)
    assert {str(g.virtual) for g in plan.gencodes_of("a.cu")} == {"compute_80"}
    assert {str(g.virtual) for g in plan.gencodes_of("h.cu")} == {"compute_90a"}
    assert "Development build" in plan.notes[0]


def test_a_device_link_leaves_sass_of_what_the_objects_hold() -> None:
    plan = planned(
        Source("a.cu"),
        Source("h.cu", archs="9.0a"),
        nvcc=["-rdc=true"],
        nvcc_dlink=["-dlink"],
    )
    assert names(plan.extension.library_targets) == ["sm_80", "sm_90", "sm_90a", "sm_100"]


def test_a_binding_can_be_meant_for_an_architecture_too() -> None:
    hopper = Source("hopper_api.cpp", archs="9.0a", define="H")
    plan = planned(Source("a.cu"), Source("b.cpp"), hopper)
    assert plan.defines == ("H",)
    assert plan.left_out == ()
    plan = planned(Source("a.cu"), Source("b.cpp"), hopper, archs="8.0")
    assert [one.source.path for one in plan.left_out] == ["hopper_api.cpp"]
    assert plan.defines == ()
    with pytest.raises(UsageError, match=r"x\.cpp is required"):
        planned(Source("a.cu"), Source("x.cpp", archs="12.0", required=True))
