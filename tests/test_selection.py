"""What is built, and why: DESIGN.md's rules of the language, sentence by sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archbuild.errors import ArchbuildError, ArchListError, NoGpuError, UnsupportedTargetError
from archbuild.facts.architectures import CAPABILITIES
from archbuild.facts.toolkits import TOOLKITS
from archbuild.model.arch import ComputeCapability, Suffix, ptx, sass
from archbuild.rules.covering.reach import Reach, best_reach
from archbuild.rules.selecting.nvcc_flags import parse_nvcc_flags
from archbuild.rules.selecting.request import choose_compiler
from archbuild.rules.selecting.selection import select_own
from tests.machines import RELEASES, choose, machine, names, torch_build

# --- a typed list -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9.0", "sm_90"),
        ("90 sm_80,9.0a; 12.0f", "sm_80 sm_90 sm_90a sm_120f"),
        ("compute_90", "compute_90"),
        ("90-virtual;8.6", "sm_86 compute_90"),
        ("9.0+PTX", "sm_90 compute_90"),
        ("8.0+PTX;9.0", "sm_80 sm_90 compute_80"),
        ("8.6;12.0+PTX", "sm_86 sm_120 compute_120"),
        ("Ampere", "sm_80 sm_86 compute_86"),
        ("Hopper+PTX", "sm_90 compute_90"),
        ("RTX 4090, H100", "sm_89 sm_90"),
        ("all-major", "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120"),
        ("all-major;8.6", "sm_75 sm_80 sm_86 sm_90 sm_100 sm_110 sm_120 compute_120"),
        ("all-major+PTX", "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120"),
        (
            "all",
            "sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121 "
            "compute_120",
        ),
        ("12.0;12.0;sm_120", "sm_120"),
        ("12.0;9.0;10.0", "sm_90 sm_100 sm_120"),
    ],
)
def test_a_typed_list_gives_what_it_says_and_ptx_only_where_it_says_so(
    text: str, expected: str
) -> None:
    selection = choose(machine("13.0", "6.1"), text)
    assert names(selection.targets) == expected.split()
    assert selection.source == "--arch"
    assert all("--arch" in choice.reason for choice in selection.choices)


@pytest.mark.parametrize("text", ["", ";", " , ; ", "9", "9.0\uff1b8.0", "frobnicate"])
def test_a_list_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(ArchListError, match="--arch"):
        choose(machine("13.0", "8.6"), text)


def test_ptx_below_the_highest_is_noted() -> None:
    assert "The PTX is of 8.0" in " ".join(choose(machine(), "8.0+PTX;9.0").notes)
    assert choose(machine(), "8.0;9.0+PTX").notes == ()
    assert choose(machine(), "8.0;9.0").notes == ()


@pytest.mark.parametrize("text", ["10.0;10.0f", "10.0f,10.0+PTX", "10.1;11.0f"])
def test_plain_and_family_of_one_number_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedTargetError) as caught:
        choose(machine("13.0"), text)
    assert "cannot be built together (from --arch)" in str(caught.value)
    assert "Keep 1" in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("text", ["10.0a;10.0f", "10.0;10.0a", "10.0;10.3f", "10.0f;compute_100"])
def test_other_suffixes_of_one_number_stand_together(text: str) -> None:
    assert len(choose(machine("13.0"), text).targets) == 2


# --- 10.1 and 11.0 ----------------------------------------------------------------------


@pytest.mark.parametrize("version", ["13.0", "13.5"])
def test_thors_old_number_becomes_the_new_one_aloud(version: str) -> None:
    selection = choose(machine(version), "9.0a, sm_120f;10.1")
    assert names(selection.targets) == ["sm_90a", "sm_110", "sm_120f"]
    assert f"10.1: CUDA {version} calls this chip 11.0" in " ".join(selection.notes)


def test_thors_old_number_with_a_suffix_and_ptx() -> None:
    assert names(choose(machine("13.0"), "10.1a;10.1+PTX").targets) == [
        "sm_110",
        "sm_110a",
        "compute_110",
    ]


def test_thors_new_number_is_refused_by_an_older_nvcc_which_names_both() -> None:
    with pytest.raises(UnsupportedTargetError) as caught:
        choose(machine("12.9"), "11.0")
    assert "sm_110" in str(caught.value)
    assert "10.1" in str(caught.value)
    assert names(choose(machine("12.9"), "10.1").targets) == ["sm_101"]


# --- what this nvcc cannot build -----------------------------------------------------------


def test_asked_for_it_is_an_error_with_the_nearest_and_the_toolkit() -> None:
    with pytest.raises(UnsupportedTargetError) as caught:
        choose(machine("11.7"), "8.0;8.9")
    for part in ("nvcc 11.7", "sm_89 (8.9 in --arch)", "sm_86 runs on 8.9", "CUDA 11.8 or newer"):
        assert part in str(caught.value)
    assert caught.value.exit_code == 2


def test_all_that_cannot_be_built_is_named_at_once() -> None:
    with pytest.raises(UnsupportedTargetError) as caught:
        choose(machine("13.0"), "3.5 6.0 7.0+PTX;9.0")
    assert "cannot build sm_35, sm_60, sm_70, compute_70 (in --arch)" in caught.value.message
    for part in ("3.5 needs CUDA 11.8 or older", "7.0 needs CUDA 12.9 or older"):
        assert part in caught.value.advice
    assert "9.0" not in str(caught.value)


def test_a_variable_that_is_not_followed_is_a_warning() -> None:
    subject = machine("13.0", absences=[("CUDA_HOME", "CUDA_HOME=/nowhere does not exist")])
    (warning,) = choose(subject, "9.0").warnings
    assert warning.startswith("CUDA_HOME=/nowhere does not exist; ")
    assert choose(subject, "9.0", cuda="13.0").warnings == ()


@pytest.mark.parametrize(
    ("version", "gpu", "expected", "said"),
    [
        ("11.7", "8.9", "sm_86 compute_86", "sm_86 serves it. 8.9 needs CUDA 11.8 or newer"),
        ("12.4", "12.0", "compute_90", "PTX of 9.0 serves it, compiled by the driver"),
        ("13.0", "10.7", "sm_103 compute_103", "sm_103 serves it. 10.7 needs CUDA 13.4"),
        ("12.9", "11.0", "compute_103", "11.0 needs CUDA 13.0 or newer"),
        # Newer than everything that is known.
        ("13.5", "15.0", "compute_121", "No CUDA release known to archbuild builds sm_150."),
    ],
)
def test_detected_the_nearest_is_built_with_a_warning(
    version: str, gpu: str, expected: str, said: str
) -> None:
    selection = choose(machine(version, gpu))
    assert names(selection.targets) == expected.split()
    assert len(selection.warnings) == 1
    assert said in selection.warnings[0]
    assert f"Card0 ({gpu})" in selection.warnings[0]


def test_a_gpu_that_nothing_serves_is_named_and_the_others_are_built() -> None:
    selection = choose(machine("13.0", "6.1", "8.6", "12.0"))
    assert names(selection.targets) == ["sm_86", "sm_120", "compute_120"]
    assert len(selection.warnings) == 1
    assert "Card0 (6.1)" in selection.warnings[0]
    assert "6.1 needs CUDA 12.9 or older" in selection.warnings[0]


def test_never_zero_targets() -> None:
    with pytest.raises(UnsupportedTargetError, match=r"6\.1 needs CUDA 12\.9 or older") as caught:
        choose(machine("13.0", "6.1"))
    assert caught.value.exit_code == 2


def test_a_gpu_that_nobody_could_read_is_named() -> None:
    selection = choose(machine("13.0", "8.6", None))
    assert names(selection.targets) == ["sm_86", "compute_86"]
    assert "Card1 could not be read" in selection.warnings[0]


# --- detection ----------------------------------------------------------------------------


def test_every_gpu_with_ptx_on_the_numerically_highest() -> None:
    selection = choose(machine("13.0", "12.0", "8.6", "12.0"))
    assert names(selection.targets) == ["sm_86", "sm_120", "compute_120"]
    assert selection.source == "the GPUs of this machine"
    assert [choice.reason for choice in selection.choices] == [
        "Card1 (8.6) is in this machine",
        "Card0 and Card2 (12.0) is in this machine",
        "PTX for newer GPUs",
    ]


def test_a_build_from_detection_says_where_it_will_not_run() -> None:
    (note,) = choose(machine("13.0", "8.6", "12.0")).notes
    assert "will not run on GPUs older than 8.6" in note
    assert "nor on 8.7, 8.8, 9.0, 10.0, 10.3, 10.7, 11.0." in note
    (note,) = choose(machine("13.0", "8.0")).notes
    assert "older than 8.0. To ship" in note
    assert not any("will not run" in text for text in choose(machine("13.0"), "8.0").notes)


def test_where_nothing_is_documented_a_build_is_not_said_to_run() -> None:
    """sm_80 on Orin (8.7): in practice mostly yes, by NVIDIA's documents nobody knows."""
    (note,) = choose(machine("13.0", "8.0", "12.0")).notes
    assert "nor on 8.7" in note


