"""Which torch and CUDA serve these GPUs: the choice, its reasons, and that it never lies."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archbuild.errors import ArchListError, NoGpuError, UsageError
from archbuild.facts.products import PRODUCTS
from archbuild.facts.torch_releases import RELEASES, TorchRelease
from archbuild.facts.torch_wheels import torch_wheels, wheels_for
from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.coverage import Destination
from archbuild.model.image import Image, ImageKind, Region
from archbuild.model.installed import CodeFile, CodeGroup, CodeImage, CodePackage, Installed
from archbuild.model.machine import Driver, Gpu, Machine, TorchBuild
from archbuild.model.surroundings import PciCard, Surroundings
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.rules.covering.coverage import runs
from archbuild.rules.recommending.choosing import rank, recommend
from archbuild.rules.recommending.cudnn_floor import CudnnFit, cudnn_fit
from archbuild.rules.recommending.result import (
    Combination,
    Grade,
    Outcome,
    Recommendation,
    Wish,
    worst,
)
from archbuild.rules.recommending.said import SENTENCES, said
from archbuild.rules.recommending.torch_choice import install_command, pip_command, uv_command
from archbuild.rules.recommending.wish import Asked, make_wish, parse_driver_release
from tests.machines import toolkit

TODAY = date(2026, 12, 1)
LINUX = Machine("linux", "x86_64", "3.12.1")


def ask(machine: Machine = LINUX, /, **typed: str) -> Recommendation:
    return recommend(make_wish(machine, Asked(**typed)), TODAY)


def pair(combination: Combination | None) -> str | None:
    return None if combination is None else f"{combination.torch} {combination.tag}"


def keys(answer: Recommendation) -> set[str]:
    return {note.key for note in answer.notes}


def why(answer: Recommendation, torch: str, cuda: str) -> str:
    (found,) = (c for c in answer.newer if (str(c.torch), str(c.cuda)) == (torch, cuda))
    return "; ".join(map(str, found.why))


def gpu(name: str, capability: str | None, number: int = 0, **fields: object) -> Gpu:
    known = None if capability is None else ComputeCapability.parse(capability)
    return Gpu(f"GPU-{number}", name, known, index=number, **fields)  # type: ignore[arg-type]


def driver(release: str, cuda: str | None = None) -> Driver:
    return Driver(DriverRelease.parse(release), CudaVersion.parse(cuda) if cuda else None)


# --- what people met in public --------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "outcome", "best"),
    [
        # A card that is newer than the wheel (pytorch#150733, gsplat#1053, lmdeploy#3806).
        ({"gpus": "RTX 5090", "driver": "570.124"}, Outcome.ALL, "2.11 cu128"),
        # An old GPU with a new driver must not get cu130 (uv#14742).
        ({"gpus": "GTX 1080", "driver": "580"}, Outcome.ALL, "2.14 cu126"),
        ({"gpus": "GTX 1080, RTX 3090", "driver": "580"}, Outcome.ALL, "2.14 cu126"),
        ({"gpus": "Tesla V100", "driver": "580"}, Outcome.ALL, "2.14 cu126"),
        # No official wheel serves both.
        ({"gpus": "GTX 1080, RTX 5090"}, Outcome.PART, "2.15 cu132"),
        ({"gpus": "GTX 1080, RTX 5090", "driver": "580"}, Outcome.PART, "2.15 cu130"),
        ({"gpus": "GTX 1080, RTX 5090", "system": "windows"}, Outcome.PART, "2.15 cu132"),
        ({"gpus": "Tesla V100, RTX 5090", "driver": "580"}, Outcome.ALL, "2.10 cu128"),
        # GB10 with cu130: sm_120 runs there (pytorch#164596).
        (
            {"gpus": "GB10", "processor": "aarch64", "driver": "580.95.05"},
            Outcome.ALL,
            "2.15 cu130",
        ),
        ({"gpus": "RTX 3090", "driver": "550"}, Outcome.ALL, "2.14 cu126"),
        ({"gpus": "RTX 3090", "driver": "580"}, Outcome.ALL, "2.15 cu130"),
        ({"gpus": "RTX 3090", "driver": "595"}, Outcome.ALL, "2.15 cu132"),
        ({"gpus": "RTX 3090", "driver": "515"}, Outcome.ALL, "2.7 cu118"),
        # This driver doesn't know this GPU.
        ({"gpus": "RTX 5090", "driver": "550"}, Outcome.NONE, None),
        ({"gpus": "RTX 3090", "python": "3.8"}, Outcome.ALL, "2.4 cu121"),
        ({"gpus": "RTX 3090", "python": "3.15"}, Outcome.ALL, "2.15 cu132"),
        ({"gpus": "RTX 3090", "python": "3.7"}, Outcome.ALL, "1.13 cu117"),
        ({"gpus": "RTX 3090", "python": "3.6"}, Outcome.NONE, None),
        ({"gpus": "RTX 3090", "python": "3.16"}, Outcome.NONE, None),
        # Kepler: cuDNN 9 left it, so an older torch of the same CUDA.
        ({"gpus": "Tesla K80", "python": "3.11"}, Outcome.ALL, "2.3 cu118"),
        ({"gpus": "Tesla K40"}, Outcome.NONE, None),
        ({"gpus": "3.0"}, Outcome.NONE, None),
        ({"gpus": "2.1"}, Outcome.NONE, None),
        # linalg of CUDA 13 has nothing for Turing (pytorch#32759: library by library).
        ({"gpus": "RTX 2080", "driver": "580"}, Outcome.ALL, "2.14 cu126"),
        ({"gpus": "RTX 2080, RTX 5090", "driver": "580"}, Outcome.ALL, "2.11 cu128"),
        ({"gpus": "RTX 2080, RTX 5090", "python": "3.15"}, Outcome.PARTLY, "2.15 cu132"),
        # Jetson: Thor is served from 13.0 on; older modules have wheels of NVIDIA's own.
        ({"gpus": "Jetson Thor", "processor": "aarch64"}, Outcome.ALL, "2.15 cu132"),
        ({"gpus": "Jetson Orin", "processor": "aarch64"}, Outcome.UNSURE, "2.15 cu132"),
        ({"gpus": "RTX 4090", "system": "windows", "driver": "581.15"}, Outcome.ALL, "2.15 cu130"),
        ({"gpus": "GTX 1080", "system": "windows", "driver": "581.15"}, Outcome.ALL, "2.14 cu126"),
        # Grace Hopper: old wheels for aarch64 knew 9.0 alone.
        ({"gpus": "GH200", "processor": "aarch64", "driver": "550"}, Outcome.ALL, "2.14 cu126"),
        # 12.7 is no CUDA of any wheel; windows on aarch64 has no rows.
        ({"gpus": "RTX 4090", "cuda": "12.7"}, Outcome.UNSURE, None),
        ({"gpus": "RTX 4090", "system": "windows", "processor": "arm64"}, Outcome.UNSURE, None),
    ],
)
def test_the_newest_that_serves_all(
    typed: dict[str, str], outcome: Outcome, best: str | None
) -> None:
    answer = ask(**typed)
    assert (answer.outcome, pair(answer.best)) == (outcome, best)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("all", 0), ("partly", 0), ("unsure", 4), ("part", 1), ("none", 1)],
)
def test_exit_codes(outcome: str, code: int) -> None:
    assert Outcome(outcome).exit_code == code


# --- why not newer --------------------------------------------------------------------------


def test_every_newer_combination_tells_what_refuses_it() -> None:
    answer = ask(gpus="RTX 5090", driver="570.124")
    assert [c.torch for c in answer.newer] == sorted((c.torch for c in answer.newer), reverse=True)
    assert all(c.why for c in answer.newer)
    assert "nothing for 12.0" in why(answer, "2.14", "12.6")
    assert why(answer, "2.15", "13.2") == "machine code of its CUDA needs driver 580 or newer"


def test_a_wheel_that_only_scripts_name_is_not_recommended() -> None:
    answer = ask(gpus="RTX 3090", driver="550")
    assert "build scripts" in why(answer, "2.15", "12.6")


def test_pascal_is_told_of_cudnn_before_it_is_told_to_upgrade() -> None:
    """immich#22982: a newer cuDNN has nothing for Pascal."""
    answer = ask(gpus="GTX 1080", driver="580", cuda="12.6")
    assert "which cuDNN it brings is not known" in why(answer, "2.15", "12.6")
    assert "cudnn_keep" in keys(answer)
    assert "nvidia-cudnn-cu12" in str(next(n for n in answer.notes if n.key == "cudnn_keep"))


