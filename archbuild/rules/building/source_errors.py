"""What goes wrong with sources, headers, flags and architectures: texts, codes and cures.

The texts were produced with the tools named as the source, or are quoted in the
public reports named there; ``docs/build-errors.md`` has a section for each.
"""

from __future__ import annotations

from archbuild.rules.building.build_error import BuildError, Rank

_TOOLS = "nvcc 13.0, g++ 12.2"


def _missing(header: str) -> str:
    """What gcc, clang, cl.exe and nvcc's front end say of a header that is not there."""
    return (
        rf"\d: fatal error: '?(?P<header>{header})'?:? (?:file not found|No such file)"
        rf"|Cannot open include file: '(?P<other>{header})'"
        rf"|(?:cannot|could not) open source file \"(?P<third>{header})\""
    )


_ARCHITECTURES = (
    BuildError(
        "A120",
        "architecture that nvcc does not know",
        r"Unsupported gpu architecture '(?P<arch>\w+)'"
        r"|Value '(?P<other>(?:sm|compute)_\w+)' is not defined for option 'gpu-name'",
        "This nvcc cannot build {arch}.",
        "[{toolkits} ][{nearest} ]Ask what it can: nvcc --help",
        "nvcc 13.0, ptxas 12.9; tiny-cuda-nn#239, DeepSpeed#3299, GBGPU#7",
    ),
    BuildError(
        "A121",
        "instruction that needs a suffix",
        r"(?:Instruction|Feature) '(?P<what>[^']+)' (?:not supported on \.target"
        r"|cannot be compiled for architecture) '(?P<target>sm_[1-9]\d{1,2}[af]?)'",
        "{target} does not have {what}.",
        'Give the source architectures of its own[: Source("{source}", archs="{archs}")].',
        "nvcc 13.0; cutlass#3174, SageAttention#291, FastVideo#790, lmdeploy#3806, ds4#672",
    ),
    BuildError(
        "A122",
        "instruction that needs a newer architecture",
        r"'(?P<what>[^']+)' requires \.target (?P<least>sm_[1-9]\d{1,2}[af]?) or higher",
        "{what} needs {least} or newer, and the source is built for older architectures too.",
        'Give the source architectures of its own, Source("{source}", archs="{dotted}+"), or put '
        "the code inside #if __CUDA_ARCH__ >= {number}.",
        "nvcc 13.0; triton#583",
    ),
    BuildError(
        "A123",
        "virtual and real architecture that don't go together",
        r"Incompatible code generation requested: arch='(?P<arch>\w+)', code='(?P<code_>\w+)'",
        "PTX of {arch} cannot be assembled for {code_}.",
        "Code for an architecture with the suffix a is for that one alone: ask for both in full, "
        'as in archs="9.0a".',
        "nvcc 13.0",
    ),
    BuildError(
        "A124",
        "too much shared memory",
        r"'(?P<kernel>\w+)' uses too much shared data \((?P<used>\w+) bytes, (?P<most>\w+) max\)",
        "The kernel {kernel} asks for {used} bytes of static shared memory; {most} is the most.",
        "Take dynamic shared memory, with cudaFuncSetAttribute, or a smaller tile on this "
        "architecture.",
        "nvcc 13.0",
    ),
    BuildError(
        "A125",
        "plain and family-specific code in one compile",
        r"The same GPU code \(`(?P<arch>\w+)`\) generated for non family-specific and family",
        "nvcc takes a plain architecture and its family, {arch}, in two compiles only.",
        "Take the plain one out of the list: the family's code runs on the same GPUs.",
        "nvcc 13.0",
    ),
)

_HEADERS = (
    BuildError(
        "A130",
        "CUDA's C++ core libraries are missing",
        _missing(r"(?:nv|cuda|cub|thrust)/[\w/.]+"),
        "{header} is missing: this toolkit is without its C++ core libraries, cccl.",
        'pip install "cuda-toolkit[cccl]" of the same version as nvcc; archbuild[cu130] brings it.',
        "g++ 12.2 with CUDA 13.0",
    ),
    BuildError(
        "A131",
        "headers of CUDA are missing",
        _missing(
            r"cuda(?:_(?:runtime(?:_api)?|fp16|bf16|fp8|fp6|fp4|profiler_api|pipeline))?\.h"
            r"|(?:crt|cooperative_groups|nvtx3)/[\w/.]+|(?:cooperative_groups|nvrtc|nccl|nvml)\.h"
            r"|(?:cublas|cusparse|cusolver|cufft|curand|cudnn|nvToolsExt)\w*\.h"
            r"|device_launch_parameters\.h"
        ),
        "{header} of CUDA is missing where the compiler looks.",
        "Name the toolkit, CUDA_HOME, or install the package that has the header: a library such "
        "as cuBLAS, cuDNN or NCCL has one of its own.",
        "g++ 12.2; pytorch#144690",
    ),
    BuildError(
        "A132",
        "headers of Python are missing",
        _missing(r"Python\.h|pyconfig\.h"),
        "{header} is missing: this Python is without its headers.",
        "Install them, such as: apt-get install python3-dev",
        "g++ 12.2",
    ),
    BuildError(
        "A133",
        "headers of torch are missing",
        _missing(r"(?:torch|ATen|c10|caffe2)/[\w/.]+"),
        "{header} of torch is missing where the compiler looks.",
        "This torch may be older or newer than the source was written for, or the extension says "
        "torch=False.",
        "g++ 12.2",
    ),
    BuildError(
        "A134",
        "a header is missing",
        _missing(r"[^\s':\"]+"),
        "The header {header} was not found.",
        "Name its folder in include_dirs of the extension; if it is of a git submodule: "
        "git submodule update --init --recursive; if this is an unpacked sdist: name it in "
        "MANIFEST.in, or in depends= of the extension.",
        _TOOLS,
        Rank.SYMPTOM,
    ),
    BuildError(
        "A135",
        "torch needs a newer C++",
        r"C\+\+ ?(?P<standard>\d\d) or later compatible compiler is required to use (?:AT|Py)"
        r"|You need C\+\+ ?(?P<other>\d\d) to compile PyTorch",
        "The headers of this torch need C++{standard}.",
        "Take -std out of extra_compile_args, for cxx and for nvcc: torch's own flags have it.",
        "torch 2.14; pytorch3d#1657, tiny-cuda-nn#316, pytorch#103371",
    ),
    BuildError(
        "A136",
        "a source is missing",
        r"(?:cc1plus|cc1|g\+\+|gcc|clang): (?:fatal )?error: (?P<file>[^\s:]+): No such file"
        r"|ninja: error: '(?P<other>[^']+)', needed by '[^']+', missing and no known rule"
        r"|c1xx: fatal error C1083: Cannot open source file: '(?P<third>[^']+)'",
        "The source {file} does not exist.",
        "Correct its path among the sources; in a source distribution, MANIFEST.in has to name it.",
        f"{_TOOLS}, ninja 1.13",
        Rank.SYMPTOM,
    ),
    BuildError(
        "A137",
        "no torch where the build runs",
        r"No module named '?torch'?(?![\w.])",
        "There is no torch in the environment that the build runs in.",
        "pip builds in an environment of its own: list torch in [build-system] requires, or "
        "pip install --no-build-isolation.",
        "GPTQModel#1528, flash-attention#309, diff-gaussian-rasterization#92",
    ),
)

