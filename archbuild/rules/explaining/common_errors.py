"""What people paste most: pieces of longer texts, and what comes before CUDA is even reached."""

from __future__ import annotations

from archbuild.rules.explaining.known import Join, KnownError, Rank

_DOCTOR = "archbuild doctor"

_PIECES = (
    KnownError(
        "no-kernel-image",
        "The binary that was launched holds no code that this GPU can run.",
        "Build it again with the architecture of this GPU in the list, or install a newer build.",
        ("no kernel image",),
        r"no kernel image(?: is available)?(?! for execution)(?! is available for execution)",
        (_DOCTOR,),
        (209,),
        Join.CODE,
        Rank.SYMPTOM,
        source="CUDA, cut short",
    ),
    KnownError(
        "cudnn-mixed",
        "Another cuDNN is loaded than torch was built with: a variable or the system puts it "
        "first.",
        "Start the program without it.",
        ("cudnn version incompatibility",),
        r"cuDNN version incompatibility: PyTorch was compiled against(?! ?\()",
        ("env -u LD_LIBRARY_PATH python PROGRAM", _DOCTOR),
        source="torch, torch/backends/cudnn; pytorch#119989",
    ),
    KnownError(
        "torchvision-operator",
        "torchvision was built for another torch than the one that is here.",
        "Install both together, from one index.",
        ("torchvision::nms",),
        r"(?:operator torchvision::nms does not exist|Could not run 'torchvision::nms')",
        ("pip install --force-reinstall torch torchvision --index-url INDEX_OF_TORCH",),
        rank=Rank.CAUSE,
        source="torchvision; vision#8539",
    ),
    KnownError(
        "cuda-fork",
        "CUDA was started before the process was forked, and a child can't use it.",
        "Start children with spawn, before anything asks CUDA.",
        ("cannot re-initialize cuda in forked subprocess",),
        r"Cannot re-initialize CUDA in forked subprocess",
        ("export VLLM_WORKER_MULTIPROC_METHOD=spawn",),
        source="torch, torch/cuda/__init__.py; pytorch#40403, vllm#6152",
    ),
    KnownError(
        "bfloat16",
        "This GPU, older than 8.0, has no bfloat16.",
        "Ask for half precision: --dtype half.",
        ("bfloat16 is only supported",),
        r"Bfloat16 is only supported on GPUs with compute capability of at least 8\.0",
        source="vllm; vllm#1157",
    ),
    KnownError(
        "library-execution",
        "{library} could not run its kernel: mostly memory had run out, or a kernel before it "
        "had failed.",
        "Let every launch report by itself, and read the first error; see how much memory is free.",
        ("_status_",),
        r"(?P<library>CUDNN|CUBLAS)_STATUS_(?:NOT_INITIALIZED|EXECUTION_FAILED|INTERNAL_ERROR)",
        ("CUDA_LAUNCH_BLOCKING=1 python PROGRAM", "nvidia-smi"),
        rank=Rank.SYMPTOM,
        source="cuDNN, cuBLAS; pytorch#16831, pytorch#102434",
    ),
    KnownError(
        "nccl",
        "NCCL could not go on; it says why when it is asked to.",
        "Run it again with its log, and read the first warning.",
        ("nccl",),
        r"NCCL [Ee]rror(?: in: \S+)?[ ,:]{0,3}(?:2\b|unhandled system error|unhandled cuda error)",
        ("NCCL_DEBUG=WARN python PROGRAM",),
        rank=Rank.SYMPTOM,
        source="NCCL; nccl#290, pytorch#54550",
    ),
)

