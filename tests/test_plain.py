"""Extensions without torch: in an environment that has none, and beside one that uses it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from archbuild.binary.reader import read
from archbuild.build.flavour import Flavour
from archbuild.build.torch_flags import CompileCall
from archbuild.cpp_extension.plain_extension import (
    add_toolkit,
    has_cuda,
    is_plain,
    make_plain_extension,
)
from archbuild.model.machine import Toolkit
from archbuild.model.version import CudaVersion
from tests.projects import KERNEL, MODULE, clean_environment

ROOT = Path(__file__).parents[1]
_TORCHS = ("torch", "functorch", "triton")

BOUND = """
#include <pybind11/pybind11.h>
#ifdef TORCH_EXTENSION_NAME
#error "this is no extension of torch's"
#endif
extern "C" void launch_bump(int n, float* x);
extern "C" int twice(int n);
PYBIND11_MODULE(_bound, m) {
  m.def("twice", [](int n) { return twice(n); });
  m.def("bump", [] { launch_bump(1, nullptr); });
}
"""

# No C++ compiler takes this.
C = "int twice(int new) { return 2 * new; }\n"

SETUP = """
from setuptools import setup
import pybind11
from archbuild import BuildExtension, CUDAExtension
include = [pybind11.get_include()]
setup(
    name="plainly",
    packages=["plainly"],
    ext_modules=[
        CUDAExtension("plainly._bound", ["bound.cpp", "twice.c", "bump.cu"], torch=False,
                      include_dirs=include, extra_compile_args={"cxx": ["-std=c++17", "-O0"]}),
        CUDAExtension("plainly.libplain", ["other.cu", "twice.c"], torch=False, archs="9.0a"),
    ],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with everything that is in this one, but for torch."""
    pytest.importorskip("pybind11", reason="pybind11 is not installed")
    home = tmp_path_factory.mktemp("without") / "env"
    venv.create(home, symlinks=True)
    site = next(home.glob("lib/python*/site-packages"))
    here = Path(sysconfig.get_path("purelib"))
    found = [path for path in here.iterdir() if not path.name.lower().startswith(_TORCHS)]
    binding = importlib.util.find_spec("pybind11")
    assert binding is not None
    assert binding.origin is not None
    for path in {*found, Path(binding.origin).parent}:
        if not (site / path.name).exists():
            (site / path.name).symlink_to(path)
    return home / "bin" / "python"


def run(python: Path, folder: Path, *words: str, **variables: str) -> str:
    done = subprocess.run(
        [str(python), *words],
        cwd=folder,
        env=clean_environment(PYTHONPATH=str(ROOT), **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# Where nothing is new, what looks into libraries and tells of builds is not even loaded.
BUILD_AND_LOADED = """
import runpy, sys
sys.argv = ["setup.py", "build_ext", "--inplace"]
runpy.run_path("setup.py", run_name="__main__")
rare = {"archbuild.binary.reader", "archbuild.services.smoke", "archbuild.report.build"}
print("loaded:", sorted(rare & set(sys.modules)), file=sys.stderr)
"""


def archs_of(library: Path) -> set[str]:
    return {str(image.arch) for region in read(str(library))[0].regions for image in region.images}


@pytest.mark.toolkit
@pytest.mark.skipif(sys.platform != "linux", reason="the environment is made of links")
def test_a_project_where_torch_is_not_installed(python: Path, tmp_path: Path, nvcc: Path) -> None:
    (tmp_path / "plainly").mkdir()
    (tmp_path / "plainly" / "__init__.py").touch()
    sources = {"bound.cpp": BOUND, "twice.c": C, "setup.py": SETUP}
    sources |= {f"{name}.cu": KERNEL.format(name=name) for name in ("bump", "other")}
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    build = ("setup.py", "build_ext", "--inplace")
    said = run(python, tmp_path, *build, ARCHBUILD_ARCHS="8.6;9.0+PTX")
    assert "bump.cu sm_90" in said
    bound, plain = (tmp_path / "plainly" / f"{name}.so" for name in ("_bound", "libplain"))
    assert archs_of(bound) == {"sm_86", "sm_90", "compute_90"}
    assert archs_of(plain) == {"sm_90a"}
    code = (
        "import ctypes, importlib.util, plainly._bound as bound\n"
        f"plain = ctypes.CDLL({str(plain)!r})\n"
        "print(bound.twice(4), plain.twice(5), bool(plain.launch_other),\n"
        "      importlib.util.find_spec('torch'))\n"
    )
    assert run(python, tmp_path, "-c", code).split() == ["8", "10", "True", "None"]
    run(python, tmp_path, "-m", "archbuild", "verify", str(bound), "--targets", "8.6;9.0+PTX")
    assert b"libtorch" not in bound.read_bytes()
    assert b"libcudart.so" not in bound.read_bytes()
    again = run(python, tmp_path, "-c", BUILD_AND_LOADED, ARCHBUILD_ARCHS="8.6;9.0+PTX")
    assert "_bound.so is up to date" in again
    assert again.endswith("loaded: []\n")


@pytest.mark.skipif(sys.platform != "linux", reason="the environment is made of links")
@pytest.mark.parametrize(
    "line",
    [
        "from archbuild import CUDAExtension; CUDAExtension('a._C', ['a.cu'])",
        "from archbuild.cpp_extension import include_paths",
        "from archbuild import load",
    ],
)
def test_without_torch_everything_else_says_so(python: Path, tmp_path: Path, line: str) -> None:
    code = f"try:\n    exec({line!r})\nexcept ImportError as error:\n    print(error)\n"
    said = run(python, tmp_path, "-c", code)
    assert "needs torch, which this environment lacks" in said
    assert "torch=False" in said


@pytest.mark.torch
@pytest.mark.toolkit
def test_one_with_torch_and_one_without_in_one_setup(tmp_path: Path, nvcc: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "__init__.py").touch()
    setup = (
        "from setuptools import setup\n"
        "from archbuild.cpp_extension import BuildExtension, CUDAExtension\n"
        "setup(name='both', packages=['both'], cmdclass={'build_ext': BuildExtension},\n"
        "      ext_modules=[CUDAExtension('both._C', ['module.cpp', 'one.cu']),\n"
        "          CUDAExtension('both._plain', ['two.cu', 'twice.c'], torch=False),\n"
        "          CUDAExtension('both._host', ['host.c'], torch=False,\n"
        "                        extra_compile_args={'cxx': ['-O1']})])\n"
    )
    # No kernel of its own, and CUDA's runtime all the same.
    host = "#include <cuda_runtime.h>\nint version(int* v) { return cudaRuntimeGetVersion(v); }\n"
    sources = {"setup.py": setup, "module.cpp": MODULE, "twice.c": C, "host.c": host}
    sources |= {f"{name}.cu": KERNEL.format(name=name) for name in ("one", "two")}
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    python = Path(sys.executable)
    build = ("setup.py", "build_ext", "--inplace")
    said = run(python, tmp_path, *build, TORCH_CUDA_ARCH_LIST="9.0").splitlines()
    libraries = {path.name.partition(".")[0]: path for path in (tmp_path / "both").glob("*.so")}
    assert set(libraries) == {"_C", "_plain", "_host"}
    assert archs_of(libraries["_plain"]) == archs_of(libraries["_C"]) == {"sm_90"}
    runtime = ctypes.c_int()
    assert ctypes.CDLL(str(libraries["_host"])).version(ctypes.byref(runtime)) == 0
    assert runtime.value >= 11000
    for name, expected in (("_C", True), ("_plain", False), ("_host", False)):
        (link,) = [line for line in said if "-shared" in line and f"both/{name}." in line]
        assert ("-ltorch" in link) == expected
    for name, expected in (("_C", True), ("_plain", False)):
        (file,) = (tmp_path / "build" / "archbuild").glob(f"both.{name}-*/build.ninja")
        assert ("TORCH_EXTENSION_NAME" in file.read_text()) == expected
        assert ("__CUDA_NO_HALF_OPERATORS__" in file.read_text()) == expected
        assert (f"torch{os.sep}include" in file.read_text()) == expected


# --- without a compiler ---------------------------------------------------------------------------


def toolkit(folder: Path) -> Toolkit:
    return Toolkit(
        root="/cuda",
        nvcc="/cuda/bin/nvcc",
        version=CudaVersion(13, 0),
        release="13.0.88",
        archs=(),
        found_by=(),
        include=("/cuda/include",),
        lib=(str(folder),),
    )


@pytest.mark.parametrize(
    ("there", "own", "expected"),
    [
        (["libcudart_static.a"], [], ["cudart_static", "rt", "pthread", "dl"]),
        (["libcudart.so"], [], ["cudart"]),
        (["libcudart_static.a"], ["cudart"], ["cudart"]),
    ],
)
def test_which_runtime_is_linked(
    tmp_path: Path, there: list[str], own: list[str], expected: list[str]
) -> None:
    for name in there:
        (tmp_path / name).touch()
    extension = make_plain_extension("a", ["a.cu"], libraries=own)
    add_toolkit(extension, toolkit(tmp_path))
    assert extension.libraries == expected
    assert extension.include_dirs == ["/cuda/include"]


def test_what_a_plain_extension_keeps(tmp_path: Path) -> None:
    extension = make_plain_extension(
        "a._C",
        ["a.cpp"],
        dlink_libraries=["x"],
        extra_compile_args=["-O2"],
        library_dirs=["links"],
    )
    assert is_plain(extension)
    assert not has_cuda(extension)
    assert extension.language == "c++"
    add_toolkit(extension, toolkit(tmp_path))
    assert extension.extra_compile_args == {
        "cxx": ["-O2"],
        "nvcc": ["-O2"],
        "nvcc_dlink": ["-dlink", "-lx", f"-L{tmp_path}", "-Llinks"],
    }


def test_c_is_compiled_as_c_where_torch_is_away() -> None:
    call = CompileCall(
        ("a.c", "b.cpp"), (), (), False, {"cxx": ("-std=c++17", "-O2")}, ("gcc", "-fPIC")
    )
    plain, torchs = Flavour(("c++",), plain_c=True), Flavour(("c++",), "c++20")
    c, cpp = (plain.unit(source, call, is_cuda=False) for source in call.sources)
    assert (c.command, c.after) == (("gcc", "-fPIC"), ("-O2",))
    assert (cpp.command, cpp.after) == (("c++", "-fPIC"), ("-std=c++17", "-O2"))
    assert torchs.unit("a.c", call, is_cuda=False).command[0] == "c++"
