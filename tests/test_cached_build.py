"""A whole ``setup.py build_ext`` behind ccache: the second checkout compiles nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from archbuild.build.ccache import read_ccache_counts
from tests.projects import Light, clean_environment
from tests.stores import need

pytestmark = [pytest.mark.toolkit, pytest.mark.torch, pytest.mark.caches]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    ccache = need("ccache")
    own = ("CCACHE_DISABLE", "TORCH_NO_COMPILER_WRAPPER")
    env = {name: value for name, value in clean_environment().items() if name not in own}
    return {
        **env,
        "ARCHBUILD_LAUNCHER": str(ccache),
        "CCACHE_DIR": str(tmp_path / "ccache"),
        "TORCH_CUDA_ARCH_LIST": "8.0;9.0",
    }


def build(folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_another_checkout_compiles_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    for name in ("first", "second"):
        Light().write(tmp_path / name)
        done = build(tmp_path / name, environ)
        assert done.returncode == 0, done.stderr
    counts = read_ccache_counts(environ["ARCHBUILD_LAUNCHER"], environ)
    assert counts is not None
    assert (counts.hits, counts.misses) == (2, 2)
    assert "ccache had 2 of 2 compiles" in done.stdout
    libraries = [next((tmp_path / n / "light").glob("*.so")) for n in ("first", "second")]
    assert libraries[0].stat().st_size == libraries[1].stat().st_size
