"""torch's module with one changed import: the names, and real builds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.binary.wheel import iter_candidates
from tests.projects import KERNEL, Light, clean_environment

pytestmark = [pytest.mark.torch, pytest.mark.toolkit]


@pytest.fixture(scope="module")
def cuobjdump(packaged_tool) -> str:
    return str(packaged_tool("cuobjdump"))


@pytest.fixture(scope="module", autouse=True)
def _torch() -> None:
    pytest.importorskip("torch", reason="torch is not installed")


def targets(path: Path, cuobjdump: str, *, everything: bool = False) -> dict[str, set[str]]:
    """The images of every file with device code, by the file's own name."""
    found = {}
    for candidate in iter_candidates(path):
        file = read_with_cuobjdump(candidate.real, cuobjdump, everything=everything)
        if file.images:
            found[Path(candidate.name).name.partition(".")[0]] = {str(i.arch) for i in file.images}
    return found


def ask(code: str, **variables: str | None) -> str:
    """What a child prints that runs this code."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=clean_environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- names --------------------------------------------------------------------------------


def test_every_public_name_of_torch_is_here() -> None:
    said = ask(
        "import json\n"
        "import torch.utils.cpp_extension as torchs\n"
        "import archbuild.cpp_extension as ours\n"
        "public = [n for n in dir(torchs) if not n.startswith('_')] + ['BuildExtension']\n"
        "missing = [n for n in public if not hasattr(ours, n)]\n"
        "own = [n for n in public if getattr(ours, n) is not getattr(torchs, n)]\n"
        "print(json.dumps([missing, sorted(set(own)), ours.__all__ == torchs.__all__,\n"
        "                  sorted(set(public) - set(dir(ours)))]))"
    )
    missing, own, same_all, not_listed = json.loads(said)
    assert missing == not_listed == []
    assert own == ["BuildExtension", "CUDAExtension", "load", "load_inline"]
    assert same_all


def test_star_import_brings_the_improved_names() -> None:
    said = ask(
        "from archbuild.cpp_extension import *\n"
        "print(BuildExtension.__module__, CUDAExtension.__module__, include_paths.__module__)"
    )
    assert said.split() == [
        "archbuild.cpp_extension.build_extension",
        "archbuild.cpp_extension",
        "torch.utils.cpp_extension",
    ]


def test_build_extension_is_torchs_for_whoever_asks() -> None:
    said = ask(
        "import torch.utils.cpp_extension as torchs\n"
        "from setuptools import Distribution\n"
        "import archbuild\n"
        "from archbuild.cpp_extension import BuildExtension\n"
        "command = BuildExtension.with_options(use_ninja=False, archs='9.0')(Distribution())\n"
        "print(isinstance(command, torchs.BuildExtension), command.use_ninja, command.archs,\n"
        "      archbuild.BuildExtension is BuildExtension)"
    )
    assert said.split() == ["True", "False", "9.0", "True"]


def test_cuda_home_is_the_packages_toolkit_with_nothing_exported(nvcc: Path) -> None:
    said = ask("from archbuild.cpp_extension import CUDA_HOME; print(CUDA_HOME)")
    assert Path(said.strip()).resolve() == nvcc.resolve().parents[1]


def test_a_torch_imported_before_uses_the_same_toolkit(nvcc: Path) -> None:
    said = ask(
        "import torch.utils.cpp_extension as torchs\n"
        "import archbuild.cpp_extension\n"
        "print(torchs.CUDA_HOME)",
        CUDA_HOME="/nowhere",
    )
    assert Path(said.strip()).resolve() == nvcc.resolve().parents[1]


@pytest.mark.parametrize("frozen", [False, True])
def test_the_importing_program_keeps_its_collector(frozen: bool) -> None:
    said = ask(
        "import gc\n"
        f"{'gc.freeze()' if frozen else ''}\n"
        "import archbuild.cpp_extension\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 0)"
    )
    assert said.split() == ["True", str(frozen)]


def test_without_torch_one_sentence_says_what_to_list() -> None:
    code = "import sys; sys.modules['torch'] = None; from archbuild.cpp_extension import load"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: archbuild.cpp_extension needs torch")
    assert "--no-build-isolation" in last


def test_an_extension_can_be_made_without_a_toolkit() -> None:
    """A source distribution and metadata need no nvcc."""
    said = ask(
        "import archbuild.cpp_extension as ours, torch.utils.cpp_extension as torchs\n"
        "torchs.CUDA_HOME = None\n"
        "extension = ours.CUDAExtension('a._C', ['a.cu'], archs='9.0')\n"
        "print(extension.name, extension.archs, torchs.CUDA_HOME)"
    )
    assert said.split() == ["a._C", "9.0", "None"]


# --- builds -------------------------------------------------------------------------------


def test_exactly_what_the_list_says(tmp_path: Path, cuobjdump: str) -> None:
    wheel = Light().write(tmp_path / "p").wheel(TORCH_CUDA_ARCH_LIST="8.6;12.0+PTX")
    assert targets(wheel, cuobjdump) == {"_C": {"sm_86", "sm_120", "compute_120"}}


def test_arch_in_other_flags_drops_nothing(tmp_path: Path, cuobjdump: str) -> None:
    """torch drops every architecture where any flag contains the letters "arch"."""
    options = (
        "include_dirs=['search/include'], extra_compile_args={'cxx': [], 'nvcc': "
        "['-Xcompiler=-march=native', '-I/home/me/search/include']}"
    )
    wheel = Light(options).write(tmp_path / "p").wheel(TORCH_CUDA_ARCH_LIST="8.6;12.0+PTX")
    assert targets(wheel, cuobjdump) == {"_C": {"sm_86", "sm_120", "compute_120"}}


def test_with_no_list_and_no_gpu_what_torch_holds(tmp_path: Path, cuobjdump: str) -> None:
    held = ask("import torch; print(torch._C._cuda_getArchFlags())").split()
    real = sorted((name for name in held if name.startswith("sm_")), key=lambda n: int(n[3:]))
    wheel = Light().write(tmp_path / "p").wheel()
    assert targets(wheel, cuobjdump) == {"_C": {*real, real[-1].replace("sm", "compute")}}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("extra_compile_args=['-O2']", {"sm_86", "sm_90"}),
        ("extra_compile_args={'cxx': ['-O2']}", {"sm_86", "sm_90"}),
        ("extra_compile_args={'nvcc': ['-arch=sm_80']}", {"sm_80", "compute_80"}),
        ("extra_compile_args={'nvcc': ['-gencode', 'arch=compute_90a,code=sm_90a']}", {"sm_90a"}),
        ("archs='10.0f'", {"sm_100f"}),
    ],
    ids=["list", "no-nvcc-flags", "own-arch", "own-gencode", "argument"],
)
def test_where_an_extensions_architectures_come_from(
    tmp_path: Path, cuobjdump: str, options: str, expected: set[str]
) -> None:
    project = Light(options).write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="8.6;9.0")
    assert done.returncode == 0, done.stderr
    assert project.library
    assert targets(project.library, cuobjdump) == {"_C": expected}


def test_the_log_names_an_extensions_own_list(tmp_path: Path) -> None:
    project = Light("archs='9.0a'").write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="8.6")
    assert "archbuild: light._C: sm_90a  (archs of light._C)" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("project", "place"),
    [
        (Light("archs='quokka'"), "archs of light._C"),
        (Light(command="BuildExtension.with_options(archs='quokka')"), "archs of BuildExtension"),
    ],
)
def test_a_bad_list_is_named_with_its_place(tmp_path: Path, project: Light, place: str) -> None:
    done = project.write(tmp_path / "p").build(TORCH_CUDA_ARCH_LIST="8.6")
    assert_one_sentence(done, f"'quokka' in {place} is no architecture")


def test_the_log_says_who_won(tmp_path: Path) -> None:
    options = "extra_compile_args={'nvcc': ['-arch=sm_80']}"
    done = Light(options).write(tmp_path / "p").build(TORCH_CUDA_ARCH_LIST="9.0")
    assert "its own -gencode or -arch flags win" in done.stdout + done.stderr
    assert "TORCH_CUDA_ARCH_LIST=9.0" in done.stdout + done.stderr


def test_a_subclass_without_ninja_and_with_its_own_init(tmp_path: Path, cuobjdump: str) -> None:
    before = (
        "class Own(BuildExtension):\n"
        "    def __init__(self, *args, **kwargs):\n"
        "        import os\n"
        "        os.environ['MAX_JOBS'] = '1'\n"
        "        super().__init__(*args, **kwargs)\n"
    )
    command = "Own.with_options(use_ninja=False, no_python_abi_suffix=True)"
    project = Light(before=before, command=command).write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="9.0")
    assert done.returncode == 0, done.stderr
    assert project.library
    assert project.library.name == "_C.so"
    assert targets(project.library, cuobjdump) == {"_C": {"sm_90"}}


def test_the_device_link_gets_the_same_architectures(tmp_path: Path, cuobjdump: str) -> None:
    options = (
        "dlink=True, dlink_libraries=['cudadevrt'], "
        "extra_compile_args={'cxx': [], 'nvcc': ['-rdc=true']}"
    )
    project = Light(options, kernels=("one", "two")).write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="8.6;12.0+PTX")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "leaves no PTX" in done.stdout + done.stderr
    assert project.library
    assert targets(project.library, cuobjdump) == {"_C": {"sm_86", "sm_120"}}


def test_relocatable_code_without_a_device_link_fails(tmp_path: Path) -> None:
    options = "extra_compile_args={'cxx': [], 'nvcc': ['-rdc=true']}"
    project = Light(options).write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="8.6", CUDA_HOME="/nowhere")
    assert_one_sentence(done, "sm_86 missing (there: no device code at all). Pass dlink=True")
    # Said once, in every build in which the variable leads nowhere.
    assert (done.stdout + done.stderr).count("CUDA_HOME=/nowhere does not exist") == 1
    assert project.library is None


def test_a_compiler_that_drops_a_target_fails_the_build(tmp_path: Path, nvcc: Path) -> None:
    wrapper = tmp_path / "nvcc-wrapper"
    wrapper.write_text(
        '#!/bin/sh\nfor a in "$@"; do shift; case "$a" in *sm_90*) ;; *) set -- "$@" "$a";; '
        f'esac; done\nexec {nvcc} "$@"\n'
    )
    wrapper.chmod(0o755)
    project = Light().write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="8.6;9.0", PYTORCH_NVCC=str(wrapper))
    assert_one_sentence(done, "bump.cu: sm_90 missing (there: sm_86)")
    assert project.library is None
    assert not list((project.folder / "build").rglob("_C*.so"))


def test_a_disk_without_room_is_told_with_the_place() -> None:
    code = (
        "import errno, os\n"
        "from archbuild.cpp_extension.setup_errors import setup_errors\n"
        "from setuptools.errors import BaseError\n"
        "for number in (errno.ENOSPC, errno.EACCES):\n"
        "    try:\n"
        "        with setup_errors():\n"
        "            raise OSError(number, os.strerror(number), '/b/build.ninja')\n"
        "    except (BaseError, OSError) as error:\n"
        "        print(type(error).__name__, error)\n"
    )
    room, permission = ask(code).splitlines()
    assert "Error archbuild: /b/build.ninja cannot be written: No space left" in room
    assert permission.startswith("PermissionError")


def test_a_compile_error_is_no_traceback(tmp_path: Path) -> None:
    project = Light(sources={"bad.cu": "this is no CUDA\n"}).write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="9.0")
    assert_one_sentence(done, "compiler's own words stand above")
    assert "bad.cu" in done.stdout
    assert project.library is None


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"TORCH_CUDA_ARCH_LIST": "9"}, "9.0 or"),
        ({"TORCH_CUDA_ARCH_LIST": ";;"}, "only separators"),
        ({"TORCH_CUDA_ARCH_LIST": "3.5"}, "CUDA 11.8 or older"),
        ({"TORCH_CUDA_ARCH_LIST": "native"}, "needs a GPU"),
        ({"TORCH_CUDA_ARCH_LIST": "9.0", "ARCHBUILD_VERIFY": "maybe"}, "require, auto or off"),
        ({"TORCH_CUDA_ARCH_LIST": "9.0", "NVCC_PREPEND_FLAGS": "--nonsense"}, "smoke"),
        ({"TORCH_CUDA_ARCH_LIST": "9.0", "NVCC_CCBIN": "/nowhere/g++"}, "/nowhere/g++"),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else None,
)
def test_what_is_wrong_is_said_before_anything_is_compiled(
    tmp_path: Path, variables: dict[str, str], words: str
) -> None:
    done = Light().write(tmp_path / "p").build(XDG_CACHE_HOME=str(tmp_path), **variables)
    assert_one_sentence(done, words)
    assert not list(tmp_path.rglob("*.o"))


def test_sources_of_one_name_do_not_share_an_object(tmp_path: Path, cuobjdump: str) -> None:
    project = Light(sources={"bump.cpp": "", "more/bump.cu": KERNEL.format(name="other")}).write(
        tmp_path / "p"
    )
    done = project.build(TORCH_CUDA_ARCH_LIST="9.0")
    assert done.returncode == 0, done.stderr
    assert project.library
    assert targets(project.library, cuobjdump) == {"_C": {"sm_90"}}


def test_without_cuda_sources_torch_builds_alone(tmp_path: Path) -> None:
    project = Light(kernels=()).write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="nonsense")
    assert done.returncode == 0, done.stderr
    assert project.library


def test_a_project_names_its_architectures(tmp_path: Path, cuobjdump: str) -> None:
    project = Light(pyproject='[tool.archbuild]\narchs = ["9.0a"]\n').write(tmp_path / "p")
    done = project.build()
    assert done.returncode == 0, done.stderr
    assert project.library
    assert targets(project.library, cuobjdump) == {"_C": {"sm_90a"}}


def assert_one_sentence(done: subprocess.CompletedProcess[str], words: str) -> None:
    """It failed, and its last line is archbuild's one sentence with these words."""
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: archbuild: "), done.stderr
    assert words in last


def test_a_kernel_for_one_architecture_only_is_a_warning(tmp_path: Path, cuobjdump: str) -> None:
    guarded = (
        "#include <cuda_runtime.h>\n"
        "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900\n"
        "__global__ void hopper(float* x) { *x = 1; }\n"
        'extern "C" void launch_hopper(float* x) { hopper<<<1, 1>>>(x); }\n'
        "#endif\n"
    )
    project = Light(kernels=(), sources={"hopper.cu": guarded}).write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="8.6;9.0")
    assert done.returncode == 0, done.stderr
    assert "hopper.cu holds no kernel for sm_86" in done.stdout + done.stderr
    assert project.library
    assert targets(project.library, cuobjdump) == {"_C": {"sm_86", "sm_90"}}
