"""Machines with packages that hold device code: extensions of torch, and others."""

from __future__ import annotations

from archbuild.model.installed import CodeFile
from archbuild.model.machine import Machine
from tests.data.code_case import Case
from tests.data.code_parts import (
    A100,
    CU118,
    CU124,
    CU128,
    CU130,
    GTX_1080,
    H100,
    L40S,
    QUADRO_M2000,
    RTX_3060,
    RTX_3090,
    RTX_4090,
    RTX_5090,
    RTX_A6000,
    Product,
    desktop,
    distribution,
    driver,
    extension,
    library,
    machine,
    package,
    toolkit,
    torch_build,
    torch_package,
)

Held = tuple[str, str]
_NOTHING = (209, 98)
_TO_9 = "sm_70 sm_75 sm_80 sm_86 sm_89 sm_90"
_CU126 = ("2.7.1+cu126", "12.6", CU124)
_CU128 = ("2.9.1+cu128", "12.8", CU128)
_CU130 = ("2.9.1+cu130", "13.0", CU130)
_D550 = ("550.54.15", "12.4")
_D570 = ("570.133.20", "12.8")
_D580 = ("580.95.05", "13.0")


def on(
    torch: tuple[str, str, Held] | None,
    driven: tuple[str, str],
    *products: Product,
    packages: tuple[object, ...],
    **more: object,
) -> Machine:
    """A machine with these packages beside a torch, or without one."""
    values = {
        "surroundings": desktop(driven[0], *products),
        "driver": driver(*driven),
        "packages": packages,
        "toolkits": (toolkit("12.8"),) if torch == _CU128 else (),
    }
    if torch is not None:
        values["torch"] = torch_build(*torch)
        values["packages"] = (torch_package(torch[0], torch[2]), *packages)
    return machine(*products, **{**values, **more})


