"""Machines whose container keeps the GPU away."""

from __future__ import annotations

from dataclasses import replace

from archbuild.model.installed import Installed, LoadedLibrary
from archbuild.model.surroundings import Container, ContainerKind, DriverFiles, Surroundings
from tests.data.machine_parts import (
    A100,
    GRID_V100D,
    H100,
    NO_CUDA,
    NO_SOURCES,
    RTX_3060,
    RTX_3090,
    RTX_4090,
    T4,
    Product,
    around,
    cards,
    driver,
    files,
    gpu,
    gpus,
    init_fails,
    library,
    machine,
    nodes,
    record,
    release,
    sources,
    uuid,
)

_IMAGE = {"visible_devices": "all", "capabilities": "compute,utility"}


def _unmapped(host: str, *products: Product, **container: object) -> Surroundings:
    """What a container sees of a host's GPUs that were not mapped into it."""
    values = {"kind": ContainerKind.DOCKER, "host_release": release(host), **container}
    return around(
        # The host's, as /proc tells of it in every container.
        DriverFiles(kernel_release=release(host), open_module=products[0] != GRID_V100D),
        cards=cards(*products),
        sources=NO_SOURCES,
        container=Container(**values),  # type: ignore[arg-type]
        distribution="ubuntu 22.04",
    )


_DOCKER = record(
    "docker-without-gpus",
    "docker run without --gpus: the host has a driver, the container nothing of it",
    "nvidia-docker#533",
    "container",
    machine(
        _unmapped("550.54.15", RTX_3090, **_IMAGE, image_cuda="12.4.1"),
        driver=driver("550.54.15", None),
        variables=(("NVIDIA_VISIBLE_DEVICES", "all"),),
    ),
    "D320",
    never=("D300", "D317", "D316", "D328"),
    errors=(35,),
    exit=1,
)

_APPTAINER = record(
    "apptainer-without-nv",
    "Apptainer was started without --nv",
    "CellBender#280",
    "container",
    machine(
        replace(
            _unmapped("470.82.01", A100, kind=ContainerKind.APPTAINER),
            # Apptainer shows the host's /dev.
            driver_files=DriverFiles(kernel_release=release("470.82.01"), device_nodes=nodes(1)),
            container=Container(
                ContainerKind.APPTAINER, gpu_mapped=True, host_release=release("470.82.01")
            ),
        ),
        driver=driver("470.82.01", None),
    ),
    "D320",
    never=("D300", "D328", "D321"),
    errors=(35,),
    exit=1,
)

_JETSON = record(
    "jetson-container-without-runtime",
    "On a Jetson the container needs NVIDIA's runtime: --gpus alone maps nothing",
    "FlashRT#7",
    "jetson",
    machine(
        around(
            sources=NO_SOURCES,
            container=Container(ContainerKind.DOCKER),
            jetson="NVIDIA Jetson AGX Orin Developer Kit",
            l4t=None,
            kernel="5.15.148-tegra",
        ),
        processor="aarch64",
    ),
    "D320",
    never=("D300", "D318"),
    errors=(35,),
    exit=1,
)

_LXC = record(
    "lxc-driver-without-nodes",
    "The driver's libraries were installed in the container, and no device was passed to it",
    "LXD_GPU_SERVER#16",
    "container",
    machine(
        around(
            files("470.103.01", 0, device_nodes=(), module_on_disk=None),
            cards=cards(RTX_3090),
            sources=sources(
                (9, "Driver Not Loaded"),
                init_fails(100),
                (9, "NVIDIA-SMI has failed because it couldn't communicate with the driver."),
            ),
            container=Container(
                ContainerKind.LXC, driver_mapped=True, host_release=release("470.103.01")
            ),
        ),
        driver=driver("470.103.01"),
    ),
    "D320",
    never=("D300", "D316", "D317"),
    errors=(100,),
    exit=1,
)

_POD = record(
    "pod-asks-for-no-gpu",
    "A pod that names no nvidia.com/gpu among its limits",
    "k8s-device-plugin#250",
    "container",
    machine(
        _unmapped("550.127.05", GRID_V100D, kind=ContainerKind.KUBERNETES),
        driver=driver("550.127.05", None),
    ),
    "D320",
    never=("D324", "D300"),
    errors=(35,),
    exit=1,
)

_RUNTIME = record(
    "pod-without-runtime-class",
    "The pod was given a GPU, and runs with a runtime that maps none",
    "LocalAI#2117",
    "container",
    machine(
        _unmapped(
            "550.54.15",
            T4,
            kind=ContainerKind.KUBERNETES,
            visible_devices=uuid(0),
            capabilities="compute,utility",
        ),
        driver=driver("550.54.15", None),
        variables=(("NVIDIA_VISIBLE_DEVICES", uuid(0)),),
    ),
    "D324",
    never=("D320", "D300"),
    errors=(35,),
    exit=1,
)

_VOID = record(
    "docker-void",
    "A script of the image sets NVIDIA_VISIBLE_DEVICES to void",
    "ComfyUI-Nvidia-Docker#104",
    "container",
    machine(
        _unmapped("570.195.03", RTX_4090, visible_devices="void", capabilities="compute,utility"),
        driver=driver("570.195.03", None),
        variables=(("NVIDIA_VISIBLE_DEVICES", "void"),),
    ),
    "D322",
    never=("D320", "D300"),
    errors=(35,),
    exit=1,
)

