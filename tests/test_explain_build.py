"""The command that ``explain`` gives, pasted: it builds the wheel that was missing a GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import Project, clean_environment

EXAMPLES = Path(__file__).parents[1] / "examples"

pytestmark = [pytest.mark.toolkit, pytest.mark.torch]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment with an ``archbuild`` that runs this very package."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "archbuild"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m archbuild "$@"\n')
    command.chmod(0o755)
    env = clean_environment()
    env["PATH"] = f"{folder}{os.pathsep}{env['PATH']}"
    return env


def test_the_command_that_is_given_works_when_pasted(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """The main job: a wheel for 9.0 only, an RTX 3090, and "invalid device function"."""
    if shutil.which("sh") is None:
        pytest.skip("there is no shell on this machine")
    folder = tmp_path / "axpy"
    shutil.copytree(EXAMPLES / "axpy", folder)
    wheel = Project(folder).wheel(TORCH_CUDA_ARCH_LIST="9.0")
    text = "RuntimeError: CUDA error: invalid device function"
    asked = ["explain", text, "--file", str(wheel), "--gpu", "RTX 3090", "--json"]
    # The current folder is the source of the wheel's package.
    told = subprocess.run(
        [sys.executable, "-m", "archbuild", *asked],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert told.returncode == 0, told.stderr
    answer = json.loads(told.stdout)
    assert answer["decided"]
    assert "holds SASS 9.0 and no PTX" in answer["here"][0]["text"]
    names = [kernel["readable"] or kernel["name"] for kernel in answer["kernels"]]
    assert names
    assert all("axpy_kernel" in name for name in names)
    build, check = answer["commands"]
    assert build == 'TORCH_CUDA_ARCH_LIST="8.6;9.0" ' + build.partition(" ")[2]
    for command in (build, check):
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
        )
        assert done.returncode == 0, done.stdout + done.stderr
