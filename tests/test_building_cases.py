"""What people met in public while they built, row by row: each is met here, or where it says.

A row is ``repo#number``. A row whose test needs real builds, or has a module of its own,
names the tests that stand for it; that they are there, and are not skipped always, is
tested here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from archbuild.errors import (
    ArchListError,
    BuildError,
    NoToolkitError,
    NoTorchError,
    UnsupportedTargetError,
)
from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.build import Cost, Edge, Resources, Step
from archbuild.model.image import ImageKind
from archbuild.rules.building.build_failure import explain_failure
from archbuild.rules.building.schedule import plan_schedule
from archbuild.rules.selecting.torch_match import check_torch_match
from tests.machines import choose, machine, names, torch_build
from tests.test_extension_plan import plan

HERE = Path(__file__).parent

#: The row, and the tests that stand for it elsewhere.
ELSEWHERE = {
    "pytorch#137261 extension-cpp#71": (
        "cpp_extension::test_with_no_list_and_no_gpu_what_torch_holds",
        "extension_plan::test_defect_1_no_gpu_and_no_list",
    ),
    "pytorch#166120": (
        "selection::test_thors_old_number_becomes_the_new_one_aloud",
        "selection::test_thors_new_number_is_refused_by_an_older_nvcc_which_names_both",
    ),
    "xDiT#572 DCNv2#143": ("extension_plan::test_defect_4_what_torch_refuses_and_nvcc_builds",),
    "detectron2#235": ("archlist::test_several_items",),
    "tiny-cuda-nn#239 DeepSpeed#3299": (
        "selection::test_asked_for_it_is_an_error_with_the_nearest_and_the_toolkit",
        "selection::test_detected_the_nearest_is_built_with_a_warning",
    ),
    "GBGPU#7": ("cpp_extension::test_what_is_wrong_is_said_before_anything_is_compiled",),
    "vllm#56548": (
        "selection::test_other_suffixes_of_one_number_stand_together",
        "targets::test_plain_and_suffixed_are_different_targets",
    ),
    "vllm#49904": (
        "cpp_extension::test_a_compiler_that_drops_a_target_fails_the_build",
        "targets::test_near_is_not_there",
    ),
    "vllm#36835 huggingface/kernels#720": (
        "selection::test_a_typed_list_gives_what_it_says_and_ptx_only_where_it_says_so",
    ),
    "DeepEP#554": (
        "cpp_extension::test_the_device_link_gets_the_same_architectures",
        "extension_plan::test_defect_7_own_gencodes_reach_the_device_link",
    ),
    "torchsort#26": ("cpp_extension::test_the_log_says_who_won",),
    "pytorch#78708 pytorch#55363": (
        "toolkits::test_a_better_match_with_torch_wins_over_the_environment",
        "toolkits::test_every_nvcc_on_path_counts",
    ),
    "diso#25": ("torch_match::test_what_does_not_fit_is_one_error_with_the_cure",),
    "flash-attention#309 GPTQModel#1528": (
        "cpp_extension::test_without_torch_one_sentence_says_what_to_list",
        "packaging::test_an_isolated_build_finds_archbuild_torch_and_nvcc",
        "verify_manifest::test_another_torch",
    ),
    "pytorch#197483 cupy#9296": (
        "toolkits::test_the_packages_of_this_environment",
        "link_folder::test_what_is_missing",
        "cpp_extension::test_cuda_home_is_the_packages_toolkit_with_nothing_exported",
    ),
    "pytorch#144690": ("toolkits::test_conda_with_its_targets_folder",),
    "DeepSpeed#7589": ("archlist::test_one_item",),
    "flash-attention#2493 sglang#7316": (
        "schedule::test_no_set_asks_for_more_than_there_is",
        "resources::test_a_real_limit_of_memory",
        "ninja::test_a_pass_that_was_killed_is_tried_once_more_alone",
    ),
    "flashinfer#566": (
        "jit::test_another_gpu_gives_another_library",
        "jit::test_another_list_gives_another_library_and_the_same_none",
    ),
    "pytorch#47377": (
        "host_choice::test_an_installed_older_one_is_chosen_where_the_default_is_too_new",
        "host_choice::test_none_fits",
    ),
    "cuda-samples#378": ("build_failure::test_a_text_is_explained",),
    "cutlass#3174 SageAttention#291": (
        "build_failure::test_what_nvcc_says_here",
        "examples::test_sources_with_architectures_of_their_own",
    ),
    "fouroversix#33": (
        "selection::test_never_zero_targets",
        "selection::test_a_list_that_says_nothing_is_refused",
    ),
    "tiny-cuda-nn#341 pytorch#48891": (
        "selection::test_every_gpu_with_ptx_on_the_numerically_highest",
        "extension_plan::test_defect_3_ptx_of_the_numerically_highest",
    ),
    "pytorch3d#318 detectron2#265": (
        "selection::test_a_machine_without_anything_still_builds",
        "verify::test_a_wheel_without_a_single_kernel",
    ),
    "tiny-cuda-nn#183": (
        "cuda_stub::test_a_program_of_the_driver_links_whole",
        "cuda_stub::test_a_wheel_holds_no_stub",
        "cuda_stub::test_a_toolkits_own_stub_is_preferred",
    ),
}


@cache
def names_in(module: str) -> frozenset[str]:
    tree = ast.parse((HERE / f"test_{module}.py").read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def pairs() -> Iterator[tuple[str, str]]:
    for row, places in ELSEWHERE.items():
        for place in places:
            yield row, place


@pytest.mark.parametrize(("row", "place"), [pytest.param(*p, id=" ".join(p)) for p in pairs()])
def test_the_test_that_stands_for_a_row_is_there(row: str, place: str) -> None:
    module, _, name = place.partition("::")
    assert name in names_in(module), f"{row}: no {name} in test_{module}.py"


def test_every_row_is_met() -> None:
    assert len(ELSEWHERE) == 26
    assert all(ELSEWHERE.values())


# --- the rows which pure values can meet, the whole way from a list to nvcc's flags ---------


def row(*values: object, id: str) -> object:  # noqa: A002
    return pytest.param(*values, id=id)


@pytest.mark.parametrize(
    ("version", "archs", "expected"),
    [
        row("13.0", "10.1", "sm_110", id="pytorch#166120-13.0"),
        row("12.9", "10.1", "sm_101", id="pytorch#166120-12.9"),
        row("13.0", "10.0", "sm_100", id="xDiT#572"),
        row("11.8", "8.9", "sm_89", id="DCNv2#143"),
        row("13.0", "7.5,8.6", "sm_75 sm_86", id="detectron2#235"),
        row("13.0", "7.5, 8.6 9.0;", "sm_75 sm_86 sm_90", id="detectron2#235-mixed"),
        row("13.0", "10.0;10.0a;10.3", "sm_100 sm_100a sm_103", id="vllm#56548"),
        row("13.0", "12.1f;12.0a", "sm_120a sm_121f", id="vllm#36835"),
        row("13.0", "10.3a;9.0a;8.0", "sm_80 sm_90a sm_103a", id="huggingface/kernels#720"),
        row("13.0", "90a", "sm_90a", id="DeepSpeed#7589"),
    ],
)
def test_nothing_that_was_asked_for_is_lost(version: str, archs: str, expected: str) -> None:
    """From the list to the flags of nvcc, and to those of the device link."""
    subject = machine(version)
    assert names(choose(subject, archs).targets) == expected.split()
    made = plan(
        {"cxx": [], "nvcc": ["-rdc=true"], "nvcc_dlink": ["-dlink"]}, archs, subject=subject
    )
    for flags in (made.args["nvcc"], made.args["nvcc_dlink"]):
        codes = [flag.rpartition("code=")[2] for flag in flags if flag.startswith("-gencode")]
        assert codes == expected.split()


@pytest.mark.parametrize(
    ("version", "archs", "parts"),
    [
        row("11.7", "8.9", ["sm_86 runs on 8.9", "CUDA 11.8 or newer"], id="tiny-cuda-nn#239"),
        row("11.7", "8.6;8.9", ["sm_89", "CUDA 11.8 or newer"], id="DeepSpeed#3299"),
        row("13.0", "3.5", ["3.5", "CUDA 11.8 or older"], id="GBGPU#7"),
    ],
)
def test_what_this_nvcc_cannot_build_is_said_before_it_is_called(
    version: str, archs: str, parts: list[str]
) -> None:
    with pytest.raises(UnsupportedTargetError) as caught:
        choose(machine(version), archs)
    for part in parts:
        assert part in str(caught.value)


def test_a_gpu_newer_than_nvcc_gets_what_serves_it() -> None:
    """tiny-cuda-nn#239, DeepSpeed#3299, for a card that was found and not asked for."""
    found = choose(machine("11.7", "8.9"))
    assert "sm_86" in names(found.targets)
    assert any("8.9" in warning for warning in found.warnings)


