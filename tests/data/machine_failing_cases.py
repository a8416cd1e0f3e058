"""Machines whose GPU, driver's library or device nodes fail."""

from __future__ import annotations

from dataclasses import replace

from archbuild.model.surroundings import Container, ContainerKind
from tests.data.machine_parts import (
    A100,
    B200,
    GTX_1070,
    GTX_1080,
    H100,
    NO_SMI,
    RTX_3060,
    RTX_3090,
    RTX_4060_LAPTOP,
    around,
    card,
    cards,
    driver,
    files,
    gpu,
    gpus,
    init_fails,
    machine,
    nodes,
    record,
    release,
    sources,
    whole,
)

_LOST = record(
    "one-of-four-lost",
    "One of four GPUs fell off the bus under load",
    "OWOD#81",
    "data centre",
    machine(
        whole(
            "535.183.06",
            *[A100] * 4,
            sources=sources(
                (15, "GPU 1: GPU is lost"),
                init_fails(999),
                (15, "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost."),
            ),
        ),
        gpus=(
            replace(gpu(A100, cuda=None), visible=None),
            replace(
                gpu(A100, 1, cuda=None),
                uuid="",
                visible=None,
                pci=None,
                memory=None,
                name="unknown GPU",
                capability=None,
                errors=("nvml: anything: GPU is lost",),
            ),
            replace(gpu(A100, 2, cuda=None), visible=None),
            replace(gpu(A100, 3, cuda=None), visible=None),
        ),
        driver=driver("535.183.06"),
    ),
    "D304",
    never=("D332", "D319", "D317"),
    errors=(999,),
    exit=1,
)

_ONE_OF_EIGHT = record(
    "one-of-eight-unknown-error",
    "NVML gives an error for one GPU of eight; the other seven work",
    "dcgm-exporter#604",
    "data centre",
    machine(
        whole(
            "550.54.15",
            *[H100] * 8,
            sources=sources(
                (999, "GPU 5: Unknown Error"),
                None,
                (255, "Unable to determine the device handle for GPU5: 0000:06:00.0"),
            ),
        ),
        gpus=tuple(
            replace(
                gpu(H100, n, cuda=None if n == 5 else n - (n > 5)),
                errors=("nvml: anything: Unknown Error",) if n == 5 else (),
                pci=None if n == 5 else f"00000000:{n + 1:02X}:00.0",
                uuid="" if n == 5 else gpu(H100, n).uuid,
                name="unknown GPU" if n == 5 else H100.name,
                capability=None if n == 5 else gpu(H100, n).capability,
            )
            for n in range(8)
        ),
        driver=driver("550.54.15"),
    ),
    "D339",
    never=("D304", "D317", "D323", "D314"),
    errors=(),
    exit=4,
)

_FABRIC = record(
    "hgx-h100-fabric-manager-down",
    "Behind switches CUDA waits for the fabric manager",
    "pytorch#35710",
    "data centre",
    machine(
        around(
            files(
                "550.54.15",
                device_nodes=nodes(8, "/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch0"),
                fabric_manager=False,
            ),
            cards=cards(*[H100] * 8),
            sources=sources(None, init_fails(802), None),
        ),
        gpus=tuple(replace(g, visible=None, cuda_index=None) for g in gpus(*[H100] * 8)),
        driver=driver("550.54.15"),
    ),
    "D310",
    never=("D332", "D314"),
    errors=(802,),
    exit=1,
)

_FABRIC_OUTSIDE = record(
    "container-b200-802",
    "In a container the fabric manager is the host's, and out of sight",
    "huggingface_hub#4134",
    "container",
    machine(
        around(
            files("580.126.09"),
            cards=cards(*[B200] * 8),
            sources=sources(None, init_fails(802), None),
            container=Container(
                *(ContainerKind.KUBERNETES, True, True, "void", "compute,utility", "cdi"),
                host_release=release("580.126.09"),
            ),
        ),
        gpus=(replace(gpu(B200, cuda=None), visible=None),),
        driver=driver("580.126.09"),
    ),
    "D310",
    never=("D332", "D322", "D317"),
    errors=(802,),
    exit=1,
)

