"""What CUDA's own errors mean to a person: groups of numbers, runtime and driver alike.

Meanings follow the comments of ``driver_types.h`` and ``cuda.h`` of CUDA 13.0, told in our
own words; which situation gives which number stands in the house's rule of coverage.
"""

from __future__ import annotations

from archbuild.rules.explaining.cuda_running import RUNNING
from archbuild.rules.explaining.known import Join, KnownError, cuda_group

_DOCTOR = "archbuild doctor"


_CODE = (
    cuda_group(
        "cuda-no-image",
        "209",
        "The binary that was launched holds no code that this GPU can run.",
        "Build it again with the architecture of this GPU in the list, or install a newer build.",
        join=Join.CODE,
    ),
    cuda_group(
        "cuda-kernel-absent",
        "98 500",
        "The kernel is not in the code that was loaded for this GPU: it was not compiled for it, "
        "or the host never made it known to the runtime.",
        "Build it again with the architecture of this GPU in the list.",
        join=Join.CODE,
    ),
    cuda_group(
        "cuda-ptx-too-new",
        "222",
        "Only PTX in the binary fits this GPU, and a newer CUDA made it than the driver knows.",
        "Update the driver, or build again with machine code (SASS) for this GPU.",
        join=Join.CODE,
    ),
    cuda_group(
        "cuda-ptx-failed",
        "218 225",
        "The driver could not compile the PTX that it was given.",
        "Its text is for another architecture, or newer than the driver: build machine code "
        "(SASS) for this GPU, or update the driver.",
        join=Join.CODE,
    ),
    cuda_group(
        "cuda-no-jit-library",
        "221",
        "The driver's library that compiles PTX, libnvidia-ptxjitcompiler, is missing.",
        "Install the whole driver; in a container, map it whole: "
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility. With machine code (SASS) for this GPU "
        "nothing has to be compiled.",
        join=Join.CODE,
    ),
    cuda_group(
        "cuda-jit-disabled",
        "223",
        "Only PTX in the binary fits this GPU, and a variable forbids the driver to compile it.",
        "Remove CUDA_DISABLE_PTX_JIT, or build again with machine code (SASS) for this GPU.",
        ("unset CUDA_DISABLE_PTX_JIT",),
        join=Join.CODE,
    ),
    cuda_group(
        "cuda-bad-image",
        "200 300",
        "The driver cannot read the device code: it is damaged, cut short, or made for a driver "
        "that is newer.",
        "Install the package again; code that a program compiles at run time needs a newer driver, "
        "or an older CUDA that compiles it.",
        join=Join.CODE,
    ),
    cuda_group(
        "cuda-loader-too-old",
        "227",
        "The driver is too old to read the fat binary.",
        "Update the driver, or build with a toolkit as old as the driver.",
        join=Join.CODE,
    ),
)

_DRIVER = (
    cuda_group(
        "cuda-driver-insufficient",
        "35",
        "There is no driver that serves this CUDA runtime: none at all, or one that is too old.",
        "Update the driver, or install packages of an older CUDA; in a container, map the GPU.",
        (_DOCTOR,),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-newer-driver-needed",
        "36 10",
        "One call is not known to the driver, which is older than the program expects.",
        "Update the driver, or install packages of the driver's CUDA.",
        (_DOCTOR,),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-stub",
        "34",
        "The libcuda that was loaded is a stub, which is there for linking only.",
        "Take the folder named stubs out of LD_LIBRARY_PATH and out of the program's RPATH.",
        ("echo $LD_LIBRARY_PATH | tr : '\\n' | grep stubs",),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-driver-mismatch",
        "803",
        "The driver's library and its kernel module are of two releases, as after an update.",
        "Reboot, or load the new kernel module.",
        ("sudo reboot",),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-compat",
        "804",
        "A cuda-compat package is used on a GPU that it does not serve, such as a GeForce.",
        "Take the folder named compat out of LD_LIBRARY_PATH, and update the host's driver.",
        ("echo $LD_LIBRARY_PATH | tr : '\\n' | grep compat",),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-fabric",
        "802 919",
        "The switches between the GPUs are not set up: the fabric manager is not running.",
        "Start it; it has to be of the driver's very release.",
        ("sudo systemctl start nvidia-fabricmanager",),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-no-device",
        "100",
        "CUDA sees no GPU: there is none, it is hidden, it is not mapped into the container, or "
        "the driver does not serve it.",
        "Look at CUDA_VISIBLE_DEVICES and at what the driver says.",
        (_DOCTOR,),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-no-such-device",
        "101",
        "The program asks for a GPU by a number that CUDA does not have.",
        "CUDA counts what CUDA_VISIBLE_DEVICES lets it see, from 0; of a GPU in MIG mode it sees "
        "one slice.",
        ("archbuild gpus",),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-busy",
        "46 216",
        "The GPU is taken: another program has it for itself, or it may not be used.",
        "Look who uses it, and whether its compute mode is exclusive or prohibited.",
        ("nvidia-smi --query-gpu=index,name,compute_mode --format=csv",),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-licence",
        "102 103",
        "This share of a GPU (vGPU) has no licence, or a check of the driver's files failed.",
        "Ask whoever runs the hypervisor for a licence for compute.",
        ("nvidia-smi -q | grep -i licen",),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-unknown",
        "999",
        "Something is wrong in the driver that it has no number for.",
        "Often the kernel module nvidia_uvm is not loaded, the machine woke from sleep, or the "
        "GPU has failed: look into the kernel's log for NVRM and Xid.",
        ("sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm", "sudo dmesg | grep -i nvrm"),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-start-failed",
        "3 127 304",
        "CUDA could not be started, or the system refused what it needs.",
        "Look at what the driver says. After a fork CUDA cannot be used again: start workers with "
        "spawn.",
        (_DOCTOR,),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-not-supported",
        "800 801",
        "This GPU, this driver or this mode of it does not allow what the program asks for.",
        "See what the program asks for: peer access, IPC, profiling and managed memory have "
        "conditions, in WSL and in containers most of all.",
        (_DOCTOR,),
        join=Join.MACHINE,
    ),
    cuda_group(
        "cuda-hardware",
        "214 220 226",
        "The GPU or a link between GPUs has a fault of the hardware.",
        "Reset the GPU or reboot; when it comes again, the GPU belongs into the hands of whoever "
        "sold it.",
        ("nvidia-smi -q -d ECC,PAGE_RETIREMENT", "sudo dmesg | grep -i xid"),
    ),
    cuda_group(
        "cuda-mps",
        "805-810",
        "The Multi-Process Service (MPS), through which this program reaches the GPU, fails.",
        "Start its daemon again, or run without it: unset CUDA_MPS_PIPE_DIRECTORY.",
        ("echo quit | nvidia-cuda-mps-control", "nvidia-cuda-mps-control -d"),
    ),
)

#: A group for every error of the runtime and of the driver.
CUDA_MEANINGS = (*_CODE, *_DRIVER, *RUNNING)

_BY_NUMBER = {number: row for row in CUDA_MEANINGS for number in row.errors}


def cuda_meaning(number: int) -> KnownError:
    """What an error means; one that no group has is taken as a wrong call.

    Args:
        number: Since CUDA 10.1.
    """
    return _BY_NUMBER.get(number, CUDA_MEANINGS[-1])