def test_an_old_python_is_the_reason() -> None:
    answer = ask(gpus="RTX 3090", python="3.8")
    assert why(answer, "2.15", "13.0") == "it has wheels for Python 3.11 to 3.15, and none for 3.8"


def test_nothing_is_newer_than_the_newest() -> None:
    assert ask(gpus="RTX 4090").newer == ()


# --- what another driver or Python would allow ----------------------------------------------


def test_a_newer_driver_is_suggested_where_it_allows_more() -> None:
    answer = ask(gpus="RTX 5090", driver="570.124")
    assert pair(answer.better) == "2.15 cu130"
    assert "With driver 580 or newer: torch 2.15 of CUDA 13.0." in map(str, answer.notes)


def test_no_driver_is_suggested_where_none_allows_more() -> None:
    assert ask(gpus="RTX 5090", driver="580").better is None
    assert ask(gpus="GTX 1080", driver="550").better is None


def test_an_older_driver_is_suggested_where_the_new_one_left_the_gpu() -> None:
    answer = ask(gpus="GTX 1080", driver="590.44")
    assert answer.outcome is Outcome.NONE
    assert pair(answer.better) == "2.14 cu126"
    assert "up to branch 580" in " ".join(map(str, answer.notes))
    assert answer.source is None


def test_another_python_is_suggested() -> None:
    answer = ask(gpus="RTX 4090", python="3.16")
    assert answer.python is not None
    python, combination = answer.python
    assert (python, pair(combination)) == ((3, 15), "2.15 cu132")
    assert answer.source is None