def test_a_gpu_newer_than_every_table_breaks_nothing() -> None:
    subject = machine("13.5", "15.0")
    kit = subject.toolkits[0]
    newer = replace(kit, archs=(*kit.archs, sass("150"), ptx("150")))
    subject = replace(subject, toolkits=(newer,))
    selection = choose(subject)
    assert names(selection.targets) == ["sm_150", "compute_150"]
    assert "older than 15.0" in selection.notes[0]


def test_native_is_every_gpu_and_no_more() -> None:
    selection = choose(machine("13.0", "8.6", "12.0"), "native")
    assert names(selection.targets) == ["sm_86", "sm_120"]
    assert names(choose(machine("13.0", "8.6"), "native;9.0").targets) == ["sm_86", "sm_90"]


def test_native_with_ptx() -> None:
    selection = choose(machine("13.0", "8.6", "12.0"), "native+PTX")
    assert names(selection.targets) == ["sm_86", "sm_120", "compute_120"]


def test_native_without_a_gpu_is_not_known() -> None:
    subject = machine("13.0", absences=[("nvml", "libnvidia-ml.so.1 is missing")])
    with pytest.raises(NoGpuError, match=r"libnvidia-ml\.so\.1 is missing") as caught:
        choose(subject, "native")
    assert caught.value.exit_code == 4


