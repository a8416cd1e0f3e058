"""What would be loaded, by the system's own loader over small C libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from archbuild.model.installed import LoadedLibrary
from archbuild.probe.loading import query_loaded
from tests.libraries import build_library

PATIENCE = 60.0
HANG_LIMIT = 2.0
_NVIDIA = ("cuda_runtime", "nvjitlink", "cusparse", "cudnn")
_DOWN = tuple(f"$ORIGIN/../../nvidia/{part}/lib" for part in ("cuda_runtime", "cusparse", "cudnn"))

CUDART = "int cudaRuntimeGetVersion(int *v) { *v = 12040; return 0; }"
JIT_OLD = "int nvJitLinkVersion(unsigned *a, unsigned *b) { *a = 12; *b = 1; return 0; }"
JIT_NEW = f"{JIT_OLD.replace('= 1;', '= 4;')} int __nvJitLinkComplete_12_4(void) {{ return 0; }}"
CUSPARSE = (
    "int __nvJitLinkComplete_12_4(void); int use(void) { return __nvJitLinkComplete_12_4(); }"
)
CUDNN = "#include <stddef.h>\nsize_t cudnnGetVersion(void) { return 90100; }"
HANGS = (
    "#include <unistd.h>\n__attribute__((constructor)) static void f(void) { for (;;) pause(); }"
)
CRASHES = (
    "#include <signal.h>\n__attribute__((constructor)) static void f(void)"
    " { signal(SIGSEGV, SIG_DFL); raise(SIGSEGV); }"
)
#: What a torch between 2.5.1 and 2.9 does, in short.
PRELOADING = """
def _preload_cuda_deps(lib_folder, lib_name):
    pass


def _load_global_deps():
    try:
        load(deps)
        if "cuda_runtime/lib/libcudart.so" not in _maps:
            return
        _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")
    except OSError as err:
        pass
"""
#: And what an older one does only where its first library can't be loaded.
AFTER_FAILURE = """
def _preload_cuda_deps(err):
    cuda_libs = {
        "cuda_runtime": "libcudart.so.*[0-9]",
        "nowhere": "libcufft.so.*[0-9]",
    }


def _load_global_deps():
    try:
        load(deps)
    except OSError as err:
        _preload_cuda_deps(err)
        load(deps)