def test_with_no_driver_known_the_one_that_is_needed_is_told() -> None:
    answer = ask(gpus="RTX 5090")
    assert answer.best is not None
    assert str(answer.best.floor and answer.best.floor.release) == "580.0"
    assert "assumed" in keys(answer)


def test_minor_version_compatibility_is_told() -> None:
    assert "minor" in keys(ask(gpus="RTX 3090", driver="550"))
    assert "minor" not in keys(ask(gpus="RTX 3090", driver="560.35"))


# --- the part, and from source --------------------------------------------------------------


def test_the_card_that_loses_is_named_and_hidden_by_uuid() -> None:
    machine = replace(
        LINUX,
        gpus=(gpu("GTX 1080", "6.1", 0), gpu("RTX 5090", "12.0", 1)),
        driver=driver("580.95.05", "13.0"),
    )
    answer = ask(machine)
    assert [loss.card.name for loss in answer.lost] == ["GTX 1080"]
    assert answer.visible == "GPU-1"
    assert pair(answer.lost[0].alone) == "2.14 cu126"
    assert install_command(machine) is None


def test_more_gpus_served_count_more_than_newer_ones() -> None:
    answer = ask(gpus="GTX 1080, Tesla P100, RTX 5090")
    assert [loss.card.name for loss in answer.lost] == ["RTX 5090"]
    assert pair(answer.best) == "2.14 cu126"


def test_no_driver_serves_kepler_and_hopper_together() -> None:
    answer = ask(gpus="Tesla K80, H100", python="3.11")
    assert answer.outcome is Outcome.PART
    assert [loss.card.name for loss in answer.lost] == ["Tesla K80"]
    both = next(c for c in answer.newer if pair(c) == "2.3 cu118")
    assert "no driver serves all" in "; ".join(map(str, both.why))


@pytest.mark.parametrize(
    ("gpus", "tools", "archs", "drivers"),
    [
        ("GTX 1080, RTX 5090", ("12.9", "2.14"), "6.1 12.0", ("570.26", 580)),
        ("Tesla K40", ("11.8", "2.7"), "3.5", ("450.80.02", 470)),
        ("3.0", ("10.2", "1.12"), "3.0", ("440.33", 470)),
    ],
)
def test_what_a_source_build_takes(
    gpus: str, tools: tuple[str, str], archs: str, drivers: tuple[str, int]
) -> None:
    build = ask(gpus=gpus).source
    assert build is not None
    assert (str(build.cuda), str(build.torch)) == tools
    assert " ".join(arch.dotted for arch in build.archs) == archs
    assert build.floor is not None
    assert (str(build.floor.release), build.last) == drivers


def test_no_toolkit_builds_fermi() -> None:
    build = ask(gpus="2.1").source
    assert build is not None
    assert (build.cuda, build.archs) == (None, ())


