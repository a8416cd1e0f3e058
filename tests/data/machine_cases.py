"""Machines whose GPUs, driver, container or system are at fault, or well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from archbuild.model.arch import ComputeCapability
from archbuild.model.installed import LoadedLibrary
from archbuild.model.machine import Gpu, Machine
from archbuild.model.surroundings import (
    Container,
    ContainerKind,
    DriverFiles,
    SourceAnswer,
    Surroundings,
)
from archbuild.model.version import DriverRelease
from tests.data.code_case import Case
from tests.data.code_parts import (
    A100,
    B200,
    GB10,
    GTX_1080,
    H100,
    ORIN,
    RTX_3060,
    RTX_3090,
    RTX_4060_LAPTOP,
    RTX_4070,
    RTX_4090,
    RTX_5090,
    T4,
    THOR,
    Product,
    cards,
    desktop,
    docker,
    driver,
    gpus,
    jetson,
    machine,
    without_driver,
    wsl,
)


def well(
    *products: Product, release: str = "580.95.05", cuda: str = "13.0", **more: Any
) -> Machine:
    """A machine whose driver is whole."""
    around = more.pop("surroundings", None) or desktop(release, *products)
    return machine(*products, surroundings=around, driver=driver(release, cuda), **more)


def failing(around: Surroundings, **codes: tuple[int | None, str]) -> Surroundings:
    """The same where sources fail: ``nvml=(999, "Unknown Error")``."""
    names = {"nvml": "nvml", "cuda": "cuda driver", "smi": "nvidia-smi"}
    told = {names[key]: value for key, value in codes.items()}
    sources = tuple(
        SourceAnswer(s.source, ok=False, code=told[s.source][0], said=told[s.source][1])
        if s.source in told
        else s
        for s in around.sources
    )
    return replace(around, sources=sources)


def files(around: Surroundings, **changes: Any) -> Surroundings:
    """The same with other files of the driver."""
    return replace(around, driver_files=replace(around.driver_files, **changes))


def bare(around: Surroundings, **more: Any) -> Machine:
    """A machine on which no source names a GPU."""
    return machine(surroundings=around, **more)


def unseen(*products: Product, **more: Any) -> Machine:
    """GPUs that NVML sees and CUDA does not."""
    return well(*products, hidden=range(len(products)), **more)


_RELEASE = DriverRelease.parse
_NO_SMI = (None, "not found on PATH; it comes with the driver")
_NO_CUDA = (None, "libcuda.so.1: cannot open shared object file")
_NO_NVML = (12, "NVML Shared Library Not Found")


def in_container(kind: ContainerKind, **more: Any) -> Surroundings:
    """A container into which no GPU came."""
    values: dict[str, Any] = {"host_release": _RELEASE("580.95.05"), **more}
    around = Surroundings(
        sources=tuple(
            SourceAnswer(name, ok=False) for name in ("nvml", "cuda driver", "nvidia-smi")
        ),
        container=Container(kind, **values),
        distribution="debian 12",
        kernel="6.8.0-45-generic",
        glibc="2.36",
    )
    return failing(around, nvml=_NO_NVML, cuda=_NO_CUDA, smi=_NO_SMI)


_SLICES = tuple(
    Gpu(
        f"MIG-0000000{n}-0000-4000-8000-000000000000",
        "NVIDIA A100-SXM4-80GB MIG 3g.40gb",
        ComputeCapability(8, 0),
        index=0,
        cuda_index=n - 1 if n == 1 else None,
        visible=n == 1,
        pci="00000000:01:00.0",
        memory=40 << 30,
        mig=True,
        seen_by=("nvml", "cuda") if n == 1 else ("nvml",),
    )
    for n in (1, 2)
)


def mig(*slices: Gpu) -> Machine:
    """An A100 in MIG mode."""
    whole = replace(gpus(A100, hidden=[0])[0], mig=True)
    return well(A100, gpus=(whole, *slices))


def swapped() -> Machine:
    """NVML's order is not CUDA's: CUDA puts the fastest first."""
    first, second = gpus(RTX_3060, RTX_4090)
    pair = (replace(first, cuda_index=1), replace(second, cuda_index=0))
    return well(RTX_3060, RTX_4090, gpus=pair)


def eight(**third: Any) -> Machine:
    """Eight H100, of which the fourth can't be read."""
    all_ = list(gpus(*[H100] * 8))
    all_[3] = replace(all_[3], **third)
    return well(*[H100] * 8, gpus=tuple(all_))


