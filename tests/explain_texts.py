"""Error texts as programs print them, paths shortened: key of the row, text, some values."""

from __future__ import annotations

from tests.explain_common_texts import COMMON

_INSTALL = "If you want to use the {0} GPU with PyTorch, please check the instructions"

TORCH: list[tuple[str, str, dict[str, str]]] = [
    (  # pytorch#150733, LeggedLab#26
        "torch-gpu-not-in-build",
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current "
        "PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_50 "
        f"sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.\n{_INSTALL.format('NVIDIA GeForce RTX 5090')}",
        {
            "gpu": "NVIDIA GeForce RTX 5090",
            "sm": "120",
            "has": "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90",
        },
    ),
    (  # stable-diffusion-webui-nix#9: a log with times
        "torch-gpu-not-in-build",
        "Oct 04 13:19:39 llm sd[394]: NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not "
        "compatible with the current PyTorch installation.\nOct 04 13:19:39 llm sd[394]: The "
        "current PyTorch install supports CUDA capabilities sm_50 sm_90.",
        {"sm": "120", "has": "sm_50 sm_90"},
    ),
    (  # torch 2.14
        "torch-gpu-not-in-list",
        "Found GPU0 NVIDIA GeForce GTX 1080 which is of compute capability (CC) 6.1.\nThe "
        "following list shows the CCs this version of PyTorch was built for and the hardware CCs "
        "it supports:\n- 7.5 which supports hardware CC >=7.5,<8.0",
        {"gpu": "NVIDIA GeForce GTX 1080", "capability": "6.1"},
    ),
    (  # torch 2.8, pytorch#164596
        "torch-gpu-not-in-list",
        "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.\nMinimum and Maximum cuda "
        "capability supported by this version of PyTorch is (8.0) - (12.0)",
        {"gpu": "NVIDIA GB10", "capability": "12.1"},
    ),
    (  # voice-changer#447
        "torch-gpu-too-old",
        "Found GPU0 GeForce GT 720 which is of cuda capability 3.5.\nPyTorch no longer supports "
        "this GPU because it is too old.\nThe minimum cuda capability supported by this library "
        "is 3.7.",
        {"gpu": "GeForce GT 720", "capability": "3.5", "least": "3.7"},
    ),
    (  # pytorch-scripts#13
        "torch-gpu-too-old",
        "Found GPU0 GeForce GTX 960M which is of cuda capability 5.0.\n    PyTorch no longer "
        "supports this GPU because it is too old.\n\nAlso my script failed",
        {"capability": "5.0"},
    ),
    (  # Open-Sora#716
        "torch-no-mig",
        'RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/'
        'CUDACachingAllocator.cpp":830, please report a bug to PyTorch.',
        {},
    ),
    (  # pytorch#112950
        "torch-no-mig",
        "RuntimeError: NVML_SUCCESS == DriverAPI::get()->nvmlInit_v2_() INTERNAL ASSERT FAILED at "
        '"../c10/cuda/CUDACachingAllocator.cpp":1123, please report a bug to PyTorch.',
        {},
    ),
    (  # pytorch#131650
        "torch-mig-ordinal",
        "RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at "
        '"aten/src/ATen/cuda/CUDAContext.cpp":49, please report',
        {},
    ),
    (  # ChatGLM3#100
        "torch-driver-too-old",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11060). Please "
        "update your GPU driver by downloading and installing a new version",
        {"found": "11060"},
    ),
    (  # GraphWriter#6
        "torch-driver-too-old",
        "The NVIDIA driver on your system is too old (found version 6050).",
        {"found": "6050"},
    ),
    (  # pytorch3d#1259
        "torch-no-driver",
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA "
        "GPU and installed a driver",
        {},
    ),
    ("torch-no-gpus", "RuntimeError: No CUDA GPUs are available", {}),
    (
        "torch-no-gpus",
        "CUDA driver initialization failed, you might not have a CUDA gpu.",
        {},
    ),
    (  # LAW-GPT#33
        "torch-unknown-error",
        "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, "
        "e.g. changing env variable CUDA_VISIBLE_DEVICES after program start.",
        {},
    ),
    (
        "torch-count-failed",
        "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before "
        "calling NumCudaDevices() that might have already set an error? Error 12345",
        {},
    ),
    ("torch-cpu-only", "AssertionError: Torch not compiled with CUDA enabled", {}),
    (  # STM#16
        "torch-deserialize",
        "RuntimeError: Attempting to deserialize object on a CUDA device but "
        "torch.cuda.is_available() is False. If you are running on a CPU-only machine",
        {},
    ),
    (  # sd-easy-mode#18, broken over lines
        "torchvision-other-cuda",
        "RuntimeError: Detected that PyTorch and torchvision were compiled with different \nCUDA "
        "versions. PyTorch has CUDA Version=11.7 and torchvision has CUDA \nVersion=11.8.",
        {"torch": "11.7", "vision": "11.8"},
    ),
    (  # vision#3058
        "torch-operator-without-cuda",
        "RuntimeError: Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.",
        {"package": "torchvision", "operator": "nms"},
    ),
    (  # kohya_ss#1096
        "cudnn-other-version",
        "cuDNN version incompatibility: PyTorch was compiled  against (8, 7, 0) but found runtime "
        "version (8, 2, 4). PyTorch already comes bundled with cuDNN.",
        {"built": "8, 7, 0", "found": "8, 2, 4"},
    ),
    (  # functorch#926
        "cudnn-other-version",
        "cuDNN version incompatibility: PyTorch was compiled against (8, 3, 2) but linked against "
        "(8, 0, 3)",
        {"found": "8, 0, 3"},
    ),
    (  # DCNv2#143
        "torch-unknown-arch",
        "ValueError: Unknown CUDA arch (8.9) or GPU not supported",
        {"arch": "8.9"},
    ),
    (  # jetson-containers#140
        "torch-unknown-arch",
        "ValueError: Unknown CUDA arch () or GPU not supported",
        {},
    ),
    (  # AutoAlign#25
        "torch-cuda-mismatch",
        "RuntimeError:\n      The detected CUDA version (11.8) mismatches the version that was "
        "used to compile\n      PyTorch (12.4). Please make sure to use the same CUDA versions.",
        {"nvcc": "11.8", "torch": "12.4"},
    ),
    (  # diso#25: torch 2.14 leaves the versions out
        "torch-cuda-mismatch",
        "RuntimeError: ('The detected CUDA version (%s) mismatches the version that was used to "
        "compilePyTorch (%s). Please make sure to use the same CUDA versions.', '12.8', '13.0')",
        {},
    ),
    (
        "torch-no-toolkit",
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install "
        "root.",
        {},
    ),
    (  # extension-cpp#71
        "torch-no-arch-to-build-for",
        '  File "torch/utils/cpp_extension.py", line 1985, in _get_cuda_arch_flags\n    '
        "arch_list[-1] += '+PTX'\nIndexError: list index out of range",
        {},
    ),
]

