"""What the dynamic loader says of CUDA's libraries and of extensions."""

from __future__ import annotations

from archbuild.rules.explaining.known import Join, KnownError, Rank

_DOCTOR = "archbuild doctor"
_LD = "glibc's loader; "

_MISSING = (
    KnownError(
        "loader-no-driver",
        "The driver's library {library} is not there: no driver is installed, or the container "
        "has no GPU.",
        "Install the driver, or map the GPU into the container; never install that library by "
        "itself.",
        ("libcuda.so", "libnvidia-ml.so", "nvcuda.dll", "nvml.dll"),
        r"(?P<library>libcuda\.so\.1|libnvidia-ml\.so\.1|libcuda\.so|libnvidia-ml\.so)'?: cannot "
        r"open shared object file"
        r"|(?:find|load) (?:the )?(?:library |module )?'?(?P<other>libcuda\.so\.1|nvcuda\.dll|"
        r"nvml\.dll|libnvidia-ml\.so(?:\.1)?)",
        ("docker run --gpus all ...", _DOCTOR),
        (35,),
        Join.MACHINE,
        source=_LD + "manylinux-cuda#5",
    ),
    KnownError(
        "loader-no-cuda-library",
        "{library} of CUDA {major} is not where the loader looks: the package that asks for it "
        "was built for CUDA {major}, and this environment has another one or none.",
        "Install a build of that package for the CUDA that you have, or the library's package.",
        ("cannot open shared object file",),
        r"(?P<library>lib(?P<stem>cudart|cublasLt|cublas|nvrtc|nvJitLink|cupti)\.so\."
        r"(?P<major>\d+)[\d.]*): cannot open shared object file",
        ("pip install {pip}",),
        source=_LD + "vllm#31018, Mamba-Install#3, onnxruntime#22968",
    ),
    KnownError(
        "loader-no-math-library",
        "{library} of CUDA is not where the loader looks: the package that asks for it was built "
        "for another CUDA, or that library was left out.",
        "Install a build of that package for the CUDA that you have, or the library's package.",
        ("cannot open shared object file",),
        r"(?P<library>lib(?:cufft|curand|cusparse|cusparseLt|cusolver|nvToolsExt|cufile|npp)\w*"
        r"\.so\.[\d.]+): cannot open shared object file",
        (_DOCTOR,),
        source=_LD + "glibc",
    ),
    KnownError(
        "loader-no-cudnn",
        "{library} is not where the loader looks.",
        "Install that release of it, or a build of the package for the one that you have; where "
        "torch is installed, importing it first loads its own.",
        ("libcudnn", "libnccl"),
        r"(?P<library>lib(?:cudnn|nccl)\w*\.so\.\d+[\d.]*): cannot open shared object"
        r"|Could not load library (?P<other>libcudnn\w*\.so\.\d+)",
        (_DOCTOR,),
        source=_LD + "onnxruntime#21684, sd-webui-reactor#503",
    ),
    KnownError(
        "loader-no-torch-library",
        "{library} of torch is not loaded: the extension was imported before torch, or torch is "
        "gone.",
        "Import torch before the extension.",
        ("libc10", "libtorch"),
        r"(?P<library>lib(?:c10|torch)\w*\.so): cannot open shared object file",
        ('python -c "import torch; print(torch.__version__)"',),
        source=_LD + "the loader and torch 2.14",
    ),
    KnownError(
        "loader-windows",
        "Windows could not load {library}: a DLL that it needs is missing or of another version.",
        "Install torch and the package again, from one index; a CUDA in PATH may come first.",
        ("[winerror 126]", "[winerror 127]", "[winerror 1114]"),
        r"\[WinError (?:126|127|1114)\].{0,120}?Error loading \"(?P<library>[^\"]+)\"",
        (_DOCTOR,),
        source="torch 1.5 to 2.14 for Windows; kohya_ss#486, Paddle#75939",
    ),
)

