"""Machines whose driver does not serve the card that is there."""

from __future__ import annotations

from dataclasses import replace

from tests.data.machine_parts import (
    GRID_V100D,
    GTX_680,
    GTX_1050,
    GTX_1070,
    GTX_1080,
    NO_MODULE,
    RTX_3090,
    RTX_5090,
    around,
    card,
    driver,
    files,
    gpu,
    gpus,
    init_fails,
    machine,
    record,
    sources,
)

_TOO_NEW = record(
    "rtx5090-driver550",
    "A card that is newer than the driver: the driver does not know it",
    "open-gpu-kernel-modules#393",
    "desktop",
    machine(
        around(
            files("550.127.05", 0, kernel_release=None, open_module=None, device_nodes=()),
            cards=(card(RTX_5090, module=None),),
            sources=NO_MODULE,
        ),
        driver=driver(None, "12.4"),
    ),
    "D305",
    never=("D300", "D316", "D317", "D315"),
    errors=(100,),
    exit=1,
)

_TOO_NEW_SHALLOW = record(
    "rtx5090-driver550-gpus-alone",
    "The same by a record that tells of GPU and driver alone",
    "open-gpu-kernel-modules#393",
    "desktop",
    machine(
        None,
        gpus=(replace(gpu(RTX_5090, cuda=None), visible=None, seen_by=()),),
        driver=driver("550.127.05"),
    ),
    "D305",
    never=("D300",),
    errors=(100,),
    exit=1,
)

_RETIRED = record(
    "gtx1050-driver595",
    "An update to a driver that has left the card behind: an older one is the cure",
    "nixos-hardware#1828",
    "laptop",
    machine(
        around(
            files("595.58.03", 0, kernel_release=None, open_module=None, device_nodes=()),
            cards=(card(GTX_1050, module=None),),
            sources=NO_MODULE,
            distribution="nixos 26.05",
            kernel="6.18.3",
        ),
        driver=driver(None, "13.2"),
    ),
    "D306",
    never=("D300", "D316", "D317"),
    errors=(100,),
    exit=1,
)

_RETIRED_OF_TWO = record(
    "gtx1070-rtx3090-driver590",
    "Of two cards the newest driver serves one; the last branch for the other serves both",
    "open-gpu-kernel-modules#1003",
    "mixed",
    machine(
        around(
            files("590.48.01", 1),
            cards=(card(GTX_1070, module=None), card(RTX_3090, 1)),
            distribution="ubuntu 24.04",
        ),
        gpus=(replace(gpu(RTX_3090), pci="00000000:02:00.0"),),
        driver=driver("590.48.01"),
    ),
    "D306",
    never=("D313", "D317", "D300"),
    errors=(100,),
    exit=1,
)

_NO_COMMON = record(
    "gtx680-rtx5090",
    "One card needs 470 or older, the other one 570 or newer",
    "https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/",
    "mixed",
    machine(
        around(files("570.124.06", 1), cards=(card(RTX_5090), card(GTX_680, 1, None))),
        gpus=gpus(RTX_5090),
        driver=driver("570.124.06"),
    ),
    "D313",
    also=("D306",),
    never=("D300", "D317"),
    errors=(100,),
    exit=1,
)

_NEEDS_OPEN = record(
    "rtx5090-proprietary-module",
    "A Blackwell card with the proprietary kernel module of a driver that is new enough",
    "open-gpu-kernel-modules#872",
    "desktop",
    machine(
        around(
            files("575.51.03", 0, open_module=False, device_nodes=("/dev/nvidiactl",)),
            cards=(card(RTX_5090, module=None),),
            sources=sources((6, "Not Found"), init_fails(100), (6, "No devices were found")),
        ),
        driver=driver("575.51.03"),
    ),
    "D315",
    never=("D305", "D316", "D317"),
    errors=(100,),
    exit=1,
)

_NEEDS_CLOSED = record(
    "gtx1080-open-module",
    "A Pascal card with the open kernel module, which begins with Turing",
    "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html",
    "desktop",
    machine(
        around(
            files("580.95.05", 0, device_nodes=("/dev/nvidiactl",)),
            cards=(card(GTX_1080, module=None),),
            sources=sources((6, "Not Found"), init_fails(100), (6, "No devices were found")),
        ),
        driver=driver("580.95.05"),
    ),
    "D315",
    never=("D306", "D316", "D317"),
    errors=(100,),
    exit=1,
)

_UNEXPLAINED = record(
    "rtx5090-not-started",
    "The right driver does not start the card: the firmware gave it too little address space",
    "open-gpu-kernel-modules#862",
    "desktop",
    machine(
        around(
            files("575.57.08", 1),
            cards=(card(RTX_5090),),
            sources=sources((6, "Not Found"), init_fails(100), (6, "No devices were found")),
        ),
        driver=driver("575.57.08"),
    ),
    "D317",
    never=("D305", "D315", "D300", "D316"),
    errors=(100,),
    exit=1,
)

_VGPU = record(
    "vgpu-public-driver",
    "A share of a GPU with the public driver in place of the guest's",
    "vgpu_unlock#62",
    "vgpu",
    machine(
        around(
            files("550.54.15", 1, open_module=False),
            cards=(card(GRID_V100D),),
            sources=sources((6, "Not Found"), init_fails(100), (6, "No devices were found")),
            distribution="ubuntu 22.04",
        ),
        driver=driver("550.54.15"),
    ),
    "D317",
    never=("D300", "D316"),
    errors=(100,),
    exit=1,
)

_OFF = record(
    "laptop-gpu-switched-off",
    "The driver is installed, and the laptop keeps its GPU switched off",
    "dasharo-issues#993",
    "laptop",
    machine(
        around(files("550.127.05", 0, kernel_release=None, device_nodes=()), sources=NO_MODULE),
        driver=driver(None, "12.4"),
    ),
    "D318",
    never=("D300", "D316"),
    errors=(100,),
    exit=1,
)

CARDS = (
    *(_TOO_NEW, _TOO_NEW_SHALLOW, _RETIRED, _RETIRED_OF_TWO, _NO_COMMON, _NEEDS_OPEN),
    *(_NEEDS_CLOSED, _UNEXPLAINED, _VGPU, _OFF),
)
