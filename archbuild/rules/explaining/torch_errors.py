"""What torch says, at run time and while it builds extensions."""

from __future__ import annotations

from archbuild.rules.explaining.known import Join, KnownError, Rank

_RECOMMEND = "archbuild recommend"
_DOCTOR = "archbuild doctor"

_GPUS = (
    KnownError(
        "torch-gpu-not-in-build",
        "torch says that it was built without code for {gpu}, which is sm_{sm}[; it names {has}].",
        "Install a torch with code for this GPU. A newer GPU needs a newer torch, never an older "
        "one.",
        ("is not compatible with the current pytorch installation",),
        r"(?P<gpu>\w[^:]{0,60}?) with CUDA capability sm_(?P<sm>\d{2,3}) is not compatible with "
        r"the current PyTorch installation"
        r"(?:.{0,60}?supports CUDA capabilities (?P<has>(?:(?:sm|compute)_\d{2,3}[af]? ?)+))?",
        (_RECOMMEND,),
        (209,),
        Join.CODE,
        source="torch 2.6 to 2.14; pytorch#150733, gsplat#1053",
    ),
    KnownError(
        "torch-gpu-not-in-list",
        "torch says that it was built without code for {gpu}, which is {capability}.",
        "Install a torch with code for this GPU. A newer GPU needs a newer torch, never an older "
        "one.",
        ("which is of compute capability (cc)", "which is of cuda capability"),
        r"Found GPU ?\d+ (?P<gpu>[^:]{1,60}?) which is of (?:compute capability \(CC\)|cuda "
        r"capability) \(?(?P<capability>\d{1,2}\.\d)\)?\.? "
        r"(?!PyTorch no longer supports)",
        (_RECOMMEND,),
        (209,),
        Join.CODE,
        source="torch 2.9 to 2.14; pytorch#164596",
    ),
    KnownError(
        "torch-gpu-too-old",
        "{gpu} is {capability}, for which this torch has no code[; it begins at {least}].",
        "Take the newest torch that still has it, and a driver that still serves this GPU; what "
        "is older than 5.0 has neither on a current Python.",
        ("pytorch no longer supports this gpu",),
        r"Found GPU ?\d+ (?P<gpu>[^:]{1,60}?) which is of cuda capability (?P<capability>\d\.\d)\."
        r" ?PyTorch no longer supports this GPU because it is too old\."
        r"(?: The minimum cuda capability (?:supported by this library|that we support) is "
        r"(?P<least>\d\.\d))?",
        (_RECOMMEND,),
        (209,),
        Join.CODE,
        source="torch 1.0 to 2.8; pytorch#16712, voice-changer#447",
    ),
    KnownError(
        "torch-no-mig",
        "torch asks NVML about a GPU, and NVML refuses: the GPU is in MIG mode, the driver's "
        "library and kernel module differ, or the container hides NVML.",
        "In MIG mode name one slice: CUDA_VISIBLE_DEVICES=MIG-...; nvidia-smi -L lists them. "
        "Often the memory had run out and torch failed while it said so.",
        ("nvml_success ==",),
        r"NVML_SUCCESS == .{1,90}? INTERNAL ASSERT FAILED",
        ("nvidia-smi -L", _DOCTOR),
        (2,),
        Join.MACHINE,
        source="torch 2.1 to 2.14; pytorch#112377, pytorch#122068, Open-Sora#716",
    ),
    KnownError(
        "torch-mig-ordinal",
        "torch counts GPUs otherwise than CUDA does: NVML names them all, CUDA one slice of a GPU "
        "in MIG mode.",
        "Name one slice before the program starts: CUDA_VISIBLE_DEVICES=MIG-...",
        ("device < num_gpus", "device_index < num_gpus"),
        r"device(?:_index)? >= 0 && device(?:_index)? < (?:static_cast<.{1,30}>\()?num_gpus.{0,20}"
        r"INTERNAL ASSERT FAILED",
        ("nvidia-smi -L",),
        (101,),
        Join.MACHINE,
        source="torch 2.4; pytorch#130181, pytorch#131650",
    ),
)