LOADER: list[tuple[str, str, dict[str, str]]] = [
    (
        "loader-no-driver",
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        {"library": "libcuda.so.1"},
    ),
    (
        "loader-no-driver",
        "Could not find module 'nvcuda.dll' (or one of its dependencies)",
        {"library": "nvcuda.dll"},
    ),
    (  # vllm#31018
        "loader-no-cuda-library",
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
        {"library": "libcudart.so.12", "stem": "cudart", "major": "12"},
    ),
    (  # sd-webui-reactor#503
        "loader-no-cuda-library",
        "FAIL : Failed to load library libonnxruntime_providers_cuda.so with error: "
        "libcublasLt.so.11: cannot open shared object file: No such file or directory",
        {"stem": "cublasLt", "major": "11"},
    ),
    (
        "loader-no-math-library",
        "libcufft.so.11: cannot open shared object file: No such file or directory",
        {"library": "libcufft.so.11"},
    ),
    (  # sd-webui-reactor#503
        "loader-no-cudnn",
        "libcudnn.so.9: cannot open shared object file: No such file or directory",
        {"library": "libcudnn.so.9"},
    ),
    (
        "loader-no-cudnn",
        "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open",
        {"library": "libcudnn_cnn_infer.so.8"},
    ),
    (
        "loader-no-torch-library",
        "ImportError: libc10.so: cannot open shared object file: No such file or directory",
        {"library": "libc10.so"},
    ),
    (  # kohya_ss#486
        "loader-windows",
        "OSError: [WinError 127] The specified procedure could not be found. Error loading "
        '"E:\\venv\\lib\\site-packages\\torch\\lib\\cudnn_adv_infer64_8.dll" or one of its '
        "dependencies.",
        {"library": "E:\\venv\\lib\\site-packages\\torch\\lib\\cudnn_adv_infer64_8.dll"},
    ),
    (  # pytorch#131312
        "loader-other-cuda-library",
        "ImportError: /env/lib/python3.11/site-packages/torch/lib/../../nvidia/cusparse/lib/"
        "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
        {"symbol": "__nvJitLinkComplete_12_4", "library": "libnvJitLink.so.12"},
    ),
    (  # ChatGLM-6B#921
        "loader-other-cuda-library",
        "OSError: /env/nvidia/cublas/lib/libcublas.so.11: symbol cublasLtGetStatusString, version "
        "libcublasLt.so.11 not defined in file libcublasLt.so.11 with link time reference",
        {"library": "libcublasLt.so.11"},
    ),
    (  # flash-attention#1832
        "loader-other-torch",
        "ImportError: /env/site-packages/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so: "
        "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcE",
        {"library": "/env/site-packages/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so"},
    ),
    (  # sglang#851
        "loader-other-torch",
        "/env/x.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN2at4_ops5zeros4callEN3c108A",
        {"symbol": "_ZN2at4_ops5zeros4callEN3c108A"},
    ),
    (  # flash-attention#1689
        "loader-other-torch",
        "ImportError: flash_attn_3_cuda.so: undefined symbol: _ZNK3c105Error4whatEv",
        {},
    ),
    (  # extension-cpp#80
        "loader-missing-link",
        "ImportError: /x/_C.so: undefined symbol: __cudaRegisterLinkedBinary_1a2b_k_cu_3c4d",
        {"library": "/x/_C.so"},
    ),
    (  # sglang#4357
        "loader-cuda-symbol",
        "ImportError: /x/common_ops.abi3.so: undefined symbol: cublasGemmGroupedBatchedEx",
        {"symbol": "cublasGemmGroupedBatchedEx"},
    ),
    (
        "loader-python-symbol",
        "ImportError: /x/_C.so: undefined symbol: _PyThreadState_UncheckedGet",
        {"symbol": "_PyThreadState_UncheckedGet"},
    ),
    (  # SkyReels-V2#105
        "loader-glibc",
        "ImportError: /lib64/libc.so.6: version `GLIBC_2.32' not found (required by /env/"
        "site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so)",
        {
            "glibc": "2.32",
            "library": "/env/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so",
        },
    ),
    ("loader-glibc", "version `GLIBC_2.28' not found", {"glibc": "2.28"}),
    (  # pytorch#87279
        "loader-libstdcxx",
        "ImportError: /usr/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.30' not found "
        "(required by /env/torch/lib/libtorch_python.so)",
        {"version": "GLIBCXX_3.4.30", "library": "/env/torch/lib/libtorch_python.so"},
    ),
    (
        "loader-wrong-machine",
        "OSError: /x/libk.so: wrong ELF class: ELFCLASS32",
        {"library": "/x/libk.so"},
    ),
]