def test_the_nvcc_here_says_itself_what_it_builds() -> None:
    machine = replace(LINUX, toolkits=(toolkit("12.9"),))
    build = ask(machine, gpus="GTX 1080, RTX 5090").source
    assert build is not None
    assert build.here
    narrow = replace(toolkit("12.9"), archs=(Arch.parse("sm_120"),))
    build = ask(replace(LINUX, toolkits=(narrow,)), gpus="GTX 1080, RTX 5090").source
    assert build is not None
    assert not build.here


def test_a_jetson_is_sent_to_nvidia() -> None:
    orin = {"gpus": "Jetson Orin", "processor": "aarch64"}
    assert "jetson_own" in keys(ask(**orin))
    with_driver = replace(LINUX, processor="aarch64", driver=Driver(None, CudaVersion(12, 6)))
    answer = ask(with_driver, gpus="Jetson Orin")
    assert (answer.outcome, answer.source) == (Outcome.NONE, None)
    assert "jetson_own" not in keys(ask(gpus="Jetson Thor", processor="aarch64"))


# --- what is installed wins over the table --------------------------------------------------


def _torch(version: str, cuda: str, archs: str | None = None) -> TorchBuild:
    held = None if archs is None else tuple(map(Arch.parse, archs.split()))
    return TorchBuild(version, "/env/torch", CudaVersion.parse(cuda), archs=held)


def _code(path: str, archs: str) -> CodeFile:
    kinds = {True: ImageKind.SASS, False: ImageKind.PTX}
    parsed = map(Arch.parse, archs.split())
    images = tuple(CodeImage(kinds[a.is_real], a, toolkit=CudaVersion(13, 0)) for a in parsed)
    return CodeFile(path, 1, (CodeGroup(images, 9),))


def _with_files(machine: Machine, *files: CodeFile, cudnn: str | None = None) -> Machine:
    package = CodePackage("torch", "2.14.1", files)
    return replace(machine, installed=Installed((package,), cudnn=cudnn))


def test_libraries_that_were_read_win_over_the_table() -> None:
    machine = replace(LINUX, torch=_torch("2.14.1", "13.0"), driver=driver("580.95.05"))
    machine = replace(machine, gpus=(gpu("RTX 2080", "7.5"),))
    own = _with_files(
        machine,
        _code("torch/lib/libtorch_cuda_linalg.so", "sm_75 sm_80"),
        _code("torch/lib/libtorch_cuda.so", "sm_75 sm_80"),
    )
    best = ask(own, torch="2.14").best
    assert best is not None
    assert best.installed
    assert pair(ask(machine, torch="2.14").best) == "2.14 cu126"


def test_what_the_installed_torch_says_of_itself_wins_over_the_table() -> None:
    machine = replace(LINUX, torch=_torch("2.15.0", "13.2", "sm_90"))
    assert pair(ask(machine, gpus="RTX 4090").best) == "2.15 cu130"
    assert pair(ask(machine, gpus="H100").best) == "2.15 cu132"


def test_a_torch_that_the_table_lacks_is_judged_by_what_it_holds() -> None:
    machine = replace(LINUX, torch=_torch("2.16.0", "12.9", "sm_61 sm_120"))
    answer = ask(machine, gpus="GTX 1080, RTX 5090")
    assert answer.best is not None
    assert answer.best.installed
    assert answer.outcome is Outcome.UNSURE  # which cuDNN it brings is not known


def test_a_torch_without_cuda_or_sense_is_left_out() -> None:
    for build in (
        TorchBuild("2.14.1", "/env", None),
        TorchBuild("nightly", "/e", CudaVersion(13, 0)),
    ):
        assert pair(ask(replace(LINUX, torch=build), gpus="RTX 4090").best) == "2.15 cu132"


def test_a_cudnn_that_was_updated_by_itself_is_cured() -> None:
    """immich#22982, once it has happened."""
    machine = replace(LINUX, torch=_torch("2.14.1", "12.6"), gpus=(gpu("GTX 1080", "6.1"),))
    machine = _with_files(replace(machine, driver=driver("580.95.05")), cudnn="9.14.0.64")
    answer = ask(machine)
    (note,) = (n for n in answer.notes if n.key == "cudnn_here")
    assert 'pip install "nvidia-cudnn-cu12==9.10.2.21"' in str(note)
    assert not {"installed", "cudnn_keep"} & keys(answer)


