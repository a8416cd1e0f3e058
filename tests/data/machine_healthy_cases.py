"""Machines on which all is well: what looks odd there is no fault."""

from __future__ import annotations

from dataclasses import replace

from archbuild.model.installed import Installed, LoadedLibrary
from archbuild.model.surroundings import Container, ContainerKind, DriverFiles, SourceAnswer
from tests.data.machine_parts import (
    A100,
    GB10,
    GRID_V100D,
    GTX_1080,
    H100,
    NO_SMI,
    ORIN,
    RTX_3090,
    RTX_4060_LAPTOP,
    RTX_4070,
    RTX_4090,
    around,
    card,
    cards,
    driver,
    files,
    gpu,
    gpus,
    library,
    machine,
    mig_slice,
    nodes,
    record,
    release,
    sources,
    uuid,
    whole,
)

_GUIDE = "https://docs.nvidia.com/deploy/cuda-compatibility/"


def _docker(host: str, **more: object) -> Container:
    values = {
        "kind": ContainerKind.DOCKER,
        "gpu_mapped": True,
        "driver_mapped": True,
        "visible_devices": "all",
        "capabilities": "compute,utility",
        "host_release": release(host),
    }
    return Container(**{**values, **more})  # type: ignore[arg-type]


_DESKTOP = record(
    "rtx4090-well",
    "The CUDA that nvidia-smi names is a maximum, and nothing has to match it",
    _GUIDE,
    "desktop",
    machine(whole("580.95.05", RTX_4090), gpus=gpus(RTX_4090), driver=driver("580.95.05")),
)

_HGX = record(
    "hgx-h100-well",
    "Eight GPUs behind switches, with their fabric manager running",
    "pytorch#35710",
    "data centre",
    machine(
        around(
            files(
                "570.124.06",
                device_nodes=nodes(8, "/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch0"),
                fabric_manager=True,
            ),
            cards=cards(*[H100] * 8),
            distribution="ubuntu 22.04",
        ),
        gpus=gpus(*[H100] * 8),
        driver=driver("570.124.06"),
    ),
)

_LAPTOP = record(
    "laptop-hybrid-well",
    "A hybrid laptop whose NVIDIA GPU drives no screen",
    "tmux#272",
    "laptop",
    machine(
        whole("580.95.05", RTX_4060_LAPTOP, distribution="fedora 42"),
        gpus=gpus(RTX_4060_LAPTOP),
        driver=driver("580.95.05"),
        variables=(("__NV_PRIME_RENDER_OFFLOAD", "1"),),
    ),
)

_TEGRA_FILES = DriverFiles(
    libraries=("/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1",),
    device_nodes=("/dev/nvhost-gpu", "/dev/nvmap"),
)
_JETSON = record(
    "jetson-orin-well",
    "A Jetson has no NVML that tells of its GPU, and no card on a bus",
    "FlashRT#7",
    "jetson",
    machine(
        around(
            _TEGRA_FILES,
            sources=sources((3, "Not Supported"), None, NO_SMI),
            jetson="NVIDIA Jetson AGX Orin Developer Kit",
            l4t="36.4.0",
            distribution="ubuntu 22.04",
            kernel="5.15.148-tegra",
        ),
        processor="aarch64",
        gpus=(replace(gpu(ORIN), index=None, seen_by=("cuda",), integrated=True),),
        driver=driver(None, "12.6"),
    ),
)

_SPARK = record(
    "gb10-well",
    "GB10 shares the memory of its processor, and tells no size of its own",
    "pytorch#164596",
    "desktop",
    machine(
        whole("580.95.05", GB10, kernel="6.11.0-1016-nvidia"),
        processor="aarch64",
        gpus=(replace(gpu(GB10), memory=None, integrated=True),),
        driver=driver("580.95.05"),
    ),
)

_WSL = record(
    "wsl-well",
    "WSL has the driver of Windows: no kernel module, no card, its own library",
    "WSL#7056",
    "wsl",
    machine(
        around(
            DriverFiles(libraries=("/usr/lib/wsl/lib/libcuda.so.1.1",), device_nodes=("/dev/dxg",)),
            wsl=True,
            wsl_library="/usr/lib/wsl/lib/libcuda.so.1",
            kernel="5.15.167.4-microsoft-standard-WSL2",
        ),
        gpus=(replace(gpu(RTX_4070), pci="00000000:01:00.0"),),
        driver=driver("576.02", "12.9"),
    ),
)

_CDI = record(
    "container-cdi-void-well",
    "NVIDIA_VISIBLE_DEVICES=void is what a CDI description sets once it has mapped the GPU",
    "nvidia-container-toolkit#395",
    "container",
    machine(
        whole(
            "570.124.06",
            RTX_4090,
            container=_docker("570.124.06", visible_devices="void", mode="cdi"),
            distribution="debian 12",
        ),
        gpus=gpus(RTX_4090),
        driver=driver("570.124.06"),
        variables=(("NVIDIA_VISIBLE_DEVICES", "void"),),
    ),
)

_OLD_IMAGE = record(
    "container-old-image-well",
    "An image of CUDA 11.4 on a host with a driver for 13.0: only the host's driver matters",
    _GUIDE,
    "container",
    machine(
        whole(
            "580.95.05",
            RTX_3090,
            container=_docker("580.95.05", image_cuda="11.4.3", mode="legacy"),
            distribution="ubuntu 20.04",
        ),
        gpus=gpus(RTX_3090),
        driver=driver("580.95.05"),
    ),
)

