"""What is shipped, what it asks for, and that an isolated build finds it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.binary.wheel import iter_candidates
from tests.projects import Light, clean_environment

ROOT = Path(__file__).parents[1]


def pip(*words: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, so that nothing is left in the checkout."""
    copy = tmp_path_factory.mktemp("source") / "archbuild"
    left_out = shutil.ignore_patterns(".git", ".nox", ".*_cache", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT, copy, ignore=left_out)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("dist")
    pip("wheel", str(source), "--no-deps", "-q", "-w", str(dist))
    return next(dist.glob("archbuild-*.whl"))


def test_the_wheel_holds_kernels_schemas_and_tables(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "archbuild/csrc/smoke.cu" in names
    assert "archbuild/py.typed" in names
    assert "archbuild/facts/pci_cc.tsv" in names
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "archbuild").rglob("*.py")}
    schemas = {str(p.relative_to(ROOT)) for p in (ROOT / "archbuild").rglob("*.json")}
    headers = {str(p.relative_to(ROOT)) for p in (ROOT / "archbuild").rglob("*.h")}
    assert {*modules, *schemas, *headers} <= set(names)
    pages = {f"archbuild/{path.relative_to(ROOT)}" for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(names)
    assert "archbuild/lean/torch/extension.h" in headers
    assert not [name for name in names if name.startswith(("tests", "csrc", "examples"))]
    assert any(name.endswith("licenses/NOTICE") for name in names)


def test_the_source_distribution_can_be_built_from(source: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", "from setuptools import build_meta; build_meta.build_sdist('dist')"],
        cwd=source,
        check=True,
        capture_output=True,
    )
    sdist = next((source / "dist").glob("archbuild-*.tar.gz"))
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert any(name.endswith("csrc/smoke.cu") for name in names)
    pip("wheel", str(sdist), "--no-deps", "-q", "-w", str(tmp_path))
    assert "archbuild/csrc/smoke.cu" in zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()


@pytest.mark.toolkit
def test_an_installed_wheel_smokes_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip("install", "-q", "--no-deps", "--target", str(site), str(wheel))
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "archbuild", "smoke", "--arch", "9.0"],
        cwd=empty,
        env={**clean_environment(), "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "smoke passed" in done.stdout
    assert list(empty.iterdir()) == []


def without_configuration() -> dict[str, str]:
    """The environment of a pip that nobody has configured; certificates stay."""
    kept = ("PIP_CERT", "PIP_INDEX_URL")
    env = {k: v for k, v in os.environ.items() if not k.startswith("PIP_") or k in kept}
    return {**env, "PIP_CONFIG_FILE": os.devnull}


@pytest.mark.skipif(sys.platform != "linux", reason="torch's default wheel is of CUDA on Linux")
def test_the_extras_resolve_to_a_torch_and_a_toolkit_of_one_cuda(
    source: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    wanted = f"{source}[build,torch,cu130]"
    options = ["--dry-run", "--ignore-installed", "-q", "--report", str(report)]
    pip("install", *options, wanted, env=without_configuration(), cwd=tmp_path)
    found = {
        item["metadata"]["name"].lower(): item["metadata"]
        for item in json.loads(report.read_text())["install"]
    }
    toolkit = found["cuda-toolkit"]["version"].split(".")[:2]
    assert toolkit == ["13", "0"]
    needs = [r for r in found["torch"]["requires_dist"] if r.startswith("cuda-toolkit")]
    assert needs, "this torch brings no CUDA"
    assert all(f"=={'.'.join(toolkit)}" in need.replace(" ", "") for need in needs), needs
    assert found["nvidia-cuda-nvcc"]["version"].startswith("13.0.")


@pytest.mark.torch
@pytest.mark.toolkit
def test_an_isolated_build_finds_archbuild_torch_and_nvcc(
    wheel: Path, tmp_path: Path, packaged_tool
) -> None:
    """pip makes an environment of its own for it, with a torch of its own: a minute or two."""
    requires = '["setuptools", "torch==2.14.1", "archbuild[build,cu130]"]'
    pyproject = f'[build-system]\nrequires = {requires}\nbuild-backend = "setuptools.build_meta"\n'
    project = Light(pyproject=pyproject).write(tmp_path / "p")
    links = " ".join(filter(None, [str(wheel.parent), os.environ.get("PIP_FIND_LINKS")]))
    env = clean_environment(TORCH_CUDA_ARCH_LIST="8.6;12.0+PTX", PIP_FIND_LINKS=links)
    env.pop("PYTHONPATH", None)
    pip("wheel", ".", "--no-deps", "-w", "dist", env=env, cwd=project.folder)
    made = next((project.folder / "dist").glob("*.whl"))
    cuobjdump = str(packaged_tool("cuobjdump"))
    seen = [read_with_cuobjdump(c.real, cuobjdump) for c in iter_candidates(made)]
    targets = {str(image.arch) for file in seen for image in file.images}
    assert targets == {"sm_86", "sm_120", "compute_120"}