"""


@dataclass(frozen=True)
class World:
    """An environment with a torch of CUDA 12.4."""

    packages: Path

    def library(self, part: str, name: str) -> Path:
        return self.packages / "nvidia" / part / "lib" / name

    def torch(self, name: str) -> Path:
        return self.packages / "torch" / "lib" / name

    def ask(self, timeout: float = PATIENCE, **variables: object) -> dict[str, LoadedLibrary]:
        rows = query_loaded(environ=clean(**variables), packages=[self.packages], timeout=timeout)
        assert len({row.soname for row in rows}) == len(rows)
        return {row.soname: row for row in rows}


def clean(**variables: object) -> dict[str, str]:
    hiding = ("LD_LIBRARY_PATH", "LD_PRELOAD", "CONDA_PREFIX")
    rest = {name: value for name, value in os.environ.items() if name not in hiding}
    return {**rest, **{name: str(value) for name, value in variables.items()}}


def build_torch(packages: Path, *, style: str = "rpath") -> None:
    """The libraries of a torch of CUDA, and what they need."""
    nvidia = packages / "nvidia"
    cudart = build_library(nvidia / "cuda_runtime/lib/libcudart.so.12", CUDART)
    jit = nvidia / "nvjitlink/lib/libnvJitLink.so.12"
    build_library(jit, JIT_NEW, versions="libnvJitLink.so.12")
    cusparse = build_library(
        nvidia / "cusparse/lib/libcusparse.so.12",
        CUSPARSE,
        needs=[jit],
        runpath=["$ORIGIN/../../nvjitlink/lib"],
    )
    cudnn = build_library(nvidia / "cudnn/lib/libcudnn.so.9", CUDNN)
    lib = packages / "torch" / "lib"
    rpath, runpath = (_DOWN, ()) if style == "rpath" else ((), _DOWN)
    build = partial(build_library, rpath=rpath, runpath=runpath)
    build(lib / "libtorch_global_deps.so", needs=[cudart])
    build(lib / "libc10_cuda.so", needs=[cudart])
    build(lib / "libtorch_cuda.so", CRASHES, needs=[cudart, cusparse, cudnn])
    (packages / "torch" / "version.py").write_text("__version__ = '2.5.0'\ncuda = '12.4'\n")
    (packages / "torch" / "__init__.py").write_text("")


@pytest.fixture(scope="session")
def built_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torch") / "site-packages"
    build_torch(folder)
    return folder


@pytest.fixture
def world(built_torch: Path, tmp_path: Path) -> World:
    return World(shutil.copytree(built_torch, tmp_path / "site-packages"))


def troubles(rows: Mapping[str, LoadedLibrary]) -> dict[str, str]:
    return {n: row.trouble for n, row in rows.items() if row.trouble and n != "libcuda.so.1"}


def test_a_sound_environment(world: World) -> None:
    rows = world.ask()
    assert troubles(rows) == {}
    assert {n: (r.path, r.version, r.found_by) for n, r in rows.items() if "cuda.so" not in n} == {
        "libcudart.so.12": (
            str(world.library("cuda_runtime", "libcudart.so.12")),
            "12.4",
            "package",
        ),
        "libcudnn.so.9": (str(world.library("cudnn", "libcudnn.so.9")), "9.1.0", "package"),
        "libcusparse.so.12": (
            str(world.library("cusparse", "libcusparse.so.12")),
            None,
            "package",
        ),
        "libnvJitLink.so.12": (
            str(world.library("nvjitlink", "libnvJitLink.so.12")),
            "12.4",
            "package",
        ),
    }
    assert all(row.expected is None and row.others == () for row in rows.values())
    assert not any(row.stub or row.compat for row in rows.values())


# --- an nvJitLink of the system comes first, pytorch#111469 -----------------------------------


@pytest.fixture
def old_jit(tmp_path: Path) -> Path:
    path = tmp_path / "usr" / "local cuda-12.1" / "lib64" / "libnvJitLink.so.12"
    return build_library(path, JIT_OLD, versions="libnvJitLink.so.12")


def test_the_wrong_nvjitlink_comes_first(world: World, old_jit: Path) -> None:
    rows = world.ask(LD_LIBRARY_PATH=old_jit.parent)
    mine = world.library("nvjitlink", "libnvJitLink.so.12")
    words = "undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12"
    cusparse, jit = rows["libcusparse.so.12"], rows["libnvJitLink.so.12"]
    assert words in cusparse.trouble
    assert cusparse.path == str(world.library("cusparse", "libcusparse.so.12"))
    assert (jit.path, jit.expected, jit.found_by) == (str(old_jit), str(mine), "LD_LIBRARY_PATH")
    assert (jit.version, jit.trouble) == ("12.1", "")
    # What has nothing to do with it is told all the same.
    assert rows["libcudnn.so.9"].version == "9.1.0"
    assert rows["libcudart.so.12"].version == "12.4"


def test_a_torch_that_loads_nvjitlink_by_hand_is_safe(world: World, old_jit: Path) -> None:
    (world.packages / "torch" / "__init__.py").write_text(PRELOADING)
    rows = world.ask(LD_LIBRARY_PATH=old_jit.parent)
    assert troubles(rows) == {}
    assert rows["libnvJitLink.so.12"].found_by == "package"
    assert rows["libnvJitLink.so.12"].others == (str(old_jit),)


def test_it_does_so_only_where_the_runtime_is_its_packages(world: World, old_jit: Path) -> None:
    text = PRELOADING.replace("cuda_runtime/lib", "another/place")
    (world.packages / "torch" / "__init__.py").write_text(text)
    assert "libcusparse.so.12" in troubles(world.ask(LD_LIBRARY_PATH=old_jit.parent))


def test_another_version_altogether(world: World, tmp_path: Path) -> None:
    """Its symbols bear the version of another major."""
    path = build_library(
        tmp_path / "old/libnvJitLink.so.12", JIT_NEW, versions="libnvJitLink.so.11"
    )
    rows = world.ask(LD_LIBRARY_PATH=path.parent)
    assert "libnvJitLink.so.12" in rows["libcusparse.so.12"].trouble
    assert rows["libnvJitLink.so.12"].path == str(path)


# --- the order of search ----------------------------------------------------------------------


@pytest.mark.parametrize("style", ["rpath", "runpath"])
def test_rpath_comes_before_the_variable_and_runpath_after(tmp_path: Path, style: str) -> None:
    world = World(tmp_path / "site-packages")
    build_torch(world.packages, style=style)
    mine = str(world.library("cuda_runtime", "libcudart.so.12"))
    other = str(build_library(tmp_path / "lib64" / "libcudart.so.12", CUDART.replace("40", "10")))
    row = world.ask(LD_LIBRARY_PATH=f"/nowhere:{tmp_path}/lib64:")["libcudart.so.12"]
    if style == "rpath":
        assert (row.path, row.found_by, row.version) == (mine, "package", "12.4")
        assert (row.expected, row.others) == (None, (other,))
    else:
        assert (row.path, row.found_by, row.version) == (other, "LD_LIBRARY_PATH", "12.1")
        assert (row.expected, row.others) == (mine, ())


def test_a_link_to_a_full_name(world: World, tmp_path: Path) -> None:
    real = build_library(tmp_path / "lib/libcudnn.so.9.5.1", CUDNN, soname="libcudnn.so.9")
    link = world.library("cudnn", "libcudnn.so.9")
    link.unlink()
    link.symlink_to(real)
    row = world.ask()["libcudnn.so.9"]
    assert (row.path, row.version, row.found_by) == (str(real), "9.5.1", "package")


def test_a_variable_that_names_the_packages_own_folder(world: World) -> None:
    folder = world.library("nvjitlink", "x").parent
    assert world.ask(LD_LIBRARY_PATH=folder)["libnvJitLink.so.12"].found_by == "package"


def test_libraries_of_conda(built_torch: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    packages = prefix / "lib" / "python3.12" / "site-packages"
    (prefix / "conda-meta").mkdir(parents=True)
    cudart = build_library(prefix / "lib" / "libcudart.so.12", CUDART)
    up = "$ORIGIN/../../../.."
    build_library(packages / "torch/lib/libc10_cuda.so", needs=[cudart], rpath=[up])
    row = World(packages).ask()["libcudart.so.12"]
    assert (row.path, row.found_by, row.expected) == (str(cudart), "conda", None)


def test_a_folder_that_only_rpath_names(tmp_path: Path) -> None:
    cudart = build_library(tmp_path / "opt" / "libcudart.so.12", CUDART)
    world = World(tmp_path / "site-packages")
    build_library(world.torch("libc10_cuda.so"), needs=[cudart], rpath=[str(tmp_path / "opt")])
    assert world.ask()["libcudart.so.12"].found_by == "RPATH"


def test_a_library_under_a_hashed_name(tmp_path: Path) -> None:
    """Wheels that bring their libraries themselves add digits to their names."""
    world = World(tmp_path / "site-packages")
    cudart = build_library(
        world.torch("libcudart-d0da41ae.so.11.0"), CUDART.replace("2040", "1080")
    )
    build_library(world.torch("libc10_cuda.so"), needs=[cudart], rpath=["$ORIGIN"])
    row = world.ask()["libcudart-d0da41ae.so.11.0"]
    assert (row.path, row.found_by) == (str(cudart), "package")


# --- what can't be loaded ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "words"), [(HANGS, "did not answer in time"), (CRASHES, "SIGSEGV")]
)
def test_a_constructor_that_does_not_come_back(world: World, code: str, words: str) -> None:
    path = build_library(world.library("cudnn", "libcudnn.so.9"), code)
    rows = world.ask(HANG_LIMIT)
    assert words in rows["libcudnn.so.9"].trouble
    assert rows["libcudnn.so.9"].path == str(path)
    assert set(troubles(rows)) == {"libcudnn.so.9"}
    assert rows["libcusparse.so.12"].path == str(world.library("cusparse", "libcusparse.so.12"))
    assert rows["libcudart.so.12"].version == "12.4"


def test_one_that_does_not_come_back_when_asked_for_its_version(world: World) -> None:
    code = "#include <unistd.h>\nint cudnnGetVersion(void) { for (;;) pause(); }"
    build_library(world.library("cudnn", "libcudnn.so.9"), code)
    rows = world.ask(HANG_LIMIT)
    assert "did not answer in time" in troubles(rows).pop("libcudnn.so.9")
    assert rows["libcudnn.so.9"].path is not None
    assert set(troubles(rows)) == {"libcudnn.so.9"}


def test_a_dependency_that_hangs_is_told_as_well(world: World) -> None:
    build_library(world.library("nvjitlink", "libnvJitLink.so.12"), HANGS)
    rows = world.ask(HANG_LIMIT)
    assert set(troubles(rows)) == {"libcusparse.so.12", "libnvJitLink.so.12"}
    assert rows["libcudnn.so.9"].version == "9.1.0"


def test_a_missing_library(world: World) -> None:
    world.library("cudnn", "libcudnn.so.9").unlink()
    row = world.ask()["libcudnn.so.9"]
    assert (row.path, row.found_by) == (None, None)
    assert row.trouble.startswith("libcudnn.so.9: cannot open shared object file")


def test_a_missing_dependency_of_a_library(world: World) -> None:
    world.library("nvjitlink", "libnvJitLink.so.12").unlink()
    rows = world.ask()
    assert rows["libnvJitLink.so.12"].path is None
    assert set(troubles(rows)) == {"libcusparse.so.12", "libnvJitLink.so.12"}


@pytest.mark.parametrize("data", [b"", b"nonsense" * 100, b"\x7fELF\x02\x01\x01"])
def test_a_damaged_library(world: World, data: bytes) -> None:
    path = world.library("cusparse", "libcusparse.so.12")
    path.write_bytes(data)
    row = world.ask()["libcusparse.so.12"]
    assert row.path == str(path)
    assert "libcusparse.so.12: " in row.trouble


def test_what_torch_loads_by_hand_after_a_failure(world: World) -> None:
    """Its first library has no search path here, and finds nothing by itself."""
    cudart = world.library("cuda_runtime", "libcudart.so.12")
    build_library(world.torch("libtorch_global_deps.so"), needs=[cudart])
    assert "libcudart.so.12" in troubles(world.ask())
    (world.packages / "torch" / "__init__.py").write_text(AFTER_FAILURE)
    rows = world.ask()
    assert troubles(rows) == {}
    assert rows["libcudart.so.12"].path == str(cudart)


def test_a_child_that_tells_nothing(world: World) -> None:
    rows = world.ask(timeout=0.0001)
    assert {"libcuda.so.1", "libcudart.so.12", "libcudnn.so.9"} < set(rows)
    assert all("did not answer in time" in row.trouble for row in rows.values())


def test_a_child_that_prints_nonsense(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "python"
    script.write_text('#!/bin/sh\necho "[1, 2]"; echo \'{"end": 99}\'; echo \'{"begin": "x"}\'\n')
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    assert all(row.path is None for row in world.ask().values())


# --- LD_PRELOAD -------------------------------------------------------------------------------


def test_a_preloaded_library(world: World, tmp_path: Path) -> None:
    path = build_library(tmp_path / "pre" / "libcudart.so.12", CUDART.replace("40", "80"))
    row = world.ask(LD_PRELOAD=f"/nowhere/libtcmalloc.so {path}")["libcudart.so.12"]
    assert (row.path, row.version, row.found_by) == (str(path), "12.8", "LD_PRELOAD")
    assert row.expected == str(world.library("cuda_runtime", "libcudart.so.12"))


def test_a_preloaded_library_that_is_not_there(world: World) -> None:
    row = world.ask(LD_PRELOAD="/nowhere/libcublas.so.12")["libcublas.so.12"]
    assert (row.path, row.found_by) == (None, "LD_PRELOAD")
    assert "cannot open shared object file" in row.trouble


# --- the driver's library ---------------------------------------------------------------------


def driver(tmp_path: Path, place: str, code: str = "int cuInit(unsigned f) { return 0; }") -> Path:
    return build_library(tmp_path / place, code, soname="libcuda.so.1")


def test_a_stub_by_its_folder(world: World, tmp_path: Path) -> None:
    path = driver(tmp_path, "cuda/lib64/stubs/libcuda.so.1")
    row = world.ask(LD_LIBRARY_PATH=path.parent)["libcuda.so.1"]
    assert (row.path, row.stub, row.found_by) == (str(path), True, "LD_LIBRARY_PATH")


def test_a_stub_that_was_linked_elsewhere(world: World, tmp_path: Path) -> None:
    path = driver(tmp_path, "cuda/lib64/stubs/libcuda.so")
    link = tmp_path / "lib" / "libcuda.so.1"
    link.parent.mkdir()
    link.symlink_to(path)
    row = world.ask(LD_LIBRARY_PATH=link.parent)["libcuda.so.1"]
    assert (row.path, row.stub) == (str(path), True)


@pytest.mark.parametrize(("code", "stub"), [(34, True), (0, False), (100, False)])
def test_a_stub_by_its_answer(world: World, tmp_path: Path, code: int, stub: bool) -> None:
    path = driver(tmp_path, "copied/libcuda.so.1", f"int cuInit(unsigned f) {{ return {code}; }}")
    assert world.ask(LD_LIBRARY_PATH=path.parent)["libcuda.so.1"].stub is stub


def test_a_driver_that_hangs_when_it_is_asked(world: World, tmp_path: Path) -> None:
    code = "#include <unistd.h>\nint cuInit(unsigned f) { for (;;) pause(); }"
    path = driver(tmp_path, "bad/libcuda.so.1", code)
    rows = world.ask(HANG_LIMIT, LD_LIBRARY_PATH=path.parent)
    assert rows["libcuda.so.1"].path == str(path)
    assert "did not answer in time" in rows["libcuda.so.1"].trouble
    assert rows["libcudnn.so.9"].version == "9.1.0"


def test_a_compatibility_package(world: World, tmp_path: Path) -> None:
    path = driver(tmp_path, "cuda-12.8/compat/libcuda.so.570.86.10")
    (path.parent / "libcuda.so.1").symlink_to(path.name)
    row = world.ask(LD_LIBRARY_PATH=path.parent)["libcuda.so.1"]
    assert (row.path, row.compat, row.version) == (str(path), True, "570.86.10")


def test_without_torch_only_the_driver_is_asked_for(tmp_path: Path) -> None:
    path = driver(tmp_path, "drv/libcuda.so.1")
    rows = World(tmp_path / "site-packages").ask(LD_LIBRARY_PATH=path.parent)
    assert {n: row.path for n, row in rows.items()} == {"libcuda.so.1": str(path)}


def test_a_torch_without_cuda(tmp_path: Path) -> None:
    world = World(tmp_path / "site-packages")
    build_library(world.torch("libtorch_cpu.so"))
    assert set(world.ask()) == {"libcuda.so.1"}


def test_other_systems_have_another_loader(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert query_loaded(packages=[world.packages]) == ()


_IMPORTING = """
import torch
names = [line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if ".so" in line]
print("\\n".join(sorted(set(names))))
"""


@pytest.mark.torch
@pytest.mark.parametrize("aside", [False, True])
def test_it_is_what_an_import_of_torch_loads(tmp_path: Path, aside: bool) -> None:
    """A runtime of another folder on LD_LIBRARY_PATH must not matter here, or must for both."""
    build_library(tmp_path / "libcudart.so.13", CUDART)
    env = clean(**({"LD_LIBRARY_PATH": tmp_path} if aside else {}))
    rows = query_loaded(environ=env, timeout=PATIENCE)
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTING],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    real = set(done.stdout.splitlines())
    # Loaded by torch only when they are needed: linalg's, and cuDNN's parts.
    late = ("libcusolver", "libcudnn_", "libcuda.so")
    found = {row.path for row in rows if row.path and not row.soname.startswith(late)}
    assert len(found) > 8
    assert found - real == set()