_BEFORE_CUDA = (
    KnownError(
        "smi-not-found",
        "nvidia-smi is not here: no driver is installed, or the container has none of its tools.",
        "Let the machine say which: the driver comes with nvidia-smi.",
        ("nvidia-smi",),
        r"nvidia-smi: (?:command )?not found",
        (_DOCTOR,),
        (35,),
        Join.MACHINE,
        source="bash, sh, dash",
    ),
    KnownError(
        "nvrm-mismatch",
        "The driver's libraries and its kernel module are of two releases: the driver was updated "
        "under a running system.",
        "Restart the machine.",
        ("nvrm: api mismatch",),
        r"NVRM: API mismatch",
        ("sudo reboot",),
        (803,),
        Join.MACHINE,
        source="the kernel's log, driver 390 to 610",
    ),
    KnownError(
        "module-refused",
        "Secure Boot refuses the driver's kernel module: it is not signed with a key that this "
        "machine trusts.",
        "Enrol the key that the driver's package made, or turn Secure Boot off.",
        ("key was rejected by service", "required key not available"),
        r"(?:Key was rejected by service|Required key not available)",
        ("sudo mokutil --import /var/lib/shim-signed/mok/MOK.der && sudo reboot",),
        (100,),
        source="modprobe; Ubuntu's and Debian's pages on Secure Boot",
    ),
    KnownError(
        "module-missing",
        "The driver's kernel module was not built for this kernel.",
        "Install the headers of this kernel and let the module be built.",
        ("module nvidia not found",),
        r"Module nvidia not found in directory (?P<folder>\S+)",
        ("sudo apt install linux-headers-$(uname -r) && sudo dkms autoinstall",),
        (100,),
        source="modprobe",
    ),
    KnownError(
        "header-missing",
        "The header {header} was not found.",
        "cuda_runtime.h and nv/target come with the toolkit and its cccl, Python.h with the "
        "headers of Python (python3-dev).",
        ("no such file",),
        r"(?P<header>nv/target|cuda_runtime(?:_api)?\.h|cuda\.h|Python\.h): No such file",
        ('pip install "archbuild[cu130]"', "sudo apt install python3-dev"),
        rank=Rank.SYMPTOM,
        source="gcc, nvcc; pytorch#144690",
    ),
    KnownError(
        "nvcc-missing",
        "There is no nvcc where the build looks: {path}.",
        "Install a toolkit that fits torch; archbuild finds it by itself.",
        ("nvcc",),
        r"(?:command '(?P<path>\S*nvcc)' failed: No such file|(?P<other>\S*nvcc): not found)",
        ('pip install "archbuild[build,cu130]"', "archbuild flags --why"),
        source="setuptools, sh",
    ),
    KnownError(
        "c-compiler-missing",
        "There is no C compiler, and triton needs one when it runs.",
        "Install one, or name it: CC.",
        ("failed to find c compiler",),
        r"Failed to find C compiler",
        ("sudo apt install gcc",),
        source="triton, triton/runtime/build.py; triton#4073",
    ),
    KnownError(
        "cmake-nvcc",
        "CMake finds no nvcc.",
        "Name it: the variables say where the toolkit of this environment lies.",
        ("cmake_cuda_compiler",),
        r"No CMAKE_CUDA_COMPILER could be found",
        ('eval "$(archbuild flags --format env)"',),
        source="CMake 3.8 to 4.1",
    ),
    KnownError(
        "own-device-link",
        "The object holds relocatable device code, which a device link has to come after.",
        "Let the extension make one: CUDAExtension(..., dlink=True).",
        ("without a device link",),
        r"relocatable device code without a device link",
        source="archbuild, torch's -dc",
    ),
    KnownError(
        "own-smoke",
        "nvcc could not build archbuild's own small kernel: the fault lies in the toolchain, not "
        "in your sources.",
        "See nvcc's own words.",
        ("smoke kernel could not be built",),
        r"The smoke kernel could not be built",
        ("archbuild smoke",),
        source="archbuild",
    ),
    KnownError(
        "own-missing",
        "What was built lacks an architecture that was asked for: something changed the flags on "
        "the way.",
        "Look for it in the environment, and among the extension's own flags.",
        ("missing (there:",),
        r"missing \(there: ",
        ("env | grep NVCC", "archbuild flags --why"),
        source="archbuild",
    ),
)

_FRAMEWORKS = (
    KnownError(
        "tensorflow-no-gpu",
        "TensorFlow finds no driver, or not the CUDA libraries that it was built with.",
        "Install it with its libraries; they have to be of the release that it names.",
        ("could not find cuda drivers", "cannot dlopen some gpu libraries"),
        r"(?:Could not find cuda drivers on your machine|Cannot dlopen some GPU libraries)",
        ('pip install --upgrade "tensorflow[and-cuda]"', _DOCTOR),
        source="TensorFlow 2.10 to 2.20; tensorflow#63362",
    ),
    KnownError(
        "jax-ptxas",
        "The ptxas that JAX calls failed: often one of another CUDA comes first on PATH, or the "
        "GPU is newer than it.",
        "Install JAX with the CUDA packages that it was built with, and keep others off PATH.",
        ("ptxas exited with non-zero error code",),
        r"ptxas exited with non-zero error code (?P<code>\d+)",
        ('pip install --upgrade "jax[cuda13]"', "which -a ptxas"),
        source="XLA; jax#5723",
    ),
)

#: All of them.
COMMON_ERRORS = (*_PIECES, *_BEFORE_CUDA, *_FRAMEWORKS)
