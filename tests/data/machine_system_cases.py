"""Machines whose system is at fault: WSL, Jetson, Windows."""

from __future__ import annotations

from archbuild.model.surroundings import DriverFiles
from tests.data.machine_parts import (
    NO_CUDA,
    NO_NVML,
    NO_SMI,
    NO_SOURCES,
    around,
    driver,
    init_fails,
    library,
    machine,
    record,
    release,
    sources,
)

_WSL_DRIVER = record(
    "wsl-linux-driver-installed",
    "A driver for Linux was installed in WSL, and comes before the one of Windows",
    "WSL#7056",
    "wsl",
    machine(
        around(
            DriverFiles(
                libraries=(library("470.82.00"), "/usr/lib/wsl/lib/libcuda.so.1.1"),
                library_release=release("470.82.00"),
                device_nodes=("/dev/dxg",),
            ),
            sources=sources(
                (9, "Driver Not Loaded"),
                init_fails(100),
                (9, "NVIDIA-SMI has failed because it couldn't communicate with the driver."),
            ),
            wsl=True,
            wsl_library="/usr/lib/wsl/lib/libcuda.so.1",
            distribution="ubuntu 20.04",
            kernel="5.10.16.3-microsoft-standard-WSL2",
        ),
        driver=driver(None, "11.4"),
    ),
    "D330",
    never=("D300", "D316", "D318", "D307"),
    errors=(100,),
    exit=1,
)

_WSL_NONE = record(
    "wsl-windows-without-driver",
    "Windows has no driver that WSL could use",
    "https://learn.microsoft.com/en-us/windows/ai/directml/gpu-cuda-in-wsl",
    "wsl",
    machine(
        around(
            sources=NO_SOURCES,
            wsl=True,
            distribution="ubuntu 22.04",
            kernel="5.15.167.4-microsoft-standard-WSL2",
        )
    ),
    "D331",
    never=("D300", "D318"),
    errors=(35,),
    exit=1,
)

_JETSON_DESKTOP = record(
    "jetson-desktop-driver",
    "A desktop driver was installed over that of the Jetson's system",
    "https://docs.nvidia.com/jetson/archives/r36.4/DeveloperGuide/",
    "jetson",
    machine(
        around(
            DriverFiles(
                libraries=(
                    library("535.183.01", "/usr/lib/aarch64-linux-gnu"),
                    "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1",
                ),
                library_release=release("535.183.01"),
                device_nodes=("/dev/nvhost-gpu", "/dev/nvmap"),
            ),
            sources=sources((9, "Driver Not Loaded"), init_fails(100), NO_SMI),
            jetson="NVIDIA Jetson Orin Nano Developer Kit",
            l4t="36.4.0",
            distribution="ubuntu 22.04",
            kernel="5.15.148-tegra",
        ),
        processor="aarch64",
        driver=driver(None, "12.2"),
    ),
    "D329",
    never=("D300", "D316", "D318"),
    errors=(100,),
    exit=1,
)

_JETSON_GROUP = record(
    "jetson-not-in-video-group",
    "On a Jetson the user is in neither of the groups that own the device nodes",
    "https://docs.nvidia.com/jetson/archives/r36.4/DeveloperGuide/",
    "jetson",
    machine(
        around(
            DriverFiles(
                libraries=("/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1",),
                device_nodes=("/dev/nvhost-gpu", "/dev/nvmap"),
                closed_nodes=("/dev/nvhost-gpu", "/dev/nvmap"),
            ),
            sources=sources((3, "Not Supported"), init_fails(999), NO_SMI),
            jetson="NVIDIA Jetson AGX Orin Developer Kit",
            l4t="36.4.0",
            kernel="5.15.148-tegra",
        ),
        processor="aarch64",
        driver=driver(None, "12.6"),
    ),
    "D309",
    never=("D300", "D318", "D332"),
    errors=(999,),
    exit=1,
)

_WINDOWS_NONE = record(
    "windows-without-driver",
    "Windows without NVIDIA's driver",
    "https://learn.microsoft.com/en-us/windows/ai/directml/gpu-cuda-in-wsl",
    "none",
    machine(
        around(
            bus_read=False,
            sources=sources(NO_NVML, NO_CUDA, NO_SMI),
            distribution=None,
            kernel=None,
            glibc=None,
        ),
        system="win32",
        processor="AMD64",
    ),
    "D300",
    never=("D318", "D316"),
    errors=(35,),
    exit=1,
)

SYSTEMS = (_WSL_DRIVER, _WSL_NONE, _JETSON_DESKTOP, _JETSON_GROUP, _WINDOWS_NONE)
