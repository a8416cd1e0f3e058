"""What each toolkit builds, held against nvcc and ptxas themselves."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from archbuild.facts.toolkits import TOOLKITS, find_toolkit_row, toolkits_that_build
from archbuild.model.arch import Arch, sass
from archbuild.model.version import CudaVersion


def _built_by(version: str) -> set[str]:
    row = find_toolkit_row(CudaVersion.parse(version))
    assert row is not None
    return {arch.number for arch in row.archs}


def test_the_releases_stand_once_and_in_order() -> None:
    versions = [row.version for row in TOOLKITS]
    assert versions == sorted(set(versions))
    assert find_toolkit_row(CudaVersion(12, 7)) is None
    assert find_toolkit_row(CudaVersion(99, 0)) is None


def test_the_architectures_of_a_row_are_real_and_ordered() -> None:
    for row in TOOLKITS:
        assert all(arch.is_real for arch in row.archs)
        assert list(row.archs) == sorted(set(row.archs)), str(row.version)


def test_only_what_tools_said_is_called_verified() -> None:
    unverified = [row.version for row in TOOLKITS if not row.verified]
    assert max(unverified) == CudaVersion(11, 6)
    assert all("--help" in row.source for row in TOOLKITS if row.verified)


@pytest.mark.parametrize(
    ("release", "gained", "lost"),
    [
        ("11.8", {"89", "90"}, set()),
        ("12.0", {"90a"}, {"35", "37"}),
        ("12.8", {"100", "100a", "101", "101a", "120", "120a"}, set()),
        ("13.4", {"107", "107a", "107f"}, set()),
    ],
)
def test_what_a_release_gained_and_lost(release: str, gained: set[str], lost: set[str]) -> None:
    index = [str(row.version) for row in TOOLKITS].index(release)
    before, after = (_built_by(str(row.version)) for row in TOOLKITS[index - 1 : index + 1])
    assert (after - before, before - after) == (gained, lost)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("sm_35", "10.0", "11.8"),
        ("sm_61", "10.0", "12.9"),
        ("sm_90a", "12.0", "13.5"),
        ("compute_90a", "12.0", "13.5"),
        ("sm_101", "12.8", "12.9"),
        ("sm_110", "13.0", "13.5"),
        ("sm_107f", "13.4", "13.5"),
    ],
)
def test_the_releases_that_build_an_architecture(name: str, first: str, last: str) -> None:
    found = toolkits_that_build(Arch.parse(name))
    assert (str(found[0]), str(found[-1])) == (first, last)
    assert list(found) == sorted(found)


def test_what_no_release_builds_has_none() -> None:
    assert toolkits_that_build(sass("153")) == ()
    assert toolkits_that_build(sass("90f")) == ()


def _allowed(tool: Path, option: str) -> set[str]:
    """The real architectures that a tool's help allows for an option."""
    text = subprocess.run(
        [str(tool), "--help"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    _, found, rest = text.partition(f"\n{option} ")
    assert found, f"{tool.name} --help has no {option}"
    paragraph = re.split(r"\n--", rest)[0]
    return set(re.findall(r"'sm_(\w+)'", paragraph.partition("Allowed values")[2]))


def _release(tool: Path) -> str:
    text = subprocess.run(
        [str(tool), "--version"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    found = re.search(r"release (\d+\.\d+)", text)
    assert found is not None
    return found[1]


@pytest.mark.toolkit
def test_the_row_of_this_environments_nvcc(nvcc: Path) -> None:
    assert _allowed(nvcc, "--gpu-code") == _built_by(_release(nvcc))


@pytest.mark.toolkit
def test_the_newest_compilers_of_this_environments_nvcc(nvcc: Path) -> None:
    _check_host_compilers(nvcc)


@pytest.mark.tools
def test_the_row_of_nvcc_13_5(other_tool: Callable[[str, str], Path]) -> None:
    nvcc = other_tool("nvcc-13.5", "nvcc")
    assert _release(nvcc) == "13.5"
    assert _allowed(nvcc, "--gpu-code") == _built_by("13.5")
    _check_host_compilers(nvcc)


@pytest.mark.tools
@pytest.mark.parametrize("version", ["11.8", "12.9"])
def test_the_row_of_an_older_ptxas(other_tool: Callable[[str, str], Path], version: str) -> None:
    ptxas = other_tool(f"ptxas-{version}", "ptxas")
    assert _release(ptxas) == version
    assert _allowed(ptxas, "--gpu-name") == _built_by(version)
    _check_host_compilers(ptxas)


def _check_host_compilers(tool: Path) -> None:
    """host_config.h refuses what is newer, and says so in words."""
    row = find_toolkit_row(CudaVersion.parse(_release(tool)))
    assert row is not None
    header = tool.parents[1] / "include" / "crt" / "host_config.h"
    text = header.read_text()
    gcc = re.search(r"gcc versions later than (\d+) are not supported", text)
    clang = re.search(r"unsupported clang version! clang version must be less than (\d+)", text)
    assert gcc is not None
    assert clang is not None
    assert (int(gcc[1]), int(clang[1]) - 1) == (row.max_gcc, row.max_clang)