def test_own_flags_win_over_the_list_and_that_is_said() -> None:
    """torchsort#26."""
    subject = machine("13.0", TORCH_CUDA_ARCH_LIST="9.0")
    made = plan(["-arch=sm_80"], None, subject=subject)
    assert names(made.selection.targets) == ["sm_80", "compute_80"]
    assert "axpy: its own -gencode or -arch flags win." in made.notes
    assert any("TORCH_CUDA_ARCH_LIST=9.0" in note for note in made.selection.notes)


def test_another_cuda_than_torchs_tells_both_and_no_placeholder() -> None:
    """diso#25."""
    with pytest.raises(BuildError) as caught:
        check_torch_match(machine("12.9", torch=torch_build("13.0")))
    said = str(caught.value)
    for part in ("12.9", "13.0", "/opt/cuda-12.9/bin/nvcc"):
        assert part in said
    assert "%s" not in said


@pytest.mark.parametrize(
    ("text", "kind"),
    [("sm_90a", ImageKind.SASS), ("compute_90a", ImageKind.PTX), ("sm_120f", ImageKind.SASS)],
)
def test_a_suffix_is_part_of_an_architecture(text: str, kind: ImageKind) -> None:
    """DeepSpeed#7589: ``int("90a")``."""
    arch = Arch.parse(text)
    assert str(arch) == text
    assert arch.is_virtual is (kind is ImageKind.PTX)
    assert arch.capability in (ComputeCapability(9, 0), ComputeCapability(12, 0))