# --- torch, and nothing at all --------------------------------------------------------------


def test_with_no_gpu_what_torch_holds_with_ptx() -> None:
    torch = torch_build(archs="sm_75 sm_80 sm_90a sm_120")
    selection = choose(machine("13.0", torch=torch))
    assert names(selection.targets) == ["sm_75", "sm_80", "sm_90a", "sm_120", "compute_120"]
    assert selection.source == "what the installed torch holds"
    assert "no GPU here" in " ".join(selection.notes)


def test_what_torch_holds_and_nvcc_cannot_build_becomes_the_nearest() -> None:
    torch = torch_build("12.4", archs="sm_50 sm_86 sm_90a sm_120")
    selection = choose(machine("11.8", torch=torch))
    assert names(selection.targets) == ["sm_50", "sm_86", "sm_90", "compute_90"]
    assert len(selection.warnings) == 2


def test_a_torch_of_ptx_alone_is_something_too() -> None:
    selection = choose(machine("13.0", torch=torch_build(archs="compute_90")))
    assert names(selection.targets) == ["compute_90"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("11.8", "sm_35 sm_50 sm_60 sm_70 sm_80 sm_90 compute_90"),
        ("12.4", "sm_50 sm_60 sm_70 sm_80 sm_90 compute_90"),
        ("13.0", "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120"),
    ],
)
def test_with_no_torch_either_all_major(version: str, expected: str) -> None:
    selection = choose(machine(version))
    assert names(selection.targets) == expected.split()
    assert selection.source == "nvcc's all-major"
    assert any("neither a GPU nor a torch" in note for note in selection.notes)


