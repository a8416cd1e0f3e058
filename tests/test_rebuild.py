"""`archbuild rebuild`, in an environment with a package that was built for other GPUs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import jsonschema
import pytest

from archbuild.binary.reader import read
from tests.projects import Light, clean_environment

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "archbuild" / "report" / "schemas" / "rebuild.json"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that sees this one's packages, and has room for its own."""
    home = tmp_path_factory.mktemp("rebuild") / "env"
    venv.create(home, symlinks=True)
    site = next(home.glob("lib/python*/site-packages"))
    (site / "beyond.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "python"


def run(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = clean_environment(PYTHONPATH=str(ROOT), PIP_NO_INDEX="1", NO_COLOR="1", COLUMNS="200")
    return subprocess.run(
        [str(python), *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def rebuild(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(python, folder, "-m", "archbuild", "rebuild", *words)


def held(python: Path) -> set[str]:
    (library,) = python.parents[1].glob("lib/python*/site-packages/light/_C*.so")
    return {str(image.arch) for image in read(library)[0].images}


@pytest.mark.torch
@pytest.mark.toolkit
@pytest.mark.skipif(sys.platform != "linux", reason="the environment is made of links")
def test_a_package_for_another_gpu(python: Path, tmp_path: Path, nvcc: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    project = Light().write(tmp_path / "light source")
    wheel = project.wheel(TORCH_CUDA_ARCH_LIST="9.0")
    install = ("-m", "pip", "install", "--no-deps", str(wheel))
    done = run(python, tmp_path, *install)
    assert done.returncode == 0, done.stderr
    assert held(python) == {"sm_90"}

    # The wheel that it came from is no source; a person names one.
    options = ("light", "--source", str(project.folder), "--arch", "8.6, 12.0")
    done = rebuild(python, tmp_path, *options)
    assert done.returncode == 0, done.stderr
    assert "light 1.0 is built again for sm_86, sm_120" in done.stdout
    assert "TORCH_CUDA_ARCH_LIST='8.6;12.0'" in done.stdout
    assert held(python) == {"sm_90"}

    told = json.loads(rebuild(python, tmp_path, *options, "--json").stdout)
    jsonschema.validate(told, json.loads(SCHEMA.read_text()))
    assert told["archs"] == ["sm_86", "sm_120"]

    # What doesn't compile leaves everything as it was.
    source = next(project.folder.glob("*.cu"))
    good = source.read_text()
    source.write_text(good + "\n#error not today\n")
    done = rebuild(python, tmp_path, *options, "--yes")
    assert done.returncode == 1
    assert "light could not be built or installed" in done.stderr
    assert held(python) == {"sm_90"}

    source.write_text(good)
    done = rebuild(python, tmp_path, *options, "--yes", "--keep", "kept")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "light is installed, for 8.6, 12.0" in done.stderr
    assert held(python) == {"sm_86", "sm_120"}
    assert len(list((tmp_path / "kept").glob("light-1.0-*.whl"))) == 1

    # Where it came from is still known: the next time needs no --source.
    done = rebuild(python, tmp_path, "light", "--arch", "9.0")
    assert done.returncode == 0, done.stderr
    assert shlex.quote(str(project.folder)) in done.stdout
    listed = run(python, tmp_path, "-m", "pip", "show", "--files", "light").stdout
    assert "direct_url.json" in listed


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("no-such-package",), 2, "no-such-package is not installed in this environment"),
        (("packaging", "--arch", "8.6", "--source", "nowhere"), 2, "nowhere is not there"),
        (("packaging", "--arch", "quokka"), 2, "quokka"),
        (("pack aging/../x",), 2, "is not installed"),
    ],
)
def test_bad_input(tmp_path: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = rebuild(Path(sys.executable), tmp_path, *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_no_gpu_and_no_list(tmp_path: Path) -> None:
    record = {
        "schema": "archbuild.machine/1",
        "machine": {"system": "linux", "processor": "x86_64", "python": "3.12.1"},
    }
    (tmp_path / "machine.json").write_text(json.dumps(record))
    done = rebuild(Path(sys.executable), tmp_path, "packaging", "--machine", "machine.json")
    assert done.returncode == 4
    assert "There is no GPU here to build packaging for" in done.stderr
    assert "--arch" in done.stderr
