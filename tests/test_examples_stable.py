"""The example with torch's stable ABI: one wheel, its tag, and what shipping does to it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from archbuild.binary.reader import read
from tests.projects import Project, clean_environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
RECIPES = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
TARGETS = "8.0;9.0;10.0f;12.0+PTX"

pytestmark = [
    pytest.mark.toolkit,
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="wheels of Linux are what is repaired"),
]


def block(section: str, language: str) -> str:
    """The first block of this language in a section of the recipes."""
    (text,) = re.findall(rf"^## {section}$(.*?)(?=^## |\Z)", RECIPES, re.MULTILINE | re.DOTALL)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The example with the pyproject.toml of the recipe, which alone names architectures."""
    folder = tmp_path_factory.mktemp("stable") / "swish"
    shutil.copytree(ROOT / "examples" / "stable", folder)
    (folder / "pyproject.toml").write_text(block("cibuildwheel", "toml"))
    return Project(folder)


@pytest.fixture(scope="module")
def wheel(project: Project) -> Path:
    return project.wheel()


def run(*command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = clean_environment(**variables)
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=300
    )


def verify(path: Path) -> subprocess.CompletedProcess[str]:
    words = ("-m", "archbuild", "verify", str(path), "--targets", TARGETS, "--reader", "both")
    return run(sys.executable, *words, cwd=path.parent)


def unpack(wheel: Path, folder: Path) -> Path:
    """The library of a wheel, on disk."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return next(folder.rglob("_C*.so"))


def digests(library: Path) -> list[str]:
    """Each fatbin by the architectures of its images and by its very bytes."""
    data = library.read_bytes()
    found = []
    for region in (region for file in read(library) for region in file.regions):
        assert region.offset is not None
        _, _, header, size = struct.unpack_from("<IHHQ", data, region.offset)
        body = data[region.offset : region.offset + header + size]
        names = " ".join(str(image.arch) for image in region.images)
        found.append(f"{names}: {hashlib.sha256(body).hexdigest()}")
    return found


def test_the_wheel_is_for_every_python_and_holds_what_was_asked_for(wheel: Path) -> None:
    assert wheel.name.startswith("swish-1.0-cp310-abi3-")
    with zipfile.ZipFile(wheel) as archive:
        assert [n for n in archive.namelist() if n.endswith(".so")] == ["swish/_C.abi3.so"]
    done = verify(wheel)
    assert done.returncode == 0, done.stdout


def test_it_runs_on_the_cpu_and_needs_nothing_of_torchs_python(wheel: Path, tmp_path: Path) -> None:
    library = unpack(wheel, tmp_path / "site")
    code = (
        "import torch, swish; x = torch.randn(7, 3).t(); "
        "print(torch.allclose(swish.swish(x), torch.nn.functional.silu(x)), swish._C.__file__)"
    )
    site = str(tmp_path / "site")
    done = run(sys.executable, "-W", "error", "-c", code, cwd=tmp_path, PYTHONPATH=site)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", str(library)]
    assert b"libtorch_python" not in library.read_bytes()


def test_an_operand_of_another_type_is_an_error_and_no_crash(wheel: Path, tmp_path: Path) -> None:
    unpack(wheel, tmp_path / "site")
    code = "import torch, swish; swish.swish(torch.ones(2, dtype=torch.long))"
    site = str(tmp_path / "site")
    done = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=site)
    assert done.returncode == 1
    assert "swish takes floats" in done.stderr


def test_strip_and_a_new_search_path_change_no_image(wheel: Path, tmp_path: Path) -> None:
    library = unpack(wheel, tmp_path / "site")
    before, size = digests(library), library.stat().st_size
    assert len(before) == 1
    assert "sm_100f" in before[0]
    for tool in ("strip", "patchelf"):
        if _find(tool) is None:
            pytest.skip(f"there is no {tool} in this environment")
    subprocess.run(["strip", "--strip-unneeded", str(library)], check=True)
    assert library.stat().st_size < size
    rpath = "$ORIGIN/../torch/lib:" + ":".join(f"$ORIGIN/../some/long/folder/{n}" for n in range(9))
    subprocess.run([str(_find("patchelf")), "--set-rpath", rpath, str(library)], check=True)
    assert digests(library) == before
    assert verify(library).returncode == 0


def test_the_repair_of_the_recipe_changes_no_image(
    project: Project, wheel: Path, tmp_path: Path
) -> None:
    patchelf = _find("patchelf")
    if importlib.util.find_spec("auditwheel") is None or patchelf is None:
        pytest.skip("there is no auditwheel, or no patchelf, in this environment")
    for name in ("archbuild", "auditwheel"):
        script = f'#!/bin/sh\nexec {sys.executable} -m {name} "$@"\n'
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    settings = tomllib.loads(block("cibuildwheel", "toml"))["tool"]["cibuildwheel"]["linux"]
    dist = tmp_path / "dist"
    command = settings["repair-wheel-command"].format(
        dest_dir=dist, wheel=wheel, project=project.folder
    )
    path = f"{tmp_path}:{Path(patchelf).parent}:{clean_environment()['PATH']}"
    done = run("sh", "-euc", command, cwd=tmp_path, PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verify passed" in done.stdout
    repaired = next(dist.glob("*manylinux*.whl"))
    library = unpack(repaired, tmp_path / "after")
    assert digests(library) == digests(unpack(wheel, tmp_path / "before"))
    assert not list((tmp_path / "after").glob("*.libs")), "a library of torch or CUDA was put in"
    compare = ("-m", "archbuild", "compare", "--fail-on", "lost", str(wheel), str(repaired))
    assert run(sys.executable, *compare, cwd=tmp_path).returncode == 0
    site = str(tmp_path / "after")
    assert run(sys.executable, "-c", "import swish", cwd=tmp_path, PYTHONPATH=site).returncode == 0


def test_cibuildwheel_understands_the_recipe(project: Project) -> None:
    """As far as it goes without a container."""
    if importlib.util.find_spec("cibuildwheel") is None:
        pytest.skip("there is no cibuildwheel in this environment")
    import jsonschema

    schema = json.loads(
        files("cibuildwheel").joinpath("resources/cibuildwheel.schema.json").read_text()
    )
    settings = tomllib.loads(block("cibuildwheel", "toml"))["tool"]["cibuildwheel"]
    jsonschema.validate(settings, schema)
    asked = ("--platform", "linux", "--archs", "x86_64", "--print-build-identifiers")
    done = run(sys.executable, "-m", "cibuildwheel", *asked, cwd=project.folder)
    assert done.stdout.split() == ["cp310-manylinux_x86_64"], done.stderr


def test_uv_builds_with_the_torch_of_the_project(
    project: Project, wheel: Path, tmp_path: Path
) -> None:
    uv = _find("uv")
    if uv is None:
        pytest.skip("there is no uv in this environment")
    (tmp_path / "pyproject.toml").write_text(block("uv", "toml"))
    pip = (uv, "pip", "install", "--offline", "--no-deps", "--no-cache")
    where = ("--python", sys.executable, "--target", "site", f"swish @ {project.folder.as_uri()}")
    done = run(*pip, *where, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (library,) = (tmp_path / "site").rglob("_C*.so")
    assert verify(library).returncode == 0


def _find(tool: str) -> str | None:
    """A tool on the path, or beside this Python."""
    return shutil.which(tool) or shutil.which(tool, path=str(Path(sys.executable).parent))