def test_jobs_come_from_memory() -> None:
    """flash-attention#2493, sglang#7316: jobs x threads x architectures, each of 3 GB."""
    edges = [
        Edge(Step.DEVICE, (f"{i}",), (), (("cicc",),), f"{i}", cost=Cost(26.0, 3 << 30))
        for i in range(48)
    ]
    schedule = plan_schedule(edges, Resources(64, 12 << 30))
    depth = schedule.heavy_depth if schedule.heavy_from is not None else schedule.jobs
    assert min(depth, schedule.jobs) * (3 << 30) <= 12 << 30


@pytest.mark.parametrize(
    ("output", "words"),
    [
        row(
            "math_functions.h(629): error: exception specification is incompatible with that of "
            'previous function "cospi"\n',
            ["glibc"],
            id="cuda-samples#378",
        ),
        row(
            "ptxas x.ptx, line 2; error   : Instruction 'wgmma.mma_async' not supported on "
            ".target 'sm_90'",
            ["9.0a", "Source("],
            id="cutlass#3174",
        ),
        row(
            "ptxas x.ptx, line 2; error   : Instruction 'tcgen05.mma' not supported on "
            ".target 'sm_120'",
            ["10.0"],
            id="SageAttention#291",
        ),
        row(
            "crt/host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later "
            "than 9 are not supported!",
            ["9"],
            id="pytorch#47377",
        ),
        row(
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)", ["memory"], id="sglang#7316"
        ),
        row(
            "nvcc fatal   : Unsupported gpu architecture 'compute_89'",
            ["CUDA 11.8"],
            id="tiny-cuda-nn#239",
        ),
        row("/usr/bin/ld: cannot find -lcuda: No such file", ["cuda"], id="tiny-cuda-nn#183"),
    ],
)
def test_a_compilers_words_get_their_cure(output: str, words: list[str]) -> None:
    known = explain_failure(output, 1, source="ops.cu")
    assert known is not None
    for word in words:
        assert word in f"{known.clause} {known.cure}"


@pytest.mark.parametrize("archs", ["", ";", " , "])
def test_a_build_for_nothing_is_refused(archs: str) -> None:
    """fouroversix#33."""
    with pytest.raises(ArchListError):
        choose(machine("13.0", "8.6"), archs)


def test_every_gpu_of_a_machine_is_served() -> None:
    """tiny-cuda-nn#341, pytorch#48891: not the first one alone."""
    found = choose(machine("13.0", "8.6", "12.0", "9.0", "8.6"))
    assert names(found.targets) == ["sm_86", "sm_90", "sm_120", "compute_120"]


def test_without_a_gpu_cuda_is_built_all_the_same() -> None:
    """pytorch3d#318, detectron2#265."""
    found = choose(machine("13.0", torch=torch_build(archs="sm_80 sm_90")))
    assert names(found.targets) == ["sm_80", "sm_90", "compute_90"]


@pytest.mark.parametrize("torch", [torch_build(), torch_build(None)], ids=["cuda", "cpu"])
def test_without_nvcc_or_cuda_it_is_an_error_and_no_build_for_the_cpu(torch) -> None:  # type: ignore[no-untyped-def]
    """pytorch3d#318, detectron2#265."""
    with pytest.raises((NoToolkitError, NoTorchError), match="no nvcc") as caught:
        check_torch_match(machine(None, torch=torch))
    assert caught.value.advice
