"""What goes wrong with the machine, the tools and the linker: texts, codes and cures.

The texts were produced with the tools named as the source, or are quoted in the
public reports named there; ``docs/build-errors.md`` has a section for each.
"""

from __future__ import annotations

from archbuild.rules.building.build_error import BuildError, Rank

_TOOLS = "nvcc 13.0, g++ 12.2"

_RESOURCES = (
    BuildError(
        "A101",
        "not enough memory",
        r"died due to signal 9|Killed signal terminated program|^Killed$|\bKilled  +\S"
        r"|[Ee]rror: Killed \(program|virtual memory exhausted|Cannot allocate memory"
        r"|(?:error|ERROR|fatal|cc1plus)\s*: out of memory|std::bad_alloc|compiler is out of heap"
        r"|ptxas (?:fatal|error)\s*: Memory allocation|ptxas fatal: memory allocation",
        "A compiler was stopped because there was not enough memory.",
        "Run fewer compilers at a time, MAX_JOBS=1[; {free} are free now]; give .cu files a "
        "lighter header, as lean_headers does; or add memory or swap.",
        f"{_TOOLS}; cudf#8018, pytorch#28886, vllm#2175, onnxruntime#25377, opensim-core#3303",
        Rank.RESOURCE,
    ),
    BuildError(
        "A102",
        "no space left",
        # gcc 12 calls it an invalid argument.
        r"No space left on device|Disk quota exceeded|when writing output to .*: Invalid argument",
        "There is no room left on a disk that the build writes to, so a file could not be written.",
        "Make room in the build folder and in the folder for temporary files, or set TMPDIR to one "
        "that has some.",
        _TOOLS,
        Rank.RESOURCE,
    ),
    BuildError(
        "A103",
        "too many open files",
        r"Too many open files",
        "The build ran into the limit for open files.",
        "Raise it, ulimit -n 4096, or run fewer compilers at a time with MAX_JOBS.",
        f"{_TOOLS}; ninja#233",
        Rank.RESOURCE,
    ),
    BuildError(
        "A104",
        "no more processes",
        r"(?:fork|posix_spawn|vfork|pthread_create).{0,40}Resource temporarily unavailable"
        r"|[Cc]annot fork|fork: retry",
        "The system refused to start another process.",
        "Raise the limit, ulimit -u or the container's pids limit, or run fewer compilers at a "
        "time with MAX_JOBS.",
        "ninja PR#1650",
        Rank.RESOURCE,
    ),
    BuildError(
        "A105",
        "command line too long",
        r"Argument list too long|[Tt]he command line is too long"
        r"|The filename or extension is too long",
        "A command is longer than the system takes.",
        "Move the project to a shorter path, or give fewer include folders and sources.",
        "ninja 1.13; fletch#474, ninja#2033",
        Rank.RESOURCE,
    ),
    BuildError(
        "A106",
        "a folder that cannot be written",
        r"Read-only file system|can't create \S+: Permission denied"
        r"|unable to open output file.*Permission denied|opening output file.*Permission denied",
        "The build may not write where it was told to.",
        "Build in a copy of the project that you own, and see that TMPDIR can be written.",
        "g++ 12.2",
        Rank.RESOURCE,
    ),
)

