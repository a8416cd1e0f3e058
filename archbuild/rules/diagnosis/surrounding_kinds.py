"""Kinds of findings about container, system, variables and slices: D320 to D314.

``docs/findings/`` has the page of each code under its name in lower case.
"""

from __future__ import annotations

from archbuild.model.finding import Severity
from archbuild.rules.diagnosis.kind import Kind

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

# --- containers -----------------------------------------------------------------------------------

NOT_MAPPED = Kind(
    "D320",
    _ERROR,
    "the container has no GPU",
    "No GPU is mapped into this {container} container[, though its host has driver {release}]"
    "[ and {cards}].",
    "Start the container with the GPU; the host needs the NVIDIA Container Toolkit, the image no "
    "driver.",
    errors=(35, 100),
    rank=1,
)
NO_LIBRARIES = Kind(
    "D325",
    _ERROR,
    "device nodes without the driver's libraries",
    "This {container} container has the device nodes of a GPU and none of the driver's libraries.",
    "Let the container toolkit map both, in place of the nodes alone.",
    errors=(35,),
    rank=1,
)
NO_RUNTIME = Kind(
    "D324",
    _ERROR,
    "a GPU was allotted, and not mapped",
    "This {container} container was allotted {allotted}, but its runtime has mapped nothing.",
    "Run it with NVIDIA's runtime: name its runtime class, or make it the node's default.",
    errors=(35, 100),
    rank=1,
)
KEPT_AWAY = Kind(
    "D322",
    _ERROR,
    "a variable keeps the GPU away",
    "NVIDIA_VISIBLE_DEVICES is {value} in this {container} container, which keeps every GPU out of "
    "it.",
    "Set it to all when the container is started, and take it out of the image and its scripts.",
    errors=(35, 100),
    rank=1,
)
NO_COMPUTE = Kind(
    "D321",
    _ERROR,
    "the container lacks the capability compute",
    "NVIDIA_DRIVER_CAPABILITIES is {value} in this {container} container: without compute libcuda "
    "is not mapped, though nvidia-smi may work.",
    "Ask for compute as well.",
    errors=(35,),
    rank=1,
)
RULES_LOST = Kind(
    "D323",
    _ERROR,
    "the container has lost its devices",
    "This {container} container may no longer open the GPU's device nodes: its device rules are "
    "lost, as after systemctl daemon-reload on the host.",
    "Start the container again. To keep it from coming back have the GPU mapped by CDI.",
    errors=(100, 999),
    rank=1,
)
COMPAT = Kind(
    "D312",
    _ERROR,
    "a cuda-compat library that this GPU does not support",
    "{library} of a cuda-compat package is loaded[ by {found_by}]; it is for data-centre GPUs, and "
    "for some releases of the driver[: here are {cards} and {release}].",
    "Take its folder out of the search path: the driver's own library is the right one[, "
    "{expected}].",
    errors=(804,),
    rank=2,
)
OWN_DRIVER = Kind(
    "D326",
    _ERROR,
    "the image brings a driver of its own",
    "{library} lies in the image of this {container} container and comes before that of the host, "
    "whose driver is {release}.",
    "Remove that package from the image: the host's library is mapped by itself.",
    errors=(803,),
    rank=2,
)

# --- WSL and Jetson -------------------------------------------------------------------------------

WSL_DRIVER = Kind(
    "D330",
    _ERROR,
    "a Linux driver inside WSL",
    "{library} of a Linux driver comes before {expected}, the library of WSL.",
    "Remove that package: in WSL the driver is that of Windows, and none is installed in Linux.",
    errors=(100, 35),
    rank=1,
)
WSL_NO_GPU = Kind(
    "D331",
    _ERROR,
    "WSL without a GPU",
    "WSL has no GPU to offer: {missing} is missing.",
    "Install or update NVIDIA's driver in Windows, not in Linux, then update and restart WSL; it "
    "has to be WSL 2.",
    ("wsl.exe --update", "wsl.exe --shutdown"),
    errors=(35, 100),
    rank=1,
)
JETSON_DRIVER = Kind(
    "D329",
    _ERROR,
    "a desktop driver on a Jetson",
    "{library} of a desktop driver comes before {expected}, the library of this {board}.",
    "Remove that driver, and install the one of the Jetson's system again.",
    ("sudo apt install --reinstall nvidia-l4t-core nvidia-l4t-cuda",),
    errors=(100,),
    rank=1,
)

