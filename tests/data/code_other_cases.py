"""Machines whose libraries, toolkits or trials are at fault."""

from __future__ import annotations

from typing import Any

from archbuild.model.installed import HostCompilerFit, LoadedLibrary
from archbuild.model.machine import Machine
from tests.data.code_case import Case
from tests.data.code_parts import (
    A100,
    B200,
    CU124,
    CU128,
    CU130,
    GTX_1080,
    RTX_3090,
    RTX_4090,
    RTX_5090,
    SITE,
    T4,
    Product,
    desktop,
    distribution,
    docker,
    driver,
    extension,
    loaded,
    machine,
    toolkit,
    torch_build,
    torch_package,
    trial,
)

_NOTHING = (209, 98)


def with_cu124(*products: Product, **more: Any) -> Machine:
    """A machine with torch 2.6.0 of CUDA 12.4."""
    return machine(
        *products,
        **{
            "surroundings": desktop("550.120", *products),
            "driver": driver("550.120", "12.4"),
            "torch": torch_build("2.6.0", "12.4", CU124),
            "packages": (torch_package("2.6.0", CU124), *more.pop("packages", ())),
            **more,
        },
    )


def with_cu128(*products: Product, **more: Any) -> Machine:
    """A machine with torch 2.9.1 of CUDA 12.8."""
    return machine(
        *products,
        **{
            "surroundings": desktop("570.133.20", *products),
            "driver": driver("570.133.20", "12.8"),
            "torch": torch_build("2.9.1", "12.8", CU128),
            "packages": (torch_package("2.9.1", CU128), *more.pop("packages", ())),
            **more,
        },
    )


def with_cu130(*products: Product, **more: Any) -> Machine:
    """A machine with torch 2.9.1 of CUDA 13.0."""
    return machine(
        *products,
        **{
            "surroundings": desktop("580.95.05", *products),
            "driver": driver("580.95.05", "13.0"),
            "torch": torch_build("2.9.1+cu130", "13.0", CU130),
            "packages": (torch_package("2.9.1+cu130", CU130), *more.pop("packages", ())),
            **more,
        },
    )


_SYSTEM = "/usr/local/cuda-12.1/lib64"