# --- NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS --------------------------------------------------


def test_what_the_variables_add_counts_as_wanted_and_is_said() -> None:
    subject = machine(
        NVCC_PREPEND_FLAGS="-ccbin g++-12 -arch=sm_80", NVCC_APPEND_FLAGS="--threads 4"
    )
    selection = choose(subject, "9.0")
    assert names(g.target for g in selection.gencodes) == ["sm_90"]
    assert names(g.target for g in selection.inherited) == ["sm_80", "compute_80"]
    assert names(selection.targets) == ["sm_80", "sm_90", "compute_80"]
    assert "NVCC_PREPEND_FLAGS adds to every call of nvcc: -ccbin g++-12" in selection.notes[0]
    assert "NVCC_APPEND_FLAGS adds to every call of nvcc: --threads 4" in selection.notes[1]


def test_words_in_the_variables() -> None:
    subject = machine("13.0", "8.6", NVCC_APPEND_FLAGS="-arch=native")
    assert names(choose(subject, "9.0").targets) == ["sm_86", "sm_90"]
    subject = machine("12.4", NVCC_APPEND_FLAGS="-arch=all-major")
    assert "sm_50" in names(choose(subject, "9.0").targets)


def test_a_variable_that_asks_for_what_nvcc_cannot_build_is_named() -> None:
    subject = machine(NVCC_APPEND_FLAGS="-gencode arch=compute_61,code=sm_61")
    with pytest.raises(UnsupportedTargetError, match="in NVCC_APPEND_FLAGS"):
        choose(subject, "9.0")


def test_a_variable_can_clash_with_the_list() -> None:
    subject = machine(NVCC_APPEND_FLAGS="-gencode arch=compute_100f,code=sm_100f")
    with pytest.raises(UnsupportedTargetError, match="cannot be built together"):
        choose(subject, "10.0")


# --- what is said -------------------------------------------------------------------------------


def test_the_source_that_won_is_named_and_those_that_lost() -> None:
    subject = machine("13.0", "12.0", ARCHBUILD_ARCHS="8.6", TORCH_CUDA_ARCH_LIST="9.0")
    selection = choose(subject, config="8.0")
    assert selection.source == "ARCHBUILD_ARCHS"
    assert selection.notes == (
        "TORCH_CUDA_ARCH_LIST=9.0 is passed over for ARCHBUILD_ARCHS.",
        "[tool.archbuild] archs=8.0 is passed over for ARCHBUILD_ARCHS.",
    )
    assert names(selection.targets) == ["sm_86"]


def test_a_table_that_stands_for_nvcc_is_said_aloud() -> None:
    selection = choose(machine(None, torch=torch_build("12.9")), "6.1")
    assert names(selection.targets) == ["sm_61"]
    assert "the table for CUDA 12.9 (from torch 2.14.1) decides" in selection.notes[0]
    selection = choose(machine("13.0"), "6.1", cuda="12.4")
    assert "the table for CUDA 12.4 (from --cuda) decides" in selection.notes[0]
    assert "There is no nvcc" not in selection.notes[0]


# --- an extension's own flags -----------------------------------------------------------------


def _own(flags: list[str], subject=None):
    subject = subject or machine("13.0")
    return select_own(parse_nvcc_flags(flags), subject, choose_compiler(subject), "the own flags")


def test_own_flags_win_and_say_over_what() -> None:
    subject = machine("13.0", "8.6", TORCH_CUDA_ARCH_LIST="7.5")
    selection = _own(["-gencode", "arch=compute_90,code=[sm_90,compute_90]"], subject)
    assert names(selection.targets) == ["sm_90", "compute_90"]
    assert selection.source == "the own flags"
    assert "TORCH_CUDA_ARCH_LIST=7.5 is passed over for the own flags." in selection.notes