_TOOLKIT_DOCS = "docs.nvidia.com/datacenter/cloud-native/container-toolkit, troubleshooting"
_GUIDE = "docs.nvidia.com/cuda, CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES"
_COMPAT = "docs.nvidia.com/deploy/cuda-compatibility"
_NVML = "docs.nvidia.com/deploy/nvml-api, nvmlReturn_t"

NO_DRIVER = (
    Case(
        "none-no-card",
        "ChatGLM3#100",
        "none",
        bare(without_driver(desktop("580.95.05"))),
        "No card and no driver.",
        "D300",
        errors=(35, 100),
        exit=1,
    ),
    Case(
        "none-bus-hidden",
        _NVML,
        "none",
        bare(replace(without_driver(desktop("580.95.05")), bus_read=False)),
        "A virtual machine that shows no bus: there may be a card.",
        "D300",
        exit=1,
    ),
    Case(
        "desktop-card-no-driver",
        "pytorch#150733, before its driver",
        "desktop",
        bare(without_driver(replace(desktop("580.95.05"), cards=cards(RTX_5090, module=None)))),
        "An RTX 5090 in the slot, and no driver.",
        "D301",
        never=("D300",),
        errors=(35, 100),
        exit=1,
    ),
    Case(
        "laptop-nouveau",
        "wiki.archlinux.org, NVIDIA, nouveau",
        "laptop",
        bare(
            files(
                without_driver(
                    replace(desktop("580.95.05"), cards=cards(RTX_4060_LAPTOP, module="nouveau"))
                ),
                nouveau=True,
            )
        ),
        "nouveau holds the card.",
        "D302",
        never=("D301",),
        exit=1,
    ),
    Case(
        "desktop-vfio",
        "docs.kernel.org, VFIO",
        "desktop",
        bare(
            without_driver(replace(desktop("580.95.05"), cards=cards(RTX_4090, module="vfio-pci")))
        ),
        "The card is kept for a virtual machine.",
        "D303",
        never=("D301",),
        exit=1,
    ),
    Case(
        "desktop-not-loaded",
        "NVIDIA driver README, chapter 8: the kernel was updated and the module was not built",
        "desktop",
        bare(
            files(
                failing(
                    replace(desktop("580.95.05", RTX_3090), cards=cards(RTX_3090, module=None)),
                    nvml=(9, "Driver Not Loaded"),
                    cuda=(100, "no CUDA-capable device is detected"),
                    smi=(
                        9,
                        "NVIDIA-SMI has failed because it couldn't communicate with the driver",
                    ),
                ),
                kernel_release=None,
                module_on_disk=None,
                device_nodes=(),
            )
        ),
        "The driver is installed, its module is not loaded.",
        "D316",
        never=("D301", "D300"),
        exit=1,
    ),
)

