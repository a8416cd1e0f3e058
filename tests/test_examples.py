"""The examples, built as their README says, and proved by archbuild's own command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import Project, clean_environment

EXAMPLES = Path(__file__).parents[1] / "examples"

pytestmark = pytest.mark.toolkit


@pytest.fixture
def archbuild_on_path(tmp_path: Path) -> Path:
    """A folder with an ``archbuild`` that runs this very package."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "archbuild"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m archbuild "$@"\n')
    command.chmod(0o755)
    return folder


def verify(path: Path, targets: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "archbuild", "verify", str(path), "--targets", targets],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.torch
def test_axpy_holds_what_was_asked_for_and_says_what_it_lacks(tmp_path: Path) -> None:
    """The main job: the README's own commands on a project that includes torch/extension.h."""
    folder = tmp_path / "axpy"
    shutil.copytree(EXAMPLES / "axpy", folder)
    wheel = Project(folder).wheel(TORCH_CUDA_ARCH_LIST="8.6;12.0+PTX")
    good = verify(wheel, "8.6;12.0+PTX")
    assert good.returncode == 0, good.stdout
    bad = verify(wheel, "8.6;9.0")
    assert bad.returncode == 1
    assert "sm_90" in bad.stdout
    assert "axpy/_C." in bad.stdout
    installed = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(installed)]
    subprocess.run([*pip, str(wheel)], check=True)
    said = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import axpy; print(axpy.axpy.__doc__)"],
        env={**clean_environment(), "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert "a * x + y" in said.stdout


def test_plain_is_built_by_make_and_loaded_by_ctypes(
    tmp_path: Path, archbuild_on_path: Path
) -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make on this machine")
    folder = tmp_path / "plain"
    shutil.copytree(EXAMPLES / "plain", folder)
    env = clean_environment()
    env["PATH"] = f"{archbuild_on_path}{os.pathsep}{env['PATH']}"
    make = ["make", "ARCHBUILD_ARCHS=8.6;9.0+PTX"]
    subprocess.run(make, cwd=folder, env=env, check=True, capture_output=True)
    done = verify(folder / "libscale.so", "8.6;9.0+PTX")
    assert done.returncode == 0, done.stdout
    code = "import scale; print(scale.scale(2.0, []))"
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"
