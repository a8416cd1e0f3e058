"""Machines without a driver, or with one that is not loaded, not whole, or not let at the card."""

from __future__ import annotations

from archbuild.model.surroundings import Container, ContainerKind, DriverFiles
from tests.data.machine_parts import (
    GTX_1080,
    NO_CUDA,
    NO_MODULE,
    NO_NVML,
    NO_SMI,
    NO_SOURCES,
    RTX_3060,
    RTX_3090,
    RTX_4060_LAPTOP,
    RTX_4090,
    T4,
    around,
    card,
    driver,
    files,
    init_fails,
    library,
    machine,
    record,
    release,
    sources,
)

_NONE = record(
    "no-card-no-driver",
    "A machine with no NVIDIA card and no driver is known, and has one root cause",
    "https://docs.nvidia.com/cuda/cuda-installation-guide-linux/",
    "none",
    machine(around(sources=NO_SOURCES)),
    "D300",
    never=("D317", "D318", "D316", "D320"),
    errors=(35,),
    exit=1,
)

_MACOS = record(
    "macos",
    "Apple's system has no driver of NVIDIA's, whatever is installed",
    "https://developer.nvidia.com/nvidia-cuda-toolkit-developer-tools-mac-hosts",
    "none",
    machine(
        around(sources=NO_SOURCES, bus_read=False, distribution=None, kernel=None, glibc=None),
        system="darwin",
        processor="arm64",
    ),
    "D300",
    errors=(35,),
    exit=1,
)

_NOTHING_READ = record(
    "sandbox-nothing-to-read",
    "A sandbox hides the bus and /proc: no driver here, and what the host has is not known",
    "https://gvisor.dev/docs/user_guide/gpu/",
    "none",
    machine(
        around(
            DriverFiles(hidden=("/proc", "/sys/bus/pci/devices")),
            sources=NO_SOURCES,
            bus_read=False,
        )
    ),
    "D300",
    errors=(35,),
    exit=1,
)

_NO_DRIVER = record(
    "laptop-no-driver",
    "A new laptop with nouveau: the card is named by the table, and a driver is to install",
    "https://documentation.ubuntu.com/server/how-to/graphics/install-nvidia-drivers/",
    "laptop",
    machine(
        around(
            DriverFiles(nouveau=True),
            cards=(card(RTX_4060_LAPTOP, module="nouveau"),),
            sources=NO_SOURCES,
        )
    ),
    "D302",
    never=("D300", "D301", "D317"),
    errors=(35,),
    exit=1,
)

_NO_DRIVER_IN_CONTAINER = record(
    "container-host-without-driver",
    "A container on a host that has no driver: nothing is to be done inside of it",
    "stable-diffusion-webui-docker#348",
    "container",
    machine(
        around(
            cards=(card(RTX_3060, module=None),),
            sources=NO_SOURCES,
            container=Container(
                ContainerKind.DOCKER,
                visible_devices="all",
                capabilities="compute,utility",
                image_cuda="12.4.1",
            ),
        ),
        variables=(("NVIDIA_VISIBLE_DEVICES", "all"),),
    ),
    "D301",
    never=("D320", "D300"),
    errors=(35,),
    exit=1,
)

_NOUVEAU = record(
    "nouveau-holds-the-card",
    "The driver is installed, but nouveau took the card first",
    "oneflow#3106",
    "desktop",
    machine(
        around(
            files("470.256.02", 0, kernel_release=None, nouveau=True, device_nodes=()),
            cards=(card(GTX_1080, module="nouveau"),),
            sources=NO_MODULE,
            distribution="ubuntu 20.04",
        ),
        driver=driver(None, "11.4"),
    ),
    "D302",
    never=("D300", "D316"),
    errors=(100,),
    exit=1,
)