DRIVER = (
    Case(
        "desktop-803",
        "facts: library and kernel module differ after an update (803, nvidia-smi exit 18)",
        "desktop",
        bare(
            files(
                failing(
                    desktop("580.95.05", RTX_4070),
                    nvml=(18, "Driver/library version mismatch"),
                    cuda=(803, "system has unsupported display driver / cuda driver combination"),
                    smi=(18, "Failed to initialize NVML: Driver/library version mismatch"),
                ),
                kernel_release=_RELEASE("580.65.06"),
            )
        ),
        "An update brought a new library, and the old module is still loaded.",
        "D307",
        errors=(803,),
        exit=1,
    ),
    Case(
        "datacentre-802",
        "docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide",
        "data centre",
        unseen(
            B200,
            B200,
            surroundings=files(
                failing(desktop("580.95.05", B200, B200), cuda=(802, "system not yet initialized")),
                fabric_manager=False,
            ),
        ),
        "NVSwitch without its fabric manager.",
        "D310",
        never=("D314",),
        errors=(802,),
        exit=1,
    ),
    Case(
        "desktop-stub",
        "warp#219",
        "desktop",
        unseen(
            RTX_3090,
            surroundings=failing(
                desktop("580.95.05", RTX_3090), cuda=(34, "CUDA driver is a stub library")
            ),
            variables=(("LD_LIBRARY_PATH", "/usr/local/cuda/lib64/stubs:/usr/local/lib"),),
            loaded=(
                LoadedLibrary(
                    "libcuda.so.1",
                    "/usr/local/cuda/lib64/stubs/libcuda.so.1",
                    found_by="LD_LIBRARY_PATH",
                    stub=True,
                ),
            ),
        ),
        "A stub made for linking is loaded in place of the driver.",
        "D311",
        never=("D314",),
        errors=(34,),
        exit=1,
    ),
    Case(
        "container-804",
        "nvidia-docker#1294",
        "container",
        unseen(
            RTX_3060,
            release="470.256.02",
            cuda="11.4",
            surroundings=failing(
                replace(desktop("470.256.02", RTX_3060), container=docker("470.256.02", "12.4.1")),
                cuda=(804, "forward compatibility was attempted on non supported HW"),
            ),
            loaded=(
                LoadedLibrary(
                    "libcuda.so.1",
                    "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15",
                    found_by="ldconfig",
                    compat=True,
                ),
            ),
        ),
        "The image brings a compat library, which GeForce does not take.",
        "D312",
        never=("D314",),
        errors=(804,),
        exit=1,
    ),
    Case(
        "desktop-rtx5090-driver550",
        "issue: an RTX 5090 with driver 550",
        "desktop",
        bare(
            failing(
                desktop("550.144.03", RTX_5090),
                nvml=(None, "no devices"),
                cuda=(100, "no CUDA-capable device is detected"),
                smi=(None, "No devices were found"),
            ),
            driver=driver("550.144.03", "12.4"),
        ),
        "The driver is older than the card.",
        "D305",
        errors=(100,),
        exit=1,
    ),
    Case(
        "desktop-rtx5090-driver550-seen",
        "pytorch#150733",
        "desktop",
        unseen(RTX_5090, release="550.144.03", cuda="12.4"),
        "The same where NVML still names the card.",
        "D305",
        never=("D314",),
        errors=(100,),
        exit=1,
    ),
    Case(
        "mixed-retired",
        "docs.nvidia.com: R580 is the last for Maxwell, Pascal and Volta",
        "mixed",
        well(
            RTX_3060,
            release="595.45.04",
            cuda="13.2",
            surroundings=desktop("595.45.04", RTX_3060, GTX_1080),
        ),
        "The newest driver, and the GTX 1080 is gone.",
        "D306",
        errors=(100,),
        exit=1,
    ),
    Case(
        "datacentre-fell-off",
        _NVML,
        "data centre",
        eight(capability=None, visible=False, cuda_index=None, errors=("name: GPU is lost (15)",)),
        "One of eight has fallen off the bus.",
        "D304",
        exit=1,
    ),
    Case(
        "datacentre-one-unreadable",
        _NVML,
        "data centre",
        eight(
            capability=None, visible=None, cuda_index=None, errors=("capability: Unknown Error",)
        ),
        "NVML gives an error for one of eight.",
        "D339",
        never=("D304", "D314"),
        exit=4,
    ),
    Case(
        "desktop-no-permission",
        "docs.nvidia.com/cuda, installation guide: device node permissions",
        "desktop",
        bare(
            files(
                failing(
                    desktop("580.95.05", RTX_4090),
                    nvml=(4, "Insufficient Permissions"),
                    cuda=(100, "no CUDA-capable device is detected"),
                    smi=(4, "Insufficient Permissions"),
                ),
                closed_nodes=("/dev/nvidia0", "/dev/nvidiactl"),
            )
        ),
        "This user may not open the device nodes.",
        "D309",
        exit=1,
    ),
    Case(
        "desktop-driver-hangs",
        "issue: a driver library that hangs",
        "desktop",
        bare(
            replace(
                desktop("580.95.05", RTX_3090),
                sources=tuple(
                    SourceAnswer(name, ok=False, said="did not answer in time", timed_out=True)
                    for name in ("nvml", "cuda driver", "nvidia-smi")
                ),
            )
        ),
        "Every source hangs.",
        "D308",
        exit=4,
    ),
    Case(
        "desktop-driver-crashes",
        "issue: a driver library that crashes",
        "desktop",
        well(
            RTX_3090,
            surroundings=replace(
                desktop("580.95.05", RTX_3090),
                sources=(
                    SourceAnswer("nvml", ok=True),
                    SourceAnswer(
                        "cuda driver", ok=False, said="was ended by SIGSEGV", crashed=True
                    ),
                    SourceAnswer("nvidia-smi", ok=True),
                ),
            ),
            gpus=(replace(gpus(RTX_3090)[0], visible=None, cuda_index=None),),
        ),
        "cuInit crashes, NVML answers.",
        "D308",
        never=("D314",),
        exit=4,
    ),
    Case(
        "desktop-proc-hidden",
        "issue: /proc hidden",
        "desktop",
        well(
            RTX_3090,
            surroundings=files(
                desktop("580.95.05", RTX_3090), kernel_release=None, hidden=("/proc/driver/nvidia",)
            ),
        ),
        "/proc/driver is hidden, all else answers: nothing is wrong.",
    ),
)

