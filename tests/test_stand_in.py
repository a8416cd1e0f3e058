"""The stand-in library, and what torch loads by hand."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from archbuild.probe.loading_plan import Step, needs_of, plan_steps, soname_of
from archbuild.probe.stand_in import write_stand_in
from archbuild.probe.torch_preload import Preload, find_preloaded, parse_preload, read_preload
from tests.libraries import build_library, dynamic_of

_LOADING = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print(open('/proc/self/maps').read())"


def load(path: Path) -> str:
    """The libraries of a process that loads this one; the loader's words where it can't."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LOADING, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout or done.stderr


def test_the_loader_takes_it_and_what_it_needs(tmp_path: Path) -> None:
    library = build_library(tmp_path / "one" / "libcudart.so.12")
    machine = dynamic_of(library).machine
    path = tmp_path / "stand-in.so"
    path.write_bytes(write_stand_in(machine, ["libcudart.so.12"], rpath=[str(library.parent)]))
    assert str(library) in load(path)
    path.write_bytes(write_stand_in(machine, ["libcudart.so.12"], rpath=[str(tmp_path)]))
    assert "libcudart.so.12: cannot open shared object file" in load(path)


def test_the_loader_ignores_rpath_where_there_is_a_runpath(tmp_path: Path) -> None:
    one = build_library(tmp_path / "one" / "libcudart.so.12")
    two = build_library(tmp_path / "two" / "libcudart.so.12")
    folders = {"rpath": [str(one.parent)], "runpath": [str(two.parent)]}
    path = tmp_path / "stand-in.so"
    path.write_bytes(write_stand_in(dynamic_of(one).machine, ["libcudart.so.12"], **folders))
    assert str(two) in load(path)


def test_many_needs_and_a_folder_that_is_no_text(tmp_path: Path) -> None:
    folder = tmp_path / "b\udcffd"
    libraries = [build_library(folder / f"libcu{n}.so.1") for n in range(3)]
    path = tmp_path / "stand-in.so"
    machine = dynamic_of(libraries[0]).machine
    names = [library.name for library in libraries]
    path.write_bytes(write_stand_in(machine, names, rpath=[str(folder)]))
    ctypes.CDLL(str(path))


def test_it_is_small() -> None:
    assert len(write_stand_in(62, ["libcublas.so.13"] * 20, rpath=["/a" * 500])) < 3000


# --- the plan ---------------------------------------------------------------------------------


def test_without_torch_there_is_the_driver_alone() -> None:
    assert [step.soname for step in plan_steps(None, [])] == ["libcuda.so.1"]


def test_the_plan_of_a_torch(tmp_path: Path) -> None:
    lib = tmp_path / "torch" / "lib"
    cudart = build_library(tmp_path / "libcudart.so.12")
    driver = build_library(tmp_path / "libcuda.so.1")
    other = build_library(tmp_path / "libgomp.so.1")
    build_library(lib / "libtorch_global_deps.so", needs=[other, cudart], rpath=["$ORIGIN/../a"])
    build_library(lib / "libc10_cuda.so", needs=[cudart], rpath=["/b", "${ORIGIN}/c"])
    build_library(lib / "libcaffe2_nvrtc.so", needs=[driver])
    (lib / "libtorch_cpu.so").write_bytes(b"damaged")
    first, runtime, last = plan_steps(tmp_path / "torch", [tmp_path])
    assert (first.what, first.needed, first.everywhere) == (
        "libtorch_global_deps.so",
        ("libcudart.so.12",),
        True,
    )
    assert first.rpath == (f"{lib}/../a",)
    assert (runtime.what, runtime.rpath) == ("libc10_cuda.so", ("/b", f"{lib}/c"))
    assert (last.needed, last.rpath) == (("libcuda.so.1",), runtime.rpath)


def test_what_a_library_needs_is_looked_for_as_the_loader_does(tmp_path: Path) -> None:
    jit = build_library(tmp_path / "libnvJitLink.so.12")
    step = Step("libtorch_cuda.so", ("libcusparse.so.12",), rpath=("/torch",), machine=62)
    bare = build_library(tmp_path / "bare.so", needs=[jit])
    own = build_library(tmp_path / "own.so", needs=[jit], rpath=["/own"])
    late = build_library(tmp_path / "late.so", needs=[jit], runpath=["/late"])
    found = [needs_of(path, step) for path in (bare, own, late)]
    assert [(n.rpath, n.runpath) for n in found if n] == [
        (("/torch",), ()),
        (("/own", "/torch"), ()),
        (("/torch",), ("/late",)),
    ]
    assert needs_of(jit, step) is None
    assert needs_of(tmp_path / "nowhere.so", step) is None


