"""Host compilers by what they print, and the limits in a toolkit's header."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from archbuild.facts.toolkits import find_toolkit_row
from archbuild.model.host import HostCompiler, HostLimits
from archbuild.probe.host_compiler import query_host_compiler, read_host_limits
from archbuild.probe.nvcc import parse_version
from tests.machines import toolkit

posix = pytest.mark.skipif(sys.platform == "win32", reason="the fake compilers are shell scripts")

_FSF = "Copyright (C) 2023 Free Software Foundation, Inc.\nThis is free software; see the source\n"


def _fake(folder: Path, text: str, name: str = "g++") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    path.chmod(0o755)
    return path


@posix
@pytest.mark.parametrize(
    ("first", "family", "major"),
    [
        ("g++ (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0", "gcc", 13),
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc", 12),
        ("g++ (GCC) 8.5.0 20210514 (Red Hat 8.5.0-18)", "gcc", 8),
        ("g++ (GCC) 15.0.1 20250329 (experimental)", "gcc", 15),
        ("g++ (Alpine 13.2.1_git20231014) 13.2.1 20231014", "gcc", 13),
        ("c++ (SUSE Linux) 13.2.1 20230912 [revision b96e66fd4ef3e36983969fb8]", "gcc", 13),
        ("x86_64-conda-linux-gnu-c++ (conda-forge gcc 13.2.0-7) 13.2.0", "gcc", 13),
        ("g++-13 (Homebrew GCC 13.2.0) 13.2.0", "gcc", 13),
        ("x86_64-linux-g++.br_real (Buildroot 2021.11-4428-g6b6741b) 11.2.0", "gcc", 11),
        ("cc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", "gcc", 11),
        ("Ubuntu clang version 18.1.3 (1ubuntu1)", "clang", 18),
        ("Debian clang version 14.0.6", "clang", 14),
        ("clang version 17.0.6 (Red Hat 17.0.6-5.el9)", "clang", 17),
        ("clang version 16.0.0 (https://github.com/llvm/llvm-project.git 08d094a0)", "clang", 16),
        ("Apple clang version 15.0.0 (clang-1500.3.9.4)", "clang", 15),
        (
            "AMD clang version 17.0.0 (https://example.org/llvm roc-6.0.0 23483 7208e8d)",
            "clang",
            17,
        ),
        ("Intel(R) oneAPI DPC++/C++ Compiler 2024.0.0 (2024.0.0.20231017)", "unknown", None),
        ("nvc++ 23.9-0 64-bit target on x86-64 Linux -tp haswell", "unknown", None),
        ("hello 3.4.5", "unknown", None),
        ("", "unknown", None),
        ("g++ (GCC) unreadable", "gcc", None),
    ],
)
def test_what_a_compiler_is(first: str, family: str, major: int | None, tmp_path: Path) -> None:
    text = f"{first}\n{_FSF if family == 'gcc' else 'Target: x86_64-pc-linux-gnu'}"
    command = str(_fake(tmp_path, text))
    assert query_host_compiler(command) == HostCompiler(command, family, major)


@posix
def test_a_folder_with_a_compiler(tmp_path: Path) -> None:
    _fake(tmp_path / "bin", f"g++ (GCC) 12.3.0\n{_FSF}")
    found = query_host_compiler(str(tmp_path / "bin"))
    assert found == HostCompiler(str(tmp_path / "bin"), "gcc", 12)


@posix
def test_a_compiler_by_name_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(tmp_path, "clang version 19.1.0", "my-clang++")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert query_host_compiler("my-clang++") == HostCompiler("my-clang++", "clang", 19)


@posix
@pytest.mark.parametrize("body", ["exit 1", "kill -9 $$", "sleep 60", "echo"])
def test_one_that_says_nothing_is_unknown_but_there(body: str, tmp_path: Path) -> None:
    path = tmp_path / "g++"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    found = query_host_compiler(str(path), timeout=0.5)
    assert found == HostCompiler(str(path), "unknown", None, found=True)


def test_one_that_is_missing(tmp_path: Path) -> None:
    command = str(tmp_path / "absent-g++")
    assert query_host_compiler(command).found is False
    (tmp_path / "empty").mkdir()
    assert query_host_compiler(str(tmp_path / "empty")).found is False


@pytest.mark.parametrize("command", ["g++", "clang++"])
def test_a_real_one(command: str) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"there is no {command} here")
    found = query_host_compiler(command, timeout=30.0)
    assert found.family in ("gcc", "clang")
    assert found.major is not None
    assert 4 <= found.major <= 40


# --- the header ---------------------------------------------------------------------------


def _header(folder: Path, text: str) -> str:
    (folder / "crt").mkdir(parents=True)
    (folder / "crt" / "host_config.h").write_text(text)
    return str(folder)


_TEXT = """
#if defined(__GNUC__)
#if __GNUC__ > {gcc}
#error -- unsupported GNU version!
#endif
#if defined(__clang__)
#if (__clang_major__ >= {clang}) || (__clang_major__ < 3) || ((__clang_major__ == 3))
#error -- unsupported clang version!
#endif
#endif
"""


@pytest.mark.parametrize(("gcc", "clang"), [(15, 21), (11, 14), (13, 18)])
def test_the_limits_of_a_header(gcc: int, clang: int, tmp_path: Path) -> None:
    folder = _header(tmp_path, _TEXT.format(gcc=gcc, clang=clang))
    limits = read_host_limits(toolkit("13.0", include=(str(tmp_path / "absent"), folder)))
    assert limits == HostLimits(gcc, clang - 1, str(Path(folder, "crt", "host_config.h")))


def test_both_ways_to_write_a_limit_mean_the_same(tmp_path: Path) -> None:
    text = "#if __clang_major__ > 20\n#elif (__clang_major__ >= 21)\n"
    limits = read_host_limits(toolkit("13.0", include=(_header(tmp_path, text),)))
    assert (limits.gcc, limits.clang) == (None, 20)


def test_no_header_is_no_limit(tmp_path: Path) -> None:
    limits = read_host_limits(toolkit("13.0", include=(str(tmp_path),)))
    assert (limits.gcc, limits.clang) == (None, None)
    assert limits.source


@pytest.mark.toolkit
def test_the_limits_of_this_environments_toolkit(nvcc: Path) -> None:
    command = [str(nvcc), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    version = parse_version(said.stdout)
    assert version is not None
    row = find_toolkit_row(version[0])
    assert row is not None
    limits = read_host_limits(toolkit("13.0", include=(str(nvcc.parents[1] / "include"),)))
    assert (limits.gcc, limits.clang) == (row.max_gcc, row.max_clang)
