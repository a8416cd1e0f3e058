"""Host compilers by what they print, and the limits in a toolkit's header."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from archbuild.facts.toolkits import find_toolkit_row
from archbuild.model.host import HostCompiler, HostLimits
from archbuild.model.machine import TorchBuild
from archbuild.probe.host_compiler import (
    find_host_compilers,
    query_default_host,
    query_host_compiler,
    read_distribution,
    read_host_limits,
    read_torch_standard,
)
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


# --- those installed ----------------------------------------------------------------------


def _gcc(folder: Path, name: str, major: int) -> Path:
    return _fake(folder, f"g++ (GCC) {major}.1.0\n{_FSF}", name)


def _names(folders: list[Path], toolsets: Path) -> list[tuple[str, int | None]]:
    found = find_host_compilers(folders, "x86_64", toolsets=toolsets)
    return [(Path(host.command).name, host.major) for host in found]


@posix
def test_every_name_of_a_compiler_and_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    for major, name in enumerate(
        ("g++", "g++-13", "c++", "x86_64-linux-gnu-g++-12", "x86_64-conda-linux-gnu-c++"), 11
    ):
        _gcc(folder, name, major)
    _fake(folder, "clang version 18.1.3", "clang++-18")
    others = ("gcc", "g++-go", "aarch64-linux-gnu-g++-12", "clang-format", "x86_64-w64-mingw32-g++")
    for name in others:
        _gcc(folder, name, 14)
    assert sorted(_names([folder], tmp_path)) == [
        ("c++", 13),
        ("clang++-18", 18),
        ("g++", 11),
        ("g++-13", 12),
        ("x86_64-conda-linux-gnu-c++", 15),
        ("x86_64-linux-gnu-g++-12", 14),
    ]


@posix
def test_names_of_one_program_are_one_and_asked_once(tmp_path: Path) -> None:
    counter = tmp_path / "asked"
    real = _gcc(tmp_path / "lib", "real", 12)
    real.write_text(real.read_text().replace("cat", f"echo x >> {counter}; cat", 1))
    for folder, name in (("a", "g++"), ("a", "g++-12"), ("b", "c++")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).symlink_to(real)
    found = find_host_compilers([tmp_path / "a", tmp_path / "b"], "x86_64", toolsets=tmp_path)
    assert [host.command for host in found] == [str(tmp_path / "a" / "g++")]
    assert counter.read_text() == "x\n"


@posix
def test_a_wrapper_that_bears_their_names_hides_none(tmp_path: Path) -> None:
    wrapper = _gcc(tmp_path / "usr", "ccache", 99)
    (tmp_path / "first").mkdir()
    for name in ("g++", "g++-13"):
        (tmp_path / "first" / name).symlink_to(wrapper)
    _gcc(tmp_path / "second", "g++", 12)
    _gcc(tmp_path / "second", "g++-13", 13)
    folders = [tmp_path / "first", tmp_path / "second"]
    assert _names(folders, tmp_path) == [("g++", 12), ("g++-13", 13)]


@posix
def test_red_hats_toolsets_are_found_though_they_are_not_on_path(tmp_path: Path) -> None:
    for major in (9, 14):
        _gcc(Path(tmp_path, f"gcc-toolset-{major}", "root", "usr", "bin"), "g++", major)
    assert _names([], tmp_path) == [("g++", 14), ("g++", 9)]


@posix
def test_folders_that_hold_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _gcc(tmp_path / "here", "g++", 12)
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "bin" / "g++").mkdir(parents=True)
    (tmp_path / "bin" / "c++").symlink_to(tmp_path / "gone")
    folders = [Path(), Path(), tmp_path / "absent", tmp_path / "bin", tmp_path / "here" / "g++"]
    assert _names(folders, tmp_path) == []


@posix
@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        ({"gcc": 13, "g++": 13}, HostCompiler("gcc", "gcc", 13)),
        ({"gcc": 13, "g++": 12}, HostCompiler("gcc", "gcc", 13)),
        ({"gcc": 13}, HostCompiler("g++", "unknown", None, found=False)),
        ({"g++": 13}, HostCompiler("gcc", "unknown", None, found=False)),
    ],
)
def test_what_nvcc_calls_by_itself(
    programs: dict[str, int],
    expected: HostCompiler,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, major in programs.items():
        # Of the shell alone, for there is nothing else on PATH.
        path = _gcc(tmp_path, name, major)
        path.write_text(f"#!/bin/sh\necho 'g++ (GCC) {major}.1.0'\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert query_default_host() == expected


@pytest.mark.toolkit
def test_nvcc_itself_calls_gcc(nvcc: Path, tmp_path: Path) -> None:
    """What :func:`query_default_host` asks is what nvcc would call."""
    source = tmp_path / "a.cu"
    source.touch()
    command = [str(nvcc), "--dryrun", "-c", str(source)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("NVCC_")}
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=env)
    assert "#$ gcc " in said.stderr


# --- torch's headers, the distribution -----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#pragma once\n#if !defined(_MSC_VER) && __cplusplus < 202002L\n#error x\n", 202002),
        ("#if __cplusplus<201703L\n", 201703),
        ("#pragma once\n", None),
        ("", None),
    ],
)
def test_the_standard_that_torchs_headers_want(
    text: str, expected: int | None, tmp_path: Path
) -> None:
    (tmp_path / "include" / "ATen").mkdir(parents=True)
    (tmp_path / "include" / "ATen" / "ATen.h").write_text(text)
    assert read_torch_standard(TorchBuild("2.14.1", str(tmp_path), None)) == expected


def test_a_torch_without_headers_wants_nothing(tmp_path: Path) -> None:
    assert read_torch_standard(TorchBuild("2.14.1", str(tmp_path), None)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n', ("ubuntu", "debian")),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', ("rocky", "rhel", "centos", "fedora")),
        ("ID=arch\r\n", ("arch",)),
        ("ID='debian'\n", ("debian",)),
        ("# ID=x\nVERSION_ID=12\n", ()),
        ('ID="never closed\n', ()),
        ("\0\n=\nID", ()),
    ],
)
def test_the_distribution(text: str, expected: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "os-release").write_text(text)
    assert read_distribution(str(tmp_path)) == expected


def test_the_distribution_where_there_is_no_etc(tmp_path: Path) -> None:
    assert read_distribution(str(tmp_path)) == ()
    (tmp_path / "usr" / "lib").mkdir(parents=True)
    (tmp_path / "usr" / "lib" / "os-release").write_text("ID=alpine\n")
    assert read_distribution(str(tmp_path)) == ("alpine",)