_SYMBOLS = (
    KnownError(
        "loader-other-cuda-library",
        "[{asking} asks for {symbol}, and ]the {library} that was loaded first does not have it: "
        "it is of an older release.",
        "LD_LIBRARY_PATH, or a CUDA of the system, comes before the packages of this environment: "
        "take it out.",
        ("undefined symbol", "with link time reference"),
        r"(?:(?P<asking>[^\s:'\"]+\.so[\d.]*): )?(?:undefined symbol:|symbol) "
        r"(?P<symbol>\w+), version (?P<library>lib(?:nv|cu|cudnn|nccl)\w+\.so\.\d+)",
        ("unset LD_LIBRARY_PATH", _DOCTOR),
        (),
        Join.MACHINE,
        source=_LD + "pytorch#111469, pytorch#131312, pytorch#174320",
    ),
    KnownError(
        "loader-other-torch",
        "{library} was built for another torch: this torch has no {symbol}.",
        "Build or install it for the torch that is here.",
        ("undefined symbol",),
        r"(?P<library>[^\s:'\"]+\.(?:so|pyd)[\d.]*): undefined symbol: "
        r"(?P<symbol>_ZN?K?(?:TV|TI)?N?K?(?:3c10|2at|5torch|6caffe2)\w*|aoti_torch_\w+|"
        r"_ZTIN3c10\w+|THP\w+)",
        (),
        (),
        Join.BUILD,
        source=_LD + "flash-attention#723, flash-attention#1832, sglang#851",
    ),
    KnownError(
        "loader-missing-link",
        "Relocatable device code in {library} was never linked: its device link is missing.",
        "Build it with dlink=True.",
        ("__cudaregisterlinkedbinary",),
        r"(?P<library>[^\s:'\"]+\.so[\d.]*): undefined symbol: _*cudaRegisterLinkedBinary\w*",
        source=_LD + "extension-cpp#80",
    ),
    KnownError(
        "loader-cuda-symbol",
        "{library} asks for {symbol}, a function of a CUDA library that is not loaded, or is "
        "older than the one that it was built with.",
        "Install a build for the CUDA that is here; an extension that calls cuBLAS or cuSPARSE "
        "has to be linked with it.",
        ("undefined symbol",),
        r"(?P<library>[^\s:'\"]+\.so[\d.]*): undefined symbol: "
        r"(?P<symbol>(?:cuda|cublas|cusparse|cusolver|cufft|curand|cudnn|nccl|nvml|nvrtc|"
        r"__nvJitLink|cu(?=[A-Z]))\w*)",
        (_DOCTOR,),
        source=_LD + "cuEquivariance#131, sglang#4357",
    ),
    KnownError(
        "loader-python-symbol",
        "{library} was built for another Python: {symbol} is not in this one.",
        "Install it for this Python.",
        ("undefined symbol",),
        r"(?P<library>[^\s:'\"]+\.so[\d.]*): undefined symbol: (?P<symbol>_?Py\w+)",
        ("pip install --force-reinstall --no-cache-dir PACKAGE",),
        rank=Rank.ERROR,
        source=_LD + "CPython",
    ),
)

_SYSTEM = (
    KnownError(
        "loader-glibc",
        "The library[ {library}] was built on a newer system: it needs glibc {glibc}, and this "
        "one is older.",
        "Build it here from source, or take a build for an older system: glibc itself is not to "
        "be replaced.",
        ("glibc_",),
        r"version [`']GLIBC_(?P<glibc>[\d.]+)' not found(?: \(required by "
        r"(?P<library>[^)\s]+)\))?",
        ("ldd --version",),
        (),
        Join.BUILD,
        source=_LD + "lerobot#2219, SkyReels-V2#105, pyg-lib#548",
    ),
    KnownError(
        "loader-libstdcxx",
        "The library[ {library}] needs a newer libstdc++ ({version}) than the one that was loaded.",
        "In conda install libstdcxx-ng, and see that no older libstdc++ comes first; else take "
        "the libstdc++ of a newer gcc.",
        ("glibcxx_", "cxxabi_"),
        r"version [`'](?P<version>(?:GLIBCXX|CXXABI)_[\d.]+)' not found(?: \(required by "
        r"(?P<library>[^)\s]+)\))?",
        ("conda install -c conda-forge libstdcxx-ng",),
        source=_LD + "pytorch#87279, LLM-TPU#166",
    ),
    KnownError(
        "loader-wrong-machine",
        "{library} is for another processor, or is no library at all.",
        "Install the build for this processor.",
        ("wrong elf class", "invalid elf header", "cannot open shared object file: exec format"),
        r"(?P<library>[^\s:'\"]+\.so[\d.]*): (?:wrong ELF class|invalid ELF header)",
        ("uname -m",),
        source=_LD + "glibc",
    ),
)

#: Everything that loaders say.
LOADER_ERRORS = (*_MISSING, *_SYMBOLS, *_SYSTEM)

#: The package of the index for a library that bears CUDA's own number, by its name without
#: ``lib`` and ``.so``.
PACKAGES = {
    "cudart": "nvidia-cuda-runtime",
    "cublas": "nvidia-cublas",
    "cublasLt": "nvidia-cublas",
    "nvrtc": "nvidia-cuda-nvrtc",
    "nvJitLink": "nvidia-nvjitlink",
    "cupti": "nvidia-cuda-cupti",
}


def package_of(stem: str, major: int) -> str | None:
    """The requirement for pip that brings a library of one CUDA; None where there is none.

    From CUDA 13 on one name serves every CUDA; before, the name ends in its number.

    Args:
        stem: ``cudart`` of ``libcudart.so.12``.
        major: CUDA's number, at its end.

    Examples:
        >>> package_of("cudart", 12), package_of("cudart", 13), package_of("cudart", 10)
        ('nvidia-cuda-runtime-cu12', '"nvidia-cuda-runtime==13.*"', None)
    """
    name = PACKAGES.get(stem)
    if name is None or major < 11:
        return None
    return f"{name}-cu{major}" if major < 13 else f'"{name}=={major}.*"'
