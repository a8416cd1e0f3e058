"""What nvidia-smi, NVML, docker and its kin say about the driver and the GPU."""

from __future__ import annotations

from archbuild.rules.explaining.known import Join, KnownError, Rank

_DOCTOR = "archbuild doctor"
_TOOLKIT = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit"

_DRIVER = (
    KnownError(
        "nvml-mismatch",
        "The driver's libraries and its kernel module are of two releases: the driver was updated "
        "under a running system.",
        "Reboot, or unload the old kernel module and load the new one. In a container the host "
        "has to be rebooted.",
        ("driver/library version mismatch",),
        r"Driver/library version mismatch",
        ("sudo reboot", "cat /proc/driver/nvidia/version"),
        (803,),
        Join.MACHINE,
        source="nvidia-smi, nvidia-container-cli; nvidia-container-toolkit#394, tvm#7536",
    ),
    KnownError(
        "nvml-unknown",
        "NVML may no longer use the GPU: in a container this comes when the host's systemd was "
        "reloaded, which takes the rights to the devices away.",
        "Start the container again; to be rid of it, let the toolkit use CDI, or give the devices "
        "with --device.",
        ("failed to initialize nvml: unknown error",),
        r"Failed to initialize NVML: Unknown Error",
        (
            "docker restart CONTAINER",
            "sudo nvidia-ctk system create-dev-char-symlinks --create-all",
        ),
        (999,),
        Join.MACHINE,
        source="nvidia-smi; nvidia-docker#1671, nvidia-container-toolkit#48",
    ),
    KnownError(
        "nvml-other",
        "NVML could not be started: {why}.",
        "See what the driver says.",
        ("failed to initialize nvml",),
        r"Failed to initialize NVML: (?P<why>(?!Driver/library|Unknown Error)[A-Za-z' ]{3,60}\b)",
        (_DOCTOR,),
        (3,),
        Join.MACHINE,
        Rank.ERROR,
        source="nvidia-smi; k8s-device-plugin#207",
    ),
    KnownError(
        "smi-no-driver",
        "The kernel module of the driver is not loaded.",
        "Load it; if that fails, it was not built for this kernel, secure boot refuses it, or "
        "nouveau has the GPU.",
        ("communicate with the nvidia driver",),
        r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
        ("sudo modprobe nvidia", "sudo dkms status", "sudo dmesg | grep -i nvrm"),
        (100, 35),
        Join.MACHINE,
        source="nvidia-smi; nvidia-docker#988, self-hosted-runners#40",
    ),
    KnownError(
        "smi-no-library",
        "nvidia-smi finds no libnvidia-ml: the driver is not installed whole, or not mapped into "
        "the container.",
        "Install the driver, or map it whole: NVIDIA_DRIVER_CAPABILITIES=compute,utility.",
        ("find libnvidia-ml.so",),
        r"couldn't find libnvidia-ml\.so",
        ("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ...",),
        (35,),
        Join.MACHINE,
        source="nvidia-smi; nvidia-docker#876, lxd#9964",
    ),
    KnownError(
        "smi-no-devices",
        "The driver runs and serves no GPU: none is in this machine, it is too old or too new for "
        "this driver, or it has failed.",
        "Look into the kernel's log.",
        ("no devices were found",),
        r"No devices were found",
        ("sudo dmesg | grep -iE 'nvrm|xid'", "archbuild gpus"),
        (100,),
        Join.MACHINE,
        Rank.ERROR,
        source="nvidia-smi",
    ),
    KnownError(
        "kernel-xid",
        "The kernel's log has a fault of the GPU, Xid {xid}.",
        "NVIDIA's list of Xid errors says whose fault it is: 13, 31, 43 and 45 are a program's, "
        "48, 63, 64, 74, 79 and 94 the hardware's.",
        ("nvrm: xid",),
        r"NVRM: Xid \([^)]*\): (?P<xid>\d+)",
        ("nvidia-smi -q -d ECC,PAGE_RETIREMENT",),
        source="the driver's kernel module; NVIDIA, XID Errors",
    ),
)