_VFIO = record(
    "vfio-holds-the-card",
    "The only card is kept for virtual machines",
    "kubevirt-gpu-device-plugin#27",
    "data centre",
    machine(
        around(
            files("550.127.05", 0, device_nodes=("/dev/nvidiactl",)),
            cards=(card(T4, module="vfio-pci"),),
            sources=sources((6, "Not Found"), init_fails(100), (6, "No devices were found")),
            distribution="debian 12",
        ),
        driver=driver("550.127.05"),
    ),
    "D303",
    never=("D317", "D300", "D316"),
    errors=(100,),
    exit=1,
)

_NOT_BUILT = record(
    "kernel-updated-module-not-built",
    "The system took a new kernel, and no kernel module was built for it",
    "tio#206",
    "desktop",
    machine(
        around(
            files("550.127.05", 0, kernel_release=None, module_on_disk=None, device_nodes=()),
            cards=(card(RTX_3060, module=None),),
            sources=NO_MODULE,
            kernel="6.8.0-48-generic",
        ),
        driver=driver(None, "12.4"),
    ),
    "D316",
    never=("D300", "D317", "D307"),
    errors=(100,),
    exit=1,
)

_NOT_LOADED = record(
    "module-on-disk-not-loaded",
    "The kernel module is there, and was not loaded: Secure Boot refuses one that is not signed",
    "Nvidia-Fedora-Guide#9",
    "laptop",
    machine(
        around(
            files("580.105.08", 0, kernel_release=None, device_nodes=()),
            cards=(card(RTX_4060_LAPTOP, module=None),),
            sources=NO_MODULE,
            distribution="fedora 43",
            kernel="6.17.10-300.fc43.x86_64",
        ),
        driver=driver(None, "13.0"),
    ),
    "D316",
    never=("D300", "D317"),
    errors=(100,),
    exit=1,
)

_MISMATCH_NVML = (18, "Driver/library version mismatch")
_MISMATCH_SMI = (18, "Failed to initialize NVML: Driver/library version mismatch")
_UPDATED = record(
    "driver-updated-not-restarted",
    "The packages were updated by themselves, and the old kernel module still runs",
    "ubuntu-packaging-nvidia-driver#3",
    "desktop",
    machine(
        around(
            files(
                "550.90.07",
                module_on_disk=release("550.107.02"),
                libraries=(library("550.107.02"),),
                library_release=release("550.107.02"),
            ),
            cards=(card(RTX_3090),),
            sources=sources(_MISMATCH_NVML, init_fails(803), _MISMATCH_SMI),
        ),
        driver=driver("550.90.07"),
    ),
    "D307",
    never=("D300", "D327", "D326"),
    errors=(803,),
    exit=1,
)

_TWO_INSTALLED = record(
    "two-drivers-installed",
    "Library and module were installed from two places: a restart cures nothing",
    "open-gpu-kernel-modules#47",
    "desktop",
    machine(
        around(
            files(
                "570.124.06",
                libraries=(library("570.124.04"),),
                library_release=release("570.124.04"),
            ),
            cards=(card(RTX_4090),),
            sources=sources(_MISMATCH_NVML, init_fails(803), _MISMATCH_SMI),
            distribution="ubuntu 22.04",
        ),
        driver=driver("570.124.06"),
    ),
    "D307",
    never=("D300",),
    errors=(803,),
    exit=1,
)

_NO_LIBRARY = record(
    "fedora-no-cuda-library",
    "The graphics driver is installed without its CUDA library, which is a package of its own",
    "nuxhash#75",
    "desktop",
    machine(
        around(
            files("575.64.05", libraries=(), library_release=None),
            cards=(card(RTX_3060),),
            sources=sources(NO_NVML, NO_CUDA, NO_SMI),
            distribution="fedora 42",
        ),
        driver=driver("575.64.05", None),
    ),
    "D328",
    never=("D300", "D316", "D317"),
    errors=(35,),
    exit=1,
)

NO_DRIVER = (
    *(_NONE, _MACOS, _NOTHING_READ, _NO_DRIVER, _NO_DRIVER_IN_CONTAINER, _NOUVEAU, _VFIO),
    *(_NOT_BUILT, _NOT_LOADED, _UPDATED, _TWO_INSTALLED, _NO_LIBRARY),
)
