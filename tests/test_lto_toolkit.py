"""A toolkit in which nvlink finds the library that compiles for -dlto."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from archbuild.build.lto_toolkit import nvcc_for_lto
from archbuild.errors import BuildError, ToolError
from archbuild.model.machine import Toolkit
from archbuild.probe.toolkit_layout import include_folders, lib_folders
from tests.machines import toolkit
from tests.projects import clean_environment

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows' packages are not laid out so")


def _kit(root: Path, *files: str) -> Toolkit:
    for name in ("bin/nvcc", "bin/nvlink", "nvvm/bin/cicc", "include/cuda.h", *files):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    lib = (str(root / "lib"),) if (root / "lib").exists() else ()
    return toolkit("13.0", root=str(root), nvcc=str(root / "bin" / "nvcc"), lib=lib)


def test_a_toolkit_that_is_whole_stays_alone(tmp_path: Path) -> None:
    kit = _kit(tmp_path / "cuda", "nvvm/lib64/libnvvm.so", "lib/libnvvm.so.4")
    assert nvcc_for_lto(kit, tmp_path / "links") == kit.nvcc
    assert not (tmp_path / "links").exists()


@pytest.mark.parametrize("name", ["libnvvm.so.4", "libnvvm.so.4.0.0", "libnvvm.so"])
def test_the_packages_get_the_link_that_they_lack(name: str, tmp_path: Path) -> None:
    kit = _kit(tmp_path / "my cu13", f"lib/{name}", "lib/libnvvm.so.old", "nvvm/libdevice/d.bc")
    place = tmp_path / "links"
    found = Path(nvcc_for_lto(kit, place))
    assert found == place / "bin" / "nvcc"
    assert found.read_text() == "bin/nvcc"
    # As nvcc names it: beside the path by which it was called.
    nvvm = f"{found.parent}/../nvvm"
    assert Path(f"{nvvm}/lib64/libnvvm.so").read_text() == f"lib/{name}"
    assert Path(f"{nvvm}/bin/cicc").read_text() == "nvvm/bin/cicc"
    assert Path(f"{nvvm}/libdevice/d.bc").exists()
    assert (place / "include" / "cuda.h").exists()
    assert not (tmp_path / "my cu13" / "nvvm" / "lib64").exists()


def test_another_toolkit_in_the_same_place(tmp_path: Path) -> None:
    old = _kit(tmp_path / "old", "lib/libnvvm.so.4")
    new = _kit(tmp_path / "new", "lib/libnvvm.so.5")
    nvcc_for_lto(old, tmp_path / "links")
    found = Path(nvcc_for_lto(new, tmp_path / "links"))
    assert found.resolve() == Path(new.nvcc).resolve()
    library = found.parents[1] / "nvvm" / "lib64" / "libnvvm.so"
    assert library.read_text() == "lib/libnvvm.so.5"


def test_no_libnvvm_at_all_is_one_sentence(tmp_path: Path) -> None:
    kit = _kit(tmp_path / "cuda", "lib/libcudart.so.13")
    with pytest.raises(ToolError) as caught:
        nvcc_for_lto(kit, tmp_path / "links")
    assert "libnvvm" in caught.value.message
    assert "nvidia-nvvm==13.0.*" in caught.value.advice


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    kit = _kit(tmp_path / "cuda", "lib/libnvvm.so.4")
    (tmp_path / "file").touch()
    with pytest.raises(BuildError) as caught:
        nvcc_for_lto(kit, tmp_path / "file" / "links")
    assert str(tmp_path / "file" / "links") in caught.value.message


KERNEL = """
__device__ float twice(float value);
__global__ void double_all(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
extern "C" void start(float* x) { double_all<<<1, 32>>>(x); }
"""


@pytest.mark.toolkit
def test_two_files_are_linked_to_machine_code(nvcc: Path, tmp_path: Path) -> None:
    """The whole way; and without the links it must fail, or they are needed no more."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ on this machine")
    root = nvcc.parents[1]
    folders = {"include": include_folders(root, "x86_64"), "lib": lib_folders(root, "x86_64")}
    kit = toolkit("13.0", root=str(root), nvcc=str(nvcc), **folders)
    linker = nvcc_for_lto(kit, tmp_path / "my links")
    if linker == str(nvcc):
        pytest.skip("this toolkit's nvlink finds its libnvvm by itself")
    (tmp_path / "kernel.cu").write_text(KERNEL)
    (tmp_path / "twice.cu").write_text("__device__ float twice(float v) { return v + v; }\n")

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        env = clean_environment()
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    flags = ("-Xcompiler=-fPIC", *(f"-L{folder}" for folder in kit.lib))
    lto = "-gencode=arch=compute_90,code=lto_90"
    done = run(str(nvcc), "-rdc=true", lto, *flags, "-dc", "kernel.cu", "twice.cu")
    assert done.returncode == 0, done.stderr
    link = ("-dlink", "-dlto", "-gencode=arch=compute_90,code=sm_90", *flags)
    link += ("kernel.o", "twice.o", "-o", "linked.o")
    assert "linker library load error" in run(str(nvcc), *link).stderr
    done = run(linker, *link)
    assert done.returncode == 0, done.stderr
    library = ("-shared", "kernel.o", "twice.o", "linked.o", "-lcudadevrt", "-lcudart_static")
    done = run("g++", *library, *flags[1:], "-o", "libdouble.so")
    assert done.returncode == 0, done.stderr
    python = (sys.executable, "-m", "archbuild")
    done = run(*python, "verify", "libdouble.so", "--targets", "9.0")
    assert done.returncode == 0, done.stdout
    assert "double_all" in run(*python, "show", "libdouble.so", "--kernels").stdout