SYSTEM: list[tuple[str, str, dict[str, str]]] = [
    (  # oneflow#3106
        "nvml-mismatch",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124",
        {},
    ),
    (  # tvm#7536
        "nvml-mismatch",
        "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: "
        "unknown.",
        {},
    ),
    ("nvml-unknown", "Failed to initialize NVML: Unknown Error", {}),  # nvidia-docker#1671
    (  # k8s-device-plugin#207
        "nvml-other",
        "Failed to initialize NVML: could not load NVML library.",
        {"why": "could not load NVML library"},
    ),
    (  # nvidia-docker#988
        "smi-no-driver",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
        "that the latest NVIDIA driver is installed and running.",
        {},
    ),
    (  # envs#4: another apostrophe
        "smi-no-driver",
        "NVIDIA-SMI has failed because it couldn\u2018t communicate with the NVIDIA driver.",
        {},
    ),
    (  # nvidia-docker#876
        "smi-no-library",
        "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that",
        {},
    ),
    ("smi-no-devices", "No devices were found", {}),
    ("kernel-xid", "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off", {"xid": "79"}),
    (  # nvidia-docker#1034
        "docker-no-gpu-driver",
        'docker: Error response from daemon: could not select device driver "" with capabilities: '
        "[[gpu]].",
        {},
    ),
    (  # ragflow#9573
        "docker-no-gpu-driver",
        'Error response from daemon: could not select device driver "nvidia" with capabilities: '
        "[[gpu]]",
        {},
    ),
    (
        "docker-no-runtime",
        "docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
        {},
    ),
    (  # llama.cpp#9665
        "container-requirement",
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6, please update "
        "your driver to a newer version, or use an earlier cuda container: unknown.",
        {"cuda": "12.6"},
    ),
    (  # nvidia-docker#688
        "container-requirement",
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda >= 9.0\\n",
        {"cuda": "9.0"},
    ),
    (
        "container-requirement-other",
        "nvidia-container-cli: requirement error: unsatisfied condition: brand = tesla",
        {"what": "brand = tesla"},
    ),
    (  # nvidia-container-toolkit#154
        "container-no-host-driver",
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: "
        "cannot open shared object file: no such file or directory: unknown.",
        {},
    ),
    (  # k8s-device-plugin#219
        "container-no-host-driver",
        "nvidia-container-cli: initialization error: nvml error: driver not loaded",
        {},
    ),
    (  # stable-diffusion-webui-docker#117
        "container-wsl-no-adapter",
        "nvidia-container-cli: initialization error: WSL environment detected but no adapters were "
        "found: unknown",
        {},
    ),
    (  # nvidia-docker#1551
        "container-driver-in-image",
        "nvidia-container-cli: mount error: file creation failed: /var/lib/docker/overlay2/x/merged"
        "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1: file exists: unknown.",
        {"library": "libnvidia-ml.so.1"},
    ),
    (  # nvidia-container-toolkit#434
        "container-cdi",
        "error modifying OCI spec: failed to inject CDI devices: unresolvable CDI devices "
        "nvidia.com/gpu=all: unknown.",
        {"device": "nvidia.com/gpu=all"},
    ),
    (  # TensorRT-LLM#23
        "container-driver-too-old",
        "ERROR: This container was built for NVIDIA Driver Release 535.86 or later, but\n       "
        "version 510.85.02 was detected and compatibility mode is UNAVAILABLE.",
        {"wanted": "535.86", "found": "510.85.02"},
    ),
]