_OPTIONS = (
    BuildError(
        "A140",
        "option that nvcc does not know",
        r"nvcc fatal\s*: Unknown option '(?P<option>[^']+)'",
        "nvcc does not know the option {option}.",
        "If it is for the host compiler, write -Xcompiler={option} among the nvcc flags.",
        "nvcc 13.0; taco#301, darknet#3314",
    ),
    BuildError(
        "A141",
        "a word that nvcc takes for a file",
        r"Don't know what to do with '(?P<word>[^']*)'"
        r"|A single input file is required for a non-link phase",
        "nvcc takes a word of its command line for a file[: {word}].",
        "Look for a path with a blank that stands without quotes, a flag in cl.exe's style (/O2), "
        "or a source whose ending is not .cu.",
        "nvcc 13.0; CPP-Fluid-Particles#6, instant-ngp#761, course#27",
    ),
    BuildError(
        "A142",
        "options file that nvcc cannot read",
        r"Could not open options file '(?P<file>[^']+)'|nvcc fatal\s*: Stray '\"' character",
        "nvcc cannot read an options file[, {file}], or a quote in one or in a flag never ends.",
        "Look for a quotation mark in the name of a folder, which nvcc doesn't take, and at "
        "--options-file, NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS.",
        "nvcc 13.0",
    ),
    BuildError(
        "A143",
        "lambda with __device__",
        r"annotation on (?:a )?lambda requires --extended-lambda",
        "A lambda is marked __device__, which nvcc takes with a flag only.",
        'Add "--extended-lambda" to the nvcc flags of the extension.',
        "nvcc 13.0",
    ),
    BuildError(
        "A144",
        "constexpr function of the host in device code",
        r"calling a constexpr __host__ function[^\n]*from a[^\n]*is not allowed",
        "Device code calls a constexpr function that is not marked __device__, as std::max.",
        'Add "--expt-relaxed-constexpr" to the nvcc flags of the extension, or use cuda::std.',
        "nvcc 13.0; libcudacxx#202, cudf-spark-jni#4393",
    ),
)

_CODE = (
    BuildError(
        "A150",
        "static assertion",
        r"static assertion failed(?:(?: with|:) *\"?(?P<text>[^\"\n]+))?"
        r"|error C2338: (?P<other>.+)",
        "A static assertion of the code or of a library does not hold[: {text}].",
        "The lines below it say from where it was instantiated: whoever wrote that check refuses "
        "these types or this architecture.",
        "nvcc 13.0, g++ 12.2",
    ),
    BuildError(
        "A151",
        "device function in another source",
        r"Unresolved extern function '(?P<function>\w+)'",
        "Device code calls {function}, which stands in another source or nowhere.",
        'Define it in a header, or build relocatable code: "-rdc=true" among the nvcc flags and '
        "dlink=True.",
        "nvcc 13.0; Quicksilver#42, axom#795, instant-ngp#544",
    ),
    BuildError(
        "A152",
        "operators of __half that torch turns off",
        r"no operator \"[^\"]+\" matches these operands\s+operand types are: "
        r"(?:const )?__(?:half|nv_bfloat16)2?\b"
        r"|no suitable conversion function from \"(?:const )?__(?:half|nv_bfloat16)2?\"",
        "The code uses operators or conversions of __half, which torch's flags turn off.",
        'Add "-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__", '
        '"-U__CUDA_NO_HALF2_OPERATORS__" and "-U__CUDA_NO_BFLOAT16_CONVERSIONS__" to the nvcc '
        "flags.",
        "nvcc 13.0",
    ),
)

#: In the order of their codes.
SOURCE_ERRORS = (*_ARCHITECTURES, *_HEADERS, *_OPTIONS, *_CODE)
