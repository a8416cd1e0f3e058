"""torch's main library alone: found by name, read by architecture, trouble told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from archbuild.model.machine import TorchBuild
from archbuild.model.version import CudaVersion
from archbuild.probe.torch_library import read_torch_library

DATA = Path(__file__).parent / "data"


def build(root: Path) -> TorchBuild:
    (root / "lib").mkdir(parents=True)
    return TorchBuild("2.6.0", str(root), CudaVersion(12, 4))


def test_a_build_for_the_cpu_has_none(tmp_path: Path) -> None:
    assert read_torch_library(build(tmp_path / "torch")) is None


@pytest.mark.parametrize("name", ["libtorch_cuda.so", "torch_cuda.dll", "libtorch_cuda_cu.so"])
def test_the_library_is_read(name: str, tmp_path: Path) -> None:
    torch = build(tmp_path / "torch")
    shutil.copyfile(DATA / "classic.so", Path(torch.root) / "lib" / name)
    package = read_torch_library(torch)
    assert package is not None
    (library,) = package.files
    assert (package.name, package.version) == ("torch", "2.6.0")
    assert (library.path, library.trouble, library.size > 0) == (f"torch/lib/{name}", "", True)
    (group,) = library.groups
    assert [str(image.arch) for image in group.images] == ["sm_86", "compute_120", "sm_120"]
    assert (group.regions, group.images[1].isa) == (1, (9, 0))


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"not a library"])
def test_a_damaged_library_is_told_and_no_error(content: bytes, tmp_path: Path) -> None:
    torch = build(tmp_path / "torch")
    (Path(torch.root) / "lib" / "libtorch_cuda.so").write_bytes(content)
    package = read_torch_library(torch)
    assert package is not None
    assert package.files[0].groups == ()