_UTILITY = record(
    "docker-capability-utility",
    "With the capability utility alone nvidia-smi works, and libcuda is not there",
    "LocalAI#11973",
    "container",
    machine(
        around(
            files("570.195.03", libraries=(), library_release=None, module_on_disk=None),
            cards=cards(RTX_4090),
            sources=sources(None, NO_CUDA, None),
            container=Container(
                *(ContainerKind.DOCKER, True, False, "all", "utility", "legacy"),
                host_release=release("570.195.03"),
            ),
        ),
        gpus=(replace(gpu(RTX_4090, cuda=None), visible=None),),
        driver=driver("570.195.03"),
        variables=(("NVIDIA_DRIVER_CAPABILITIES", "utility"),),
    ),
    "D321",
    never=("D320", "D328", "D300"),
    errors=(35,),
    exit=1,
)

_CGROUP = record(
    "docker-after-daemon-reload",
    "It worked until systemd was told to read its units again: the device rules are lost",
    "nvidia-container-toolkit#48",
    "container",
    machine(
        around(
            files(
                "525.85.12",
                closed_nodes=("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"),
                module_on_disk=None,
            ),
            cards=cards(A100),
            sources=sources(
                (999, "Unknown Error"),
                init_fails(100),
                (255, "Failed to initialize NVML: Unknown Error"),
            ),
            container=Container(
                *(ContainerKind.DOCKER, True, True, "all", "compute,utility", "legacy"),
                host_release=release("525.85.12"),
            ),
        ),
        driver=driver("525.85.12"),
    ),
    "D323",
    never=("D309", "D317", "D300"),
    errors=(100,),
    exit=1,
)

_COMPAT = "/usr/local/cuda-12.0/compat/libcuda.so.525.60.13"
_COMPAT_ON_GEFORCE = record(
    "geforce-cuda-compat",
    "A cuda-compat library of the image on a GeForce, which it does not support",
    "nvidia-docker#1294",
    "container",
    machine(
        around(
            files("470.82.01", libraries=(library("470.82.01"),), module_on_disk=None),
            cards=cards(RTX_3060),
            sources=sources(None, (804, f"cuInit of {_COMPAT} fails"), None),
            container=Container(
                *(ContainerKind.DOCKER, True, True, "all", "compute,utility", "legacy"),
                image_cuda="12.0.1",
                host_release=release("470.82.01"),
            ),
        ),
        gpus=(replace(gpu(RTX_3060, cuda=None), visible=None),),
        driver=driver("470.82.01"),
        variables=(("LD_LIBRARY_PATH", "/usr/local/cuda-12.0/compat:/usr/local/cuda/lib64"),),
        installed=Installed(
            loaded=(
                LoadedLibrary(
                    *("libcuda.so.1", _COMPAT, "525.60.13", "LD_LIBRARY_PATH"),
                    expected=library("470.82.01"),
                    compat=True,
                ),
            )
        ),
    ),
    "D312",
    never=("D307", "D327", "D326", "D332"),
    errors=(804,),
    exit=1,
)

_OWN_DRIVER = record(
    "image-with-a-driver",
    "The driver's library was installed in the image, and is another than the host's",
    "nvidia-container-toolkit#234",
    "container",
    machine(
        around(
            DriverFiles(
                kernel_release=release("520.61.05"),
                libraries=(library("515.65.01"), library("520.61.05")),
                library_release=release("515.65.01"),
                device_nodes=nodes(1),
            ),
            cards=cards(RTX_3060),
            sources=sources(
                (18, "Driver/library version mismatch"),
                init_fails(803),
                (18, "Failed to initialize NVML: Driver/library version mismatch"),
            ),
            container=Container(
                *(ContainerKind.DOCKER, True, True, "all", "compute,utility", "legacy"),
                image_cuda="11.8.0",
                host_release=release("520.61.05"),
            ),
        ),
        driver=driver("520.61.05"),
    ),
    "D326",
    never=("D307", "D312"),
    errors=(803,),
    exit=1,
)

_SELINUX = record(
    "podman-selinux",
    "Podman maps the GPU, and SELinux forbids its use",
    "triton-dev-containers#61",
    "container",
    machine(
        around(
            files(
                "570.86.16",
                closed_nodes=("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"),
                module_on_disk=None,
            ),
            cards=cards(H100),
            sources=sources(
                (4, "Insufficient Permissions"),
                init_fails(100),
                (4, "Failed to initialize NVML: Insufficient Permissions"),
            ),
            container=Container(
                *(ContainerKind.PODMAN, True, True, "void", None, "cdi"),
                host_release=release("570.86.16"),
            ),
            distribution="fedora 41",
        ),
        driver=driver("570.86.16"),
    ),
    "D309",
    never=("D323", "D322", "D300"),
    errors=(100,),
    exit=1,
)

_HIDDEN_IN_CONTAINER = record(
    "container-renumbered",
    "Inside of a container the one GPU is number 0, and the variable names the host's number",
    "OpenMM#2190",
    "container",
    machine(
        around(
            files("535.183.06", device_nodes=("/dev/nvidia2", *nodes(0))),
            cards=cards(*[A100] * 4),
            sources=sources(None, init_fails(100), None),
            container=Container(
                *(ContainerKind.DOCKER, True, True, "2", "compute,utility", "legacy"),
                host_release=release("535.183.06"),
            ),
        ),
        gpus=tuple(replace(g, pci="00000000:03:00.0") for g in gpus(A100, hidden=(0,))),
        driver=driver("535.183.06"),
        variables=(("CUDA_VISIBLE_DEVICES", "2"), ("NVIDIA_VISIBLE_DEVICES", "2")),
    ),
    "D333",
    also=("D335",),
    never=("D317", "D320", "D332"),
    errors=(100,),
    exit=1,
)

CONTAINERS = (
    *(_DOCKER, _APPTAINER, _JETSON, _LXC, _POD, _RUNTIME, _VOID, _UTILITY, _CGROUP),
    *(_COMPAT_ON_GEFORCE, _OWN_DRIVER, _SELINUX, _HIDDEN_IN_CONTAINER),
)