LIBRARIES = (
    Case(
        "a100-nvjitlink",
        "pytorch#111469",
        "data centre",
        with_cu124(
            A100,
            variables=(("LD_LIBRARY_PATH", f"{_SYSTEM}:/opt/lib"),),
            loaded=(
                loaded("libcublas.so.12", "12.4.5.8", "cublas/lib"),
                LoadedLibrary(
                    "libnvJitLink.so.12",
                    f"{_SYSTEM}/libnvJitLink.so.12.1.105",
                    "12.1",
                    "LD_LIBRARY_PATH",
                    f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12",
                    trouble=(
                        "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, "
                        "version libnvJitLink.so.12"
                    ),
                ),
            ),
        ),
        "LD_LIBRARY_PATH puts the system's nvJitLink before the one that torch brings",
        "D360",
        never=("D361", "D364"),
        exit=1,
    ),
    Case(
        "rtx4090-cublas-from-system",
        "pytorch#188892",
        "desktop",
        with_cu124(
            RTX_4090,
            variables=(("LD_LIBRARY_PATH", _SYSTEM),),
            loaded=(
                LoadedLibrary(
                    "libcublas.so.12",
                    f"{_SYSTEM}/libcublas.so.12.1.3.1",
                    "12.1.3.1",
                    "LD_LIBRARY_PATH",
                    f"{SITE}/nvidia/cublas/lib/libcublas.so.12",
                ),
            ),
            distributions=(distribution("nvidia-cublas-cu12", "12.4.5.8"),),
        ),
        "The system's cuBLAS comes before the environment's, and loads",
        "D364",
        never=("D360",),
    ),
    Case(
        "rtx4090-cudart-missing",
        "bitsandbytes#1152",
        "desktop",
        with_cu124(
            RTX_4090,
            loaded=(
                LoadedLibrary(
                    "libcusparse.so.12",
                    None,
                    trouble=(
                        "libcusparse.so.12: cannot open shared object file: "
                        "No such file or directory"
                    ),
                ),
            ),
        ),
        "A CUDA library of torch is not there at all",
        "D361",
        never=("D360",),
        exit=1,
    ),
    Case(
        "rtx4090-cu12-and-cu13",
        "TensorRT-LLM#9318",
        "desktop",
        with_cu124(
            RTX_4090,
            distributions=(
                distribution("nvidia-cudnn-cu12", "9.1.0.70", "nvidia-cudnn-cu13"),
                distribution("nvidia-cudnn-cu13", "9.13.0.50", "nvidia-cudnn-cu12"),
                distribution("nvidia-nccl-cu12", "2.21.5", "nvidia-nccl-cu13"),
                distribution("nvidia-nccl-cu13", "2.27.7", "nvidia-nccl-cu12"),
            ),
        ),
        "Packages of CUDA 12 and of CUDA 13 own the same files",
        "D362",
    ),
    Case(
        "rtx4090-two-torches",
        "https://packaging.python.org/en/latest/specifications/",
        "desktop",
        with_cu124(
            RTX_4090,
            distributions=(
                distribution("torch", "2.6.0"),
                distribution("torch", "2.3.1", folder="/opt/user/lib/python3.12/site-packages"),
            ),
        ),
        "Two torches on one path: the first one wins",
        "D363",
    ),
    Case(
        "rtx4090-libraries-well",
        "pytorch#111469",
        "desktop",
        with_cu124(
            RTX_4090,
            loaded=(
                loaded("libcublas.so.12", "12.4.5.8", "cublas/lib"),
                loaded("libnvJitLink.so.12", "12.4.127", "nvjitlink/lib"),
                LoadedLibrary(
                    "libcuda.so.1",
                    "/usr/lib/x86_64-linux-gnu/libcuda.so.550.120",
                    "550.120",
                    "ldconfig",
                ),
                # The same release from elsewhere is no fault.
                LoadedLibrary(
                    "libcudart.so.12",
                    "/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127",
                    "12.4.127",
                    "LD_LIBRARY_PATH",
                    f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12",
                ),
            ),
            distributions=(
                distribution("torch", "2.6.0"),
                distribution("nvidia-cublas-cu12", "12.4.5.8"),
                distribution("nvidia-cuda-runtime-cu12", "12.4.127"),
                distribution("nvidia-cudnn-cu12", "9.1.0.70"),
            ),
            cudnn="9.1.0",
        ),
        "Every library out of its package",
    ),
)

TOOLKITS = (
    Case(
        "rtx5090-nvcc-12.4",
        "tiny-cuda-nn#239",
        "desktop",
        with_cu128(RTX_5090, toolkits=(toolkit("12.4"),)),
        "This nvcc builds nothing native for the card, though torch serves it",
        "D381",
        never=("D382",),
    ),
    Case(
        "gtx1080-nvcc-13",
        "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/",
        "desktop",
        machine(
            GTX_1080,
            surroundings=desktop("580.95.05", GTX_1080),
            driver=driver("580.95.05", "13.0"),
            toolkits=(toolkit("13.0"),),
        ),
        "CUDA 13 builds nothing for Pascal",
        "D381",
    ),
    Case(
        "rtx4090-torch-cu130-nvcc-12.6",
        "diso#25",
        "desktop",
        with_cu130(RTX_4090, toolkits=(toolkit("12.6"),)),
        "nvcc is of CUDA 12 and torch of CUDA 13",
        "D382",
        never=("D381",),
    ),
    Case(
        "rtx4090-gcc-15",
        "pytorch#47377",
        "desktop",
        with_cu124(
            RTX_4090,
            toolkits=(toolkit("12.4"),),
            host=HostCompilerFit(None, None, "gcc 13", ("/usr/bin/g++ 15.2",)),
        ),
        "No installed host compiler is old enough for this nvcc",
        "D383",
    ),
    Case(
        "rtx3090-nvcc-13-driver550",
        "cupy#6875",
        "desktop",
        machine(
            RTX_3090,
            surroundings=desktop("550.120", RTX_3090),
            driver=driver("550.120", "12.4"),
            toolkits=(toolkit("13.0"),),
        ),
        "What this nvcc builds needs a newer driver than there is",
        "D384",
        errors=(35, 36),
    ),
    Case(
        "rtx4090-nvcc-11.7",
        "tiny-cuda-nn#239",
        "desktop",
        machine(
            RTX_4090,
            surroundings=desktop("550.120", RTX_4090),
            driver=driver("550.120", "12.4"),
            toolkits=(toolkit("11.7"),),
        ),
        "An nvcc that doesn't know 8.9 serves it all the same: 8.6 runs there",
    ),
    Case(
        "b200-toolkit-well",
        "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/",
        "data centre",
        with_cu130(
            B200,
            toolkits=(toolkit("13.0"), toolkit("12.4")),
            host=HostCompilerFit("/usr/bin/g++", "13.3", "gcc 15"),
        ),
        "The first toolkit fits; an older one beside it does no harm",
    ),
)

