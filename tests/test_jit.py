"""``load`` and ``load_inline`` for real: light sources, many processes, and killed ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from archbuild.binary.reader import read
from tests.fakes import FakeDriver, FakeGpu
from tests.preloaded import Ended, Preloaded
from tests.projects import KERNEL, clean_environment

pytestmark = [
    pytest.mark.torch,
    pytest.mark.toolkit,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere torch builds what load asks for"),
]

MODULE = """
#include <Python.h>
#include "answer.h"
#define PASTE(a, b) a##b
#define JOIN(a, b) PASTE(a, b)
#define TEXT(a) #a
#define QUOTE(a) TEXT(a)
static PyObject* answer(PyObject*, PyObject*) { return PyLong_FromLong(ANSWER); }
static PyMethodDef methods[] = {
    {"answer", answer, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, QUOTE(TORCH_EXTENSION_NAME), nullptr, -1, methods};
PyMODINIT_FUNC JOIN(PyInit_, TORCH_EXTENSION_NAME)(void) { return PyModule_Create(&module); }
"""

# A compiler that counts what it compiles, and is slow where a file says so.
CXX = """#!/bin/sh
case " $* " in *" -o "*) ;; *) exec c++ "$@" ;; esac
echo "$$ $*" >> "{folder}/calls"
if [ -e "{folder}/slow" ]; then
  echo $$ > "{folder}/began"
  while [ -e "{folder}/slow" ]; do sleep 0.05; done
