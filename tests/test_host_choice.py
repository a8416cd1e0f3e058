"""The host compiler of a build, through fake compilers on PATH."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from archbuild.build.host_choice import choose_host_compiler
from archbuild.errors import BuildError
from archbuild.model.host import HostChoice
from archbuild.rules.selecting.nvcc_flags import NvccFlags, parse_nvcc_flags
from tests.machines import choose, machine, toolkit, torch_build

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the compilers are shell scripts")

_BOTH = ("-ccbin", "g++-14", "-allow-unsupported-compiler")
_HEADER = "#if __GNUC__ > 15\n#elif (__clang_major__ >= 21)\n"


class Place:
    """A machine with compilers of our own, and nothing else on PATH."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        crt, aten = folder / "cuda" / "crt", folder / "torch" / "include" / "ATen"
        for where, name, text in (
            (crt, "host_config.h", _HEADER),
            (aten, "ATen.h", "#if __cplusplus < 202002L\n"),
        ):
            where.mkdir(parents=True)
            (where / name).write_text(text)
        self.toolkit = toolkit("13.0", include=(str(folder / "cuda"),))
        self.torch = replace(torch_build(), root=str(folder / "torch"))

    def add(self, *programs: str) -> Place:
        """Compilers, each with its major version behind a colon."""
        for program, _, major in (text.partition(":") for text in programs):
            version = f"g++ (GCC) {major}.1.0"
            if "clang" in program:
                version = f"clang version {major}.1.0"
            path = self.bin / program
            path.write_text(f"#!/bin/sh\necho x >> {self.bin}/asked-{program}\necho '{version}'\n")
            path.chmod(0o755)
        return self

    def choose(self, *flags: str, **variables: str) -> HostChoice:
        subject = machine("13.0", torch=self.torch, **variables)
        own = parse_nvcc_flags(flags) if flags else NvccFlags()
        return choose_host_compiler(own, subject, self.toolkit)

    def path(self, name: str) -> str:
        return str(self.bin / name)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    monkeypatch.setenv("PATH", str(made.bin))
    return made


def test_nvccs_own_choice_stands_and_nothing_else_is_asked(place: Place) -> None:
    place.add("gcc:12", "g++:12", "g++-15:15", "c++:12")
    assert place.choose() == HostChoice(None, "nvcc's own choice")
    assert not (place.bin / "asked-g++-15").exists()


def test_an_installed_older_one_is_chosen_where_the_default_is_too_new(place: Place) -> None:
    place.add("gcc:16", "g++:16", "c++:16", "g++-16:16", "g++-14:14", "g++-13:13", "clang++-18:18")
    choice = place.choose()
    assert (choice.path, choice.warnings) == (place.path("g++-14"), ())


def test_a_newer_one_is_chosen_where_the_default_is_too_old_for_torch(place: Place) -> None:
    place.add("gcc:10", "g++:10", "c++:10", "g++-13:13")
    choice = place.choose()
    assert choice.path == place.path("g++-13")
    assert "is newer than c++ (gcc 10), which links" in choice.warnings[0]


def test_conda_names_its_compiler_twice(place: Place) -> None:
    """Its activation sets CXX, CC and NVCC_PREPEND_FLAGS to one compiler."""
    place.add("gcc:16", "g++:16", "x86_64-conda-linux-gnu-c++:14")
    conda = place.path("x86_64-conda-linux-gnu-c++")
    choice = place.choose(CXX=conda, NVCC_PREPEND_FLAGS=f"-ccbin={conda}")
    assert (choice.path, choice.warnings) == (conda, ())
    assert choice.reason == "NVCC_PREPEND_FLAGS names it"
    assert place.choose().path == conda  # with nothing set, it is among those on PATH


