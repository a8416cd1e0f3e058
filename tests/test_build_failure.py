"""Why a build failed: the tools' own texts, and those that people quoted in public."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import sass
from archbuild.rules.building.build_error import Rank
from archbuild.rules.building.build_failure import BUILD_ERRORS, Explanation, explain_failure, fill
from archbuild.rules.building.tool_errors import TOOL_ERRORS

# Each text as a tool printed it, paths shortened: (code, text, words of the sentence and cure).
CASES: list[tuple[str, str, Sequence[str]]] = [
    # nvcc 13.0; cudf#8018, pytorch#28886
    ("A101", "nvcc error   : 'cicc' died due to signal 9 (Kill signal)", ["memory", "MAX_JOBS"]),
    ("A101", "virtual memory exhausted: Cannot allocate memory", ["memory"]),  # g++ 12.2
    (
        "A101",  # g++ 12.2
        "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.",
        ["memory"],
    ),
    ("A101", "Killed", ["memory"]),  # sh
    ("A101", "bash: line 1: 30753 Killed                  cicc --c++17", ["memory"]),
    ("A101", "cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes", []),
    ("A101", "torch/c10/util/StringUtil.h(68): catastrophic error: out of memory", []),  # vllm#2175
    ("A101", "ptxas fatal   : Memory allocation failure", []),  # onnxruntime#25377
    ("A101", "g++: internal compiler error: Killed (program cc1plus)", ["memory"]),
    (
        "A101",
        "x.fatbin.c(2090276): fatal error C1060: compiler is out of heap space",
        [],
    ),  # cudpp#107
    ("A101", "LLVM ERROR: out of memory", []),
    (
        "A102",  # nvcc 13.0 on a tmpfs of 64 kB
        "<built-in>: fatal error: when writing output to small/k.cpp4.ii: No space left on device\n"
        "compilation terminated.\nnvcc fatal   : Failed to preprocess host compiler properties.",
        ["no room left", "TMPDIR"],
    ),
    (
        "A102",  # gcc 12.2 on a tmpfs of 1.2 MB
        "<built-in>: fatal error: when writing output to small/k.cpp4.ii: Invalid argument\n",
        ["no room left"],
    ),
    ("A103", "cc1plus: fatal error: k.cu: Too many open files", ["ulimit -n"]),
    ("A103", "ninja: FATAL: pipe: Too many open files", ["MAX_JOBS"]),  # ninja#233
    ("A104", "ninja: fatal: posix_spawn: Resource temporarily unavailable", ["process"]),
    ("A104", "sh: 0: Cannot fork", ["pids"]),
    ("A105", "ninja: fatal: posix_spawn: Argument list too long", ["shorter path"]),  # fletch#474
    ("A105", "nvcc fatal : CreateProcess: The command line is too long.", []),
    (
        "A106",  # g++ 12.2, as another user
        "Assembler messages:\nFatal error: can't create /usr/x.o: Permission denied",
        ["may not write"],
    ),
    (
        "A110",  # nvcc 13.0, with a g++ that calls itself 16
        "/cuda/include/crt/host_config.h:137:2: error: #error -- unsupported GNU version! gcc "
        "versions later than 15 are not supported! The nvcc flag '-allow-unsupported-compiler' can "
        "be used to override this version check",
        ["too new for this nvcc", "CXX=g++-15"],
    ),
    ("A110", "fatal error: unsupported Microsoft Visual Studio version! Only", ["too new"]),
    (
        "A111",
        "gcc: No such file or directory\n"
        "nvcc fatal   : Failed to preprocess host compiler properties.\n",
        ["no host compiler", "apt-get"],
    ),
    ("A111", "/nonexistent/g++: No such file or directory\nnvcc fatal   : Failed to", []),
    ("A111", "sh: 1: gcc: not found\nnvcc fatal : Failed to preprocess host", ["no host compiler"]),
    ("A111", "gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory", []),
    (
        "A112",
        "nvcc fatal   : Failed to preprocess host compiler properties.",
        ["cannot use its host"],
    ),
    ("A113", "nvcc fatal   : Cannot find compiler 'cl.exe' in PATH", ["no cl.exe"]),
    (
        "A114",  # cuda-samples#378, whose lines are wrapped, nccl#1700
        "/usr/include/x86_64-linux-gnu/bits/mathcalls.h(79): error: exception\n"
        '  specification is incompatible with that of previous function "cospi"\n'
        "  (declared at line 2601 of /usr/local/cuda/include/crt/math_functions.h)\n",
        ["glibc", "cospi", "CUDA 13.0 or newer", "glibc 2.40 or older"],
    ),
    (
        "A114",  # llama.cpp#19100
        "/usr/include/bits/mathcalls.h(206): error: exception specification is incompatible with "
        'that of previous function "rsqrtf" (declared at line 653 of math_functions.h)',
        ["rsqrt", "CUDA 13.2 or newer", "glibc 2.41 or older"],
    ),
    (
        "A115",  # tiny-cuda-nn#427
        "/usr/include/c++/11/bits/std_function.h:435:145: error: parameter packs not expanded "
        "with \u2018...\u2019:\n  435 |         function(_Functor&& __f)\n",
        ["gcc 11", "CXX=g++-10"],
    ),
    (
        "A116",  # ptxas 12.9 on PTX of nvcc 13.0
        "ptxas k.ptx, line 9; fatal   : Unsupported .version 9.0; current version is '8.8'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors",
        ["9.0", "8.8", "CUDA 12.9"],
    ),
    ("A116", "x.ptx, line 5; fatal : Unsupported .version 8.7; current version is '8.4'", ["12.4"]),
    (
        "A117",
        "g++: error: unrecognized command-line option \u2018-std=c++99\u2019; did you mean",
        ["c++99"],
    ),
    ("A117", "nvcc fatal   : Value 'c++26' is not defined for option 'std'", ["c++26"]),
    ("A118", "nvcc error   : 'cl.exe' died with status 0xC0000005 (ACCESS_VIOLATION)", ["crashed"]),
    (
        "A118",
        "nvcc error   : 'ptxas' died due to signal 11 (Invalid memory reference)",
        ["crashed"],
    ),
    ("A118", "x.cpp:3:1: internal compiler error: Segmentation fault", ["crashed"]),
    (
        "A120",  # nvcc 13.0; tiny-cuda-nn#239, DeepSpeed#3299
        "nvcc fatal   : Unsupported gpu architecture 'compute_89'",
        ["cannot build compute_89", "8.9 needs CUDA 11.8 or newer", "sm_86 runs on 8.9"],
    ),
    ("A120", "nvcc fatal   : Unsupported gpu architecture 'compute_35'", ["CUDA 11.8 or older"]),
    ("A120", "nvcc fatal   : Unsupported gpu architecture 'compute_999'", ["No CUDA release"]),
    ("A120", "nvcc fatal   : Unsupported gpu architecture 'compute_9'", ["cannot build compute_9"]),
    ("A120", "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'", ["CUDA 12.8"]),
    (
        "A121",  # nvcc 13.0; cutlass#3174, FastVideo#790
        "ptxas /tmp/t_6_w.ptx, line 23; error   : Instruction 'wgmma.fence' not supported on "
        ".target 'sm_90'\nptxas fatal   : Ptx assembly aborted due to errors",
        ["sm_90 does not have wgmma.fence", 'Source("ops.cu", archs="9.0a")'],
    ),
    ("A121", "error   : Instruction 'wgmma.fence' not supported on .target 'sm_120'", ["9.0a"]),
    ("A121", "error   : Instruction 'tcgen05.alloc' not supported on .target 'sm_100'", ["10.0f"]),
    ("A121", "error   : Instruction 'tcgen05.alloc' not supported on .target 'sm_90a'", ["10.0f"]),
    ("A121", "error   : Instruction 'setmaxnreg.inc' not supported on .target 'sm_90'", ["9.0a"]),
    (
        "A121",  # lmdeploy#3806
        "error   : Instruction 'tensormap.replace' not supported on .target 'sm_120'",
        ["12.0a"],
    ),
    (
        "A121",  # nvcc 13.0; ds4#672
        "error   : Instruction 'mma with block scale' not supported on .target 'sm_120'",
        ['archs="12.0f"'],
    ),
    ("A121", "error   : Feature '.kind::mxf4' not supported on .target 'sm_120'", ["12.0f"]),
    ("A121", "error   : Instruction 'new.thing' not supported on .target 'sm_100a'", ["its own."]),
    (
        "A122",  # nvcc 13.0
        "ptxas f16.ptx, line 27; error   : Feature 'redux' requires .target sm_80 or higher",
        ["redux needs sm_80", 'archs="8.0+"', "__CUDA_ARCH__ >= 800"],
    ),
    (
        "A123",  # nvcc 13.0
        "nvcc fatal   : Incompatible code generation requested: arch='compute_90a', code='sm_90'",
        ["compute_90a", "sm_90."],
    ),
    (
        "A124",  # nvcc 13.0
        "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x13880 bytes, "
        "0xc000 max)",
        ["_Z1kPf", "0xc000"],
    ),
    (
        "A125",  # nvcc 13.0
        "nvcc fatal   : The same GPU code (`sm_100f`) generated for non family-specific and "
        "family-specific GPU arch",
        ["sm_100f", "plain one"],
    ),
    (
        "A130",  # g++ 12.2 on CUDA 13.0 without cccl
        "In file included from fp.cpp:1:\n"
        "cuda_fp16.h:4492:10: fatal error: nv/target: No such file or directory\n"
        " 4492 | #include <nv/target>\n",
        ["nv/target is missing", "cuda-toolkit[cccl]"],
    ),
    ("A130", "x.cu:1:10: fatal error: cub/cub.cuh: No such file or directory", ["cub/cub.cuh"]),
    ("A131", "a.cpp:1:10: fatal error: cuda_runtime.h: No such file or directory", ["CUDA_HOME"]),
    ("A131", "a.cpp:1:10: fatal error: 'cublas_v2.h' file not found", ["cublas_v2.h", "its own"]),
    ("A132", "py2.cpp:1:10: fatal error: Python.h: No such file or directory", ["python3-dev"]),
    ("A133", "a.cu:1:10: fatal error: torch/headeronly/x.h: No such file or directory", ["torch/"]),
    (
        "A134",  # g++ 12.2
        "ord.cu:1:10: fatal error: missing/one.cuh: No such file or directory\n"
        "    1 | #include <missing/one.cuh>\n",
        ["missing/one.cuh was not found", "include_dirs"],
    ),
    ("A134", "h.cu:1:10: fatal error: cuda_helpers.h: No such file or directory", ["include_dirs"]),
    ("A134", "a.cpp:3:10: fatal error: 'cutlass/cutlass.h' file not found", ["cutlass/cutlass.h"]),
    ("A134", "x.cu(1): fatal error C1083: Cannot open include file: 'a.h': No such file", ["a.h"]),
    (
        "A135",  # torch 2.14 with -std=c++17
        "torch/include/ATen/ATen.h:5:2: error: #error C++20 or later compatible compiler is "
        "required to use ATen.\n",
        ["C++20", "-std"],
    ),
    ("A135", "error: #error You need C++17 to compile PyTorch", ["C++17"]),  # pytorch3d#1657
    ("A135", "fatal error C1189: #error: You need C++20 to compile PyTorch", ["C++20"]),
    ("A136", "cc1plus: fatal error: nothere.cu: No such file or directory", ["nothere.cu"]),
    (
        "A136",  # ninja 1.13
        "ninja: error: 'nope.cu', needed by 'a', missing and no known rule to make it",
        ["nope.cu", "MANIFEST.in"],
    ),
    ("A137", "ModuleNotFoundError: No module named 'torch'", ["--no-build-isolation"]),
    ("A140", "nvcc fatal   : Unknown option '-fopenmp'", ["-Xcompiler=-fopenmp"]),  # taco#301
    ("A141", "nvcc fatal   : Don't know what to do with 'files/x'", ["for a file: files/x"]),
    (
        "A141",  # CPP-Fluid-Particles#6, course#27
        "nvcc fatal   : A single input file is required for a non-link phase when an outputfile is "
        "specified",
        ["line for a file.", "without quotes"],
    ),
    ("A142", "nvcc fatal   : Could not open options file 'nope.rsp'", ["file, nope.rsp,"]),
    ("A142", "nvcc fatal   : Stray '\"' character", ["never ends"]),
    (
        "A143",  # nvcc 13.0
        "at.cu(3): error: __host__ or __device__ annotation on lambda requires --extended-lambda "
        "nvcc flag",
        ["--extended-lambda"],
    ),
    (
        "A144",  # nvcc 13.0; libcudacxx#202
        'hd.cu(2): error: calling a constexpr __host__ function("max") from a __global__ '
        "function(\"k\") is not allowed. The experimental flag '--expt-relaxed-constexpr' can be "
        "used to allow this.",
        ["--expt-relaxed-constexpr"],
    ),
    ("A150", 's.cu(1): error: static assertion failed with "only 4 bytes"', ["only 4 bytes"]),
    ("A150", "a.cpp:1:1: error: static assertion failed: too wide", ["hold: too wide."]),
    ("A150", "a.cpp:1:1: error: static assertion failed", ["does not hold."]),
    ("A151", "ptxas fatal   : Unresolved extern function '_Z3exti'", ["_Z3exti", "-rdc=true"]),
    (
        "A152",  # nvcc 13.0 with torch's flags
        'hf.cu(2): error: no operator "+" matches these operands\n'
        "            operand types are: __half + __half\n",
        ["-U__CUDA_NO_HALF_OPERATORS__"],
    ),
    (
        "A152",
        'hf.cu(2): error: no suitable conversion function from "__half" to "float" exists',
        ["-U__CUDA_NO_HALF_CONVERSIONS__"],
    ),
    ("A160", "/usr/bin/ld: cannot find -lcudart: No such file or directory", ["find cudart."]),
    ("A160", "/usr/bin/ld: cannot find -lcudadevrt: No such file or directory", ["cudadevrt"]),
    ("A160", "LINK : fatal error LNK1181: cannot open file 'cudart.lib'", ["cudart.lib"]),
    ("A161", "/usr/bin/ld: cannot find -lcuda: No such file or directory", ["stubs"]),
    ("A162", "/usr/bin/ld: cannot find -lc10_cuda: No such file or directory", ["c10_cuda"]),
    (
        "A163",  # ld 2.40
        "u.cudafe1.cpp:(.text+0x312): undefined reference to "
        "`__cudaRegisterLinkedBinary_254666f6_4_u_cu__Z1kPi'",
        ["dlink=True"],
    ),
    (
        "A163",  # DeepEP#429
        "ImportError: deep_ep_cpp.so: undefined symbol: __cudaRegisterLinkedBinary_ba346c27_12_x",
        ["dlink=True"],
    ),
    ("A164", "nvlink error   : Undefined reference to '_Z3exti' in 'u.o'", ["_Z3exti"]),
    (
        "A165",  # ld 2.40
        "/usr/bin/ld: pic.o: relocation R_X86_64_32 against symbol `g' can not be used when making "
        "a shared object; recompile with -fPIC",
        ["-fPIC"],
    ),
    ("A166", "ninja: error: build.ninja:5: multiple rules generate a.o", ["a.o", "twice"]),
]


def _explain(text: str, status: int = 1) -> Explanation | None:
    archs = (sass("80"), sass("86"), sass("90"), sass("100f"))
    return explain_failure(text, status, source="ops.cu", archs=archs)


@pytest.mark.parametrize(("code", "text", "words"), CASES)
def test_a_text_is_explained(code: str, text: str, words: Sequence[str]) -> None:
    told = _explain(text)
    assert told is not None
    said = f"{told.sentence} {told.cure}"
    assert told.code == code
    assert [word for word in words if word not in said] == []
    assert not re.search(r"[{}?]", said)
    assert told.sentence.endswith(".")


def test_every_code_has_a_text() -> None:
    assert {code for code, *_ in CASES} == {row.code for row in BUILD_ERRORS}


def test_codes_are_stable_and_stand_once() -> None:
    codes = [row.code for row in BUILD_ERRORS]
    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"A1\d\d", code) for code in codes)
    assert all(row.title and not row.title.endswith(".") and row.source for row in BUILD_ERRORS)


@pytest.mark.parametrize("row", BUILD_ERRORS, ids=[row.code for row in BUILD_ERRORS])
def test_every_name_in_a_template_is_known(row) -> None:
    names = set(re.findall(r"\{(\w+)\}", row.sentence + row.cure))
    more = {"source", "free", "limit", "fixed", "older", "cuda", "toolkits", "nearest", "archs"}
    assert names <= {*re.compile(row.pattern).groupindex, *more, "dotted", "number"}


# --- which of several texts is the cause -----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # The first in the text, of those that go equally deep.
        ("a.cu(1): error: static assertion failed\nnvcc fatal : Unknown option '-x'", "A150"),
        ("nvcc fatal : Unknown option '-x'\na.cu(1): error: static assertion failed", "A140"),
        # A resource goes deeper than what follows from it.
        ("a.cpp:1:1: error: static assertion failed\nx: No space left on device", "A102"),
        # A header is a symptom of a missing source of it.
        (
            "a.cu:1:9: fatal error: a.h: No such file\nb.cu(2): error: static assertion failed",
            "A150",
        ),
    ],
)
def test_the_deepest_cause_wins(text: str, code: str) -> None:
    told = _explain(text)
    assert told is not None
    assert told.code == code


@pytest.mark.parametrize(
    "text",
    [
        "smoke.cu(3): error: expected a ;",
        "",
        # Quoted lines of source are not the compiler's words.
        'a.cpp:3:9: error: expected ";"\n    3 |   throw E("error: out of memory")\n      |      ^',
        'a.cu(3): error: expected a ";"\n  throw E("No space left on device") // Killed  b\n   ^\n',
        'a.cu(3): error: identifier "recompile_with" is undefined',
        "ModuleNotFoundError: No module named 'torch.foo'",
        "ModuleNotFoundError: No module named 'torchvision'",
    ],
)
def test_a_cause_that_nobody_knows(text: str) -> None:
    assert _explain(text) is None


def test_colours_and_line_ends_of_windows_are_read_over() -> None:
    text = "a.cpp:1:10: \x1b[1;31mfatal error: \x1b[mPython.h: No such file or directory\r\n"
    told = _explain(text)
    assert told is not None
    assert told.code == "A132"


@pytest.mark.parametrize(
    ("status", "code"), [(-9, "A101"), (137, "A101"), (-11, "A118"), (139, "A118"), (2, None)]
)
def test_a_signal_without_a_word(status: int, code: str | None) -> None:
    told = _explain("", status)
    assert (told.code if told else None) == code


def test_what_did_not_fail_needs_no_explanation() -> None:
    assert _explain("warning: Killed  x; No space left on device", 0) is None


def test_memory_that_was_free_is_told() -> None:
    told = explain_failure("Killed", 137, memory_free=3_100_000_000)
    assert told is not None
    assert "MAX_JOBS=1; 3.1 GB are free now;" in told.cure
    plain = explain_failure("Killed", 137)
    assert plain is not None
    assert "free now" not in plain.cure


def test_families_are_named_to_an_nvcc_that_has_them() -> None:
    text = "Instruction 'tcgen05.alloc' not supported on .target 'sm_100'"
    for archs, wanted in (((sass("100a"),), "10.0a"), ((sass("100f"),), "10.0f"), ((), "10.0f")):
        told = explain_failure(text, 255, archs=archs)
        assert told is not None
        assert f'archs="{wanted}"' in told.cure


def test_what_there_is_without_a_source_or_architectures() -> None:
    told = explain_failure("Instruction 'wgmma.x' not supported on .target 'sm_90'", 255)
    assert told is not None
    assert 'Source("x.cu", archs="9.0a")' in told.cure
    arch = explain_failure("Unsupported gpu architecture 'compute_89'", 1)
    assert arch is not None
    assert "nearest" not in arch.cure


@pytest.mark.parametrize(
    ("sentence", "clause"),
    [
        ("The linker does not find x.", "the linker does not find x"),
        ("nvcc finds no cl.exe.", "nvcc finds no cl.exe"),
        ("Python.h is missing.", "Python.h is missing"),
    ],
)
def test_a_sentence_as_a_clause(sentence: str, clause: str) -> None:
    assert Explanation("A199", sentence, "").clause == clause


@given(st.text(), st.integers(-64, 255))
def test_any_output_is_borne(text: str, status: int) -> None:
    told = explain_failure(text, status)
    assert told is None or told.sentence


@given(st.sampled_from(CASES), st.text(alphabet="ab \n'\"{}[]", max_size=30))
def test_a_known_text_among_others(case: tuple[str, str, Sequence[str]], noise: str) -> None:
    told = explain_failure(f"{noise}\n{case[1]}\n{noise}", 1)
    assert told is not None
    assert told.code == case[0]


def test_templates() -> None:
    assert fill("[{a} ]b[cccl] {c}", {"c": "d"}) == "b[cccl] d"
    assert fill("[{a} and {b}]", {"a": "1"}) == ""


def test_ranks_order_causes() -> None:
    assert Rank.RESOURCE < Rank.CAUSE < Rank.SYMPTOM
    assert all(row.rank is Rank.RESOURCE for row in TOOL_ERRORS if row.code < "A110")


# --- the page --------------------------------------------------------------------------------

PAGE = Path(__file__).parents[1] / "docs" / "build-errors.md"


def _sections() -> dict[str, str]:
    text = PAGE.read_text(encoding="utf-8")
    return dict(re.findall(r"^### (A\d+): (.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("row", BUILD_ERRORS, ids=[row.code for row in BUILD_ERRORS])
def test_every_code_has_a_section(row) -> None:
    section = _sections()[row.code]
    assert section.splitlines()[0] == row.title
    texts = re.findall(r"^    (.+)$", section, re.MULTILINE)
    assert texts, "the text to search for comes first"
    told = explain_failure("\n".join(texts), 1)
    assert told is not None
    assert told.code == row.code
    assert f'<a id="{row.code.lower()}"></a>' in PAGE.read_text(encoding="utf-8")
    assert told.page == f"docs/build-errors.md#{row.code.lower()}"


def test_every_section_is_of_a_code() -> None:
    assert set(_sections()) == {row.code for row in BUILD_ERRORS}


# --- the tools here --------------------------------------------------------------------------


def _failing(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode, "the tool was expected to fail"
    return done.stderr + done.stdout


_NO_GXX = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++ here")
_SOURCES = {
    "A134": '#include "not/here.h"\n',
    "A150": 'static_assert(sizeof(int) == 3, "three");\n',
}


@_NO_GXX
@pytest.mark.parametrize("code", ["A134", "A150"])
def test_what_gcc_says_here(code: str, tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(_SOURCES[code])
    told = _explain(_failing(["g++", "-c", "a.cpp"], tmp_path))
    assert told is not None
    assert told.code == code


@_NO_GXX
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-c", "nothere.cpp"], "A136"),
        (["-std=c++99", "a.cpp"], "A117"),
        (["a.cpp", "-lcudart_none"], "A160"),
        (["a.cpp", "-lnot_here"], "A162"),
    ],
)
def test_what_gcc_and_ld_say_of_words(words: list[str], code: str, tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("int main() {}\n")
    told = _explain(_failing(["g++", *words], tmp_path))
    assert told is not None
    assert told.code == code


_KERNEL = "__global__ void k(int* p) { *p = 1; }\n"
_ASM = '__global__ void k(int* p) {{ asm volatile("{}" : "+r"(p[0])); }}\n'
_SHARED = (
    "__global__ void k(float* p) { __shared__ float s[20000]; s[threadIdx.x] = p[0];"
    " __syncthreads(); p[0] = s[5]; }\n"
)


@pytest.mark.toolkit
@pytest.mark.parametrize(
    ("code", "source", "words"),
    [
        ("A120", _KERNEL, ["-gencode=arch=compute_52,code=sm_52"]),
        ("A121", _ASM.format("wgmma.fence.sync.aligned;"), ["-arch=sm_90"]),
        ("A122", _ASM.format("redux.sync.add.s32 %0, %0, 0xffffffff;"), ["-arch=sm_75"]),
        ("A123", _KERNEL, ["-gencode=arch=compute_90a,code=sm_90"]),
        ("A124", _SHARED, ["-arch=sm_75"]),
        (
            "A125",
            _KERNEL,
            [f"-gencode=arch=compute_{n},code=sm_{n}" for n in ("100", "100f")],
        ),
        ("A111", _KERNEL, ["-ccbin", "not-here/g++"]),
        ("A134", '#include "not/here.cuh"\n', []),
        ("A117", _KERNEL, ["-std=c++99"]),
        ("A140", _KERNEL, ["-fopenmp"]),
        ("A141", _KERNEL, ["path with blank"]),
        ("A142", _KERNEL, ["--options-file", "not-here.rsp"]),
        ("A143", "void f() { auto l = [] __device__(int x) { return x; }; }\n", []),
        (
            "A144",
            "#include <algorithm>\n__global__ void k(int* p) { *p = std::max(p[1], 2); }\n",
            [],
        ),
        ("A150", _SOURCES["A150"], []),
        ("A151", "extern __device__ int f(int);\n__global__ void k(int* p) { *p = f(1); }\n", []),
        (
            "A152",
            "#include <cuda_fp16.h>\n__global__ void k(__half* p) { p[0] = p[1] + p[2]; }\n",
            ["-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__"],
        ),
    ],
)
@_NO_GXX
def test_what_nvcc_says_here(
    code: str, source: str, words: list[str], nvcc: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.cu").write_text(source)
    told = _explain(_failing([str(nvcc), "-c", "a.cu", "-o", "a.o", *words], tmp_path))
    assert told is not None
    assert told.code == code


@pytest.mark.toolkit
@_NO_GXX
def test_what_nvcc_says_of_a_newer_gcc(nvcc: Path, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(_KERNEL)
    for name in ("gcc", "g++"):
        wrapper = tmp_path / name
        wrapper.write_text(f'#!/bin/sh\nexec {name} -U__GNUC__ -D__GNUC__=99 "$@"\n')
        wrapper.chmod(0o755)
    told = _explain(_failing([str(nvcc), "-ccbin", str(tmp_path), "-c", "a.cu"], tmp_path))
    assert told is not None
    assert told.code == "A110"
    assert re.search(r"CXX=g\+\+-1\d,", told.cure)


_PTX = ".version {}\n.target sm_{}\n.address_size 64\n.visible .entry k() {{\n{}\nret;\n}}\n"
_WGMMA = "wgmma.fence.sync.aligned;"
_TCGEN = (
    ".reg .b32 r; mov.b32 r, 0;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r], 32;"
)
_REDUX = ".reg .f32 f, g; mov.f32 f, 0f00000000; redux.sync.max.f32 g, f, 0xffffffff;"
_BLOCK = (
    ".reg .b32 r; .reg .f32 a, b, c, d; mov.b32 r, 0; mov.f32 a, 0f00000000;\n"
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32"
    ".ue8m0 {a,b,c,d}, {r,r,r,r}, {r,r}, {a,a,a,a}, {r}, {0,0}, {r}, {0,0};"
)
_SETMAX = "setmaxnreg.inc.sync.aligned.u32 240;"


@pytest.mark.toolkit
@pytest.mark.parametrize(
    ("body", "plain"),
    [
        (_WGMMA, "90"),
        (_WGMMA, "120"),
        (_TCGEN, "100"),
        (_TCGEN, "90a"),
        (_REDUX, "100"),
        (_BLOCK, "120"),
        (_SETMAX, "90"),
        (_SETMAX, "120"),
    ],
)
def test_ptxas_takes_the_architectures_that_the_cure_names(
    body: str, plain: str, packaged_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    ptxas = str(packaged_tool("ptxas"))
    (tmp_path / "a.ptx").write_text(_PTX.format("9.0", plain, body))
    told = _explain(_failing([ptxas, f"-arch=sm_{plain}", "a.ptx"], tmp_path))
    assert told is not None
    named = re.search(r'archs="([\d.]+)([af])"', told.cure)
    assert named is not None
    arch = named[1].replace(".", "") + named[2]
    (tmp_path / "b.ptx").write_text(_PTX.format("9.0", arch, body))
    subprocess.run([ptxas, f"-arch=sm_{arch}", "b.ptx"], cwd=tmp_path, check=True, timeout=60)


@pytest.mark.tools
def test_what_an_older_ptxas_says(other_tool: Callable[[str, str], Path], tmp_path: Path) -> None:
    (tmp_path / "a.ptx").write_text(_PTX.format("9.0", "80", ""))
    ptxas = str(other_tool("ptxas-12.9", "ptxas"))
    told = _explain(_failing([ptxas, "-arch=sm_80", "a.ptx"], tmp_path))
    assert told is not None
    assert told.code == "A116"
    assert "CUDA 12.9" in told.cure