PACKAGES: list[tuple[str, str, dict[str, str]]] = [
    (  # triton#8539
        "triton-ptxas",
        "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` "
        "stderr:\nptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
        {"arch": "sm_121a"},
    ),
    (  # triton-windows#93
        "triton-llvm",
        "'sm_120' is not a recognized processor for this target (ignoring processor)",
        {"arch": "sm_120"},
    ),
    ("nvrtc-arch", "RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)", {}),
    (  # numba-cuda#163
        "jit-ptx-version",
        "numba.cuda.cudadrv.driver.LinkerError: [222] Call to cuLinkAddData results in "
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION\nptxas application ptx input, line 9; fatal   : "
        "Unsupported .version 8.7; current version is '8.4'",
        {"isa": "8.7", "known": "8.4"},
    ),
    (  # openpose#681
        "cudnn-arch",
        "Check failed: status == CUDNN_STATUS_SUCCESS (6 vs. 0)  CUDNN_STATUS_ARCH_MISMATCH",
        {},
    ),
    (
        "cudnn-arch",
        "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
        {},
    ),
    ("cublas-arch", "CUDA runtime error: CUBLAS_STATUS_ARCH_MISMATCH open_attention.h:171", {}),
    (  # Qwen#120
        "cublas-not-initialized",
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
        "`cublasCreate(handle)`",
        {},
    ),
    (  # pytorch#185512
        "cudnn-sublibrary",
        "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
        {},
    ),
    (  # jax#18572
        "xla-wrong-gpu",
        "INTERNAL: Failed to load in-memory CUBIN (compiled for a different GPU?).: "
        "CUDA_ERROR_INVALID_IMAGE: device kernel image is invalid",
        {"name": "CUDA_ERROR_INVALID_IMAGE"},
    ),
    (  # jax#14438
        "xla-wrong-gpu",
        "failed to load PTX text as a module: CUDA_ERROR_INVALID_IMAGE: device kernel image is",
        {},
    ),
    (  # tensorflow#62320
        "tensorflow-jit",
        "TensorFlow was not built with CUDA kernel binaries compatible with compute capability "
        "9.0. CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer.",
        {"capability": "9.0"},
    ),
    (  # Paddle#54713
        "paddle-arch",
        "The GPU architecture in your current machine is Pascal, which is not compatible with "
        "Paddle installation with arch: 70 75 80 86 , it is recommended to install",
        {"generation": "Pascal", "has": "70 75 80 86"},
    ),
    (  # Step-Audio-EditX#3
        "onnxruntime-provider",
        "Failed to create \nCUDAExecutionProvider. Please reference https://onnxruntime.ai/docs/",
        {},
    ),
    (  # bitsandbytes#1522
        "bitsandbytes-setup",
        "RuntimeError: \n        CUDA Setup failed despite GPU being available. Inspect the CUDA "
        "SETUP outputs above to fix your environment!",
        {},
    ),
    (  # bitsandbytes#1559
        "bitsandbytes-setup",
        "Could not find the bitsandbytes CUDA binary at PosixPath('/x/libbitsandbytes_cuda124.so')",
        {},
    ),
    (  # bitsandbytes#310
        "bitsandbytes-kernel",
        "Error no kernel image is available for execution on the device at line 167 in file "
        "D:\\ai\\tool\\bitsandbytes\\csrc\\ops.cu",
        {},
    ),
    (  # bitsandbytes#791
        "bitsandbytes-kernel",
        "Error named symbol not found at line 74 in file /x/bitsandbytes/csrc/ops.cu",
        {"text": "named symbol not found"},
    ),
    (
        "flash-attention-gpu",
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
        {},
    ),
    (  # mistral-finetune#79
        "xformers-gpu",
        "`flshattF@v2.3.6` is not supported because:\n    requires device with capability > (8, 0) "
        "but your GPU has capability (6, 1) (too old)",
        {"least": "8, 0", "capability": "6, 1"},
    ),
    (  # xformers#800
        "xformers-cuda",
        "NotImplementedError: No operator found: xFormers wasn't build with CUDA support",
        {},
    ),
    (  # lmstudio-bug-tracker#210
        "ggml-no-kernel",
        "ggml_cuda_compute_forward: SCALE failed\nCUDA error: no kernel image is available for "
        "execution on the device\n  current device: 0, in function ggml_cuda_compute_forward at "
        "ggml-cuda.cu:2341",
        {},
    ),
    (  # koboldcpp#818
        "ggml-arch",
        "ggml-cuda/fattn.cu:571: ERROR: CUDA kernel flash_attn_ext_f16 has no device code "
        "compatible with CUDA arch 610. ggml-cuda.cu was compiled for: 610\nCUDA error: unspecified"
        " launch failure",
        {"arch": "610", "built": "610"},
    ),
    (  # flashinfer#3263
        "package-unsupported-arch",
        "RuntimeError: Error in function 'TllmGenFmhaRunner' at /x/fmhaRunner.cuh:30: Unsupported "
        "architecture",
        {"function": "TllmGenFmhaRunner"},
    ),
    (  # sglang#25877
        "package-unsupported-arch",
        "tvm.error.InternalError: Assertion error (/deepgemm/csrc/apis/hyperconnection.hpp:56): "
        "Unsupported architecture",
        {},
    ),
    (
        "no-module-with-code",
        "ModuleNotFoundError: No module named 'flash_attn_2_cuda'",
        {"package": "flash_attn", "module": "flash_attn_2_cuda"},
    ),
]

TEXTS = [*TORCH, *LOADER, *SYSTEM, *PACKAGES, *COMMON]
