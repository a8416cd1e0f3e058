"""A libcuda.so for the linker alone: which functions, when, and that it never ships."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from archbuild.build.cuda_stub import (
    asks_for_driver,
    cuda_link_folder,
    driver_functions,
    linker_finds_driver,
    make_cuda_stub,
    needs_cuda_stub,
    render_stub,
    stub_folder,
)
from archbuild.errors import BuildError
from archbuild.model.machine import Toolkit
from archbuild.probe.toolkit_layout import include_folders, lib_folders
from tests.machines import toolkit
from tests.projects import Light

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stub is for Linux")

HEADER = """
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuMemcpyHtoD __CUDA_API_PTDS(cuMemcpyHtoD_v2)
#define cuStreamQuery __CUDA_API_PTSZ(cuStreamQuery)
typedef uint32_t cuuint32_t;
CUresult CUDAAPI cuInit(unsigned int Flags);  /* CU_CTX_SCHED_AUTO, CUdevice */
"""

CALLER = "int cuInit(unsigned); int start(void) { return cuInit(0); }\n"


@pytest.fixture
def compiler() -> str:
    found = shutil.which("g++")
    if found is None:
        pytest.skip("there is no g++ on this machine")
    return found


@pytest.fixture
def kit(tmp_path: Path) -> Toolkit:
    """A toolkit with a small cuda.h and a space in its path, without a stub."""
    include = tmp_path / "my kit" / "include"
    include.mkdir(parents=True)
    (include / "cuda.h").write_text(HEADER)
    return toolkit("13.0", root=str(include.parent), include=(str(include),))


def link(folder: Path, compiler: str, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "caller.c").write_text(CALLER)
    command = [compiler, "-x", "c", "-shared", "-fPIC", "-o", "caller.so", "caller.c", *flags]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def dynamic(library: Path) -> str:
    """What the dynamic section says, in readelf's words."""
    if shutil.which("readelf") is None:
        pytest.skip("there is no readelf on this machine")
    done = subprocess.run(["readelf", "-dW", str(library)], capture_output=True, check=True)
    return done.stdout.decode()


def test_the_functions_of_a_header() -> None:
    assert driver_functions(HEADER) == (
        "cuDeviceTotalMem",
        "cuDeviceTotalMem_v2",
        "cuInit",
        "cuMemcpyHtoD",
        "cuMemcpyHtoD_v2",
        "cuMemcpyHtoD_v2_ptds",
        "cuStreamQuery",
        "cuStreamQuery_ptsz",
    )
    assert driver_functions("") == ()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["cuda"], True),
        (["c10", "-lcuda"], True),
        (["-L/x", "-l:libcuda.so"], True),
        (["cudart", "-lcudart", "cudadevrt"], False),
        ([], False),
    ],
)
def test_who_asks_for_the_driver(words: list[str], expected: bool) -> None:
    assert asks_for_driver(words) is expected


@pytest.mark.parametrize(
    "place", ["lib64/stubs", "lib/stubs", "targets/x86_64-linux/lib/stubs", "own/stubs"]
)
def test_a_toolkits_own_stub_is_preferred(place: str, tmp_path: Path, kit: Toolkit) -> None:
    folder = Path(kit.root) / place
    folder.mkdir(parents=True)
    kit = toolkit("13.0", root=kit.root, lib=(str(Path(kit.root) / "own"),))
    assert stub_folder(kit) is None
    (folder / "libcuda.so").touch()
    assert stub_folder(kit) == str(folder)
    assert not needs_cuda_stub(["cuda"], [], kit)
    unused = tmp_path / "unused"
    assert cuda_link_folder(["cuda"], [], kit, unused, "g++") == str(folder)
    assert cuda_link_folder(["cudart"], [], kit, unused, "g++") is None
    assert not unused.exists()


def test_a_folder_that_the_extension_names_wins(tmp_path: Path, kit: Toolkit) -> None:
    (tmp_path / "libcuda.so").touch()
    assert not needs_cuda_stub(["cuda"], [str(tmp_path)], kit)
    assert cuda_link_folder(["cuda"], [str(tmp_path)], kit, tmp_path / "stub", "g++") is None