_TOOLCHAIN = (
    BuildError(
        "A110",
        "host compiler newer than nvcc takes",
        r"unsupported GNU version! gcc versions later than (?P<most>\d+)"
        r"|unsupported (?:GNU|clang) version|unsupported Microsoft Visual Studio version",
        "The host compiler is too new for this nvcc.",
        "Install an older one and name it, CXX=g++-{limit}, or "
        "NVCC_PREPEND_FLAGS='-ccbin g++-{limit}'.",
        "nvcc 13.0; pytorch#47377",
    ),
    BuildError(
        "A111",
        "no host compiler",
        r"^(?:\S*/)?(?:gcc|g\+\+|c\+\+|clang\+\+|clang)(?:-\d+)?: No such file"
        r"|(?:gcc|g\+\+|clang\+\+): (?:command )?not found"
        r"|cannot execute '(?:cc1plus|cc1|as)'|host compiler .*not found",
        "nvcc finds no host compiler, g++.",
        "Install one, such as: apt-get install g++",
        _TOOLS,
    ),
    BuildError(
        "A112",
        "host compiler that does not work",
        r"Failed to preprocess host compiler properties",
        "nvcc cannot use its host compiler.",
        "Try it by itself: echo 'int x;' | g++ -x c++ -c - -o /dev/null",
        _TOOLS,
        Rank.SYMPTOM,
    ),
    BuildError(
        "A113",
        "no cl.exe",
        r"Cannot find compiler '?cl\.exe'?",
        "nvcc finds no cl.exe.",
        "Use the x64 Native Tools prompt of Visual Studio.",
        "nvcc for Windows",
    ),
    BuildError(
        "A114",
        "CUDA's math headers and a newer glibc",
        r"exception\s+specification\s+is\s+incompatible\s+with\s+that\s+of\s+previous\s+function\s+"
        r"\"(?P<function>cospi|sinpi|rsqrt)f?\"",
        "This CUDA's headers and this system's glibc both declare {function}, and differently.",
        "Use CUDA {fixed} or newer, or a system with glibc {older} or older, such as a container.",
        "cuda-samples#378, nccl#1700, opencv#27111, llama.cpp#19100",
    ),
    BuildError(
        "A115",
        "gcc 11's headers and an older nvcc",
        r"std_function\.h:\d+:\d+: error: parameter packs not expanded",
        "This nvcc cannot read the standard headers of gcc 11.",
        "Use CUDA 11.8 or newer, or g++-10: CXX=g++-10",
        "tiny-cuda-nn#427, instant-ngp#1547, lab4d#10",
    ),
    BuildError(
        "A116",
        "ptxas older than nvcc",
        r"Unsupported \.version (?P<isa>[\d.]+); current version is '(?P<known>[\d.]+)'",
        "The PTX is of version {isa}, and this ptxas reads {known} at most.",
        "nvcc and ptxas come from different toolkits[, ptxas from CUDA {cuda} or older]: take "
        "one of them out of PATH.",
        "ptxas 11.8, 12.9; alphafold3#68, jax#25344",
    ),
    BuildError(
        "A117",
        "C++ standard that a compiler does not know",
        r"unrecognized command-line option .-std=(?P<standard>[\w+]+)"
        r"|invalid value '(?P<other>[\w+]+)' in '-std"
        r"|Value '(?P<third>[\w+]+)' is not defined for option 'std'",
        "A compiler does not know the standard {standard}.",
        "Use a newer g++ or nvcc, or take -std out of the flags: torch's own flags name the one "
        "that it needs.",
        _TOOLS,
    ),
    BuildError(
        "A118",
        "compiler crashed",
        r"internal compiler error|internal error: assertion|Segmentation fault"
        r"|died due to signal (?!9\b)\d+|died with status 0x[0-9A-Fa-f]+",
        "A compiler crashed.",
        "Try another version of it, or take optimisation flags away; if memory was short, run "
        "fewer at a time with MAX_JOBS.",
        "GpuBTree#21, onnxruntime#25377",
    ),
)

_LINKING = (
    BuildError(
        "A160",
        "CUDA's runtime is not found by the linker",
        r"cannot find -l(?P<library>cudart\w*|cudadevrt)"
        r"|cannot open file '(?P<other>cudart\w*\.lib)'",
        "The linker does not find {library}.",
        "Install the CUDA runtime of this toolkit, pip install nvidia-cuda-runtime, and name its "
        "lib folder with -L: archbuild flags --link has it.",
        "ld 2.40",
    ),
    BuildError(
        "A161",
        "the driver's library is not found by the linker",
        r"cannot find -lcuda(?!\w)|cannot find -lnvidia-ml",
        "The linker does not find libcuda, which belongs to the driver.",
        "Name the toolkit's folder of stubs, lib64/stubs, with -L, or let archbuild make a stub "
        "for the link: it never ships.",
        "ld 2.40; tiny-cuda-nn#183",
    ),
    BuildError(
        "A162",
        "a library is not found by the linker",
        r"cannot find -l(?P<library>[\w.+-]+)|cannot open file '(?P<other>[\w.+-]+\.lib)'",
        "The linker does not find the library {library}.",
        "Install it with its files for development, or name its folder in library_dirs.",
        "ld 2.40",
        Rank.SYMPTOM,
    ),
    BuildError(
        "A163",
        "device link is missing",
        r"undefined (?:reference to|symbol:?) [`'\"]?_*cudaRegisterLinkedBinary"
        r"|unresolved external symbol _*cudaRegisterLinkedBinary",
        "Relocatable device code was linked by the host linker alone.",
        "Give the extension dlink=True.",
        "ld 2.40; extension-cpp#80, DeepEP#429",
    ),
    BuildError(
        "A164",
        "device function that no object has",
        r"nvlink (?:error|fatal)\s*: Undefined reference to '(?P<function>\w+)'",
        "The device link finds {function} in none of the objects.",
        "Add the source or library that has it; the runtime for device code is -lcudadevrt.",
        "nvlink 13.0",
    ),
    BuildError(
        "A165",
        "object that is not position independent",
        r"recompile with -fPIC",
        "An object that goes into the library is not position independent.",
        'Add "-Xcompiler=-fPIC" where it is compiled, or link its shared library.',
        "ld 2.40",
    ),
    BuildError(
        "A166",
        "two sources for one object",
        r"ninja: error: \S+ multiple rules generate (?P<file>\S+)",
        "Two sources would make one object, {file}.",
        "A source stands twice in the list: take one away.",
        "ninja 1.13",
    ),
)

#: In the order of their codes within each group.
TOOL_ERRORS = (*_RESOURCES, *_TOOLCHAIN, *_LINKING)
