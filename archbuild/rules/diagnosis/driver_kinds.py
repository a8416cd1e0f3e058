"""Kinds of findings about GPUs and their driver: D300 to D338, and D328.

``docs/findings/`` has the page of each code under its name in lower case.
"""

from __future__ import annotations

from archbuild.model.finding import Severity
from archbuild.rules.diagnosis.kind import Kind

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

# --- no driver, or none at work -------------------------------------------------------------------

NO_DRIVER = Kind(
    "D300",
    _ERROR,
    "no NVIDIA driver",
    "There is no NVIDIA driver[ on the host of this {container} container][, and no NVIDIA GPU on "
    "{bus}][: {apple} has none].",
    "CUDA code runs where there are an NVIDIA GPU and its driver[; here it can be built but not "
    "run, as {bus} shows no such GPU][; on {apple} there is neither].[ A driver belongs on the "
    "host, not into the image of the {container} container.]",
    errors=(35, 100),
    rank=1,
)
CARD_WITHOUT_DRIVER = Kind(
    "D301",
    _ERROR,
    "NVIDIA card without a driver",
    "{cards}: the card is there, and no NVIDIA driver is installed[ on the host of this "
    "{container} container].",
    "Install a driver[ of branch {window}] and restart the machine.[ It belongs on the host, not "
    "into the image of the {container} container.]",
    errors=(35, 100),
    rank=1,
)
NOUVEAU = Kind(
    "D302",
    _ERROR,
    "nouveau holds the card",
    "The kernel module nouveau holds {cards}, and CUDA needs NVIDIA's[: driver {driver} is "
    "installed, and cannot have the card].",
    "[Install NVIDIA's driver of branch {window}, which keeps nouveau from loading, then restart "
    "the machine.][Keep nouveau from being loaded, so that driver {driver} has the card, then "
    "restart the machine.]",
    errors=(35, 100),
    rank=4,
)
FOR_GUESTS = Kind(
    "D303",
    _ERROR,
    "a card is kept for virtual machines",
    "{cards} is bound to {module}: it is kept for virtual machines, and this system cannot use it.",
    "Leave it so if that is meant; else give it back to the driver.",
    errors=(100,),
    rank=5,
)
NOT_LOADED = Kind(
    "D316",
    _ERROR,
    "the kernel module is not loaded",
    "The driver[ {driver}] is installed, but its kernel module is not loaded[: none was found for "
    "kernel {kernel}].",
    "Load the module[; for kernel {kernel} it has to be built first][, {disk}; where it is "
    "refused, the kernel's log says why: Secure Boot takes no module that is not signed].",
    errors=(100, 35, 999),
    rank=7,
)
MISMATCH = Kind(
    "D307",
    _ERROR,
    "library and kernel module are of two releases",
    "The driver's library[ ({library})] and the kernel module that is loaded[ ({loaded})] are of "
    "two releases.",
    "Restart the machine, so that the module on the disk is loaded[, which is of {fits}].[ It is "
    "of {disk}, though, so that this cures nothing: install the driver once more, from one place.]",
    errors=(803,),
    rank=6,
    either=True,
)
NO_CUDA_LIBRARY = Kind(
    "D328",
    _ERROR,
    "the driver's CUDA library is missing",
    "Driver {driver} is loaded, but its library for CUDA, libcuda.so.1, is not installed.",
    "Install the package that holds it; distributions part it from the graphics driver.",
    errors=(35,),
    rank=8,
)

# --- driver and card ------------------------------------------------------------------------------

TOO_NEW = Kind(
    "D305",
    _ERROR,
    "the driver doesn't know this GPU",
    "Driver {driver} doesn't know {cards}[: {floor} is the first that does].",
    "Update the driver[ to {floor} or newer][, but not beyond branch {last}, the last one for a "
    "card of this machine]; another torch is no cure.",
    errors=(100,),
    rank=3,
    after=("D313",),
)
RETIRED = Kind(
    "D306",
    _ERROR,
    "the driver no longer serves this GPU",
    "Driver {driver} no longer serves {cards}: branch {last} is the last one that does.",
    "Install a driver of branch {last}; the newest one is the wrong one here.",
    errors=(100,),
    rank=3,
    after=("D313",),
)
NO_COMMON = Kind(
    "D313",
    _ERROR,
    "no one driver serves all cards",
    "No one driver serves all cards of this machine: {first} needs driver {need}, {second} driver "
    "{other}.",
    "Take one of them out, or give it to a virtual machine with a driver of its own. The one that "
    "works now can go on working.",
    errors=(100,),
    rank=2,
)
WRONG_FLAVOUR = Kind(
    "D315",
    _ERROR,
    "the wrong one of two kernel modules",
    "The {loaded} kernel module of driver {driver} does not serve {cards}, which needs the "
    "{needed} one.",
    "Install the same driver with its {needed} kernel module, then restart the machine.",
    errors=(100,),
    rank=4,
    after=("D313",),
)
NOT_SERVED = Kind(
    "D317",
    _ERROR,
    "a card that the driver does not start",
    "{cards} stands on the bus, and driver {driver} does not start it.",
    "Read what the kernel says of it. Frequent reasons: the firmware lacks Above 4G Decoding, a "
    "power cable is loose, or a share of a GPU (vGPU) has the public driver and not the guest's.",
    ("sudo dmesg | grep -iE 'NVRM|nvidia'",),
    errors=(100,),
    rank=15,
    after=("D313",),
)
NO_CARD = Kind(
    "D318",
    _ERROR,
    "a driver, but no NVIDIA GPU",
    "An NVIDIA driver[ {driver}] is installed, but no NVIDIA GPU is on {bus}.",
    "A laptop may have switched it off, a virtual machine may have been given none, and a card may "
    "sit badly: switch it on, or choose a machine with a GPU.",
    ("lspci -d 10de:",),
    errors=(100,),
    rank=9,
)

