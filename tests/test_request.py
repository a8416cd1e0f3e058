"""Where a request comes from, and which nvcc answers for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archbuild.errors import NoToolkitError
from archbuild.model.arch import ptx, sass
from archbuild.model.version import CudaVersion
from archbuild.rules.selecting.request import (
    DETECTED,
    NVCC,
    TORCH,
    choose_compiler,
    choose_request,
    needs_gpus,
    needs_torch_archs,
    unheeded,
)
from tests.machines import machine, toolkit, torch_build

_HELD = torch_build(archs="sm_80 sm_90")

# Every source, the strongest first.
_ORDER = ["--arch", "ARCHBUILD_ARCHS", "TORCH_CUDA_ARCH_LIST", "[tool.archbuild] archs"]


@pytest.mark.parametrize("first", range(7))
def test_the_first_source_wins(first: int) -> None:
    """With every source from the n-th on, the n-th wins and the typed ones after it lost."""
    typed = dict(enumerate(["7.5", "8.0", "8.6", "9.0"]))
    given = {place: text for place, text in typed.items() if place >= first}
    names = {1: "ARCHBUILD_ARCHS", 2: "TORCH_CUDA_ARCH_LIST"}
    variables = {name: given[place] for place, name in names.items() if place in given}
    gpus = ("12.0",) if first <= 4 else ()
    subject = machine("13.0", *gpus, torch=_HELD if first <= 5 else None, **variables)
    request = choose_request(subject, option=given.get(0), config=given.get(3))
    assert request.source == [*_ORDER, DETECTED, TORCH, NVCC][first]
    assert request.text == typed.get(first)
    losers = zip(_ORDER[first + 1 :], list(typed.values())[first + 1 :], strict=True)
    assert request.passed_over == tuple(f"{name}={text}" for name, text in losers)


def test_a_source_that_says_the_same_did_not_lose() -> None:
    subject = machine(ARCHBUILD_ARCHS="9.0", TORCH_CUDA_ARCH_LIST="9.0")
    assert choose_request(subject).passed_over == ()


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_an_empty_variable_says_nothing(blank: str) -> None:
    subject = machine(ARCHBUILD_ARCHS=blank, TORCH_CUDA_ARCH_LIST="9.0")
    assert choose_request(subject).source == "TORCH_CUDA_ARCH_LIST"
    assert choose_request(machine(ARCHBUILD_ARCHS=blank)).source == NVCC


def test_an_empty_option_is_a_request_and_will_be_refused() -> None:
    """Who writes --arch "$LIST" meant a list, and must not get another one silently."""
    subject = machine("13.0", "8.6", ARCHBUILD_ARCHS="9.0")
    assert choose_request(subject, option="").text == ""
    assert choose_request(machine("13.0", "8.6"), config="").source == "[tool.archbuild] archs"


def test_a_gpu_that_nobody_could_read_asks_for_nothing() -> None:
    assert choose_request(machine("13.0", None)).source == NVCC
    assert choose_request(machine("13.0", None, torch=_HELD)).source == TORCH
    assert choose_request(machine("13.0", None, "8.6")).source == DETECTED


@pytest.mark.parametrize(
    "torch",
    [torch_build(cuda=None, archs="sm_80"), torch_build(archs=None), torch_build(archs="")],
    ids=["cpu", "not-asked", "empty"],
)
def test_a_torch_that_holds_nothing_known_asks_for_nothing(torch) -> None:
    assert choose_request(machine(torch=torch)).source == NVCC


@pytest.mark.parametrize(
    ("option", "variables", "config", "expected"),
    [
        (None, {}, None, True),
        ("8.6", {}, None, False),
        (None, {"TORCH_CUDA_ARCH_LIST": "8.6"}, None, False),
        (None, {"TORCH_CUDA_ARCH_LIST": " "}, None, True),
        (None, {}, "9.0", False),
        ("Native", {}, None, True),
        ("8.6;native+PTX", {}, None, True),
        (None, {"ARCHBUILD_ARCHS": "NATIVE"}, None, True),
        ("8.6", {"NVCC_APPEND_FLAGS": "-arch=native"}, None, True),
        ("8.6", {"NVCC_APPEND_FLAGS": "-arch=sm_80"}, None, False),
    ],
)
def test_when_the_gpus_are_asked(
    option: str | None, variables: dict[str, str], config: str | None, *, expected: bool
) -> None:
    assert needs_gpus(variables, option=option, config=config) is expected


@pytest.mark.parametrize(
    ("subject", "option", "expected"),
    [
        (machine(torch=torch_build()), None, True),
        (machine(torch=torch_build()), "8.6", False),
        (machine("13.0", "8.6", torch=torch_build()), None, False),
        (machine(torch=_HELD), None, False),
        (machine(torch=torch_build(cuda=None)), None, False),
        (machine(), None, False),
        (machine(torch=torch_build(), TORCH_CUDA_ARCH_LIST="8.6"), None, False),
    ],
)
def test_torch_is_asked_only_where_nothing_else_answers(
    subject, option: str | None, *, expected: bool
) -> None:
    assert needs_torch_archs(subject, option=option) is expected


# --- which nvcc ------------------------------------------------------------------------


def test_the_nvcc_of_the_machine_answers() -> None:
    compiler = choose_compiler(machine("12.4", torch=torch_build("13.0")))
    assert compiler.version == CudaVersion(12, 4)
    assert compiler.origin == "nvcc 12.4 (/opt/cuda-12.4/bin/nvcc)"
    assert compiler.toolkit is not None


def test_a_named_cuda_answers_by_the_table() -> None:
    for subject in (machine(None), machine("13.0"), machine(None, torch=torch_build("13.0"))):
        compiler = choose_compiler(subject, CudaVersion(12, 4))
        assert (compiler.version, compiler.toolkit) == (CudaVersion(12, 4), None)
        assert compiler.origin == "the table for CUDA 12.4 (from --cuda)"
        assert {sass("90a"), ptx("90a"), ptx("50")} <= compiler.archs
        assert sass("100") not in compiler.archs


def test_without_an_nvcc_torchs_cuda_answers_by_the_table() -> None:
    compiler = choose_compiler(machine(None, torch=torch_build("12.9")))
    assert compiler.origin == "the table for CUDA 12.9 (from torch 2.14.1)"


@pytest.mark.parametrize("torch", [None, torch_build(cuda=None)], ids=["no-torch", "cpu-torch"])
def test_with_neither_it_is_not_known(torch) -> None:
    subject = machine(None, torch=torch, absences=[("toolkit", "looked at PATH")])
    with pytest.raises(NoToolkitError, match=r"looked at PATH.*pip install.*--cuda") as caught:
        choose_compiler(subject)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("version", "cure"),
    [("12.7", "--cuda 12.6 or --cuda 12.8"), ("99.0", "--cuda 13.5."), ("8.0", "--cuda 10.0.")],
)
def test_a_version_without_a_row_names_its_neighbours(version: str, cure: str) -> None:
    with pytest.raises(NoToolkitError) as caught:
        choose_compiler(machine("13.0"), CudaVersion.parse(version))
    assert cure in str(caught.value)
    assert f"no CUDA {version} (from --cuda)" in str(caught.value)
    assert caught.value.exit_code == 4


# --- variables that name another toolkit -------------------------------------------------------


@pytest.mark.parametrize(
    ("absence", "expected"),
    [
        (
            ("CUDA_HOME", "CUDA_HOME=/nowhere does not exist"),
            "CUDA_HOME=/nowhere does not exist; /opt/cuda-13.0 is taken.",
        ),
        (
            ("CUDA_PATH", "/x/bin/nvcc did not answer in time"),
            "CUDA_PATH: /x/bin/nvcc did not answer in time; /opt/cuda-13.0 is taken.",
        ),
        (
            ("CUDA_HOME", "CUDA_HOME=/x (CUDA 12.4) is passed over for /opt/cuda-13.0 (CUDA 13.0)"),
            "CUDA_HOME=/x (CUDA 12.4) is passed over for /opt/cuda-13.0 (CUDA 13.0).",
        ),
        (("nvml", "no NVIDIA driver here"), None),
    ],
)
def test_a_variable_that_is_not_followed_gets_a_word(
    absence: tuple[str, str], expected: str | None
) -> None:
    subject = machine("13.0", absences=[absence])
    assert unheeded(subject) == ((expected,) if expected else ())
    assert unheeded(machine(None, absences=[absence])) == ()


def test_a_toolkit_that_was_named_needs_no_word_on_variables() -> None:
    subject = machine("13.0", absences=[("CUDA_HOME", "CUDA_HOME=/nowhere does not exist")])
    named = toolkit("13.0", found_by=("--toolkit", "CUDA_HOME"))
    assert unheeded(replace(subject, toolkits=(named,))) == ()