_CONTAINERS = (
    KnownError(
        "docker-no-gpu-driver",
        "Docker has nothing that gives GPUs to containers: NVIDIA's container toolkit is missing "
        "or not made known to it.",
        f"Install the toolkit ({_TOOLKIT}), make it known, and restart docker.",
        ("could not select device driver",),
        r"could not select device driver \\?\"(?:nvidia)?\\?\" with capabilities: \[\[.{0,40}?gpu",
        ("sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker"),
        source="docker; nvidia-docker#1034, ragflow#9573",
    ),
    KnownError(
        "docker-no-runtime",
        "Docker knows no runtime named nvidia.",
        f"Install NVIDIA's container toolkit ({_TOOLKIT}) and make it known, or leave "
        "--runtime=nvidia out and use --gpus all.",
        ("unknown or invalid runtime name: nvidia", "unknown runtime specified nvidia"),
        r"unknown (?:or invalid )?runtime(?: name:| specified) ?nvidia",
        ("sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker"),
        source="docker",
    ),
    KnownError(
        "container-requirement",
        "The image asks for a driver of CUDA {cuda}[, which is driver {driver} or newer], and the "
        "host's is older.",
        "Update the host's driver, or take an image of an older CUDA. The image's own toolkit "
        "need not match the host's; only the driver counts.",
        ("unsatisfied condition: cuda",),
        r"unsatisfied condition: cuda ?>= ?(?P<cuda>\d+\.\d+)",
        ("nvidia-smi --query-gpu=driver_version --format=csv,noheader",),
        (35,),
        Join.MACHINE,
        source="nvidia-container-cli; llama.cpp#9665, nvidia-container-toolkit#152",
    ),
    KnownError(
        "container-requirement-other",
        "The image asks for something that the host lacks: {what}.",
        "Update the host's driver, or take an image with fewer demands.",
        ("unsatisfied condition:",),
        r"requirement error: unsatisfied condition: "
        r"(?P<what>(?!cuda ?>=)\w+ ?[<>!=]+ ?\w+(?:\.\w+)*)",
        ("nvidia-smi --query-gpu=driver_version --format=csv,noheader",),
        source="nvidia-container-cli",
    ),
    KnownError(
        "container-no-host-driver",
        "The host has no driver, or its kernel module is not loaded, so that no GPU can be given "
        "to a container.",
        "Install or load the driver on the host; nvidia-smi has to work there first.",
        ("nvidia-container-cli: initialization error",),
        r"nvidia-container-cli: initialization error: (?:load library failed: libnvidia-ml\.so\.1|"
        r"nvml error: driver not loaded|driver error)",
        ("nvidia-smi",),
        (35,),
        Join.MACHINE,
        source="nvidia-container-cli; nvidia-container-toolkit#154, for-win#13835",
    ),
    KnownError(
        "container-wsl-no-adapter",
        "WSL shows no GPU: this is WSL 1, or Windows has no driver for it.",
        "Use WSL 2, and install NVIDIA's driver in Windows, none inside WSL.",
        ("wsl environment detected but no adapters were found",),
        r"WSL environment detected but no adapters were found",
        ("wsl --list --verbose",),
        (100,),
        Join.MACHINE,
        source="nvidia-container-cli; stable-diffusion-webui-docker#117",
    ),
    KnownError(
        "container-driver-in-image",
        "The image holds files of a driver, where those of the host are to be mapped.",
        "Take the driver's packages (libnvidia-compute, cuda-drivers) out of the image.",
        ("file exists: unknown", "file exists\\n"),
        r"mount error: file creation failed: \S*?(?P<library>lib(?:nvidia|cuda)[\w-]*\.so[\d.]*): "
        r"file exists",
        (),
        (),
        source="nvidia-container-cli; nvidia-docker#1551, nvidia-container-toolkit#289",
    ),
    KnownError(
        "container-cdi",
        "No description (CDI) tells the container's runtime what {device} is.",
        "Write one, anew after every update of the driver.",
        ("unresolvable cdi devices",),
        r"unresolvable CDI devices (?P<device>[\w./=-]+)",
        ("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", "nvidia-ctk cdi list"),
        source="docker, podman, containerd; nvidia-container-toolkit#434, vespa#27945",
    ),
    KnownError(
        "container-driver-too-old",
        "The image was made for driver {wanted} or newer, and the host has {found}; no "
        "compatibility package serves this GPU.",
        "Update the host's driver, or take an older image. For machine code of the same CUDA "
        "major version the host's driver may do all the same.",
        ("compatibility mode is unavailable",),
        r"built for NVIDIA Driver Release (?P<wanted>[\d.]+) or later, but ?version "
        r"(?P<found>[\d.]+) was detected and compatibility mode is UNAVAILABLE",
        ("nvidia-smi --query-gpu=driver_version --format=csv,noheader",),
        (804, 35),
        Join.MACHINE,
        source="NVIDIA's images; TensorRT-LLM#23, nvidia-docker#1479",
    ),
)

#: Everything that is said of the system around CUDA.
SYSTEM_ERRORS = (*_DRIVER, *_CONTAINERS)