def test_the_same_release_of_another_cuda_has_to_be_forced() -> None:
    machine = replace(LINUX, torch=_torch("2.14.1+cu130", "13.0"))
    answer = ask(machine, gpus="GTX 1080")
    assert answer.best is not None
    assert "--force-reinstall" in pip_command(answer.best, answer.wish)
    assert "--reinstall-package torch" in uv_command(answer.best, answer.wish)
    other = ask(replace(LINUX, torch=_torch("2.6.0", "12.4")), gpus="GTX 1080")
    assert other.best is not None
    assert "--force" not in pip_command(other.best, other.wish)


# --- the doctor's cure ----------------------------------------------------------------------


def test_the_command_for_a_blackwell_with_an_old_torch() -> None:
    machine = replace(
        LINUX,
        gpus=(gpu("RTX 5090", "12.0"),),
        driver=driver("570.124.06", "12.8"),
        torch=_torch("2.6.0", "12.4", "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"),
    )
    expected = 'pip install "torch==2.11.*" --index-url https://download.pytorch.org/whl/cu128'
    assert install_command(machine) == expected


def test_the_doctor_leaves_out_what_cuda_does_not_see() -> None:
    hidden = (gpu("GTX 1080", "6.1", 0, visible=False), gpu("RTX 5090", "12.0", 1, visible=True))
    machine = replace(LINUX, gpus=hidden, driver=driver("580.95.05", "13.0"))
    assert "cu130" in (install_command(machine) or "")
    assert ask(machine).outcome is Outcome.PART


@pytest.mark.parametrize(
    "machine",
    [
        LINUX,
        replace(LINUX, gpus=(gpu("mystery", None),)),
        replace(LINUX, gpus=(gpu("K40", "3.5"),)),
        replace(LINUX, gpus=(gpu("RTX 4090", "8.9"),), python="nonsense"),
        replace(LINUX, gpus=(gpu("M2", "8.9"),), system="darwin"),
    ],
)
def test_no_command_where_none_is_known(machine: Machine) -> None:
    assert install_command(machine) is None


# --- what is wished for ---------------------------------------------------------------------


def test_gpus_without_a_driver_come_from_the_bus() -> None:
    cards = (PciCard("00000000:01:00.0", 0x2204, "GA102", "RTX 3090", ComputeCapability(8, 6)),)
    wish = make_wish(replace(LINUX, surroundings=Surroundings(cards=cards)))
    assert [card.name for card in wish.cards] == ["RTX 3090"]
    assert wish.driver is None


def test_wsl_has_wheels_of_linux_and_the_driver_of_windows() -> None:
    machine = replace(LINUX, surroundings=Surroundings(wsl=True))
    answer = ask(machine, gpus="RTX 4090", driver="528.33")
    assert (answer.wish.system, answer.wish.windows_driver) == ("linux", True)
    assert pair(answer.best) == "2.14 cu126"
    assert "wsl" in keys(answer)
    assert pair(ask(gpus="RTX 4090", driver="528.33").best) == "2.14 cu126"
    # Of Linux 526 will do for CUDA 12; the same number of Windows will not.
    assert pair(ask(gpus="RTX 4090", driver="526.47").best) == "2.14 cu126"
    assert pair(ask(machine, gpus="RTX 4090", driver="526.47").best) == "2.7 cu118"


def test_mig_slices_stand_for_their_gpu() -> None:
    whole = gpu("A100", "8.0", 0, mig=True)
    part = Gpu("MIG-1", "A100 1g.5gb", ComputeCapability(8, 0), mig=True)
    wish = make_wish(replace(LINUX, gpus=(whole, part)))
    assert [card.uuid for card in wish.cards] == ["MIG-1"]


def test_what_if_adds_to_what_is_there() -> None:
    machine = replace(LINUX, gpus=(gpu("GTX 1080", "6.1"),), driver=driver("580.95.05"))
    answer = ask(machine, with_gpus="RTX 5090", driver="575")
    assert [card.name for card in answer.wish.cards] == ["GTX 1080", "RTX 5090"]
    assert str(answer.wish.driver and answer.wish.driver.release) == "575"
    assert answer.outcome is Outcome.PART


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("570.124.06", (570, 124, 6)),
        ("580", (580, 65, 6)),
        ("525", (525, 60, 13)),
        ("R550", (550, 54, 14)),
        ("599", (599, 0)),
    ],
)
def test_a_branch_stands_for_its_first_release(text: str, parts: tuple[int, ...]) -> None:
    assert parse_driver_release(text).parts == parts