_209 = "no kernel image is available for execution on the device"

TRIALS = (
    Case(
        "one-gpu-209",
        "tiny-cuda-nn#341",
        "mixed",
        with_cu128(
            RTX_4090,
            RTX_4090,
            T4,
            trials=(
                *(trial(name, n) for n in (0, 1) for name in ("kernel", "torch", "linalg")),
                trial("kernel", 2, "failed", error=209, said=_209),
                trial("torch", 2),
            ),
        ),
        "One GPU of several fails with 209: its image is missing, the driver is well",
        "D390",
        never=("D340", "D393"),
        errors=(209,),
        exit=1,
    ),
    Case(
        "trial-crashed",
        "https://docs.nvidia.com/deploy/xid-errors/",
        "desktop",
        with_cu124(
            RTX_4090,
            trials=(
                trial("kernel", 0),
                trial("matmul", 0, "crashed", said="signal 11"),
            ),
        ),
        "A matrix product ends the process",
        "D391",
        exit=1,
    ),
    Case(
        "trial-timed-out",
        "https://docs.nvidia.com/deploy/xid-errors/",
        "desktop",
        with_cu124(RTX_4090, trials=(trial("kernel", 0, "timed out", said="60 s"),)),
        "A kernel never ends",
        "D392",
        exit=1,
    ),
    Case(
        "trial-ecc",
        "https://docs.nvidia.com/deploy/xid-errors/",
        "data centre",
        with_cu124(
            A100,
            trials=(
                trial("torch", 0, "failed", error=214, said="uncorrectable ECC error encountered"),
            ),
        ),
        "A trial fails with an error that is no matter of images",
        "D393",
        never=("D390",),
        errors=(214,),
        exit=1,
    ),
    Case(
        "jit-library-missing",
        "jax#9644",
        "container",
        with_cu124(
            RTX_4090,
            surroundings=desktop("550.120", RTX_4090, container=docker("550.120", "12.4.1")),
            trials=(
                trial("kernel", 0),
                trial(
                    "forced jit", 0, "failed", error=221, said="PTX JIT compiler library not found"
                ),
            ),
        ),
        "PTX can't be compiled: the driver's compiler library is missing",
        "D394",
        errors=(221,),
    ),
    Case(
        "jit-disabled",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/",
        "desktop",
        with_cu124(
            RTX_4090,
            packages=(extension("mykernels", "1.0", "compute_80", isa="8.4", cuda="12.4"),),
            variables=(("CUDA_DISABLE_PTX_JIT", "1"),),
        ),
        "JIT is switched off by a variable, and a package has nothing but PTX",
        "D395",
        also=("D353",),
        errors=(223,),
        exit=1,
    ),
    Case(
        "jit-forced",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/",
        "desktop",
        with_cu124(RTX_4090, variables=(("CUDA_FORCE_PTX_JIT", "1"),)),
        "JIT is forced by a variable, and torch holds no PTX",
        "D396",
        errors=_NOTHING,
        exit=1,
    ),
    Case(
        "jit-disabled-no-need",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/",
        "desktop",
        with_cu124(
            RTX_4090,
            variables=(("CUDA_DISABLE_PTX_JIT", "1"), ("CUDA_FORCE_PTX_JIT", "0")),
            trials=(
                trial("forced jit", 0, "failed", error=223, said="PTX JIT compilation disabled"),
            ),
        ),
        "JIT is switched off on purpose, and nothing needs it",
    ),
    Case(
        "trial-against-reading",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/",
        "desktop",
        with_cu124(
            RTX_5090,
            surroundings=desktop("570.133.20", RTX_5090),
            driver=driver("570.133.20", "12.8"),
            trials=(trial("torch", 0), trial("matmul", 0)),
        ),
        "torch runs although nothing in it should: what archbuild reads or knows is wrong",
        None,
        also=("D397",),
        never=("D340",),
    ),
)