_DRIVER = (
    KnownError(
        "torch-driver-too-old",
        "The driver serves CUDA up to {cuda}, which torch writes as {found}; this torch needs "
        "more.",
        "Update the driver, or install a torch of the driver's CUDA.",
        ("driver on your system is too old",),
        r"NVIDIA driver on your system is too old \(found version (?P<found>\d{4,5})\)",
        (_RECOMMEND,),
        (35,),
        Join.MACHINE,
        source="torch 1.0 to 2.14; ChatGLM3#100, Fooocus#1313",
    ),
    KnownError(
        "torch-no-driver",
        "torch finds no NVIDIA driver: none is installed, or the container has no GPU.",
        "Install the driver, or map the GPU into the container.",
        ("found no nvidia driver",),
        r"Found no NVIDIA driver on your system",
        ("docker run --gpus all ...", _DOCTOR),
        (35,),
        Join.MACHINE,
        source="torch 1.0 to 2.14; pytorch3d#1259, SimCSE#244",
    ),
    KnownError(
        "torch-no-gpus",
        "CUDA gives torch no GPU: CUDA_VISIBLE_DEVICES hides them, or the driver doesn't serve "
        "them.",
        "Look at CUDA_VISIBLE_DEVICES, then at the driver.",
        ("no cuda gpus are available", "you might not have a cuda gpu"),
        r"No CUDA GPUs are available|you might not have a CUDA gpu",
        ("echo $CUDA_VISIBLE_DEVICES", _DOCTOR),
        (100,),
        Join.MACHINE,
        source="torch 1.5 to 2.14",
    ),
    KnownError(
        "torch-unknown-error",
        "The driver gave error 999, unknown: mostly its kernel module nvidia_uvm is not loaded "
        "or has hung, as after the machine slept.",
        "Load nvidia_uvm anew, or reboot. CUDA_VISIBLE_DEVICES is rarely to blame.",
        ("cuda unknown error",),
        r"CUDA unknown error - this may be due to an incorrectly set up environment",
        ("sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm", _DOCTOR),
        (999,),
        Join.MACHINE,
        source="torch 1.7 to 2.14; pytorch#49327, yolov5#2664",
    ),
    KnownError(
        "torch-count-failed",
        "torch could not count the GPUs[: error {number}].",
        "See what that error is.",
        ("unexpected error from cudagetdevicecount",),
        r"Unexpected error from cudaGetDeviceCount\(\)(?:.{0,160}?Error (?P<number>\d{1,3}))?",
        (_DOCTOR,),
        (),
        Join.MACHINE,
        Rank.SYMPTOM,
        source="torch 1.8 to 2.14",
    ),
    KnownError(
        "torch-cpu-only",
        "The installed torch was built without CUDA.",
        "Install one with CUDA.",
        ("torch not compiled with cuda enabled",),
        r"Torch not compiled with CUDA enabled",
        (_RECOMMEND,),
        source="torch 1.0 to 2.14; DH_live#22",
    ),
    KnownError(
        "torch-deserialize",
        "A file holds tensors of a GPU, and torch sees no GPU here.",
        "Load it with map_location='cpu'; or see why torch sees no GPU: it is built without CUDA, "
        "or there is no driver.",
        ("attempting to deserialize object on",),
        r"Attempting to deserialize object on a? ?CUDA device",
        ('python -c "import torch; print(torch.version.cuda)"', _DOCTOR),
        (100,),
        Join.MACHINE,
        Rank.SYMPTOM,
        source="torch 1.0 to 2.14; STM#16, Cutie#37",
    ),
)

