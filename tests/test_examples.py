"""The examples, built as their README says, and proved by archbuild's own command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

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


# --- three projects in the style of well-known ones -----------------------------------------


def wheel_of(name: str, folder: Path, archs: str) -> tuple[Path, str]:
    """A copy of an example built into a wheel, and what its build said."""
    shutil.copytree(EXAMPLES / name, folder)
    options = ("--no-build-isolation", "--no-deps", "-v", "-w", "dist")
    project = Project(folder)
    done = project.run("-m", "pip", "wheel", ".", *options, TORCH_CUDA_ARCH_LIST=archs)
    assert done.returncode == 0, done.stdout + done.stderr
    return next((folder / "dist").glob("*.whl")), done.stdout + done.stderr


def verify_alone(path: Path) -> subprocess.CompletedProcess[str]:
    """``archbuild verify`` with no options, in a folder that says nothing."""
    return subprocess.run(
        [sys.executable, "-m", "archbuild", "verify", str(path)],
        cwd=path.parent,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def manifest_in(wheel: Path) -> dict[str, Any]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".archbuild.json")]
        told: dict[str, Any] = json.loads(archive.read(name))
        return told


def assert_well(wheel: Path) -> None:
    """It passes, held against its own manifest."""
    done = verify_alone(wheel)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Held against the manifest." in done.stderr


@pytest.mark.torch
def test_twenty_instantiations_of_one_template(tmp_path: Path) -> None:
    wheel, said = wheel_of("attention", tmp_path / "attention", "9.0")
    told = manifest_in(wheel)
    assert len(told["sources"]) == 20
    assert [image["arch"] for image in told["images"]] == ["sm_90"] * 20
    assert "MAX_JOBS" in said  # which the project sets itself
    assert_well(wheel)


@pytest.mark.torch
def test_relocatable_code_over_two_sources(tmp_path: Path) -> None:
    wheel, _ = wheel_of("relocatable", tmp_path / "relocatable", "8.6;9.0")
    told = manifest_in(wheel)
    assert told["relocatable"] is True
    assert told["targets"] == ["sm_86", "sm_90"]
    assert_well(wheel)


@pytest.fixture(scope="module")
def hopper(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    pytest.importorskip("torch", reason="torch is not installed")
    return wheel_of("hopper", tmp_path_factory.mktemp("hopper") / "hopper", "8.0;9.0")


@pytest.mark.torch
def test_sources_with_architectures_of_their_own(hopper: tuple[Path, str]) -> None:
    """9.0a is built for a wanted 9.0; nothing wants 10.0f, which is said aloud."""
    wheel, said = hopper
    assert "csrc/scale_blackwell.cu is left out" in said
    told = manifest_in(wheel)
    sources = {Path(one["path"]).name: one for one in told["sources"]}
    assert sources["scale_hopper.cu"]["targets"] == ["sm_90a"]
    assert sources["scale_blackwell.cu"]["targets"] == []
    assert sources["scale_blackwell.cu"]["left_out"]
    assert sources["route.cu"]["targets"] == ["sm_80", "sm_90"]
    assert "-DWITH_HOPPER" in told["flags"]
    assert "-DWITH_BLACKWELL" not in told["flags"]
    assert_well(wheel)


@pytest.mark.torch
def test_where_no_source_of_its_own_is_wanted_none_is_built(
    hopper: tuple[Path, str], tmp_path: Path
) -> None:
    """And the wheel of that build beside the other's manifest is found out."""
    wheel, said = wheel_of("hopper", tmp_path / "hopper", "8.0")
    for name in ("hopper", "blackwell"):
        assert f"csrc/scale_{name}.cu is left out" in said
    told = manifest_in(wheel)
    assert not [flag for flag in told["flags"] if flag.startswith("-DWITH_")]
    left_out = [one["path"] for one in told["sources"] if one["left_out"]]
    assert sorted(left_out) == ["csrc/scale_blackwell.cu", "csrc/scale_hopper.cu"]
    assert_well(wheel)
    place = tmp_path / "mixed"
    for source, ending in ((wheel, ".so"), (hopper[0], ".archbuild.json")):
        with zipfile.ZipFile(source) as archive:
            for name in archive.namelist():
                if name.endswith(ending):
                    archive.extract(name, place)
    done = verify_alone(next(place.rglob("*.so")))
    assert done.returncode == 1
    assert "sm_90a" in done.stdout
