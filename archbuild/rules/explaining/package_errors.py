"""What other packages say: compilers at run time, libraries of CUDA, frameworks."""

from __future__ import annotations

from archbuild.rules.explaining.known import Join, KnownError, Rank

_DOCTOR = "archbuild doctor"
_TRITON_PTXAS = (
    "Install a newer triton with its torch, or name a newer ptxas: TRITON_PTXAS_PATH; the ptxas "
    "of CUDA 13.0 knows 12.1 and 11.0."
)

_COMPILERS = (
    KnownError(
        "triton-ptxas",
        "The ptxas that triton brings does not know this GPU, {arch}.",
        _TRITON_PTXAS,
        ("is not defined for option 'gpu-name'",),
        r"Triton.{0,200}?Value '(?P<arch>sm_\w+)' is not defined for option 'gpu-name'",
        ("pip install --upgrade torch triton",),
        source="triton 2.0 to 3.7; triton#8539, vllm PR#31338, fish-speech#907",
    ),
    KnownError(
        "triton-llvm",
        "The compiler inside triton does not know this GPU, {arch}.",
        "Install a newer triton with its torch.",
        ("is not a recognized processor for this target",),
        r"'(?P<arch>sm_\d+[af]?)' is not a recognized processor for this target",
        ("pip install --upgrade torch triton",),
        source="triton 2.0 to 3.2; triton-windows#93, FramePack#8",
    ),
    KnownError(
        "nvrtc-arch",
        "The NVRTC that the program loaded does not know the architecture of this GPU: it is of "
        "an older CUDA.",
        "Install the torch or CuPy of a newer CUDA, one that knows this GPU.",
        ("invalid value for --gpu-architecture",),
        r"nvrtc: error: invalid value for --gpu-architecture",
        ("archbuild recommend",),
        source="NVRTC 11, 12; nvdiffmodeling#25, IsaacLab#5520",
    ),
    KnownError(
        "jit-ptx-version",
        "PTX of ISA {isa} was given to a driver or a linker that reads {known} at most[, that of "
        "CUDA {cuda}].",
        "Update the driver, or take the compiler of the driver's CUDA: "
        "pip install pynvjitlink-cu12 for numba.",
        ("unsupported .version",),
        r"(?:ptxas application ptx input|CUDA_ERROR_UNSUPPORTED_PTX_VERSION|NVJITLINK).{0,200}?"
        r"Unsupported \.version (?P<isa>[\d.]+); current version is '(?P<known>[\d.]+)'",
        (_DOCTOR,),
        (222,),
        Join.CODE,
        source="numba; numba#7006, numba-cuda#120, numba-cuda#163",
    ),
)