def test_the_linker_is_asked_where_it_looks(
    tmp_path: Path, kit: Toolkit, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LIBRARY_PATH stands for the system's folders, which a test can't write to."""
    if linker_finds_driver([], compiler):
        pytest.skip("this system has a libcuda.so")
    assert needs_cuda_stub(["cuda"], [], kit, compiler)
    stub = make_cuda_stub(tmp_path / "system", compiler, kit)
    assert linker_finds_driver([str(stub.parent)], compiler)
    monkeypatch.setenv("LIBRARY_PATH", str(stub.parent))
    assert not needs_cuda_stub(["cuda"], [], kit, compiler)
    assert cuda_link_folder(["cuda"], [], kit, tmp_path / "unused", compiler) is None


@pytest.mark.parametrize(
    "flags", [[], ["-Wl,--no-undefined"], ["-Wl,-z,defs"], ["-Wl,--as-needed"]]
)
def test_a_library_asks_for_the_drivers_and_not_for_the_stub(
    flags: list[str], tmp_path: Path, kit: Toolkit, compiler: str
) -> None:
    stub = make_cuda_stub(tmp_path / "a stub", compiler, kit)
    done = link(tmp_path, compiler, *flags, f"-L{stub.parent}", "-lcuda")
    assert done.returncode == 0, done.stderr
    said = dynamic(tmp_path / "caller.so")
    assert "Shared library: [libcuda.so.1]" in said
    assert "RPATH" not in said
    assert "RUNPATH" not in said
    assert str(stub.parent) not in said


def test_a_name_that_cuda_does_not_have_is_still_found_out(
    tmp_path: Path, kit: Toolkit, compiler: str
) -> None:
    Path(kit.include[0], "cuda.h").write_text("CUresult cuExit();")
    stub = make_cuda_stub(tmp_path / "stub", compiler, kit)
    done = link(tmp_path, compiler, "-Wl,--no-undefined", f"-L{stub.parent}", "-lcuda")
    assert done.returncode != 0
    assert "cuInit" in done.stderr


def test_a_stub_is_made_once_and_again_for_another_toolkit(
    tmp_path: Path, kit: Toolkit, compiler: str
) -> None:
    place = tmp_path / "stub"
    first = make_cuda_stub(place, compiler, kit)
    before = first.stat().st_ino
    assert make_cuda_stub(place, compiler, kit).stat().st_ino == before
    Path(kit.include[0], "cuda.h").write_text("CUresult cuNew();")
    assert make_cuda_stub(place, compiler, kit).stat().st_ino != before
    assert sorted(file.name for file in place.iterdir()) == ["cuda_stub.c", "libcuda.so"]


def test_without_headers_the_stub_is_empty_and_links(tmp_path: Path, compiler: str) -> None:
    bare = toolkit("13.0", root=str(tmp_path), include=(str(tmp_path),))
    assert render_stub(()).count("\n") == 1
    stub = make_cuda_stub(tmp_path / "stub", compiler, bare)
    assert link(tmp_path, compiler, f"-L{stub.parent}", "-lcuda").returncode == 0


def test_a_compiler_of_several_words(tmp_path: Path, kit: Toolkit, compiler: str) -> None:
    assert make_cuda_stub(tmp_path / "stub", f"env A=1 {compiler}", kit).exists()


@pytest.mark.parametrize("command", ["no-such-compiler", "false"])
def test_a_compiler_that_fails_is_one_sentence(command: str, tmp_path: Path, kit: Toolkit) -> None:
    with pytest.raises(BuildError) as caught:
        make_cuda_stub(tmp_path / "stub", command, kit)
    assert command in caught.value.message
    assert "library_dirs" in caught.value.advice
    assert list((tmp_path / "stub").iterdir()) == []


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path, kit: Toolkit) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BuildError) as caught:
        make_cuda_stub(tmp_path / "file" / "stub", "g++", kit)
    assert str(tmp_path / "file" / "stub") in caught.value.message


# --- with the real toolkit ------------------------------------------------------------------------

DRIVER = """
#include <cuda.h>
int start() { CUmodule module; return cuInit(0) + cuModuleLoad(&module, "x") + cuCtxSynchronize(); }
"""


@pytest.fixture
def real_kit(nvcc: Path) -> Toolkit:
    root = nvcc.parents[1]
    folders = {"include": include_folders(root, "x86_64"), "lib": lib_folders(root, "x86_64")}
    return toolkit("13.0", root=str(root), nvcc=str(nvcc), **folders)


@pytest.mark.toolkit
def test_every_function_that_cuda_h_declares_is_in_the_stub(real_kit: Toolkit) -> None:
    header = next(p for f in real_kit.include if (p := Path(f) / "cuda.h").is_file()).read_text()
    declared = set(re.findall(r"CUDAAPI (cu\w+)\(", header))
    assert len(declared) > 400
    assert declared <= set(driver_functions(header))


@pytest.mark.toolkit
@pytest.mark.parametrize("per_thread", [[], ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"]])
def test_a_program_of_the_driver_links_whole(
    per_thread: list[str], real_kit: Toolkit, tmp_path: Path, compiler: str
) -> None:
    stub = make_cuda_stub(tmp_path / "stub", compiler, real_kit)
    copies = "int more(CUstream s) { return cuMemcpyHtoD(0, 0, 0) + cuStreamQuery(s); }\n"
    (tmp_path / "driver.cpp").write_text(DRIVER + copies)
    include = [f"-I{folder}" for folder in real_kit.include]
    command = [compiler, "-shared", "-fPIC", "-Wl,--no-undefined", *per_thread, *include]
    ends = ["-o", "driver.so", "driver.cpp", f"-L{stub.parent}", "-lcuda"]
    subprocess.run([*command, *ends], cwd=tmp_path, check=True)


@pytest.mark.toolkit
@pytest.mark.torch
def test_a_wheel_holds_no_stub(tmp_path: Path, real_kit: Toolkit, compiler: str) -> None:
    place = tmp_path / "light" / "build" / "driver-stub"
    options = f"libraries=['cuda'], library_dirs=[{str(place)!r}]"
    project = Light(options=options, sources={"driver.cpp": DRIVER}).write(tmp_path / "light")
    if cuda_link_folder(["cuda"], [], real_kit, place, compiler) != str(place):
        pytest.skip("this system has a libcuda.so")
    wheel = project.wheel(ARCHBUILD_ARCHS="9.0")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        library = archive.extract(next(n for n in names if n.endswith(".so")), tmp_path)
    assert not [name for name in names if "libcuda" in name or "stub" in name]
    said = dynamic(Path(library))
    assert "[libcuda.so.1]" in said
    assert "driver-stub" not in said