_ONE_OF_FOUR = record(
    "container-one-of-four-well",
    "A container has one of the host's four GPUs; the others stand on the bus all the same",
    "OpenMM#2190",
    "container",
    machine(
        around(
            files("535.183.06", device_nodes=("/dev/nvidia2", *nodes(0))),
            cards=cards(A100, A100, A100, A100),
            container=_docker("535.183.06", visible_devices=uuid(0)),
        ),
        gpus=(replace(gpu(A100), pci="00000000:03:00.0"),),
        driver=driver("535.183.06"),
    ),
)

_MIG = record(
    "mig-named-slice-well",
    "One of three slices is named in CUDA_VISIBLE_DEVICES, and CUDA sees it",
    "pytorch#102715",
    "mig",
    machine(
        whole("550.54.15", A100, distribution="ubuntu 22.04"),
        gpus=(
            replace(gpu(A100, cuda=None), mig=True),
            mig_slice(A100, 0, "2g.10gb"),
            mig_slice(A100, 1, "2g.10gb", cuda=0),
            mig_slice(A100, 2, "2g.10gb"),
        ),
        driver=driver("550.54.15"),
        variables=(("CUDA_VISIBLE_DEVICES", uuid(2, "MIG")),),
    ),
)

_MIXED = record(
    "gtx1080-rtx3090-driver580-well",
    "580 is the last driver branch for the older of the two, and serves both",
    "nixos-hardware#1843",
    "mixed",
    machine(
        around(replace(files("580.95.05", 2), open_module=False), cards=cards(GTX_1080, RTX_3090)),
        gpus=gpus(GTX_1080, RTX_3090),
        driver=driver("580.95.05"),
        variables=(("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),),
    ),
)

_VGPU = record(
    "vgpu-v100d-well",
    "A share of a GPU in a virtual machine, with the guest's driver",
    "k8s-device-plugin#250",
    "vgpu",
    machine(
        around(replace(files("550.127.05"), open_module=False), cards=(card(GRID_V100D),)),
        gpus=(replace(gpu(GRID_V100D), vgpu=True),),
        driver=driver("550.127.05"),
    ),
)

_WINDOWS = record(
    "windows-rtx4090-well",
    "On Windows there are no files of Linux to look for",
    _GUIDE,
    "desktop",
    machine(
        around(bus_read=False, distribution=None, kernel=None, glibc=None),
        system="win32",
        processor="AMD64",
        gpus=gpus(RTX_4090),
        driver=driver("576.02", "12.9"),
    ),
)

_COMPAT = "/usr/local/cuda-12.8/compat/libcuda.so.570.124.06"
_FORWARD = record(
    "a100-forward-compat-well",
    "A cuda-compat library on a data-centre GPU is newer than the kernel module, as it should be",
    _GUIDE,
    "data centre",
    machine(
        around(
            files(
                "535.183.06",
                libraries=(_COMPAT, library("535.183.06")),
                library_release=release("570.124.06"),
            ),
            cards=(card(A100),),
        ),
        gpus=gpus(A100),
        driver=driver("535.183.06", "12.8"),
        installed=Installed(
            loaded=(
                LoadedLibrary("libcuda.so.1", _COMPAT, "570.124.06", "ldconfig", None, compat=True),
            )
        ),
    ),
)

_HIDEPID = record(
    "hidepid-well",
    "Other people's processes are hidden on this node, and the GPUs answer",
    "https://docs.kernel.org/filesystems/proc.html",
    "data centre",
    machine(
        around(
            files("570.124.06", 2, hidden=("/proc",)),
            cards=cards(A100, A100),
            distribution="rhel 9.4",
        ),
        gpus=gpus(A100, A100),
        driver=driver("570.124.06"),
    ),
)

_NO_PYNVML = record(
    "no-nvml-module-well",
    "Python's module for NVML is not installed, nor is nvidia-smi on PATH: CUDA itself answers",
    "nvidia-ml-py, its package page",
    "desktop",
    machine(
        whole(
            "570.124.06",
            RTX_4090,
            sources=(
                SourceAnswer("nvml", False, None, "the module pynvml is not in this environment"),
                SourceAnswer("cuda driver", True),
                SourceAnswer("nvidia-smi", False, None, NO_SMI[1]),
            ),
        ),
        gpus=(replace(gpu(RTX_4090), index=None, seen_by=("cuda",)),),
        driver=driver("570.124.06"),
    ),
)

_VFIO = record(
    "second-card-for-a-guest",
    "One card is kept for a virtual machine on purpose, the other one works",
    "kubevirt-gpu-device-plugin#27",
    "desktop",
    machine(
        whole(
            "570.124.06",
            RTX_4090,
            cards=(card(RTX_4090), card(RTX_3090, 1, "vfio-pci")),
        ),
        gpus=gpus(RTX_4090),
        driver=driver("570.124.06"),
    ),
    also=("D303",),
    never=("D317", "D300"),
)

HEALTHY = (
    *(_DESKTOP, _HGX, _LAPTOP, _JETSON, _SPARK, _WSL, _CDI, _OLD_IMAGE, _ONE_OF_FOUR, _MIG),
    *(_MIXED, _VGPU, _WINDOWS, _FORWARD, _HIDEPID, _NO_PYNVML, _VFIO),
)