_LIBRARIES = (
    KnownError(
        "cudnn-arch",
        "cuDNN does not serve this GPU: version 9.11 and newer have no Maxwell, Pascal and Volta, "
        "and each has a newest GPU that it knows.",
        "For an older GPU take torch with cuDNN 9.10 or older, for a newer one a newer torch.",
        ("arch_mismatch",),
        r"CUDNN_STATUS_(?:NOT_SUPPORTED_)?ARCH_MISMATCH|cudnnStatusArchMismatch",
        ("archbuild recommend",),
        source="cuDNN 5 to 9; immich#22982, openpose#681, dlib#1263",
    ),
    KnownError(
        "cublas-arch",
        "cuBLAS has no code for what was asked on this GPU: the GPU is too old for it.",
        "Take a CUDA that serves this GPU, or another data type.",
        ("arch_mismatch",),
        r"CUBLAS_STATUS_ARCH_MISMATCH",
        ("archbuild recommend",),
        source="cuBLAS 10 to 13; FasterTransformer#25, vosk-api#665",
    ),
    KnownError(
        "cublas-not-initialized",
        "cuBLAS could not be started: mostly the GPU's memory is full, or an earlier kernel had "
        "failed, such as by an index out of range.",
        "Run once with CUDA_LAUNCH_BLOCKING=1, and look at the memory.",
        ("cublas_status_not_initialized", "cublas_status_alloc_failed"),
        r"CUBLAS_STATUS_(?:NOT_INITIALIZED|ALLOC_FAILED)",
        ("CUDA_LAUNCH_BLOCKING=1 python your_program.py",),
        rank=Rank.SYMPTOM,
        source="cuBLAS 9 to 13; Qwen#120, VisCPM#3",
    ),
    KnownError(
        "cudnn-sublibrary",
        "Parts of cuDNN of two versions were loaded: some of this environment, some of the system.",
        "Take the system's cuDNN out of LD_LIBRARY_PATH and out of the loader's folders.",
        ("cudnn_status_sublibrary_version_mismatch",),
        r"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        ("unset LD_LIBRARY_PATH", _DOCTOR),
        join=Join.MACHINE,
        source="cuDNN 9; pytorch#185512, pytorch#188892",
    ),
    KnownError(
        "xla-wrong-gpu",
        "XLA made code that this GPU or this driver does not take[: {name}].",
        "Update the driver, or install the jaxlib of an older CUDA; a ptxas in PATH that is newer "
        "than the driver does this too.",
        ("in-memory cubin", "ptx text as a module"),
        r"failed to load (?:in-memory CUBIN|PTX text as a module)"
        r"(?:.{0,60}?(?P<name>CUDA_ERROR_\w+))?",
        (_DOCTOR,),
        (209, 222, 200),
        Join.CODE,
        source="XLA; jax#18572, jax#14438, tensorflow#60530",
    ),
    KnownError(
        "tensorflow-jit",
        "TensorFlow holds no machine code for {capability}: the driver compiles its PTX on the "
        "first start, for half an hour perhaps.",
        "Wait once, with CUDA_CACHE_MAXSIZE=4294967296 so that it is kept; or install a build with "
        "code for this GPU.",
        ("not built with cuda kernel binaries compatible",),
        r"TensorFlow was not built with CUDA kernel binaries compatible with compute capability "
        r"(?P<capability>\d{1,2}\.\d)",
        ("export CUDA_CACHE_MAXSIZE=4294967296",),
        join=Join.CODE,
        source="TensorFlow 2.4 to 2.20; tensorflow#62320, tensorflow#97387",
    ),
    KnownError(
        "paddle-arch",
        "Paddle holds no code for this GPU ({generation}); it has {has}.",
        "Install the wheel that its page names for this GPU.",
        ("not compatible with paddle installation",),
        r"GPU architecture in your current machine is (?P<generation>\w+), which is not compatible "
        r"with Paddle installation with arch: (?P<has>[\d ]+\d)",
        errors=(98,),
        join=Join.CODE,
        source="Paddle 2, 3; Paddle#54713",
    ),
    KnownError(
        "onnxruntime-provider",
        "ONNX Runtime could not load its CUDA part, and computes on the CPU.",
        "The line above says which library it misses; importing torch first loads them.",
        ("cudaexecutionprovider",),
        r"Failed to create ?CUDAExecutionProvider",
        ('python -c "import onnxruntime; print(onnxruntime.get_available_providers())"', _DOCTOR),
        rank=Rank.SYMPTOM,
        source="ONNX Runtime 1.10 to 1.23; Step-Audio-EditX#3, PaddleNLP#8195",
    ),
)

