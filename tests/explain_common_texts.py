"""True texts of what people paste most, with the row that has to know each."""

from __future__ import annotations

from typing import Any

COMMON: list[tuple[str, str, dict[str, Any]]] = [
    ("no-kernel-image", "no kernel image", {}),
    ("no-kernel-image", "CUDA error: no kernel image is available", {}),
    ("cudnn-mixed", "cuDNN version incompatibility: PyTorch was compiled against", {}),
    (
        "torchvision-operator",
        "RuntimeError: operator torchvision::nms does not exist",
        {},
    ),
    (
        "cuda-fork",
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
        "multiprocessing, you must use the 'spawn' start method",
        {},
    ),
    (
        "bfloat16",
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. "
        "Your Tesla T4 GPU has compute capability 7.5.",
        {},
    ),
    (
        "library-execution",
        "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
        {"library": "CUDNN"},
    ),
    (
        "library-execution",
        "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(...)`",
        {"library": "CUBLAS"},
    ),
    ("nccl", "RuntimeError: NCCL Error 2: unhandled system error", {}),
    ("smi-not-found", "bash: nvidia-smi: command not found", {}),
    (
        "nvrm-mismatch",
        "NVRM: API mismatch: the client has the version 550.120, but",
        {},
    ),
    (
        "module-refused",
        "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
        {},
    ),
    (
        "module-missing",
        "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-48-generic",
        {"folder": "/lib/modules/6.8.0-48-generic"},
    ),
    (
        "header-missing",
        "fatal error: cuda_runtime.h: No such file or directory",
        {"header": "cuda_runtime.h"},
    ),
    ("header-missing", "nv/target: No such file", {"header": "nv/target"}),
    (
        "nvcc-missing",
        "error: command '/usr/bin/nvcc' failed: No such file or directory",
        {"path": "/usr/bin/nvcc"},
    ),
    (
        "c-compiler-missing",
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
        {},
    ),
    ("cmake-nvcc", "CMake Error: No CMAKE_CUDA_COMPILER could be found.", {}),
    ("own-device-link", "relocatable device code without a device link", {}),
    ("own-smoke", "archbuild: The smoke kernel could not be built for sm_90", {}),
    ("own-missing", "archbuild: _C.so: sm_86 missing (there: sm_80)", {}),
    (
        "tensorflow-no-gpu",
        "Could not find cuda drivers on your machine, GPU will not be used.",
        {},
    ),
    (
        "tensorflow-no-gpu",
        "Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above "
        "are installed properly",
        {},
    ),
    (
        "jax-ptxas",
        "INTERNAL: ptxas exited with non-zero error code 65280, output:",
        {"code": "65280"},
    ),
]