_FORBIDDEN = record(
    "opensuse-not-in-video-group",
    "The device nodes belong to a group that this user is not in",
    "stable-diffusion-webui#3207",
    "desktop",
    machine(
        around(
            files("515.76", 1, closed_nodes=("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")),
            cards=(card(RTX_3060),),
            sources=sources(
                (4, "Insufficient Permissions"),
                init_fails(100),
                (4, "Failed to initialize NVML: Insufficient Permissions"),
            ),
            distribution="opensuse-tumbleweed 20221018",
        ),
        driver=driver("515.76", "11.7"),
    ),
    "D309",
    never=("D317", "D316", "D300"),
    errors=(100,),
    exit=1,
)

_NO_UVM = record(
    "uvm-node-missing",
    "The node for unified memory is missing, without which CUDA does not start",
    "pytorch#49081",
    "desktop",
    machine(
        around(
            files("535.183.06", device_nodes=("/dev/nvidia0", "/dev/nvidiactl")),
            cards=(card(RTX_3090),),
            sources=sources(None, init_fails(999), None),
            distribution="debian 12",
        ),
        gpus=(replace(gpu(RTX_3090, cuda=None), visible=None),),
        driver=driver("535.183.06"),
    ),
    "D319",
    never=("D332", "D314"),
    errors=(999,),
    exit=1,
)

_SUSPENDED = record(
    "laptop-after-suspend",
    "After a suspend CUDA gives an unknown error until nvidia_uvm is loaded again",
    "pytorch#88639",
    "laptop",
    machine(
        whole(
            "550.127.05",
            RTX_4060_LAPTOP,
            sources=sources(None, init_fails(999), None),
            distribution="debian 12",
        ),
        gpus=(replace(gpu(RTX_4060_LAPTOP, cuda=None), visible=None),),
        driver=driver("550.127.05"),
    ),
    "D319",
    never=("D332",),
    errors=(999,),
    exit=1,
)

_OTHER = record(
    "cuda-does-not-start",
    "CUDA cannot be started for a reason of its own: memory of one GPU is taken",
    "nvidia-docker#831",
    "desktop",
    machine(
        whole("535.183.06", GTX_1070, sources=sources(None, init_fails(2), None)),
        gpus=(replace(gpu(GTX_1070, cuda=None), visible=None),),
        driver=driver("535.183.06"),
    ),
    "D332",
    errors=(2,),
    exit=1,
)

_HANGS = record(
    "cuda-hangs",
    "The driver's library hangs: what CUDA sees is not known",
    "open-gpu-kernel-modules#971",
    "data centre",
    machine(
        whole("570.133.20", B200, sources=sources("hangs", "hangs", "hangs")),
        driver=driver("570.133.20"),
    ),
    "D308",
    never=("D300", "D317", "D332"),
    exit=4,
)

_NVML_HANGS = record(
    "nvml-hangs",
    "NVML hangs and CUDA answers",
    "go-nvml#152",
    "data centre",
    machine(
        whole("570.148.08", H100, sources=sources("hangs", None, "hangs")),
        gpus=(replace(gpu(H100), index=None, seen_by=("cuda",)),),
        driver=driver("570.148.08"),
    ),
    "D308",
    never=("D317",),
    exit=0,
)

_HIDDEN_HANGS = record(
    "proc-hidden-cuda-hangs",
    "/proc is hidden and CUDA hangs: nothing can be said of the driver",
    "https://docs.kernel.org/filesystems/proc.html",
    "data centre",
    machine(
        around(
            files(
                "550.54.15",
                *(1,),
                kernel_release=None,
                open_module=None,
                hidden=("/proc", "/proc/driver/nvidia/version"),
            ),
            cards=(card(A100),),
            sources=sources(
                (None, "the module pynvml is not in this environment"), "hangs", NO_SMI
            ),
        ),
    ),
    "D308",
    never=("D300", "D316", "D317"),
    exit=4,
)

_CRASHES = record(
    "cuda-crashes",
    "The driver's library ends the process that calls it",
    "numba#4954",
    "desktop",
    machine(
        whole("535.183.06", GTX_1080, sources=sources(None, "crashes", None)),
        gpus=(replace(gpu(GTX_1080, cuda=None), visible=None),),
        driver=driver("535.183.06"),
    ),
    "D308",
    never=("D332", "D314"),
    exit=4,
)

FAILING = (
    *(_LOST, _ONE_OF_EIGHT, _FABRIC, _FABRIC_OUTSIDE, _FORBIDDEN, _NO_UVM, _SUSPENDED, _OTHER),
    *(_HANGS, _NVML_HANGS, _HIDDEN_HANGS, _CRASHES),
)
