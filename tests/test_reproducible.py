"""The same project gives the same bytes; in another folder the same device code."""

from __future__ import annotations

import re
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from archbuild.binary.names import normalize
from archbuild.binary.reader import read
from tests.projects import Light, Project

pytestmark = [pytest.mark.torch, pytest.mark.toolkit]

# What is internal to a file bears a hash of the file's path in its name.
SOURCE = """
#include <cuda_runtime.h>
namespace {
__device__ float kept;
__global__ void hidden(float* x) { kept += *x; *x = kept; }
}
extern "C" void launch(float* x) { hidden<<<1, 32>>>(x); }
"""
_HASH = re.compile(rb"_[0-9a-f]{8}_(?=4_k_cu)")


@dataclass(frozen=True)
class Made:
    """What one build made.

    Args:
        files: By their names: library, manifest, objects.
        wheel: The contents of its wheel, by their names.
        images: What the assembler and the compiler made, by their names.
    """

    files: dict[str, bytes]
    wheel: dict[str, bytes]
    images: dict[str, bytes]


def make(project: Project) -> Made:
    done = project.run("setup.py", "bdist_wheel", TORCH_CUDA_ARCH_LIST="8.6;9.0a;8.6+PTX")
    assert done.returncode == 0, done.stdout + done.stderr
    build = project.folder / "build"
    found = [p for p in build.glob("lib*/light/*") if p.name.startswith("_C")]
    found += build.glob("archbuild/*/obj/*.o")
    images = [p for p in build.rglob("*.passes/*") if p.suffix in (".cubin", ".ptx")]
    (wheel,) = (project.folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return Made(_contents(found), members, _contents(images))


def _contents(paths: list[Path]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="torch is not installed")
    folder = tmp_path_factory.mktemp("reproducible")
    Light(kernels=(), sources={"k.cu": SOURCE}).write(folder / "first")
    shutil.copytree(folder / "first", folder / "elsewhere")
    return folder


@pytest.fixture(scope="module")
def first(place: Path) -> Made:
    return make(Project(place / "first"))


def test_a_second_build_at_the_same_path_is_equal_byte_for_byte(place: Path, first: Made) -> None:
    for name in ("build", "dist", "light.egg-info"):
        shutil.rmtree(place / "first" / name)
    second = make(Project(place / "first"))
    assert {name.partition(".")[2] for name in first.files} >= {"archbuild.json", "cu.o", "cpp.o"}
    assert len(first.images) == 4  # PTX and SASS of two
    assert second == first


def test_in_another_folder_the_device_images_are_equal_but_for_the_hash(
    place: Path, first: Made
) -> None:
    folder = place / "elsewhere"
    other = make(Project(folder))
    assert other.images != first.images
    assert {name: _HASH.sub(b"_00000000_", data) for name, data in other.images.items()} == {
        name: _HASH.sub(b"_00000000_", data) for name, data in first.images.items()
    }
    assert kernels(place / "first") == kernels(folder)


def kernels(folder: Path) -> list[set[str]]:
    """The names of kernels in each image of the library that was built there."""
    (library,) = (folder / "build").glob("lib*/light/*.so")
    (file,) = read(library, kernels=True)
    return [{normalize(name) for name in image.kernels or ()} for image in file.images]


def test_the_manifest_holds_nothing_of_the_place(place: Path, first: Made) -> None:
    text = first.files["_C.archbuild.json"].decode()
    assert str(place) not in text
    assert str(Path.home()) not in text