PACKAGES = (
    Case(
        "rtx5090-gsplat",
        "gsplat#1053",
        "desktop",
        on(
            _CU128,
            _D570,
            RTX_5090,
            packages=(extension("gsplat", "1.5.2+pt27cu124", "sm_70 sm_75 sm_80 sm_86 sm_90"),),
            toolkits=(),
        ),
        "The extension is older than the card, and there is no nvcc to build it with",
        "D350",
        also=("D380",),
        never=("D340",),
        errors=_NOTHING,
        exit=1,
    ),
    Case(
        "rtx5090-lmdeploy",
        "lmdeploy#3806",
        "desktop",
        on(
            _CU128,
            _D570,
            RTX_5090,
            packages=(
                package(
                    "lmdeploy",
                    "0.9.2",
                    library("lmdeploy/lib/_turbomind.so", 210, (_TO_9, 96), cuda="12.4"),
                    requires_torch=True,
                ),
            ),
        ),
        "torch serves the card, and the package's own library does not",
        "D350",
        never=("D340", "D380"),
        errors=_NOTHING,
        exit=1,
    ),
    Case(
        "rtx5090-vllm-ptx-8.8",
        "vllm#28305",
        "desktop",
        on(
            _CU128,
            _D570,
            RTX_5090,
            packages=(
                package(
                    "vllm",
                    "0.11.0+cu129",
                    library(
                        "vllm/_C.abi3.so",
                        420,
                        ("sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120", 60),
                        ("sm_80 compute_80", 48),
                        ("sm_90a", 22),
                        isa="8.8",
                        cuda="12.9",
                    ),
                    requires_torch=True,
                ),
            ),
        ),
        "Some kernels are there as PTX of CUDA 12.9 alone, and the driver is of 12.8",
        "D351",
        never=("D350", "D355"),
        errors=(222,),
        exit=1,
    ),
    Case(
        "rtx3090-ptx-8.7",
        "nvbandwidth#61",
        "desktop",
        on(
            _CU126,
            _D550,
            RTX_3090,
            packages=(extension("mykernels", "1.0", "sm_90 compute_80", isa="8.7", cuda="12.8"),),
        ),
        "The only image that fits is PTX of ISA 8.7, and the driver takes 8.4",
        "D351",
        also=("D380",),
        never=("D350", "D352"),
        errors=(222,),
        exit=1,
    ),
    Case(
        "a6000-h100-two-floors",
        "cupy#6875",
        "mixed",
        on(
            _CU126,
            ("535.183.01", "12.2"),
            RTX_A6000,
            H100,
            packages=(extension("mykernels", "1.0", "sm_80 compute_80", isa="8.5", cuda="12.6"),),
        ),
        "SASS for the one GPU and PTX for the other: two floors, of which one is not reached",
        "D351",
        also=("D380",),
        never=("D350", "D352", "D353"),
        errors=(222,),
        exit=1,
    ),
    Case(
        "l40s-extension-cu130-driver550",
        "https://docs.nvidia.com/deploy/cuda-compatibility/",
        "data centre",
        on(
            _CU126,
            _D550,
            L40S,
            packages=(extension("mykernels", "1.0", "sm_80 sm_86 sm_89", cuda="13.0"),),
        ),
        "SASS of CUDA 13 on a driver of CUDA 12",
        "D352",
        also=("D380",),
        never=("D350", "D351"),
        errors=(35, 36),
        exit=1,
    ),
    Case(
        "rtx4090-jit-only",
        "tensorflow#62320",
        "desktop",
        on(
            _CU126,
            _D570,
            RTX_4090,
            packages=(extension("mykernels", "1.0", "compute_80", isa="8.5", cuda="12.6"),),
        ),
        "The extension is PTX alone: the driver compiles it at the first launch",
        "D353",
        never=("D350",),
    ),
    Case(
        "h100-tensorflow",
        "tensorflow#62320",
        "data centre",
        on(
            None,
            _D570,
            H100,
            packages=(
                package(
                    "tensorflow",
                    "2.15.0",
                    library(
                        "tensorflow/libtensorflow_cc.so.2",
                        890,
                        ("sm_50 sm_60 sm_70 sm_75 compute_80", 1200),
                        isa="8.2",
                        cuda="12.2",
                    ),
                ),
            ),
        ),
        "Thirty minutes of JIT at the start",
        "D353",
    ),
    Case(
        "rtx5090-tensorflow-sass",
        "tensorflow#89272",
        "desktop",
        on(
            None,
            _D580,
            RTX_5090,
            packages=(
                package(
                    "tensorflow",
                    "2.18.0",
                    library(
                        "tensorflow/libtensorflow_cc.so.2",
                        950,
                        ("sm_60 sm_70 sm_80 sm_89 sm_90", 1500),
                        cuda="12.5",
                    ),
                ),
            ),
        ),
        "No code for the card at all",
        "D350",
        never=("D380",),
        errors=_NOTHING,
        exit=1,
    ),
    Case(
        "gtx1080-jax-cuda13",
        "CUDA.jl#2896",
        "desktop",
        on(
            None,
            _D580,
            GTX_1080,
            packages=(
                package(
                    "jax-cuda13-plugin",
                    "0.8.1",
                    library(
                        "jax_cuda13_plugin/_linalg.so",
                        18,
                        ("sm_75 sm_80 sm_90 sm_100 compute_120", 40),
                        isa="9.0",
                        cuda="13.0",
                    ),
                ),
            ),
        ),
        "A plugin of CUDA 13 on a GPU that CUDA 13 has left behind",
        "D350",
        errors=_NOTHING,
        exit=1,
    ),
    Case(
        "rtx5090-onnxruntime",
        "onnxruntime#26181",
        "desktop",
        on(
            None,
            _D580,
            RTX_5090,
            packages=(
                package(
                    "onnxruntime-gpu",
                    "1.22.0",
                    library(
                        "onnxruntime/capi/libonnxruntime_providers_cuda.so",
                        320,
                        ("sm_60 sm_70 sm_75 sm_80 sm_86 sm_90", 380),
                        ("sm_90a", 9),
                        cuda="12.8",
                    ),
                ),
            ),
            cudnn="9.13.1",
        ),
        "onnxruntime-gpu without sm_120",
        "D350",
        errors=_NOTHING,
        exit=1,
    ),
    Case(
        "a100-cupy-222",
        "cupy#6875",
        "data centre",
        on(
            None,
            ("450.80.02", "11.0"),
            A100,
            packages=(
                package(
                    "cupy-cuda11x",
                    "11.0.0",
                    library(
                        "cupy/cuda/thrust.cpython-310-x86_64-linux-gnu.so",
                        40,
                        ("sm_70 compute_70", 30),
                        isa="7.7",
                        cuda="11.7",
                    ),
                ),
            ),
        ),
        "The provided PTX was compiled with an unsupported toolchain",
        "D351",
        errors=(222,),
        exit=1,
    ),
    Case(
        "m2000-llama-cpp",
        "ollama#12408",
        "desktop",
        on(
            None,
            _D550,
            QUADRO_M2000,
            packages=(
                package(
                    "llama-cpp-python",
                    "0.3.4",
                    library("llama_cpp/lib/libggml-cuda.so", 360, ("sm_61 sm_70 sm_75 sm_80", 130)),
                ),
            ),
        ),
        "Code goes only upwards: nothing for a Maxwell",
        "D350",
        errors=_NOTHING,
        exit=1,
    ),
    Case(
        "gtx1080-bitsandbytes",
        "bitsandbytes#1937",
        "desktop",
        on(
            ("2.9.1+cu126", "12.6", CU124),
            _D580,
            GTX_1080,
            packages=(
                package(
                    "bitsandbytes",
                    "0.48.2",
                    library(
                        "bitsandbytes/libbitsandbytes_cuda126.so",
                        24,
                        ("sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 compute_90", 3),
                        isa="8.5",
                        cuda="12.6",
                    ),
                    library(
                        "bitsandbytes/libbitsandbytes_cuda130.so",
                        30,
                        ("sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_120", 3),
                        isa="9.0",
                        cuda="13.0",
                    ),
                    requires_torch=True,
                ),
            ),
        ),
        "One library for each CUDA: only that of this torch's CUDA is loaded, and it serves",
    ),
    Case(
        "gtx1080-bitsandbytes-cuda130",
        "bitsandbytes#1937",
        "desktop",
        on(
            ("2.9.1+cu126", "12.6", CU124),
            _D580,
            GTX_1080,
            packages=(
                package(
                    "bitsandbytes",
                    "0.48.2",
                    library(
                        "bitsandbytes/libbitsandbytes_cuda126.so", 24, ("sm_75 sm_80 sm_90", 3)
                    ),
                    library(
                        "bitsandbytes/libbitsandbytes_cuda118.so", 20, ("sm_60 sm_70 sm_80", 3)
                    ),
                    requires_torch=True,
                ),
            ),
            toolkits=(toolkit("12.6"),),
        ),
        "The library of another CUDA would serve, and is not the one that is loaded",
        "D350",
        errors=_NOTHING,
        exit=1,
    ),
    Case(
        "rtx3060-flash-attn-other-torch",
        "flash-attention#931",
        "desktop",
        on(
            ("2.7.1+cu126", "12.6", CU124),
            _D570,
            RTX_3060,
            packages=(
                package(
                    "flash-attn",
                    "2.7.4.post1",
                    library("flash_attn_2_cuda.so", 380, ("sm_80 sm_90", 72), cuda="12.4"),
                    requires_torch=True,
                    built_for="2.6",
                ),
            ),
        ),
        "The extension was built for another torch: undefined symbol at import",
        "D356",
        also=("D380",),
        never=("D350",),
    ),
    Case(
        "rtx3060-one-library",
        "pytorch#32759",
        "desktop",
        on(
            _CU126,
            _D570,
            RTX_3060,
            packages=(
                package(
                    "xformers",
                    "0.0.30",
                    library("xformers/_C.so", 120, ("sm_75 sm_80 sm_86 sm_90", 66), cuda="12.6"),
                    library("xformers/_C_sparse.so", 9, ("sm_90 sm_100", 4), cuda="12.6"),
                    library("xformers/flash_attn_3/_C.so", 180, ("sm_90a", 50), cuda="12.6"),
                    requires_torch=True,
                ),
            ),
        ),
        "One small library of a package serves other GPUs; another is meant for one on purpose",
        "D354",
        never=("D350",),
        errors=_NOTHING,
    ),
    Case(
        "rtx3060-some-regions",
        "vllm#49904",
        "desktop",
        on(
            _CU126,
            _D570,
            RTX_3060,
            packages=(
                package(
                    "mykernels",
                    "1.0",
                    library(
                        "mykernels/_C.so",
                        12,
                        ("sm_80 sm_86 sm_90", 20),
                        ("sm_89 sm_90", 3),
                        ("sm_90a", 2),
                        cuda="12.6",
                    ),
                    requires_torch=True,
                ),
            ),
        ),
        "A few sources of an extension were compiled for fewer architectures",
        None,
        also=("D355",),
        never=("D350", "D354"),
    ),
    Case(
        "rtx5090-editable",
        "https://peps.python.org/pep-0660/",
        "desktop",
        on(
            _CU128,
            _D570,
            RTX_5090,
            packages=(
                extension(
                    "mykernels",
                    "0.1",
                    _TO_9,
                    editable=True,
                    direct_url="file:///srv/src/mykernels",
                ),
            ),
        ),
        "An editable install, which is built again where it lies",
        "D350",
        errors=_NOTHING,
        exit=1,
    ),
    Case(
        "rtx4090-hip-package",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/README.md",
        "desktop",
        on(
            _CU126,
            _D570,
            RTX_4090,
            packages=(
                package(
                    "mykernels",
                    "1.0",
                    CodeFile("mykernels/_C.so", 9 << 20, hip=True),
                    requires_torch=True,
                ),
            ),
        ),
        "A package for AMD's GPUs beside a torch of CUDA",
        "D358",
        never=("D350",),
        exit=1,
    ),
    Case(
        "a100-all-well",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/",
        "data centre",
        on(
            ("2.6.0+cu118", "11.8", CU118),
            _D550,
            A100,
            packages=(
                extension("mykernels", "1.0", "sm_80 compute_80", isa="7.8", cuda="11.8"),
                package(
                    "onnxruntime-gpu",
                    "1.20.1",
                    library(
                        "onnxruntime/capi/libonnxruntime_providers_cuda.so",
                        300,
                        ("sm_60 sm_70 sm_80 sm_90 compute_90", 380),
                        ("sm_90a", 9),
                        isa="7.8",
                        cuda="11.8",
                    ),
                ),
            ),
            distributions=(
                distribution("nvidia-cudnn-cu11", "9.1.0.70"),
                distribution("nvidia-cublas-cu11", "11.11.3.6"),
            ),
            cudnn="9.1.0",
        ),
        "PTX too new for nobody: SASS serves, whatever the PTX",
    ),
)
