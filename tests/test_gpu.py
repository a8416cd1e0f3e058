"""What only a real GPU and its driver can show; ``nox -s gpu`` runs it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from archbuild.model.installed import Trial, TrialOutcome
from archbuild.model.machine import Machine
from archbuild.probe.loading import query_loaded
from archbuild.probe.machine import query_machine
from archbuild.probe.trials import run_trials
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


@pytest.fixture(scope="module")
def here() -> Machine:
    machine = query_machine(environ=clean_environment())
    assert machine.gpus, "these tests are for a machine with a GPU"
    return machine


def _failed(found: tuple[Trial, ...]) -> list[Trial]:
    good = (TrialOutcome.PASSED, TrialOutcome.SKIPPED)
    return [trial for trial in found if trial.outcome not in good]


def _passed(found: tuple[Trial, ...], name: str) -> set[str]:
    return {t.gpu for t in found if t.name == name and t.outcome is TrialOutcome.PASSED}


def _reachable(machine: Machine) -> set[str]:
    divided = {gpu.uuid for gpu in machine.gpus if gpu.mig and gpu.uuid.startswith("GPU-")}
    return {gpu.uuid for gpu in machine.gpus if gpu.visible is not False} - divided


def test_every_trial_passes_on_every_gpu(here: Machine) -> None:
    found = run_trials(here, timeout=300.0, environ=clean_environment())
    assert _failed(found) == []
    for name in ("kernel", "forced jit", "no jit"):
        assert _passed(found, name) == _reachable(here)


def test_the_text_of_ptx_runs_where_there_is_no_toolkit(here: Machine) -> None:
    bare = replace(here, toolkits=(), torch=None)
    found = run_trials(bare, timeout=300.0, environ=clean_environment())
    assert _passed(found, "kernel") == _passed(found, "forced jit") == _reachable(here)


def test_a_driver_that_may_not_compile_says_so(here: Machine) -> None:
    bare = replace(here, toolkits=(), torch=None)
    env = clean_environment(CUDA_DISABLE_PTX_JIT="1")
    found = run_trials(bare, timeout=300.0, environ=env)
    errors = {trial.error for trial in found if trial.name == "kernel"} - {None}
    assert errors == {223}


def test_the_drivers_library_is_the_real_one(here: Machine) -> None:
    rows = query_loaded(environ=clean_environment(), timeout=60.0)
    driver = next(row for row in rows if row.soname == "libcuda.so.1")
    assert driver.trouble == ""
    assert not driver.stub
    assert driver.path is not None
    assert here.driver is not None
    release = here.driver.release
    assert release is None or driver.compat or driver.version in (None, release.text)