CONTAINERS = (
    Case(
        "container-not-mapped",
        "nvidia-docker#533",
        "container",
        bare(in_container(ContainerKind.DOCKER)),
        "docker run without --gpus.",
        "D320",
        never=("D300", "D301"),
        errors=(35, 100),
        exit=1,
    ),
    Case(
        "container-podman",
        _TOOLKIT_DOCS,
        "container",
        bare(in_container(ContainerKind.PODMAN)),
        "podman without CDI devices.",
        "D320",
        exit=1,
    ),
    Case(
        "container-kubernetes",
        "kubernetes.io, Schedule GPUs",
        "container",
        bare(in_container(ContainerKind.KUBERNETES)),
        "A pod that asks for no GPU.",
        "D320",
        exit=1,
    ),
    Case(
        "container-void",
        _TOOLKIT_DOCS,
        "container",
        bare(in_container(ContainerKind.DOCKER, visible_devices="void")),
        "NVIDIA_VISIBLE_DEVICES=void.",
        "D322",
        never=("D320",),
        exit=1,
    ),
    Case(
        "container-utility-only",
        _TOOLKIT_DOCS,
        "container",
        bare(
            replace(
                failing(
                    files(desktop("580.95.05", T4), libraries=(), library_release=None),
                    cuda=_NO_CUDA,
                ),
                container=replace(docker("580.95.05", "12.8.0"), capabilities="utility"),
            ),
            gpus=gpus(T4, hidden=[0]),
            driver=driver("580.95.05", None),
        ),
        "NVIDIA_DRIVER_CAPABILITIES without compute.",
        "D321",
        never=("D320", "D314", "D300"),
        exit=1,
    ),
    Case(
        "container-cgroup-lost",
        "nvidia-container-toolkit#48",
        "container",
        bare(
            replace(
                failing(
                    desktop("580.95.05", A100),
                    nvml=(999, "Unknown Error"),
                    cuda=(999, "unknown error"),
                    smi=(255, "Failed to initialize NVML: Unknown Error"),
                ),
                container=docker("580.95.05", "12.8.0"),
            )
        ),
        "After a daemon-reload the device rules of the container are gone.",
        "D323",
        exit=1,
    ),
    Case(
        "container-only-devices",
        _TOOLKIT_DOCS,
        "container",
        bare(
            replace(
                files(
                    in_container(ContainerKind.DOCKER, gpu_mapped=True),
                    device_nodes=("/dev/nvidia0", "/dev/nvidiactl"),
                )
            )
        ),
        "--device /dev/nvidia0 brings the nodes, not the driver's libraries.",
        "D325",
        never=("D320",),
        exit=1,
    ),
    Case(
        "jetson-container",
        "docs.nvidia.com/jetson, containers",
        "jetson",
        bare(
            replace(
                failing(jetson("NVIDIA Jetson AGX Orin Developer Kit", "36.4.0"), cuda=_NO_CUDA),
                driver_files=DriverFiles(),
                container=Container(ContainerKind.DOCKER),
            ),
            processor="aarch64",
        ),
        "A container on a Jetson without its runtime.",
        "D320",
        exit=1,
    ),
)