def test_a_soname_and_a_file_without_one(tmp_path: Path) -> None:
    assert soname_of(build_library(tmp_path / "x.so", soname="liby.so.2")) == "liby.so.2"
    assert soname_of(tmp_path / "none.so") == "none.so"


# --- what torch loads by hand -----------------------------------------------------------------

NEWER = """
def _preload_cuda_lib(lib_folder, lib_name, required=True):
    pass


def _preload_cuda_deps(err=None, required=True):
    cuda_libs = [
        # Their order matters.
        ("cublas", "libcublasLt.so.*[0-9]"),
        ("cudnn", "libcudnn.so.*[0-9]"),
    ]
    _preload_cuda_lib("nvtx", "libnvToolsExt.so.*[0-9]", required=False)


def _load_global_deps():
    try:
        ctypes.CDLL(path)
        if "libcudart.so" not in _maps:
            return
        _preload_cuda_deps(required=False)
        # _preload_cuda_deps("never", "libnever.so")
    except OSError as err:
        _preload_cuda_deps(err)


def after():
    _preload_cuda_deps("also", "libalso.so")
"""
CHOOSY = """
def _load_global_deps():
    try:
        ctypes.CDLL(path)
        if version.cuda not in ["12.4", "12.6"]:
            return
        if "nvidia/cuda_runtime/lib/libcudart.so" not in _maps:
            return
        _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")
    except OSError as err:
        pass
"""
_ALL = (
    ("cublas", "libcublasLt.so.*[0-9]"),
    ("cudnn", "libcudnn.so.*[0-9]"),
)
_JIT = (("nvjitlink", "libnvJitLink.so.*[0-9]"),)


@pytest.mark.parametrize(
    ("text", "cuda", "expected"),
    [
        ("", "12.4", Preload()),
        ("def _load_global_deps(", "12.4", Preload()),
        (NEWER, "13.0", Preload(_ALL, "libcudart.so", _ALL)),
        (NEWER.replace("\n", "\r\n"), "13.0", Preload(_ALL, "libcudart.so", _ALL)),
        (CHOOSY, "12.6", Preload(_JIT, "nvidia/cuda_runtime/lib/libcudart.so")),
        (CHOOSY, "12.1", Preload((), "nvidia/cuda_runtime/lib/libcudart.so")),
        (CHOOSY, None, Preload((), "nvidia/cuda_runtime/lib/libcudart.so")),
    ],
)
def test_what_it_loads_by_hand(text: str, cuda: str | None, expected: Preload) -> None:
    found = parse_preload(text, cuda)
    listed = tuple(pair for pair in found.always if pair[0] != "nvtx")
    after = tuple(pair for pair in found.after_failure if pair[0] != "nvtx")
    assert Preload(listed, found.mapped, after) == expected


def test_a_torch_without_its_text(tmp_path: Path) -> None:
    assert read_preload(tmp_path, "13.0") == Preload()


@pytest.mark.torch
def test_the_installed_torch_is_understood() -> None:
    from archbuild.probe.torch_build import find_torch

    build = find_torch()[0]
    assert build is not None
    preload = read_preload(Path(build.root), str(build.cuda))
    assert ("nvjitlink", "libnvJitLink.so.*[0-9]") in preload.always
    assert "libcudart.so" in preload.mapped


def test_the_first_folder_wins(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, place in ((two, "nvidia/cudnn/lib"), (two, "nvidia/cu13/lib"), (one, "cudnn/lib")):
        (folder / place).mkdir(parents=True)
        (folder / place / "libcudnn.so.9").touch()
        (folder / place / "libcudnn.so").touch()
    patterns = [("cudnn", "libcudnn.so.*[0-9]"), ("cublas", "libcublas.so.*[0-9]")]
    assert find_preloaded(patterns, [tmp_path, one, two], "13.0") == (
        one / "cudnn/lib/libcudnn.so.9",
    )
    assert find_preloaded(patterns, [two, one], "13.0") == (two / "nvidia/cudnn/lib/libcudnn.so.9",)