fi
exec c++ "$@"
"""

IMPORTS = "import archbuild.cpp_extension"
BUILD = """
from archbuild.cpp_extension import load
module = load("light", ["module.cpp", "bump.cu"], archs={archs!r}{more})
print(module.answer(), module.__name__, module.__file__)
"""


@pytest.fixture(scope="module")
def torchs() -> Iterator[Preloaded]:
    pytest.importorskip("torch", reason="torch is not installed")
    process = Preloaded(IMPORTS, clean_environment(PYTHONPATH=str(Path(__file__).parents[1])))
    yield process
    process.close()


Run = Callable[..., Ended]


@pytest.fixture
def run(torchs: Preloaded, tmp_path: Path, nvcc: Path) -> Run:
    """Runs code in a process of its own, beside sources that make a module."""
    (tmp_path / "module.cpp").write_text(MODULE)
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    (tmp_path / "bump.cu").write_text(KERNEL.format(name="bump"))
    compiler = tmp_path / "counting-c++"
    compiler.write_text(CXX.format(folder=tmp_path))
    compiler.chmod(0o755)

    def in_a_process(code: str, **variables: str) -> Ended:
        own = {"TORCH_EXTENSIONS_DIR": str(tmp_path / "built"), "CXX": str(compiler)}
        return torchs.run(code, tmp_path, **{**own, **variables})

    return in_a_process


def build(archs: str = "9.0", more: str = "") -> str:
    return BUILD.format(archs=archs, more=more and f", {more}")


def said(ended: Ended) -> list[str]:
    """The words of the last line of a process that went well."""
    assert ended.status == 0, ended.output
    return ended.output.strip().splitlines()[-1].split(" ", 2)


def archs_of(library: str) -> set[str]:
    return {str(image.arch) for region in read(library)[0].regions for image in region.images}


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text().splitlines())


def runs(number: str) -> bool:
    """Whether a process of this number has not ended."""
    try:
        return Path("/proc", number, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- what is built, and when ----------------------------------------------------------------------


def test_another_list_gives_another_library_and_the_same_none(run: Run, tmp_path: Path) -> None:
    answer, name, first = said(run(build("8.6;9.0+PTX")))
    assert (answer, name) == ("42", "light")
    assert archs_of(first) == {"sm_86", "sm_90", "compute_90"}
    assert Path(first).is_relative_to(tmp_path / "built")
    _, _, second = said(run(build("12.0"), MAX_JOBS="1"))
    assert second != first
    assert archs_of(second) == {"sm_120"}
    made, compiled = Path(first).stat().st_mtime_ns, calls(tmp_path)
    assert said(run(build("8.6;9.0+PTX")))[2] == first
    assert (Path(first).stat().st_mtime_ns, calls(tmp_path)) == (made, compiled)


def test_the_list_of_the_environment_counts_too(run: Run) -> None:
    code = build().replace("archs='9.0'", "verbose=True")
    ended = run(code, TORCH_CUDA_ARCH_LIST="9.0a")
    assert archs_of(said(ended)[2]) == {"sm_90a"}
    assert "bump.cu sm_90a" in ended.output
    assert "asked for by TORCH_CUDA_ARCH_LIST" in ended.output


def test_another_gpu_gives_another_library(run: Run, fake_driver: FakeDriver) -> None:
    """With no list, as flashinfer's users met it: a new GPU, and the old one's code."""
    code = build().replace(", archs='9.0'", "")
    libraries = {}
    for capability in ("8.6", "12.0", "8.6"):
        library = said(run(code, **fake_driver([FakeGpu(capability)])))[2]
        assert libraries.setdefault(capability, library) == library
    assert archs_of(libraries["8.6"]) == {"sm_86", "compute_86"}
    assert archs_of(libraries["12.0"]) == {"sm_120", "compute_120"}


def test_a_changed_header_and_a_source_from_before(run: Run, tmp_path: Path) -> None:
    """In new processes: a header that changed; then a source put back with its old time."""
    said(run(build()))
    (tmp_path / "answer.h").write_text("#define ANSWER 43\n")
    assert said(run(build()))[:2] == ["43", "light"]
    other = MODULE.replace("ANSWER)", "ANSWER + 1)")
    (tmp_path / "module.cpp").write_text(other)
    assert said(run(build()))[0] == "44"
    (tmp_path / "module.cpp").write_text(MODULE)
    os.utime(tmp_path / "module.cpp", (1_000_000_000, 1_000_000_000))
    assert said(run(build()))[0] == "43"


def test_a_name_whose_sources_change_in_one_process_is_a_new_module(
    run: Run, tmp_path: Path
) -> None:
    code = build() + (
        "import pathlib\n"
        "same = load('light', ['module.cpp', 'bump.cu'], archs='9.0')\n"
        "header = pathlib.Path('module.cpp')\n"
        "header.write_text(header.read_text().replace('ANSWER)', '7)'))\n"
        "new = load('light', ['module.cpp', 'bump.cu'], archs='9.0')\n"
        "print(same.__name__, new.__name__, new.answer(), module.answer())\n"
    )
    ended = run(code)
    assert ended.status == 0, ended.output
    assert ended.output.splitlines()[-1] == "light light_v1 7 42"


def test_a_named_folder_holds_what_was_asked_for_last(run: Run, tmp_path: Path) -> None:
    """With a blank, quotes and a letter beyond ASCII in its name, as sources may have too."""
    place = tmp_path / "an 'odd' place \u00fc"
    more = f"build_directory={str(place)!r}"
    _, _, library = said(run(build("8.6", more)))
    assert Path(library) == place / "light.so"
    assert archs_of(library) == {"sm_86"}
    code = build("9.0", more).replace('"bump.cu"', '"b \u00fc.cu"')
    (tmp_path / "b \u00fc.cu").write_text(KERNEL.format(name="other"))
    assert said(run(code))[2] == library
    assert archs_of(library) == {"sm_90"}


def test_inline_texts_flags_with_quotes_and_two_sources_of_one_name(
    run: Run, tmp_path: Path
) -> None:
    code = (
        "from archbuild import load_inline\n"
        f"text = {MODULE!r}.replace('#include \"answer.h\"', '')\n"
        "module = load_inline('inline_light', text, ['__device__ int x;',"
        f" {KERNEL.format(name='one')!r}], no_implicit_headers=True, archs='9.0',\n"
        "    extra_cflags=['-O1 -DANSWER=\\'sizeof(\"a b\")\\''])\n"
        "print(module.answer(), module.__name__, module.__file__)\n"
    )
    answer, name, library = said(run(code))
    assert (answer, name) == ("4", "inline_light")
    assert archs_of(library) == {"sm_90"}


def test_a_program_and_a_library_that_is_no_module(run: Run, tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text("int main() { return 7; }\n")
    code = (
        "import ctypes, subprocess\n"
        "from archbuild.cpp_extension import load\n"
        "asked = dict(archs='9.0', is_python_module=False)\n"
        "program = load('program', ['main.cpp', 'bump.cu'], is_standalone=True, **asked)\n"
        "library = load('plain', 'bump.cu', **asked)\n"
        "print(subprocess.run([program]).returncode,\n"
        "      bool(ctypes.CDLL(library).launch_bump), library)\n"
    )
    status, found, library = said(run(code))
    assert (status, found) == ("7", "True")
    assert archs_of(library) == {"sm_90"}


def test_what_is_no_cuda_is_torchs_affair(run: Run, tmp_path: Path) -> None:
    code = (
        "from archbuild.cpp_extension import load\n"
        "module = load('host', ['module.cpp'])\n"
        "print(module.answer(), module.__name__, module.__file__)\n"
    )
    ended = run(code, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert said(ended)[2] == str(tmp_path / "built" / "host" / "host.so")


WHO = """
import archbuild.cpp_extension.jit as jit
def torchs(name, sources, extra_cuda_cflags=None, extra_ldflags=None, with_cuda=None,
           with_sycl=None, is_python_module=True, is_standalone=False, use_pch=False, new=None):
    return "torch", *(extra_cuda_cflags or ())
