"""What the sources say of the GPUs of a machine: who sees which, and who has failed."""

from __future__ import annotations

from collections.abc import Iterable

from archbuild.model.diagnosis import Evidence
from archbuild.model.installed import LoadedLibrary
from archbuild.model.machine import Driver, Gpu, Machine
from archbuild.model.surroundings import (
    Container,
    DriverFiles,
    PciCard,
    SourceAnswer,
    Surroundings,
)
from archbuild.model.version import DriverRelease
from archbuild.rules.diagnosis.kind import Kind

NVML, CUDA, SMI = "nvml", "cuda driver", "nvidia-smi"
#: NVML's errors, which nvidia-smi ends with: no permission, no such thing, no module, lost,
#: library and module of two releases, unknown.
NO_PERMISSION, NOT_FOUND, NOT_LOADED, LOST, MISMATCH, UNKNOWN = 4, 6, 9, 15, 18, 999
#: CUDA's.
NO_DEVICE = 100

_EVIDENCE = {CUDA: "cuInit"}
_NOTHING = Surroundings()


def around(machine: Machine) -> Surroundings:
    """What stands around the GPUs; nothing where it was not asked."""
    return machine.surroundings or _NOTHING


def files_of(machine: Machine) -> DriverFiles:
    """What lies of the driver on the disk and in the kernel."""
    return around(machine).driver_files


def container_of(machine: Machine) -> Container | None:
    """The container, if it is one."""
    return around(machine).container


def source(machine: Machine, name: str) -> SourceAnswer | None:
    """How a source fared; None where it was not asked."""
    return next((s for s in around(machine).sources if s.source == name), None)


def code_of(machine: Machine, name: str) -> int | None:
    """The error that a source gave; None where there was none, or it has no number."""
    found = source(machine, name)
    return found.code if found is not None and not found.ok else None


def answered(machine: Machine, *names: str) -> bool:
    """Whether one of these sources answered."""
    return any(s.ok for s in around(machine).sources if s.source in (names or (NVML, CUDA, SMI)))


def errors_of(machine: Machine, kind: Kind) -> tuple[int, ...]:
    """The errors of a kind, that which CUDA gives here first."""
    code = code_of(machine, CUDA)
    return tuple(dict.fromkeys(kind.errors if code is None else (code, *kind.errors)))


def broke_off(found: SourceAnswer | None) -> bool:
    """Whether a source was ended, or ended, before it had answered."""
    return found is not None and not found.ok and (found.timed_out or found.crashed)


def cuda_sees(machine: Machine) -> bool:
    """Whether CUDA sees a GPU; where CUDA was not asked, whether one is known."""
    if any(gpu.visible for gpu in machine.gpus):
        return True
    asked = source(machine, CUDA) is not None
    return not asked and machine.driver is not None and bool(machine.gpus)


def whole_gpus(machine: Machine) -> tuple[Gpu, ...]:
    """The GPUs without the slices of those in MIG mode."""
    return tuple(gpu for gpu in machine.gpus if not gpu.uuid.startswith("MIG-"))


def slices_of(gpu: Gpu, machine: Machine) -> tuple[Gpu, ...]:
    """The slices of a GPU in MIG mode."""
    mine = (g for g in machine.gpus if g.uuid.startswith("MIG-"))
    return tuple(
        g for g in mine if g.pci == gpu.pci or (g.index is not None and g.index == gpu.index)
    )


def unserved_cards(machine: Machine) -> tuple[PciCard, ...]:
    """Cards on the bus that no source names as a GPU."""
    known = {gpu.pci.upper() for gpu in machine.gpus if gpu.pci}
    # A GPU whose address could not be read may be any of them.
    if any(gpu.pci is None and gpu.index is not None for gpu in whole_gpus(machine)):
        return ()
    return tuple(c for c in around(machine).cards if c.address.upper() not in known)


def installed_release(machine: Machine) -> DriverRelease | None:
    """The driver's release: the one that is loaded, else the one that would be."""
    files = files_of(machine)
    told = machine.driver.release if machine.driver is not None else None
    return told or files.kernel_release or files.module_on_disk or files.library_release


def installed_driver(machine: Machine) -> Driver | None:
    """The driver, loaded or not; None where there is no sign of one."""
    release = installed_release(machine)
    return machine.driver if release is None else Driver(release, None)


def is_windows(machine: Machine) -> bool:
    """Whether the driver is one for Windows."""
    return machine.system == "win32" or around(machine).wsl


def driver_library(machine: Machine) -> LoadedLibrary | None:
    """The libcuda that a process would load, where that was tried."""
    loaded = machine.installed.loaded if machine.installed is not None else ()
    return next((lib for lib in loaded if lib.soname.startswith("libcuda.so")), None)


# --- words ----------------------------------------------------------------------------------------


def card_words(cards: Iterable[PciCard]) -> str:
    """``GeForce RTX 5090 (12.0)``, each kind once, with how many there are."""
    names = [_card_name(card) for card in cards]
    return ", ".join(_times(name, names.count(name)) for name in dict.fromkeys(names))


def _card_name(card: PciCard) -> str:
    name = card.name or card.chip or f"10de:{card.device:04x}"
    return f"{name} ({card.capability})" if card.capability is not None else name


def _times(name: str, count: int) -> str:
    return name if count == 1 else f"{count} x {name}"


def gpu_words(gpus: Iterable[Gpu]) -> str:
    """``GPU 0, 2 (NVIDIA H100)``, by NVML's numbers where there are some."""
    kinds: dict[str, list[str]] = {}
    for gpu in gpus:
        kinds.setdefault(gpu.name, []).extend([] if gpu.index is None else [str(gpu.index)])
    return ", ".join(
        f"GPU {', '.join(numbers)} ({name})" if numbers else name for name, numbers in kinds.items()
    )


def card_uuids(cards: Iterable[PciCard]) -> tuple[str, ...]:
    """What stands for the UUIDs of cards that no driver knows."""
    return tuple(f"PCI-{card.address}" for card in cards)


# --- evidence -------------------------------------------------------------------------------------


def card_evidence(cards: Iterable[PciCard]) -> list[Evidence]:
    """What the bus says of cards."""
    return [
        Evidence(
            f"/sys/bus/pci/devices/{card.address.lower()[4:]}",
            f"10de:{card.device:04x} {_card_name(card)}, driver: {card.driver or 'none'}",
        )
        for card in cards
    ]


def source_evidence(machine: Machine, *names: str) -> list[Evidence]:
    """What sources that failed said; all of them where none is named."""
    return [
        Evidence(_EVIDENCE.get(s.source, s.source), _said(s))
        for s in around(machine).sources
        if not s.ok and (not names or s.source in names)
    ]


def _said(answer: SourceAnswer) -> str:
    number = "" if answer.code is None else f"error {answer.code}"
    return ": ".join(filter(None, (number, answer.said))) or "no answer"
