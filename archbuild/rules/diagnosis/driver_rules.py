"""Why the driver lets CUDA see nothing, on the machine itself.

Each rule answers with its finding, or with None.
"""

from __future__ import annotations

from archbuild.facts.cuda_errors import find_cuda_error
from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.machine import Machine
from archbuild.model.surroundings import ContainerKind
from archbuild.rules.diagnosis import driver_kinds as kinds
from archbuild.rules.diagnosis.card_rules import not_served
from archbuild.rules.diagnosis.driver_cures import (
    build_module,
    install_driver,
    install_library,
    window_of,
)
from archbuild.rules.diagnosis.kind import diagnosis_of
from archbuild.rules.diagnosis.sight import (
    CUDA,
    NO_PERMISSION,
    NOT_LOADED,
    NVML,
    SMI,
    answered,
    around,
    broke_off,
    card_evidence,
    card_words,
    code_of,
    container_of,
    errors_of,
    files_of,
    installed_release,
    source,
    source_evidence,
    unserved_cards,
)

_BUS = "/sys/bus/pci"
_UVM = "/dev/nvidia-uvm"
_NOT_READY, _UNKNOWN = 802, 999


def _is_plain(machine: Machine) -> bool:
    """Whether it is a Linux machine with cards on a bus, and no container."""
    place = around(machine)
    other = place.wsl or place.jetson is not None or place.container is not None
    return machine.system == "linux" and not other


# --- no driver ------------------------------------------------------------------------------------


def no_driver(machine: Machine) -> Diagnosis | None:
    """No library, no kernel module, no answer: there is no driver."""
    files = files_of(machine)
    if machine.driver is not None or files.libraries or answered(machine):
        return None
    if installed_release(machine) is not None:
        return None
    place, cards = around(machine), around(machine).cards
    hidden = not place.bus_read or any(path.startswith("/proc") for path in files.hidden)
    known = bool(place.sources) and (machine.system != "linux" or not hidden)
    apple = machine.system == "darwin"
    container = place.container.kind.value if place.container is not None else ""
    if cards:
        return _card_without_driver(machine, container)
    return diagnosis_of(
        kinds.NO_DRIVER,
        confidence=Confidence.CERTAIN if known else Confidence.LIKELY,
        evidence=[*_no_cards(machine), *source_evidence(machine), *_absent(machine)],
        container=container,
        bus=_BUS if machine.surroundings is not None and place.bus_read and not apple else "",
        apple="macOS" if apple else "",
    )


def _card_without_driver(machine: Machine, container: str) -> Diagnosis:
    cards = around(machine).cards
    known = [card.capability for card in cards if card.capability is not None]
    window = window_of(known)
    return diagnosis_of(
        kinds.CARD_WITHOUT_DRIVER,
        evidence=[*card_evidence(cards), *source_evidence(machine)],
        commands=install_driver(machine, window) if known else (),
        cards=card_words(cards),
        window=str(window),
        container=container,
    )


def _absent(machine: Machine) -> list[Evidence]:
    """What was looked for in vain, where the sources themselves are not recorded."""
    if around(machine).sources:
        return []
    names = (NVML, CUDA, SMI)
    return [Evidence(a.what, a.reason) for a in machine.absences if a.what in names]


def _no_cards(machine: Machine) -> list[Evidence]:
    place = around(machine)
    if machine.system != "linux":
        return [Evidence("system", machine.system)]
    if machine.surroundings is None:
        return [Evidence(_BUS, "not asked")]
    if not place.bus_read:
        return [Evidence(_BUS, "cannot be read")]
    return [] if place.cards else [Evidence(_BUS, "no device 10de of class 03")]


def no_card(machine: Machine) -> Diagnosis | None:
    """A driver on a machine with no card, or with one that is switched off."""
    place = around(machine)
    if not _is_plain(machine) or not place.bus_read or place.cards or machine.gpus:
        return None
    return diagnosis_of(
        kinds.NO_CARD,
        evidence=[Evidence(_BUS, "no device 10de of class 03"), *source_evidence(machine)],
        commands=(*_switch_on(machine), *kinds.NO_CARD.commands),
        driver=str(installed_release(machine) or ""),
        bus=_BUS,
    )


def _switch_on(machine: Machine) -> tuple[str, ...]:
    named = (around(machine).distribution or "").partition(" ")[0]
    return ("sudo prime-select nvidia && sudo reboot",) if named == "ubuntu" else ()


def not_loaded(machine: Machine) -> Diagnosis | None:
    """A driver whose kernel module is not loaded, as nothing was built for this kernel."""
    files = files_of(machine)
    told = NOT_LOADED in (code_of(machine, NVML), code_of(machine, SMI))
    # Where /proc is hidden only the driver itself can tell.
    hidden = any(path.startswith("/proc") for path in files.hidden)
    if not _is_plain(machine) or files.kernel_release is not None or (hidden and not told):
        return None
    disk = files.module_on_disk
    return diagnosis_of(
        kinds.NOT_LOADED,
        confidence=Confidence.CERTAIN if told else Confidence.LIKELY,
        evidence=[
            Evidence("/proc/driver/nvidia/version", "not there"),
            Evidence("modinfo nvidia", str(disk or "not found")),
            *source_evidence(machine),
        ],
        commands=_load(machine),
        errors=errors_of(machine, kinds.NOT_LOADED),
        driver=str(installed_release(machine) or ""),
        kernel=(around(machine).kernel or "") if disk is None else "",
        disk=str(disk or ""),
    )