_VERSIONS = (
    KnownError(
        "torchvision-other-cuda",
        "torch is of CUDA {torch}, and torchvision of CUDA {vision}.",
        "Install both from one index.",
        ("pytorch and torchvision were compiled",),
        r"PyTorch and torchvision were compiled with different CUDA (?:major )?versions\. PyTorch "
        r"has CUDA Version=(?P<torch>\d+\.\d+) and torchvision has CUDA "
        r"Version=(?P<vision>\d+\.\d+)",
        (f"{_RECOMMEND} --format pip",),
        source="torchvision 0.3 to 0.29; whisperX#320",
    ),
    KnownError(
        "torch-operator-without-cuda",
        "The package {package} was installed without CUDA, or for another torch: its operator "
        "{operator} is not there for the GPU.",
        "Install {package} again, from the index that torch came from.",
        ("with arguments from the 'cuda' backend",),
        r"Could not run '(?P<package>\w+)::(?P<operator>\w+)' with arguments from the 'CUDA' "
        r"backend",
        ("pip install --force-reinstall --no-deps {package}",),
        source="torch 1.7 to 2.14; vision#3058, ultralytics#7713",
    ),
    KnownError(
        "cudnn-other-version",
        "torch was built with cuDNN {built} and found {found}, which LD_LIBRARY_PATH or another "
        "package puts first.",
        "Take that cuDNN out of LD_LIBRARY_PATH: torch brings its own.",
        ("cudnn version incompatibility",),
        r"cuDNN version incompatibility: PyTorch was compiled against \((?P<built>[\d, ]+)\) but "
        r"(?:found runtime version|linked against) \((?P<found>[\d, ]+)\)",
        ("unset LD_LIBRARY_PATH",),
        source="torch 1.8 to 2.14; kohya_ss#1096, functorch#926",
    ),
)

_BUILDING = (
    KnownError(
        "torch-unknown-arch",
        "torch's own table of architectures has no {arch}; nvcc may have it all the same.",
        "Build with archbuild, which asks nvcc: change torch.utils.cpp_extension to "
        "archbuild.cpp_extension in setup.py. 10.1 and 11.0 are one chip.",
        ("unknown cuda arch",),
        r"Unknown CUDA arch \((?P<arch>[\w.+]*)\) or GPU not supported",
        ('archbuild flags --arch "{arch}"',),
        source="torch 1.3 to 2.14; pytorch#166120, DCNv2#143, xDiT#572",
    ),
    KnownError(
        "torch-cuda-mismatch",
        "nvcc and torch are of different CUDA versions[: nvcc of {nvcc}, torch of {torch}]; an "
        "extension built so would not load.",
        "Take an nvcc of torch's CUDA, or a torch of nvcc's.",
        ("mismatches the version that was used to compile",),
        r"detected CUDA version \((?:%s|(?P<nvcc>[\d.]+))\) mismatches the version that was used "
        r"to compile ?PyTorch \((?:%s|(?P<torch>[\d.]+))\)",
        ("archbuild flags --why",),
        source="torch 1.5 to 2.14; diso#25, AutoAlign#25",
    ),
    KnownError(
        "torch-no-toolkit",
        "The build finds no CUDA toolkit: no nvcc, and CUDA_HOME is not set.",
        "Install one beside torch.",
        ("cuda_home environment variable is not set", "please set the cuda_home"),
        r"CUDA_HOME environment variable is not set|please set the CUDA_HOME or the CUDA_PATH",
        ('pip install "archbuild[cu130]"', "archbuild flags --why"),
        source="torch 1.0 to 2.14",
    ),
    KnownError(
        "torch-no-arch-to-build-for",
        "torch's build found neither a GPU nor a list of architectures.",
        "Set TORCH_CUDA_ARCH_LIST, or change torch.utils.cpp_extension to archbuild.cpp_extension.",
        ("_get_cuda_arch_flags",),
        r"_get_cuda_arch_flags.{0,400}?IndexError: list index out of range",
        ('TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX" pip wheel . --no-build-isolation --no-deps -w dist',),
        source="torch 1.5 to 2.5; pytorch#137261, extension-cpp#71",
    ),
)

#: Everything that torch says.
TORCH_ERRORS = (*_GPUS, *_DRIVER, *_VERSIONS, *_BUILDING)
