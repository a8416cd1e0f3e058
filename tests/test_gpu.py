"""What only a real GPU and its driver can show; ``nox -s gpu`` runs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.projects import clean_environment

pytestmark = [pytest.mark.gpu, pytest.mark.toolkit]


@pytest.mark.parametrize(
    ("archs", "variable"),
    [
        ("native", "CUDA_DISABLE_PTX_JIT"),  # only SASS can have run
        ("native+PTX", "CUDA_FORCE_PTX_JIT"),  # only PTX can have run
        ("native+PTX", "ARCHBUILD_NOTHING"),  # what the driver takes by itself
    ],
)
def test_the_smoke_kernel_runs_on_every_gpu(archs: str, variable: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "archbuild", "smoke", "--arch", archs],
        env=clean_environment(**{variable: "1"}),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not run" not in done.stdout
    assert "smoke passed" in done.stdout