def _load(machine: Machine) -> tuple[str, ...]:
    if files_of(machine).module_on_disk is None:
        return build_module(machine)
    return (
        "sudo modprobe nvidia",
        "sudo dmesg | grep -iE 'nvidia|nvrm|lockdown'",
        "mokutil --sb-state",
    )


def no_cuda_library(machine: Machine) -> Diagnosis | None:
    """A kernel module that is loaded, and no libcuda."""
    files = files_of(machine)
    if not _is_plain(machine) or files.kernel_release is None or files.libraries:
        return None
    found = source(machine, CUDA)
    if found is not None and (found.ok or found.code is not None):
        return None
    branch = files.kernel_release.branch
    return diagnosis_of(
        kinds.NO_CUDA_LIBRARY,
        evidence=[
            Evidence("/proc/driver/nvidia/version", str(files.kernel_release)),
            *source_evidence(machine, CUDA),
        ],
        commands=install_library(machine, branch),
        driver=str(files.kernel_release),
    )


# --- a driver that is there, and keeps CUDA away --------------------------------------------------


def fabric_manager(machine: Machine) -> Diagnosis | None:
    """CUDA waits for the fabric manager."""
    files, container = files_of(machine), container_of(machine)
    if code_of(machine, CUDA) != _NOT_READY:
        return None
    down = files.fabric_manager is False
    seen = [Evidence("nv-fabricmanager", "not running")] if down else []
    return diagnosis_of(
        kinds.FABRIC_MANAGER,
        confidence=Confidence.CERTAIN if down else Confidence.LIKELY,
        evidence=[*source_evidence(machine, CUDA), *seen],
        container=container.kind.value if container is not None else "",
        release=str(installed_release(machine) or ""),
    )


def forbidden(machine: Machine) -> Diagnosis | None:
    """Device nodes that this user may not open."""
    closed = files_of(machine).closed_nodes
    told = NO_PERMISSION in (code_of(machine, NVML), code_of(machine, SMI))
    if not closed and not told:
        return None
    container = container_of(machine)
    return diagnosis_of(
        kinds.FORBIDDEN,
        evidence=[
            *(Evidence(node, "permission denied") for node in closed),
            *source_evidence(machine),
        ],
        commands=_permit(machine),
        errors=errors_of(machine, kinds.FORBIDDEN),
        nodes=", ".join(closed) or "/dev/nvidia*",
        container=container.kind.value if container is not None else "",
    )


def _permit(machine: Machine) -> tuple[str, ...]:
    container = container_of(machine)
    if container is None:
        groups = "video,render" if around(machine).jetson is not None else "video"
        return (f'sudo usermod -aG {groups} "$USER"', "ls -l /dev/nvidia*")
    if container.kind is ContainerKind.PODMAN:
        options = "--security-opt label=disable --group-add keep-groups"
        return (f"podman run {options} --device nvidia.com/gpu=all IMAGE",)
    return ("docker run --gpus all --security-opt label=disable IMAGE",)


def unified_memory(machine: Machine) -> Diagnosis | None:
    """nvidia_uvm without its node, or in a state that CUDA can't use."""
    files, container = files_of(machine), container_of(machine)
    if files.kernel_release is None or around(machine).wsl:
        return None
    missing = bool(files.device_nodes) and _UVM not in files.device_nodes
    unwell = code_of(machine, CUDA) == _UNKNOWN and answered(machine, NVML, SMI)
    if not missing and not unwell:
        return None
    load = "sudo nvidia-modprobe -u -c 0"
    again = "sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm"
    return diagnosis_of(
        kinds.UNIFIED_MEMORY,
        confidence=Confidence.CERTAIN if missing else Confidence.LIKELY,
        evidence=[
            *([Evidence(_UVM, "not there")] if missing else []),
            *source_evidence(machine, CUDA),
        ],
        commands=(load,) if missing else (again,),
        missing=_UVM if missing else "",
        module="" if missing else "nvidia_uvm",
        container=container.kind.value if container is not None else "",
    )


def unexplained(machine: Machine) -> Diagnosis | None:
    """A card that the driver doesn't start, where the driver itself works."""
    cards = unserved_cards(machine)
    if machine.gpus or not cards or not _is_plain(machine):
        return None
    broke = any(map(broke_off, around(machine).sources))
    return None if broke or not around(machine).sources else not_served(list(cards), machine)


def cannot_start(machine: Machine) -> Diagnosis | None:
    """cuInit fails for another reason."""
    found, code = source(machine, CUDA), code_of(machine, CUDA)
    if found is None or code is None:
        return None
    row = find_cuda_error(code)
    return diagnosis_of(
        kinds.CANNOT_START,
        confidence=Confidence.POSSIBLE,
        evidence=source_evidence(machine),
        errors=(code,),
        gpus=[gpu.uuid for gpu in machine.gpus if gpu.uuid],
        error=str(code),
        meaning=row.name if row is not None else "",
    )