jit.run_call = lambda call: ("ours", call.archs)
load = jit._built_here(torchs, jit._OF_LOAD, jit._files_of_load)
for sources, more in (
    ("a.cu", {}),
    ("a.cu", {"new": None, "with_sycl": False, "use_pch": False}),
    ("a.cu", {"new": 1}),
    ("a.cu", {"use_pch": True}),
    ("a.cu", {"with_cuda": False}),
    ("a.cpp", {}),
    ("a.cpp", {"with_cuda": True}),
    ("a.cu", {"is_standalone": True}),
):
    print(*load("m", sources, archs="9.0", **more))
"""


def test_who_builds_what(run: Run) -> None:
    """What the engine does not know, torch does, and gets the architectures where it can."""
    ended = run(WHO)
    assert ended.status == 0, ended.output
    told = "torch -gencode=arch=compute_90,code=sm_90"
    ours = "ours 9.0"
    assert ended.output.splitlines()[-8:] == [
        *(ours, ours, told, told, "torch", "torch", told, told),
    ]


# --- many processes, and processes that end -------------------------------------------------------


def test_eight_processes_build_once(run: Run, tmp_path: Path) -> None:
    code = (
        "import os\n"
        "children = []\n"
        "for _ in range(8):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        from archbuild.cpp_extension import load\n"
        "        module = load('light', ['module.cpp', 'bump.cu'], archs='9.0')\n"
        "        os._exit(module.answer())\n"
        "    children.append(child)\n"
        "ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]\n"
        "print(ends)\n"
    )
    ended = run(code)
    assert ended.status == 0, ended.output
    assert ended.output.splitlines()[-1] == str([42] * 8)
    # nvcc's passes call the compiler that CXX names as well.
    lines = (tmp_path / "calls").read_text().splitlines()
    made = [line.partition(" -o ")[2].split()[0] for line in lines]
    assert {"light.so.objects/light.so"} < set(made)
    assert len(made) == len(set(made))


def test_a_killed_build_leaves_nothing_that_the_next_one_takes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    code = (
        "import os, pathlib, signal, time\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        f"    exec({build()!r})\n"
        "    os._exit(0)\n"
        "end = time.monotonic() + 60\n"
        "while not pathlib.Path('began').exists() and time.monotonic() < end:\n"
        "    time.sleep(0.02)\n"
        "os.kill(child, signal.SIGKILL)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    ended = run(code)
    assert ended.output.split()[-1] == "-9", ended.output
    entry = next((tmp_path / "built" / "light").iterdir())
    (left,) = entry.glob("light.so.objects*")
    assert not (entry / "light.so").exists()
    # Its compilers still run, and go on as soon as they may.
    (tmp_path / "slow").unlink()
    answer, _, library = said(run(build()))
    assert answer == "42"
    (used,) = [path for path in entry.glob("light.so.objects*") if (path / "light.so").exists()]
    assert used != left
    # One that was killed while it put the library in its place has not noted that it is good.
    Path(library + ".ready.json").unlink()
    Path(library).write_bytes(b"half")
    assert said(run(build()))[0] == "42"


def test_ctrl_c_ends_the_compilers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    code = (
        "import os, pathlib, signal, threading, time\n"
        "def press():\n"
        "    end = time.monotonic() + 60\n"
        "    while not pathlib.Path('began').exists() and time.monotonic() < end:\n"
        "        time.sleep(0.02)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Thread(target=press, daemon=True).start()\n"
        "try:\n"
        + "".join(f"    {line}\n" for line in build().strip().splitlines())
        + "except KeyboardInterrupt:\n"
        "    print('pressed')\n"
    )
    ended = run(code)
    assert ended.output.split()[-1] == "pressed", ended.output
    for line in (tmp_path / "calls").read_text().splitlines():
        assert not runs(line.split()[0]), "a compiler still runs"
    assert not list((tmp_path / "built").rglob("light.so"))
    (tmp_path / "slow").unlink()
    assert said(run(build()))[0] == "42"


# --- what goes wrong ------------------------------------------------------------------------------

CATCH = """
try:
{code}
except {caught} as error:
    print("caught:", error)
