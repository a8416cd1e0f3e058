"""Which cuobjdump is taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from archbuild.model.machine import Toolkit
from archbuild.model.version import CudaVersion
from archbuild.probe.cuobjdump import find_cuobjdump
from archbuild.probe.places import Places
from tests.fake_nvcc import write_cuobjdump
from tests.fakes import write_script

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake tools are shell scripts")


def toolkit(tmp_path: Path, version: str, cuobjdump: str | None) -> Toolkit:
    root = tmp_path / f"cuda-{version}"
    tool = str(write_cuobjdump(root / "bin" / "cuobjdump", cuobjdump)) if cuobjdump else None
    cuda = CudaVersion.parse(version)
    return Toolkit(str(root), str(root / "bin" / "nvcc"), cuda, version, (), ("PATH",), tool)


def find(
    tmp_path: Path, *toolkits: Toolkit, packages: str | None = None, path: str | None = None
) -> tuple[str | None, str]:
    if packages:
        write_cuobjdump(tmp_path / "site" / "nvidia" / "cu13" / "bin" / "cuobjdump", packages)
    if path:
        write_cuobjdump(tmp_path / "bin" / "cuobjdump", path)
    env = {"PATH": str(tmp_path / "bin")}
    places = Places(env, (str(tmp_path / "site"),), "linux", "x86_64", tmp_path)
    found, absence = find_cuobjdump(toolkits, places=places, timeout=60)
    return found and str(Path(found).relative_to(tmp_path)), absence.reason if absence else ""


PACKAGED = "site/nvidia/cu13/bin/cuobjdump"


def test_this_environments_package_is_first(tmp_path: Path) -> None:
    chosen = toolkit(tmp_path, "13.0", "13.0")
    assert find(tmp_path, chosen, packages="13.5", path="13.5") == (PACKAGED, "")


def test_one_older_than_the_toolkit_is_passed_over(tmp_path: Path) -> None:
    chosen = toolkit(tmp_path, "13.5", "13.5")
    found = find(tmp_path, chosen, packages="13.2")
    assert found == ("cuda-13.5/bin/cuobjdump", "")


def test_another_toolkits_then_paths(tmp_path: Path) -> None:
    chosen, other = toolkit(tmp_path, "13.0", None), toolkit(tmp_path, "13.5", "13.5")
    assert find(tmp_path, chosen, other) == ("cuda-13.5/bin/cuobjdump", "")
    assert find(tmp_path, chosen, path="13.10") == ("bin/cuobjdump", "")


def test_without_a_toolkit_any_that_works(tmp_path: Path) -> None:
    assert find(tmp_path, path="11.8") == ("bin/cuobjdump", "")


def test_the_newest_of_those_too_old_with_a_word(tmp_path: Path) -> None:
    chosen = toolkit(tmp_path, "13.5", "13.2")
    found, says = find(tmp_path, chosen, packages="12.9", path="13.10")
    assert (found, says) == ("bin/cuobjdump", "")
    (tmp_path / "bin" / "cuobjdump").unlink()
    found, says = find(tmp_path, chosen)
    assert found == "cuda-13.5/bin/cuobjdump"
    assert "of CUDA 13.2 and may not read what nvcc 13.5 writes" in says


def test_one_that_does_not_work_is_named(tmp_path: Path) -> None:
    write_script(tmp_path / "bin" / "cuobjdump", "exit 5")
    found, says = find(tmp_path)
    assert found is None
    assert says.startswith(f"{tmp_path}/bin/cuobjdump ended with exit code 5; none was found")


def test_none_at_all(tmp_path: Path) -> None:
    assert find(tmp_path) == (
        None,
        "none was found that works: pip install nvidia-cuda-cuobjdump",
    )