SYSTEMS = (
    Case(
        "wsl-linux-driver",
        "WSL#7056",
        "wsl",
        bare(
            files(
                failing(
                    wsl(RTX_3090),
                    nvml=(9, "Driver Not Loaded"),
                    cuda=(100, "no CUDA-capable device is detected"),
                    smi=(9, "NVIDIA-SMI has failed"),
                ),
                libraries=(
                    "/usr/lib/x86_64-linux-gnu/libcuda.so.560.35.03",
                    "/usr/lib/wsl/lib/libcuda.so.1",
                ),
                library_release=_RELEASE("560.35.03"),
            )
        ),
        "A Linux driver was installed inside WSL.",
        "D330",
        never=("D300", "D316"),
        exit=1,
    ),
    Case(
        "wsl-no-dxg",
        "learn.microsoft.com, WSL, GPU acceleration",
        "wsl",
        bare(
            files(
                replace(
                    failing(wsl(RTX_3090), nvml=_NO_NVML, cuda=_NO_CUDA, smi=_NO_SMI),
                    wsl_library=None,
                ),
                libraries=(),
                device_nodes=(),
            )
        ),
        "WSL 1, or a Windows without the GPU driver.",
        "D331",
        never=("D300",),
        exit=1,
    ),
    Case(
        "desktop-all-hidden",
        _GUIDE,
        "desktop",
        unseen(RTX_4090, variables=(("CUDA_VISIBLE_DEVICES", ""),)),
        "CUDA_VISIBLE_DEVICES is empty.",
        "D333",
        never=("D314",),
        errors=(100,),
        exit=1,
    ),
    Case(
        "desktop-minus-one",
        _GUIDE,
        "desktop",
        unseen(RTX_4090, variables=(("CUDA_VISIBLE_DEVICES", "-1"),)),
        "CUDA_VISIBLE_DEVICES=-1.",
        "D333",
        exit=1,
    ),
    Case(
        "mixed-one-of-four",
        "facts: NVML 4 and CUDA 1 is CUDA_VISIBLE_DEVICES",
        "data centre",
        well(
            *[A100] * 4,
            hidden=(0, 1, 3),
            variables=(("CUDA_VISIBLE_DEVICES", "2"),),
        ),
        "Three of four are hidden on purpose.",
        None,
        also=("D334",),
        never=("D314",),
    ),
    Case(
        "desktop-nonsense",
        _GUIDE,
        "desktop",
        well(
            RTX_3060,
            RTX_4090,
            hidden=(1,),
            variables=(("CUDA_VISIBLE_DEVICES", "0,cuda:1"),),
        ),
        "The first word that CUDA can't read ends the list.",
        "D335",
        never=("D314",),
    ),
    Case(
        "desktop-nonsense-first",
        _GUIDE,
        "desktop",
        unseen(RTX_4090, variables=(("CUDA_VISIBLE_DEVICES", "all"),)),
        "The first word is one that CUDA can't read, so nothing is left.",
        "D333",
        also=("D335",),
        exit=1,
    ),
    Case(
        "mig-no-slices",
        "docs.nvidia.com/datacenter/tesla/mig-user-guide",
        "mig",
        mig(),
        "MIG is on, and there is no instance.",
        "D336",
        never=("D314",),
        errors=(100,),
        exit=1,
    ),
    Case(
        "mig-two-slices",
        "pytorch#95784",
        "mig",
        mig(*_SLICES),
        "Two slices, of which CUDA takes one.",
        None,
        also=("D337",),
        never=("D314", "D336"),
    ),
    Case(
        "mixed-order",
        "unsloth#6352",
        "mixed",
        swapped(),
        "NVML counts by the bus, CUDA by speed.",
        None,
        also=("D338",),
    ),
    Case(
        "desktop-cuda-blind",
        "facts: a disagreement of sources is a finding",
        "desktop",
        well(RTX_3060, RTX_4090, hidden=(1,)),
        "CUDA does not see the second GPU, and nothing says why.",
        "D314",
    ),
)

