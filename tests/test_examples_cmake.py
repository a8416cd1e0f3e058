"""The examples with CMake, built as they say with this environment's nvcc, and proved."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.projects import Project, clean_environment

ROOT = Path(__file__).parents[1]
TARGETS = "90a;100f;120+PTX"

pytestmark = [
    pytest.mark.toolkit,
    pytest.mark.skipif(os.name == "nt", reason="there is no sh"),
]


@pytest.fixture
def environment(tmp_path: Path, nvcc: Path) -> dict[str, str]:
    """With a new CMake first on the path, and an ``archbuild`` that runs this very package."""
    if importlib.util.find_spec("cmake") is None:
        pytest.skip("there is no cmake in the packages of this environment")
    import cmake

    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "archbuild"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m archbuild "$@"\n')
    command.chmod(0o755)
    env = clean_environment(ARCHBUILD_ARCHS=TARGETS)
    env["PATH"] = os.pathsep.join([str(folder), cmake.CMAKE_BIN_DIR, env["PATH"]])
    return env


def sh(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-euc", script],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def verify(path: Path, targets: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "archbuild", "verify", str(path), "--targets", targets]
    return subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, check=False
    )


BUILD = """
eval "$(archbuild flags --format env)"
cmake -B build $(archbuild flags --format cmake)
cmake --build build
"""


def test_a_project_of_cmake(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "dots"
    shutil.copytree(ROOT / "examples" / "cmake", folder)
    done = sh(BUILD, folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    library = folder / "build" / "libdots.so"
    said = verify(library, TARGETS)
    assert said.returncode == 0, said.stdout
    # And nothing more than that: it is no accident of defaults.
    assert verify(library, "75").returncode == 1
    shown = sh("archbuild show build/libdots.so", folder, environment).stdout
    held = set(re.findall(r"^ +((?:sm|compute)_\w+) ", shown, re.MULTILINE))
    assert held == {"sm_90a", "sm_100f", "sm_120", "compute_120"}
    # A build folder that exists: the option counts, which the variable does not.
    environment["ARCHBUILD_ARCHS"] = "8.6"
    done = sh(BUILD, folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert verify(library, "8.6").returncode == 0
    demo = sh("build/demo || true", folder, environment)
    assert demo.stdout.strip() == "6000" or demo.stderr.startswith("demo: ")


def test_a_project_of_scikit_build(tmp_path: Path, environment: dict[str, str]) -> None:
    for name in ("scikit_build_core", "pybind11"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"there is no {name} in this environment")
    folder = tmp_path / "norms"
    shutil.copytree(ROOT / "examples" / "scikit", folder)
    script = 'archbuild flags --format env > "$1"'
    subprocess.run(["sh", "-euc", script, "sh", str(folder / "env")], env=environment, check=True)
    pip = f"{sys.executable} -m pip wheel . --no-build-isolation --no-deps -w dist"
    done = sh(f". ./env; {pip}", folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    wheel = next((folder / "dist").glob("*.whl"))
    said = verify(wheel, TARGETS)
    assert said.returncode == 0, said.stdout
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = "import norms; print(norms.norm([]), norms.__file__)"
    loaded = Project(tmp_path).run("-W", "error", "-c", code, PYTHONPATH=str(tmp_path / "site"))
    assert loaded.stdout.startswith(f"0.0 {tmp_path}"), loaded.stderr


LINKS = """
cmake_minimum_required(VERSION 3.25)
project(links LANGUAGES CXX CUDA)
find_package(CUDAToolkit REQUIRED)
add_library(links SHARED links.cu)
target_link_libraries(links PRIVATE CUDA::cudart)
"""


def test_cmake_finds_the_packages_libraries_by_the_links_of_the_recipe(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    links = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0]
    assert "cuda-links" in links
    (tmp_path / "CMakeLists.txt").write_text(LINKS)
    (tmp_path / "links.cu").write_text('extern "C" int there() { return cudaGetDevice(nullptr); }')
    before, _, after = BUILD.partition("cmake -B build")
    script = f"{before}{links}cmake -B build{after}"
    done = sh(script, tmp_path, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert b"libcudart.so.13" in (tmp_path / "build" / "liblinks.so").read_bytes()
