"""The flags of one extension: every defect of torch's own module has its test here."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.build.extension_plan import ExtensionPlan, is_cuda_source, plan_extension
from archbuild.errors import ArchbuildError, UnsupportedTargetError, UsageError
from archbuild.model.machine import Machine
from tests.machines import choose, machine, names, torch_build

#: What torch's CUDAExtension(dlink=True) passes to the device link.
_DLINK = ["-dlink", "-L/lib", "-ldev", "-dlto"]


def plan(
    args: object = (),
    archs: str | None = "8.6;12.0+PTX",
    *,
    subject: Machine | None = None,
    host: str | None = None,
) -> ExtensionPlan:
    subject = subject or machine("13.0")
    return plan_extension("axpy", args, choose(subject, archs), subject, host=host)  # type: ignore[arg-type]


def gencode(*pairs: str) -> tuple[str, ...]:
    """``gencode("86:sm_86")`` is the flag in the one form that caches like."""
    split = (pair.split(":") for pair in pairs)
    return tuple(f"-gencode=arch=compute_{virtual},code={code}" for virtual, code in split)


_ASKED = gencode("86:sm_86", "120:sm_120", "120:compute_120")


# --- the defects, by their numbers in torch's module -----------------------------------------


def test_defect_1_no_gpu_and_no_list() -> None:
    subject = machine("13.0", torch=torch_build(archs="sm_75 sm_120"))
    made = plan(archs=None, subject=subject)
    assert made.args["nvcc"] == gencode("75:sm_75", "120:sm_120", "120:compute_120")
    assert plan(archs=None).args["nvcc"]


@pytest.mark.parametrize(
    "flags",
    [
        ["-march=native"],
        ["-Xcompiler=-march=native"],
        ["-Xcompiler", "-march=native"],
        ["-I/home/me/search/include"],
        ["-I", "/src/archbuild/include"],
        ["-DUSE_arch=1", "-Xptxas", "-arch=sm_90"],
    ],
    ids=" ".join,
)
def test_defect_2_the_letters_arch_in_another_flag(flags: list[str]) -> None:
    for args in (flags, {"nvcc": flags}, {"cxx": ["-O3"], "nvcc": flags}):
        assert plan(args).args["nvcc"] == (*flags, *_ASKED)


@pytest.mark.parametrize("gpus", [("8.6", "12.0"), ("12.0", "8.6"), ("12.0", "9.0", "8.6")])
def test_defect_3_ptx_of_the_numerically_highest(gpus: tuple[str, ...]) -> None:
    made = plan(archs=None, subject=machine("13.0", *gpus))
    virtual = [flag for flag in made.args["nvcc"] if ",code=compute_" in flag]
    assert virtual == list(gencode("120:compute_120"))


def test_defect_3_a_gpu_12_1_is_no_12_0() -> None:
    made = plan(archs=None, subject=machine("13.0", "12.1", torch=torch_build(archs="sm_120")))
    assert names(made.object_targets) == ["sm_121", "compute_121"]


@pytest.mark.parametrize(
    ("archs", "expected"),
    [
        ("8.8", "sm_88"),
        ("12.0f", "sm_120f"),
        ("8.0,9.0;", "sm_80 sm_90"),
        ("sm_90", "sm_90"),
        ("90", "sm_90"),
        ("Ampere+PTX", "sm_80 sm_86 compute_86"),
    ],
)
def test_defect_4_what_torch_refuses_and_nvcc_builds(archs: str, expected: str) -> None:
    assert names(plan(archs=archs).object_targets) == expected.split()


def test_defect_4_nvcc_is_asked() -> None:
    with pytest.raises(UnsupportedTargetError, match=r"CUDA 12\.9 or older"):
        plan(archs="6.1")


@pytest.mark.parametrize("flags", [["-dc"], ["-dc", "-ccbin", "g++-12"]])
def test_defect_5_nvcc_and_the_link_get_one_host_compiler(flags: list[str]) -> None:
    made = plan({"nvcc": flags, "nvcc_dlink": ["-dlink"]}, host="g++-13")
    own = "-ccbin" in flags
    assert made.args["nvcc"].count("-ccbin") == 1
    assert ("g++-13" in made.args["nvcc"]) is not own
    assert made.args["nvcc_dlink"].count("-ccbin") == 1


@pytest.mark.parametrize(
    "own",
    [
        ["-gencode", "arch=compute_90,code=sm_90"],
        ["-gencode=arch=compute_90,code=sm_90"],
        ["-arch=compute_90", "-code=sm_90"],
    ],
    ids=" ".join,
)
def test_defect_7_own_gencodes_reach_the_device_link(own: list[str]) -> None:
    made = plan({"nvcc": ["-dc", *own], "nvcc_dlink": list(_DLINK)})
    assert made.args["nvcc"] == ("-dc", *gencode("90:sm_90"))
    assert made.args["nvcc_dlink"] == ("-dlink", "-L/lib", "-ldev", *gencode("90:sm_90"))
    assert made.notes == ("axpy: its own -gencode or -arch flags win.",)


def test_defect_7_the_link_gets_no_ptx_and_no_dlto() -> None:
    made = plan({"nvcc": ["-dc"], "nvcc_dlink": list(_DLINK)})
    assert made.args["nvcc"] == ("-dc", *_ASKED)
    assert made.args["nvcc_dlink"] == ("-dlink", "-L/lib", "-ldev", *_ASKED[:2])
    assert names(made.object_targets) == ["sm_86", "sm_120", "compute_120"]
    assert names(made.library_targets) == ["sm_86", "sm_120"]
    assert "leaves no PTX" in made.notes[0]


def test_defect_11_ptx_of_a_lower_one() -> None:
    made = plan(archs="8.0+PTX;9.0")
    assert made.args["nvcc"] == gencode("80:sm_80", "90:sm_90", "80:compute_80")


# --- link-time optimisation ----------------------------------------------------------------


@pytest.mark.parametrize("own", [[], ["-gencode=arch=compute_90,code=lto_90"]])
def test_dlto_stays_where_lto_is_compiled(own: list[str]) -> None:
    flags = own or ["-dlto"]
    made = plan({"nvcc": ["-dc", *flags], "nvcc_dlink": list(_DLINK)}, "9.0")
    assert made.args["nvcc"] == ("-dc", *gencode("90:lto_90"))
    assert made.args["nvcc_dlink"] == ("-dlink", "-L/lib", "-ldev", "-dlto", *gencode("90:sm_90"))
    assert names(made.object_targets) == ["lto_90"]
    assert names(made.library_targets) == ["sm_90"]


def test_dlto_is_spelled_out_for_nvcc() -> None:
    """nvcc refuses -dlto beside -gencode, and code=lto_90 without -rdc."""
    made = plan(["-dlto"], "8.6;9.0a+PTX")
    assert made.args["nvcc"] == (
        "-rdc=true",
        *gencode("86:lto_86", "90a:lto_90a", "90a:compute_90a"),
    )
    assert names(made.library_targets) == ["sm_86", "sm_90a"]
    assert made.relocatable


def test_sass_and_lto_of_one_number_make_one_image() -> None:
    made = plan(["-dc", "-gencode=arch=compute_90,code=[lto_90,sm_90]"])
    assert names(made.object_targets) == ["sm_90", "lto_90"]
    assert names(made.library_targets) == ["sm_90"]


# --- the rest -------------------------------------------------------------------------------


def test_relocatable_code_wants_a_device_link() -> None:
    nvcc = ["-rdc=true"]
    (note,) = plan({"nvcc": nvcc}).notes
    assert "without a device link" in note
    assert "dlink=True" in note
    (note,) = plan({"nvcc": nvcc, "nvcc_dlink": _DLINK}).notes
    assert "leaves no PTX" in note


def test_a_device_link_of_ptx_alone_is_refused() -> None:
    """nvcc would link nothing, and say nothing."""
    with pytest.raises(UnsupportedTargetError) as caught:
        plan(["-rdc=true"], "compute_90")
    assert "axpy asks for compute_90 alone" in str(caught.value)
    assert "9.0+PTX" in str(caught.value)


def test_a_device_link_without_device_code_to_link_has_a_target_all_the_same() -> None:
    made = plan({"nvcc": [], "nvcc_dlink": ["-dlink"]}, "compute_90")
    assert made.args["nvcc_dlink"] == ("-dlink", *gencode("90:sm_90"))
    assert names(made.library_targets) == ["compute_90"]


@pytest.mark.parametrize(
    ("flags", "relocatable"),
    [
        (["-dc"], True),
        (["-rdc=true"], True),
        (["-rdc", "true"], True),
        (["-rdc=true", "-rdc=false"], False),
        (["-Xcompiler", "-dc"], False),
        ([], False),
    ],
)
def test_whether_a_device_link_is_needed(flags: list[str], *, relocatable: bool) -> None:
    made = plan(flags)
    assert made.relocatable is relocatable
    assert ("compute_120" in names(made.library_targets)) is not relocatable


def test_a_family_keeps_its_suffix_in_the_link() -> None:
    made = plan(
        {"nvcc": ["-dc", "-gencode=arch=compute_100f,code=sm_103"], "nvcc_dlink": ["-dlink"]}
    )
    assert made.args["nvcc_dlink"] == ("-dlink", *gencode("103f:sm_103f"))
    assert names(made.library_targets) == ["sm_103f"]


@pytest.mark.parametrize(
    ("args", "cxx", "nvcc"),
    [
        ([], (), ()),
        (["-O3"], ("-O3",), ("-O3",)),
        ({"nvcc": ["-O3"]}, (), ("-O3",)),
        ({"cxx": ["-g"]}, ("-g",), ()),
        ({"cxx": ["-g"], "nvcc": ["-O3", "--threads", "4"]}, ("-g",), ("-O3", "--threads", "4")),
    ],
)
def test_args_as_a_list_and_by_language(
    args: object, cxx: tuple[str, ...], nvcc: tuple[str, ...]
) -> None:
    made = plan(args)
    assert (made.args["cxx"], made.args["nvcc"]) == (cxx, (*nvcc, *_ASKED))
    assert set(made.args) == {"cxx", "nvcc"}


def test_other_languages_are_left_alone() -> None:
    assert plan({"sycl": ["-arch"], "nvcc": []}).args["sycl"] == ("-arch",)


def test_what_the_variables_add_is_expected_in_the_files() -> None:
    made = plan(archs="9.0", subject=machine(NVCC_APPEND_FLAGS="-arch=sm_80"))
    assert made.args["nvcc"] == gencode("90:sm_90")
    assert names(made.object_targets) == ["sm_80", "sm_90", "compute_80"]


def test_bad_flags_name_the_extension() -> None:
    with pytest.raises(UsageError, match="the nvcc flags of axpy"):
        plan(["-gencode"])
    with pytest.raises(ArchbuildError, match="the own flags of axpy"):
        plan(["-arch=sm_61"])


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a.cu", True), ("x/a.cuh", True), ("a.cpp", False), ("a.cu.cpp", False), ("cu", False)],
)
def test_what_nvcc_compiles(path: str, *, expected: bool) -> None:
    assert is_cuda_source(path) is expected


# --- with nvcc ---------------------------------------------------------------------------------

_A = "__device__ int twice(int);\n__global__ void k(int *x) { *x = twice(*x); }\n"
_B = "__device__ int twice(int x) { return 2 * x; }\n"


@pytest.mark.toolkit
@pytest.mark.parametrize(
    "own",
    [["-dc"], ["-rdc=true", "-gencode=arch=compute_100f,code=sm_103"], ["-dc", "-arch=sm_90a"]],
    ids=" ".join,
)
def test_the_targets_of_a_plan_are_what_nvcc_leaves(
    own: list[str], nvcc: Path, packaged_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    made = plan({"nvcc": own, "nvcc_dlink": list(_DLINK[:1] + _DLINK[3:])}, "8.6;9.0+PTX")
    cuobjdump = str(packaged_tool("cuobjdump"))

    def call(*words: str) -> None:
        subprocess.run([str(nvcc), *words], cwd=tmp_path, check=True, timeout=120)

    for name, text in (("a", _A), ("b", _B)):
        (tmp_path / f"{name}.cu").write_text(text)
        call("-c", f"{name}.cu", "-o", f"{name}.o", *made.args["nvcc"])
        found = read_with_cuobjdump(tmp_path / f"{name}.o", cuobjdump, everything=True)
        assert {i.arch for i in found.images} == set(made.object_targets)
    call("a.o", "b.o", "-o", "link.o", *made.args["nvcc_dlink"])
    found = read_with_cuobjdump(tmp_path / "link.o", cuobjdump)
    assert found.targets == set(made.library_targets)


@pytest.mark.toolkit
def test_dlto_compiles_to_lto(
    nvcc: Path, packaged_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """The link needs libnvJitLink, which the packages of nvcc do not bring."""
    made = plan(["-dlto"], "8.6;9.0+PTX")
    (tmp_path / "a.cu").write_text(_A)
    words = ["-c", "a.cu", "-o", "a.o", *made.args["nvcc"]]
    subprocess.run([str(nvcc), *words], cwd=tmp_path, check=True, timeout=120)
    cuobjdump = str(packaged_tool("cuobjdump"))
    found = read_with_cuobjdump(tmp_path / "a.o", cuobjdump, everything=True)
    assert {i.arch for i in found.images} == set(made.object_targets)