"""


def caught(run: Run, code: str, kind: str = "RuntimeError", **variables: str) -> str:
    body = "".join(f"    {line}\n" for line in code.strip().splitlines())
    ended = run(CATCH.format(code=body, caught=kind), **variables)
    assert ended.status == 0, ended.output
    return ended.output.partition("caught: ")[2]


def test_a_compile_error_is_told_once_in_one_exception(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bump.cu").write_text("__global__ void f() { no_such_thing(); }\n")
    told = caught(run, build("8.6;9.0"))
    assert told.count('identifier "no_such_thing" is undefined') == 1
    assert told.splitlines()[-1].startswith("light was not built: bump.cu")


def test_a_target_that_got_lost_is_refused_unless_nobody_looks(
    run: Run, tmp_path: Path, nvcc: Path
) -> None:
    wrapper = tmp_path / "losing-nvcc"
    wrapper.write_text(
        '#!/bin/sh\nfor a in "$@"; do shift; case "$a" in *sm_90*) ;; *) set -- "$@" "$a";; '
        f'esac; done\nexec {nvcc} "$@"\n'
    )
    wrapper.chmod(0o755)
    told = caught(run, build("8.6;9.0"), PYTORCH_NVCC=str(wrapper))
    assert "sm_90 missing (there: sm_86)" in told
    assert not list((tmp_path / "built").rglob("light/*/light.so"))
    library = said(run(build("8.6;9.0"), PYTORCH_NVCC=str(wrapper), ARCHBUILD_VERIFY="off"))[2]
    assert archs_of(library) == {"sm_86"}


def test_an_error_ends_at_the_call_and_not_deep_inside(run: Run) -> None:
    ended = run("from archbuild.cpp_extension import load\nload('light', ['gone.cu'])\n")
    assert ended.status == 1
    inside = [line for line in ended.output.splitlines() if "cpp_extension/" in line]
    assert len(inside) == 1
    assert "gone.cu cannot be read" in ended.output


def test_what_cannot_be_asked_for(run: Run, tmp_path: Path) -> None:
    asked = {
        "['gone.cu']": "gone.cu cannot be read: No such file",
        "['bump.cu', './bump.cu']": "bump.cu is named twice",
        "['bump.cu'], extra_cflags='-O2'": "Pass a list: extra_cflags=[...]",
        "['bump.cu'], extra_ldflags=['\"x']": "in extra_ldflags cannot be split",
        "['bump.cu'], archs='quokka'": "'quokka' in archs of load is no architecture",
    }
    lines = ["from archbuild.cpp_extension import load", "from archbuild.errors import UsageError"]
    for words in asked:
        lines += ["try:", f"    load('light', {words})", "except UsageError as error:"]
        lines += ["    print(str(error).replace(chr(10), ' '))"]
    ended = run("\n".join(lines), TORCH_CUDA_ARCH_LIST="9.0")
    assert ended.status == 0, ended.output
    for line, words in zip(ended.output.splitlines()[-len(asked) :], asked.values(), strict=True):
        assert words in line


def test_a_home_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    nowhere = {
        "TORCH_EXTENSIONS_DIR": str(tmp_path / "file" / "x"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    ended = run("import tempfile; tempfile.tempdir = None\n" + build(), **nowhere)
    library = said(ended)[2]
    assert Path(library).is_relative_to(tmp_path / "tmp" / f"archbuild-jit-{os.getuid()}")
    assert "cannot be written, so" in ended.output
    assert "Name a place that lasts in TORCH_EXTENSIONS_DIR" in ended.output


def test_a_library_is_found_where_nothing_can_be_written(run: Run, tmp_path: Path) -> None:
    library = said(run(build()))[2]
    blocked = (
        "import archbuild.build.jit_folder as folder, archbuild.cpp_extension.jit_run as runner\n"
        "folder.can_be_written = lambda _: False\n"
        "runner.build_library = None\n"
    )
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "built").rglob("*")}
    assert said(run(blocked + build()))[2] == library
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "built").rglob("*")} == before


def test_a_disk_that_takes_no_more(run: Run) -> None:
    code = (
        "import resource\n"
        "most = resource.RLIM_INFINITY\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, most))\n"
        "from archbuild.cpp_extension import load\n"
        "try:\n"
        "    load('light', ['module.cpp', 'bump.cu'], archs='9.0')\n"
        "finally:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))\n"
    )
    told = caught(run, code)
    assert "File too large" in told
    assert "TORCH_EXTENSIONS_DIR" in told
