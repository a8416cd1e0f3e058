"""Where programs are looked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from archbuild.probe.places import Places, is_program, numbered, this_processor


def places(system: str = "linux", **env: str) -> Places:
    return Places(env, (), system, "x86_64")


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    for name in ("cuda-9.2", "cuda-12.10", "cuda-12.9", "cuda-13", "cuda", "cuda-x", "xcuda-1.0"):
        (tmp_path / name).mkdir()
    found = numbered(tmp_path, r"cuda-(\d+)(?:\.(\d+))?")
    assert [path.name for path in found] == ["cuda-13", "cuda-12.10", "cuda-12.9", "cuda-9.2"]
    assert numbered(tmp_path / "gone", r"x(\d)") == []


def test_programs_have_windows_names_on_windows(tmp_path: Path) -> None:
    (tmp_path / "nvcc.exe").touch()
    (tmp_path / "nvcc").mkdir()
    assert list(places("win32", PATH=str(tmp_path)).on_path("nvcc")) == [tmp_path / "nvcc.exe"]
    assert list(places("linux", PATH=str(tmp_path)).on_path("nvcc")) == []


def test_the_current_folder_is_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nvcc").touch()
    assert list(places(PATH=os.pathsep).on_path("nvcc")) == []
    assert list(places().on_path("nvcc")) == []


def test_a_name_that_cannot_be_is_no_program() -> None:
    assert not is_program(Path("a\0b"))
    assert not is_program(Path("x" * 10_000))


def test_blank_variables_are_not_set() -> None:
    env = places(A=" /x ", B="  ")
    assert [env.variable(name) for name in "ABC"] == ["/x", None, None]


def test_this_process() -> None:
    here = Places.here({"A": "b"})
    assert (here.environ, here.system, here.sys_path) == ({"A": "b"}, sys.platform, (*sys.path,))
    assert this_processor() not in ("", "amd64", "AMD64", "arm64")