# --- GPUs and libraries that fail -----------------------------------------------------------------

LOST = Kind(
    "D304",
    _ERROR,
    "a GPU fell off the bus",
    "{devices} is lost: it no longer answers on the bus.",
    "Restart the machine. If it comes again, look at power, heat and the seat of the card.",
    ("sudo dmesg | grep -i xid", "sudo reboot"),
    errors=(999, 100),
    rank=10,
)
GPU_FAILS = Kind(
    "D339",
    _WARNING,
    "GPU that can't be read in full",
    "{devices} gives errors where the driver asks it[: {said}].",
    "Read the kernel's log for Xid messages of it, then reset it or restart the machine; until "
    "then hide it with CUDA_VISIBLE_DEVICES.",
    ("sudo dmesg | grep -i xid",),
    rank=11,
    after=("D304", "D323", "D309"),
)
FABRIC_MANAGER = Kind(
    "D310",
    _ERROR,
    "the fabric manager is not running",
    "CUDA waits for the system: the fabric manager of the switches between the GPUs is not up[, on "
    "the host of this {container} container].",
    "Start it, of the very release of the driver[, {release}][; that is done on the host of the "
    "{container} container].",
    ("sudo systemctl enable --now nvidia-fabricmanager",),
    errors=(802,),
    rank=12,
)
FORBIDDEN = Kind(
    "D309",
    _ERROR,
    "device nodes are closed to this user",
    "This user may not open {nodes}.",
    "On the machine itself join the group that owns them, and log in again[; in a {container} "
    "container SELinux or the device rules forbid it, which an option lifts].",
    errors=(100, 304, 999),
    rank=13,
    after=("D323",),
)
UNIFIED_MEMORY = Kind(
    "D319",
    _ERROR,
    "nvidia_uvm is not there, or not well",
    "CUDA cannot be started: [the node {missing} is missing][{module} is not well, as happens "
    "after a suspend].",
    "Load the module anew[; on the host, then start the {container} container again].",
    errors=(999,),
    rank=14,
)
CANNOT_START = Kind(
    "D332",
    _ERROR,
    "CUDA cannot be started",
    "CUDA cannot be started: cuInit gives error {error}[, {meaning}].",
    "Read what the kernel says of it.",
    ("sudo dmesg | grep -iE 'NVRM|xid'", "nvidia-smi"),
    rank=25,
)
NO_ANSWER = Kind(
    "D308",
    _WARNING,
    "driver library hangs or crashes",
    "{sources} gave no answer: {said}.",
    "Look in the kernel's log for Xid messages and for processes that wait for the GPU; a GPU that "
    "hangs is mostly freed by a restart alone.",
    (
        "sudo dmesg | grep -iE 'xid|segfault|blocked for more'",
        "ps -eo pid,stat,comm | awk '$2 ~ /D/'",
    ),
    rank=20,
    after=("D304", "D339", "D307", "D310", "D323", "D327", "D326"),
)
ORDER = Kind(
    "D338",
    _NOTE,
    "CUDA counts the GPUs otherwise than NVML",
    "CUDA and NVML number the GPUs differently: {pairs}.",
    "Name a GPU by its UUID, or have CUDA count by the bus, as NVML and nvidia-smi do.",
    rank=80,
)

#: Every one of them.
DRIVER_KINDS = (
    *(
        NO_DRIVER,
        CARD_WITHOUT_DRIVER,
        NOUVEAU,
        FOR_GUESTS,
        NOT_LOADED,
        MISMATCH,
        TOO_NEW,
        RETIRED,
        NO_COMMON,
    ),
    *(WRONG_FLAVOUR, NOT_SERVED, NO_CARD, LOST, GPU_FAILS, FABRIC_MANAGER, FORBIDDEN),
    *(UNIFIED_MEMORY, CANNOT_START, NO_ANSWER, ORDER, NO_CUDA_LIBRARY),
)