@pytest.mark.parametrize(
    ("flags", "variables", "winner"),
    [
        (("-ccbin", "g++-13"), {"CXX": "g++-12"}, "g++-13"),
        (("-ccbin", "g++-13"), {"NVCC_APPEND_FLAGS": "-ccbin g++-12"}, "g++-12"),
        (("-ccbin", "g++-13"), {"NVCC_PREPEND_FLAGS": "-ccbin g++-12"}, "g++-13"),
        ((), {"NVCC_CCBIN": "g++-13", "CUDAHOSTCXX": "g++-12"}, "g++-13"),
        ((), {"CUDAHOSTCXX": "g++-13", "CXX": "g++-12"}, "g++-13"),
        ((), {"CXX": "ccache g++-13 -m64", "CC": "g++-12"}, "g++-13"),
    ],
)
def test_who_wins_is_said(
    flags: tuple[str, ...], variables: dict[str, str], winner: str, place: Place
) -> None:
    place.add("gcc:11", "g++:11", "c++:13", "g++-12:12", "g++-13:13")
    choice = place.choose(*flags, **variables)
    assert choice.path == winner
    assert f"nvcc takes {winner}, because " in choice.warnings[0]


def test_cxx_too_new_for_nvcc(place: Place) -> None:
    place.add("gcc:16", "g++:16", "c++:16", "g++-14:14")
    choice = place.choose(CXX="g++")
    assert choice.path == place.path("g++-14")
    assert "the other sources keep g++" in choice.warnings[0]
    assert len(choice.warnings) == 1


def test_libcxx_on_one_side(place: Place) -> None:
    place.add("gcc:13", "g++:13", "clang++:18")
    choice = place.choose(CXX="clang++ -stdlib=libc++", NVCC_CCBIN="g++")
    assert choice.path == "g++"
    assert any("is told to use libc++" in warning for warning in choice.warnings)


def test_none_fits(place: Place) -> None:
    place.add("gcc:16", "g++:16")
    with pytest.raises(BuildError, match=r"gcc is gcc 16; CUDA 13\.0 takes gcc 15 at most") as said:
        place.choose()
    assert "gxx_linux-64=15" in said.value.advice


def test_there_is_no_compiler_at_all(place: Place) -> None:
    with pytest.raises(BuildError, match=r"host compiler g\+\+ was not found"):
        place.choose()


def test_a_named_one_that_is_missing(place: Place) -> None:
    place.add("gcc:13", "g++:13")
    with pytest.raises(BuildError, match=r"host compiler g\+\+-99 was not found"):
        place.choose(NVCC_CCBIN="g++-99")


def test_somebody_answers_for_the_version(place: Place) -> None:
    place.add("gcc:16", "g++:16", "g++-14:14")
    assert place.choose("-allow-unsupported-compiler").path is None


# --- as the build asks --------------------------------------------------------------------


@pytest.mark.torch
def test_the_build_is_told_what_to_pass_and_why(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    from archbuild.cpp_extension.checks import checked_host_compiler
    from archbuild.services.select import Selected

    place.add("gcc:16", "g++:16", "c++:16", "g++-14:14")
    subject = replace(machine("13.0", TORCH_CUDA_ARCH_LIST="9.0"), toolkits=(place.toolkit,))
    chosen = Selected(choose(subject), subject)
    with caplog.at_level(logging.INFO):
        assert checked_host_compiler(NvccFlags(), chosen) == place.path("g++-14")
    assert f"archbuild: nvcc calls {place.path('g++-14')}" in caplog.text
    place.add("gcc:13", "g++:13")
    assert checked_host_compiler(NvccFlags(), chosen) is None


@pytest.mark.torch
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], ()),
        (["-O3", "-ccbin", "g++-14"], ("-ccbin", "g++-14")),
        (["-ccbin=g++-14", "-allow-unsupported-compiler"], _BOTH),
    ],
)
def test_the_smoke_kernel_is_tried_with_the_same_compiler(
    flags: list[str], expected: tuple[str, ...]
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    from archbuild.build.extension_plan import plan_extension
    from archbuild.cpp_extension.checks import _host_words

    subject = machine("13.0", TORCH_CUDA_ARCH_LIST="9.0")
    plan = plan_extension("a._C", {"nvcc": flags}, choose(subject), subject)
    assert _host_words(plan) == expected