HEALTHY = (
    Case("well-desktop", "facts/machine.md", "desktop", well(RTX_4090), "All is well."),
    Case("well-datacentre", "facts/machine.md", "data centre", well(*[H100] * 8), "Eight H100."),
    Case(
        "well-container",
        "facts: only the host's driver matters",
        "container",
        well(
            A100,
            release="535.183.01",
            cuda="12.2",
            surroundings=replace(
                desktop("535.183.01", A100), container=docker("535.183.01", "12.8.0")
            ),
        ),
        "An image of a newer CUDA than the driver's is no fault by itself.",
    ),
    Case(
        "well-wsl",
        "facts/machine.md",
        "wsl",
        machine(RTX_4070, surroundings=wsl(RTX_4070), driver=driver("581.29", "13.0")),
        "WSL with the driver of Windows.",
    ),
    Case(
        "well-jetson",
        "facts/machine.md",
        "jetson",
        machine(
            ORIN,
            surroundings=jetson("NVIDIA Jetson AGX Orin Developer Kit", "36.4.0"),
            driver=driver(None, "12.6"),
            processor="aarch64",
            gpus=(replace(gpus(ORIN)[0], seen_by=("cuda",), index=None),),
        ),
        "A Jetson has no NVML for its GPU, nor a card on the bus.",
    ),
    Case(
        "well-thor",
        "facts/machine.md",
        "jetson",
        machine(
            THOR,
            surroundings=jetson("NVIDIA Jetson AGX Thor Developer Kit", "38.2.0"),
            driver=driver("580.00", "13.0"),
            processor="aarch64",
        ),
        "Thor.",
    ),
    Case(
        "well-gb10",
        "pytorch#164596",
        "desktop",
        well(GB10, processor="aarch64"),
        "GB10 on its own board.",
    ),
    Case(
        "well-vgpu",
        "docs.nvidia.com/vgpu",
        "vgpu",
        well(T4, gpus=(replace(gpus(T4)[0], name="GRID T4-8Q", vgpu=True),)),
        "A share of a GPU that a hypervisor hands out.",
    ),
    Case(
        "well-mig-one",
        "docs.nvidia.com/datacenter/tesla/mig-user-guide",
        "mig",
        mig(_SLICES[0]),
        "One slice, and CUDA sees it.",
    ),
    Case(
        "well-pci-order",
        "unsloth#6352",
        "mixed",
        well(RTX_3060, RTX_4090, variables=(("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),)),
        "Both count by the bus.",
    ),
)

MACHINES = (*NO_DRIVER, *DRIVER, *CONTAINERS, *SYSTEMS, *HEALTHY)