@pytest.mark.parametrize(
    ("typed", "error", "words"),
    [
        ({"gpus": "GT 730"}, ArchListError, "2.1, 3.0 and 3.5"),
        ({"gpus": "RTX 9999"}, ArchListError, "RTX. in --gpu"),
        ({"gpus": "9.0a"}, UsageError, "code, not a device"),
        ({"gpus": "native"}, NoGpuError, "native in --gpu"),
        ({"gpus": "RTX 4090", "with_gpus": "?"}, ArchListError, "--with-gpu"),
        ({"gpus": "RTX 4090", "driver": "13.0"}, UsageError, "--driver"),
        ({"gpus": "RTX 4090", "python": "cp312"}, UsageError, "--python"),
        ({"gpus": "RTX 4090", "cuda": "13"}, UsageError, "--with-cuda"),
        ({"gpus": "RTX 4090", "torch": "new"}, UsageError, "--torch"),
        ({"gpus": "RTX 4090", "system": "beos"}, UsageError, "linux, windows, wsl"),
        ({}, NoGpuError, "No NVIDIA GPU was found"),
    ],
)
def test_what_cannot_be_wished_for(
    typed: dict[str, str], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words.replace("?", r"\?")):
        make_wish(LINUX, Asked(**typed))


def test_a_gpu_of_unknown_capability_makes_it_unsure() -> None:
    machine = replace(LINUX, gpus=(gpu("RTX 4090", "8.9", 0), gpu("mystery", None, 1)))
    answer = ask(machine)
    assert answer.outcome is Outcome.UNSURE
    assert "mystery" in "; ".join(map(str, answer.best.why if answer.best else ()))
    alone = ask(replace(LINUX, gpus=(gpu("mystery", None),)))
    assert (alone.outcome, alone.best) == (Outcome.UNSURE, None)


def test_a_mac_has_none_for_certain() -> None:
    answer = ask(replace(LINUX, system="darwin", processor="arm64"), gpus="RTX 4090")
    assert (answer.outcome, keys(answer) & {"macos"}) == (Outcome.NONE, {"macos"})


# --- facts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("today", "old"), [(date(2027, 5, 30), False), (date(2027, 6, 5), True)])
def test_facts_say_when_they_are_old(today: date, *, old: bool) -> None:
    answer = recommend(make_wish(LINUX, Asked(gpus="RTX 4090")), today)
    assert any(note.key == "facts_old" for note in answer.notes) is old


@pytest.mark.parametrize(
    ("cudnn", "capability", "fit"),
    [
        ("9.10.2.21", "6.1", CudnnFit.HOLDS),
        ("9.11.0", "6.1", CudnnFit.GONE),
        ("9.24.0.43", "7.0", CudnnFit.GONE),
        ("9.24.0.43", "7.5", CudnnFit.HOLDS),
        ("8.9.2.26", "3.7", CudnnFit.HOLDS),
        ("9.1.0.70", "3.7", CudnnFit.GONE),
        (None, "6.1", CudnnFit.UNKNOWN),
        ("nonsense", "6.1", CudnnFit.UNKNOWN),
        (None, "8.6", CudnnFit.HOLDS),
    ],
)
def test_which_cudnn_has_which_gpu(cudnn: str | None, capability: str, fit: CudnnFit) -> None:
    assert cudnn_fit(cudnn, ComputeCapability.parse(capability)) is fit


def test_grades_are_ordered() -> None:
    assert worst((Grade.SERVES, Grade.NOT, Grade.UNSURE)) is Grade.NOT
    assert worst(()) is Grade.SERVES


def test_every_sentence_can_be_said_without_values() -> None:
    assert all(str(said(key)) for key in SENTENCES)


# --- for all machines -----------------------------------------------------------------------