_PACKAGES = (
    KnownError(
        "bitsandbytes-setup",
        "bitsandbytes has no library for this torch's CUDA, or could not load it.",
        "Install the newest: it brings libraries for every CUDA.",
        (
            "cuda setup failed despite",
            "bitsandbytes cuda binary at",
            "required library version not",
        ),
        r"CUDA Setup failed despite(?: GPU| CUDA)? being available"
        r"|Could not find the bitsandbytes CUDA binary at"
        r"|Required library version not found: libbitsandbytes\w*",
        ("pip install --upgrade bitsandbytes", "python -m bitsandbytes"),
        rank=Rank.ERROR,
        source="bitsandbytes 0.37 to 0.48; bitsandbytes#572, bitsandbytes#1559",
    ),
    KnownError(
        "bitsandbytes-kernel",
        "bitsandbytes holds no code for this GPU.",
        "Install the newest; for a GPU below 5.0, or one newer than the release, build it from "
        "source with -DCOMPUTE_CAPABILITY.",
        ("bitsandbytes/csrc", "bitsandbytes\\csrc", "csrc/ops.cu", "csrc\\ops.cu"),
        r"Error (?P<text>no kernel image is available for execution on the device|named symbol not "
        r"found|invalid device function) at line \d+ in file \S*csrc[/\\]ops\.cu",
        ("pip install --upgrade bitsandbytes",),
        (209, 500),
        Join.CODE,
        source="bitsandbytes 0.35 to 0.43; bitsandbytes#791, bitsandbytes#310",
    ),
    KnownError(
        "flash-attention-gpu",
        "FlashAttention 2 has no kernels for GPUs older than 8.0 (Ampere), and no rebuild gives it "
        "any.",
        'Use another attention: attn_implementation="sdpa", or xformers.',
        ("flashattention only supports",),
        r"FlashAttention only supports (?:Ampere|Hopper|AMD)[\w ]*GPUs or newer",
        ("archbuild gpus",),
        source="flash-attn 1, 2; flash-attention#762, vllm#8189",
    ),
    KnownError(
        "xformers-gpu",
        "This operator of xFormers needs a GPU of {least} or newer, and yours is {capability}.",
        "Use another operator, or torch's own scaled_dot_product_attention.",
        ("requires device with capability",),
        r"requires device with capability > \((?P<least>\d+, ?\d)\) but your GPU has capability "
        r"\((?P<capability>\d+, ?\d)\) \(too old\)",
        ("python -m xformers.info",),
        rank=Rank.ERROR,
        source="xFormers 0.0.20 to 0.0.32; mistral-finetune#79",
    ),
    KnownError(
        "xformers-cuda",
        "This xFormers was built without CUDA, or for another torch.",
        "Install the one that belongs to this torch, from the index that torch came from.",
        ("xformers wasn't build with cuda support",),
        r"xFormers wasn't build with CUDA support",
        ("pip install --upgrade --force-reinstall xformers",),
        source="xFormers 0.0.13 to 0.0.30; xformers#800, Depth-Anything-V2#274",
    ),
    KnownError(
        "ggml-no-kernel",
        "This build of llama.cpp holds no code for this GPU.",
        "Build it again for this GPU.",
        ("ggml_cuda_compute_forward", "ggml-cuda", "ggml_cuda"),
        r"ggml[-_]cuda.{0,300}?no kernel image is available for execution on the device"
        r"|no kernel image is available for execution on the device.{0,200}?ggml[-_]cuda",
        (
            'CMAKE_ARGS="-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=native" pip install '
            "--force-reinstall --no-cache-dir --no-binary llama-cpp-python llama-cpp-python",
        ),
        (209,),
        Join.CODE,
        source="llama.cpp; lmstudio-bug-tracker#210, gpustack#1382",
    ),
    KnownError(
        "ggml-arch",
        "A kernel of llama.cpp has no code for compute capability {arch}, in a build that was "
        "compiled for {built}.",
        "Turn that feature off (flash attention on a GPU before 7.0), or build it again for this "
        "GPU.",
        ("has no device code compatible with cuda arch",),
        r"CUDA kernel (?P<kernel>\w+) has no device code compatible with CUDA arch (?P<arch>\d+)\. "
        r"\S+ was compiled for: (?P<built>[\d,]+)",
        ("cmake -B build -DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=native",),
        (209,),
        Join.CODE,
        source="llama.cpp; koboldcpp#818",
    ),
    KnownError(
        "package-unsupported-arch",
        "A library[ ({function})] has no kernel for this GPU and refuses to run.",
        "A rebuild changes nothing as long as its authors have not written one: choose another "
        "backend of the program.",
        ("unsupported architecture",),
        r"(?:Error in function '(?P<function>\w+)' at \S+|Assertion error \((?P<other>[^)\s]+)\)|"
        r"RuntimeError): Unsupported architecture",
        ("archbuild gpus",),
        rank=Rank.ERROR,
        source="FlashInfer, DeepGEMM; flashinfer#3263, sglang#25877",
    ),
    KnownError(
        "no-module-with-code",
        "The compiled part of {package} was not installed: {module}.",
        "Build it for this torch and this GPU.",
        ("no module named",),
        r"No module named '?(?P<module>(?P<package>flash_attn|causal_conv1d|mamba_ssm|"
        r"selective_scan|transformer_engine|apex|xformers|spconv|torch_scatter|pytorch3d|"
        r"tinycudann|diff_gaussian_rasterization|sageattention)\w*(?:\._C|_cuda)\w*)",
        ("pip install --no-build-isolation --no-cache-dir {package}",),
        source="flash-attn, mamba and others; GPTQModel#1528",
    ),
)

#: Everything that other packages say.
PACKAGE_ERRORS = (*_COMPILERS, *_LIBRARIES, *_PACKAGES)