def test_own_flags_keep_the_pair_that_was_written() -> None:
    selection = _own(
        ["-gencode=arch=compute_80,code=sm_86", "-gencode=arch=compute_100f,code=sm_103"]
    )
    assert [str(g) for g in selection.gencodes] == [
        "-gencode=arch=compute_80,code=sm_86",
        "-gencode=arch=compute_100f,code=sm_103",
    ]
    assert names(selection.targets) == ["sm_86", "sm_103f"]


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (["-arch=sm_61"], UnsupportedTargetError),
        (["-gencode=arch=compute_61,code=sm_75"], UnsupportedTargetError),
        (["-gencode=arch=compute_61,code=lto_61"], UnsupportedTargetError),
        (["-arch=native"], NoGpuError),
        (["-arch=sm_100", "-gencode=arch=compute_100f,code=sm_100"], UnsupportedTargetError),
    ],
)
def test_own_flags_that_cannot_be_built(flags: list[str], error: type[ArchbuildError]) -> None:
    with pytest.raises(error):
        _own(flags)


def test_own_words() -> None:
    assert names(_own(["-arch=native"], machine("13.0", "8.6")).targets) == ["sm_86"]
    assert "compute_120" in names(_own(["-arch=all-major"]).targets)


# --- whatever the machine -----------------------------------------------------------------------

_KNOWN = [str(row.capability) for row in CAPABILITIES] + ["9.9", "15.0", "2.1"]
_RELEASES = st.sampled_from([str(row.version) for row in TOOLKITS])


def _today(capability: str, version: str) -> ComputeCapability:
    """CUDA 13 calls Thor 11.0."""
    thor = capability == "10.1" and int(version.partition(".")[0]) >= 13
    return ComputeCapability.parse("11.0" if thor else capability)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(_KNOWN), min_size=1, max_size=6), _RELEASES)
def test_every_gpu_that_anything_serves_is_served(capabilities: list[str], version: str) -> None:
    subject = machine(version, *capabilities)
    everything = [a for a in subject.toolkits[0].archs if a.suffix is Suffix.PLAIN]
    devices = {_today(c, version) for c in capabilities}
    served = {d for d in devices if best_reach(everything, d) in (Reach.NATIVE, Reach.JIT)}
    try:
        selection = choose(subject)
    except ArchbuildError:
        assert not served
        return
    assert selection.choices
    for device in served:
        native = best_reach([a for a in everything if a.is_real], device) is Reach.NATIVE
        expected = (Reach.NATIVE,) if native else (Reach.NATIVE, Reach.JIT)
        assert best_reach(selection.targets, device) in expected
    assert len(selection.warnings) >= len(devices - served)


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(_KNOWN), min_size=1, max_size=6).flatmap(st.permutations), _RELEASES
)
def test_the_order_of_the_gpus_changes_nothing(capabilities: list[str], version: str) -> None:
    try:
        first = choose(machine(version, *sorted(capabilities)))
    except ArchbuildError:
        return
    assert choose(machine(version, *capabilities)).gencodes == first.gencodes
    targets = list(first.targets)
    assert targets == sorted(targets, key=lambda a: (a.is_virtual, a))
    (tail,) = targets[-1:]
    assert tail.is_virtual
    assert tail.capability == max(target.capability for target in targets)


_ITEMS = st.sampled_from(["8.6", "9.0a", "compute_80", "12.0f", "7.5+PTX", "H100"])


@given(st.lists(_ITEMS, min_size=1))
def test_a_typed_list_in_any_order_is_the_same(items: list[str]) -> None:
    backwards = choose(machine("13.0"), ", ".join(items[::-1]))
    assert choose(machine("13.0"), ";".join(items)).gencodes == backwards.gencodes


@pytest.mark.parametrize("version", RELEASES)
def test_a_machine_without_anything_still_builds(version: str) -> None:
    assert choose(machine(version)).choices