# --- CUDA_VISIBLE_DEVICES and what else decides what CUDA sees ------------------------------------

ALL_HIDDEN = Kind(
    "D333",
    _ERROR,
    "CUDA_VISIBLE_DEVICES hides every GPU",
    'CUDA_VISIBLE_DEVICES="{value}" hides every GPU[: {entry} names none of the {count} that are '
    "there][: it names {twice} more than once].",
    "Unset it, or name GPUs that are there: they count from 0, in a container as well.",
    errors=(100,),
    rank=1,
)
SOME_HIDDEN = Kind(
    "D334",
    _NOTE,
    "CUDA_VISIBLE_DEVICES hides GPUs",
    'CUDA_VISIBLE_DEVICES="{value}" hides {hidden}: CUDA sees {seen} of {count}.',
    "Unset it if that is not meant.",
    rank=81,
)
CUT_SHORT = Kind(
    "D335",
    _WARNING,
    "CUDA_VISIBLE_DEVICES is cut short",
    'CUDA_VISIBLE_DEVICES="{value}" ends for CUDA at {entry}, which is no GPU of this machine; '
    "what comes after it does not count.",
    "Name GPUs that are there.",
    rank=26,
    after=("D333",),
)
ONE_SLICE = Kind(
    "D337",
    _NOTE,
    "a process sees one MIG slice",
    "{devices} is split into {count} MIG slices, of which a process sees one[, here {slice}].",
    "Name the slice that is meant by its MIG-UUID; to use several, start a process for each.",
    rank=82,
)
NO_SLICE = Kind(
    "D336",
    _ERROR,
    "MIG is on and there is no slice",
    "MIG is switched on for {devices} and no slice was made, so that CUDA cannot use it.",
    "Make slices, or switch MIG off.",
    (
        "sudo nvidia-smi mig -i {index} -lgip",
        "sudo nvidia-smi mig -i {index} -cgi 0 -C",
        "sudo nvidia-smi -i {index} -mig 0",
    ),
    errors=(100,),
    rank=16,
    either=True,
)
FEWER = Kind(
    "D314",
    _WARNING,
    "CUDA sees fewer GPUs than NVML",
    "NVML sees {count} GPUs and CUDA {seen}: {hidden} is missing there, and no variable hides it.",
    "Ask the GPU for its state: it may be excluded, in an error, or not started.",
    ("nvidia-smi -q", "sudo dmesg | grep -iE 'NVRM|xid'"),
    rank=27,
    after=("D304", "D339", "D309", "D305", "D306"),
)

# --- the library that is loaded -------------------------------------------------------------------

STUB = Kind(
    "D311",
    _ERROR,
    "a stub in place of the driver",
    "{library} is a stub, made for linking alone, and is loaded in place of the driver[, by "
    "{found_by}].",
    "Take its folder out of the search path[: that of {found_by}].",
    errors=(34,),
    rank=1,
)
OTHER_LIBRARY = Kind(
    "D327",
    _ERROR,
    "another libcuda comes before the driver's",
    "{library}[ of release {version}] is loaded[, by {found_by}], in place of the library of "
    "driver {release}[, {expected}].",
    "Take its folder out of the search path.",
    errors=(803,),
    rank=2,
)

#: Every one of them.
SURROUNDING_KINDS = (
    *(NOT_MAPPED, NO_LIBRARIES, NO_RUNTIME, KEPT_AWAY, NO_COMPUTE, RULES_LOST, COMPAT, OWN_DRIVER),
    *(WSL_DRIVER, WSL_NO_GPU, JETSON_DRIVER, ALL_HIDDEN, SOME_HIDDEN, CUT_SHORT, ONE_SLICE),
    *(NO_SLICE, STUB, OTHER_LIBRARY, FEWER),
)