_CAPABILITIES = sorted({str(c) for row in PRODUCTS for c in row.capabilities} | {"12.5", "13.0"})
_DRIVERS = ("450", "470", "515", "525", "550", "570", "575", "580", "590", "615", "700")
_TYPED = st.fixed_dictionaries(
    {
        "gpus": st.lists(st.sampled_from(_CAPABILITIES), min_size=1, max_size=4).map(", ".join),
        "python": st.sampled_from(("2.7", "3.6", "3.8", "3.11", "3.12", "3.14", "3.15", "3.20")),
        "system": st.sampled_from(("linux", "windows", "wsl")),
        "processor": st.sampled_from(("x86_64", "aarch64", "riscv64")),
    },
    optional={
        "driver": st.sampled_from(_DRIVERS),
        "cuda": st.sampled_from(("11.8", "12.6", "13.0", "14.0")),
        "torch": st.sampled_from([str(row.torch) for row in RELEASES] + ["9.9"]),
    },
)


def _certainly_runs(best: Combination, wish: Wish, capability: ComputeCapability) -> bool:
    """What coverage says of the row in the table, image by image."""
    (row,) = (
        r
        for r in wheels_for(wish.system, wish.processor)
        if (r.torch, r.cuda) == (best.torch, best.cuda)
    )
    images = (Image(ImageKind.SASS, a, toolkit=row.cuda) for a in row.libraries[0].archs)
    windows = wish.windows_driver
    return any(runs(i, capability, wish.driver, windows=windows).runs for i in images)


@given(typed=_TYPED)
@settings(max_examples=80, deadline=None)
def test_what_is_recommended_is_what_coverage_says(typed: dict[str, str]) -> None:
    answer = ask(**typed)
    wish, best = answer.wish, answer.best
    assert (best is None) == (answer.outcome is Outcome.NONE) or answer.outcome is Outcome.UNSURE
    lost = {loss.card for loss in answer.lost}
    if best is None or answer.outcome is Outcome.UNSURE:
        return
    assert lost != set(wish.cards)
    for verdict in best.cards:
        assert verdict.card.capability is not None
        sure = _certainly_runs(best, wish, verdict.card.capability)
        if verdict.card not in lost:
            assert sure
        elif verdict.grade is Grade.SERVES:
            pytest.fail("a GPU that is served counts as lost")


@given(typed=_TYPED)
@settings(max_examples=40, deadline=None)
def test_nothing_newer_would_do(typed: dict[str, str]) -> None:
    answer = ask(**typed)
    if answer.outcome is Outcome.ALL and answer.best is not None:
        ranked = rank(answer.wish)
        before = ranked[: ranked.index(answer.best)]
        assert all(c.grade is not Grade.SERVES for c in before)
        assert all(c.torch <= answer.best.torch for c in ranked if c.grade is Grade.SERVES)


@given(typed=_TYPED, day=st.dates())
@settings(max_examples=40, deadline=None)
def test_every_answer_can_be_said(typed: dict[str, str], day: date) -> None:
    answer = recommend(make_wish(LINUX, Asked(**typed)), day)
    for sentence in (*answer.notes, *(reason for c in answer.newer for reason in c.why)):
        assert "{" not in str(sentence)
        assert "?" not in str(sentence)


def test_a_region_of_the_table_is_never_taken_for_empty() -> None:
    """A wheel whose kernels nobody listed still holds nothing where no image fits."""
    from archbuild.rules.recommending.candidates import find_candidates

    (wheel, *_) = find_candidates(make_wish(LINUX, Asked(gpus="RTX 4090")))
    assert all(isinstance(region, Region) for region in wheel.libraries[0].regions)
    assert all(image.is_empty is False for image in wheel.libraries[0].regions[0].images)


def test_a_torch_of_each_release_can_be_asked_for() -> None:
    for row in RELEASES:
        first, _ = row.pythons
        python = ".".join(map(str, first))
        answer = ask(gpus="A100", torch=str(row.torch), python=python, driver="615")
        assert answer.best is not None
        assert answer.best.torch == row.torch


def test_destinations_of_windows_have_floors_of_windows() -> None:
    best = ask(gpus="RTX 4090", system="windows", driver="528.33").best
    assert best is not None
    assert str(best.floor and best.floor.release) == "528.33"
    assert Destination(ComputeCapability(8, 9), windows=True).windows


def test_the_table_has_no_wheel_twice_for_one_wish() -> None:
    ranked = rank(make_wish(LINUX, Asked(gpus="RTX 4090")))
    assert len(ranked) == len({(c.torch, c.cuda) for c in ranked})
    assert len(ranked) == len(
        [r for r in torch_wheels() if r.processor == "x86_64" and r.system == "linux"]
    )
    assert max(c.torch for c in ranked) == TorchRelease(2, 15)
