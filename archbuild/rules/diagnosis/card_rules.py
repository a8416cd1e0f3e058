"""Cards on the bus that no source names as a GPU: each with the reason, where one is known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from archbuild.facts.kernel_modules import find_flavour
from archbuild.model.arch import ComputeCapability
from archbuild.model.coverage import Destination
from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.finding import Severity
from archbuild.model.machine import Gpu, Machine
from archbuild.model.surroundings import PciCard
from archbuild.rules.covering.drivers import device_floor, has_retired, knows_device
from archbuild.rules.diagnosis import driver_kinds as kinds
from archbuild.rules.diagnosis.driver_cures import (
    Window,
    forbid_nouveau,
    install_driver,
    window_of,
)
from archbuild.rules.diagnosis.kind import Kind, diagnosis_of
from archbuild.rules.diagnosis.sight import (
    around,
    card_evidence,
    card_uuids,
    card_words,
    container_of,
    cuda_sees,
    errors_of,
    files_of,
    gpu_words,
    installed_driver,
    installed_release,
    is_windows,
    source_evidence,
    unserved_cards,
    whole_gpus,
)

_GUEST_MODULES = ("vfio-pci", "pci-stub", "xen-pciback")


def check_cards(machine: Machine) -> Iterator[Diagnosis]:
    """Every card that is there and can't be used, with the reason that it has.

    In a container the host's other cards stand on the bus as well: there nothing is said
    of them as long as CUDA sees a GPU.
    """
    if container_of(machine) is not None and cuda_sees(machine):
        return
    cards = unserved_cards(machine)
    for module in _GUEST_MODULES:
        yield from _for_guests([c for c in cards if c.driver == module], module, machine)
    yield from _nouveau([c for c in cards if c.driver == "nouveau"], machine)
    if installed_release(machine) is None:
        return
    free = [c for c in cards if c.driver in (None, "nvidia")]
    yield from _driver_and_cards(free, machine)


def check_known_gpus(machine: Machine) -> Iterator[Diagnosis]:
    """GPUs that are named and that CUDA doesn't see, where the driver does not serve them."""
    for gpu in whole_gpus(machine):
        if gpu.visible or gpu.capability is None:
            continue
        standing = _standing(gpu.capability, machine)
        if standing in (kinds.RETIRED, kinds.TOO_NEW):
            yield _of_gpu(standing, gpu, gpu.capability, machine)


def explains(finding: Diagnosis, card: PciCard) -> bool:
    """Whether a finding says why a card can't be used."""
    return card_uuids([card])[0] in finding.gpus


# --- who holds the card ---------------------------------------------------------------------------


def _for_guests(cards: list[PciCard], module: str, machine: Machine) -> Iterator[Diagnosis]:
    if not cards:
        return
    seen = cuda_sees(machine)
    yield diagnosis_of(
        kinds.FOR_GUESTS,
        severity=Severity.NOTE if seen else Severity.ERROR,
        evidence=card_evidence(cards),
        commands=[_give_back(card, module) for card in cards],
        errors=() if seen else None,
        gpus=card_uuids(cards),
        cards=card_words(cards),
        module=module,
    )


def _give_back(card: PciCard, module: str) -> str:
    place, bus = card.address.lower()[4:], "/sys/bus/pci/drivers"
    return (
        f"echo {place} | sudo tee {bus}/{module}/unbind && "
        f"echo {place} | sudo tee {bus}/nvidia/bind"
    )


def _nouveau(cards: list[PciCard], machine: Machine) -> Iterator[Diagnosis]:
    if not cards:
        return
    release = installed_release(machine)
    window = window_of(_capabilities(machine))
    install = install_driver(machine, window) if release is None else forbid_nouveau(machine)
    yield diagnosis_of(
        kinds.NOUVEAU,
        evidence=[*card_evidence(cards), *source_evidence(machine)],
        commands=install,
        errors=errors_of(machine, kinds.NOUVEAU),
        gpus=card_uuids(cards),
        cards=card_words(cards),
        driver=str(release or ""),
        window=str(window) if release is None else "",
    )


# --- whether the driver serves it -----------------------------------------------------------------


def _driver_and_cards(cards: list[PciCard], machine: Machine) -> Iterator[Diagnosis]:
    if is_windows(machine):
        return
    yield from _no_common(cards, machine)
    for kind in (kinds.TOO_NEW, kinds.RETIRED, kinds.WRONG_FLAVOUR):
        concerned = [c for c in cards if c.capability and _standing(c.capability, machine) is kind]
        if concerned:
            yield _of_cards(kind, concerned, machine)


def _standing(capability: ComputeCapability, machine: Machine) -> Kind | None:
    """Why the driver does not serve such a GPU; None: nothing says so."""
    place = Destination(capability, installed_driver(machine), is_windows(machine))
    if has_retired(place):
        return kinds.RETIRED
    if knows_device(place) is False:
        return kinds.TOO_NEW
    loaded, row = files_of(machine).open_module, find_flavour(capability)
    if loaded is None or row is None or is_windows(machine):
        return None
    return None if (row.open if loaded else row.proprietary) else kinds.WRONG_FLAVOUR


def _capabilities(machine: Machine) -> list[ComputeCapability]:
    """Of every GPU and card that is not kept for guests."""
    found = [gpu.capability for gpu in machine.gpus]
    found += [c.capability for c in around(machine).cards if c.driver not in _GUEST_MODULES]
    return [capability for capability in found if capability is not None]


def _of_cards(kind: Kind, cards: list[PciCard], machine: Machine) -> Diagnosis:
    own = [c.capability for c in cards if c.capability is not None]
    return diagnosis_of(
        kind,
        evidence=[*card_evidence(cards), *_driver_evidence(machine), *source_evidence(machine)],
        commands=install_driver(machine, window_of(_capabilities(machine))),
        gpus=card_uuids(cards),
        more=_values(kind, card_words(cards), own, machine),
    )


def _of_gpu(kind: Kind, gpu: Gpu, capability: ComputeCapability, machine: Machine) -> Diagnosis:
    return diagnosis_of(
        kind,
        evidence=[
            Evidence(gpu.name, str(capability)),
            Evidence("driver", str(installed_release(machine))),
        ],
        commands=install_driver(machine, window_of(_capabilities(machine))),
        gpus=(gpu.uuid,),
        more=_values(kind, f"{gpu.name} ({capability})", [capability], machine),
    )


def _values(
    kind: Kind, words: str, own: list[ComputeCapability], machine: Machine
) -> dict[str, str]:
    values = {"cards": words, "driver": str(installed_release(machine))}
    if kind is kinds.WRONG_FLAVOUR:
        is_open = bool(files_of(machine).open_module)
        names = ("open", "proprietary") if is_open else ("proprietary", "open")
        return {**values, "loaded": names[0], "needed": names[1]}
    if kind is kinds.RETIRED:
        return {**values, "last": str(window_of(own).most)}
    last = window_of(_capabilities(machine)).most
    return {**values, "floor": _floor(own, machine), "last": "" if last is None else str(last)}


def _floor(own: list[ComputeCapability], machine: Machine) -> str:
    """The first driver that knows all of them."""
    floors = [device_floor(Destination(c, windows=is_windows(machine))) for c in own]
    known = [floor for floor in floors if floor is not None]
    highest = max(known, key=lambda floor: floor.cuda, default=None)
    if highest is None:
        return ""
    return f"CUDA {highest.cuda}" if highest.release is None else str(highest.release)


def _driver_evidence(machine: Machine) -> Iterator[Evidence]:
    files = files_of(machine)
    if files.kernel_release is not None:
        flavour = {True: "open", False: "proprietary", None: ""}[files.open_module]
        yield Evidence("/proc/driver/nvidia/version", f"{files.kernel_release} {flavour}".strip())
    elif files.module_on_disk is not None:
        yield Evidence("modinfo nvidia", str(files.module_on_disk))


# --- whether any driver serves all ----------------------------------------------------------------


def _no_common(cards: list[PciCard], machine: Machine) -> Iterator[Diagnosis]:
    """Two of the cards of which no driver serves both, where one of them isn't served now."""
    there = [c for c in around(machine).cards if c.driver not in _GUEST_MODULES and c.capability]
    for one, other in combinations(there, 2):
        assert one.capability is not None
        assert other.capability is not None
        both = window_of((one.capability, other.capability))
        if both.is_empty and (one in cards or other in cards):
            yield _no_driver_for_both(one, other)
            return


def _no_driver_for_both(one: PciCard, other: PciCard) -> Diagnosis:
    return diagnosis_of(
        kinds.NO_COMMON,
        evidence=card_evidence((one, other)),
        first=card_words([one]),
        need=str(_window(one)),
        second=card_words([other]),
        other=str(_window(other)),
    )


def _window(card: PciCard) -> Window:
    return window_of([card.capability] if card.capability is not None else [])


# --- without a known reason -----------------------------------------------------------------------


def check_unexplained_cards(machine: Machine) -> Iterator[Diagnosis]:
    """Cards that the driver holds, or nobody, where the driver works and names other GPUs.

    With device nodes that are closed, a job was given a part of the GPUs; in a container so
    was the container.
    """
    limited = container_of(machine) is not None or bool(files_of(machine).closed_nodes)
    if not cuda_sees(machine) or limited or is_windows(machine) or around(machine).jetson:
        return
    found = list(check_cards(machine))
    left = [
        card
        for card in unserved_cards(machine)
        if not any(explains(finding, card) for finding in found)
    ]
    if left:
        yield not_served(left, machine, severity=Severity.WARNING)


def not_served(
    cards: list[PciCard], machine: Machine, *, severity: Severity | None = None
) -> Diagnosis:
    """The finding that a card isn't started by the driver, for no reason that is known."""
    return diagnosis_of(
        kinds.NOT_SERVED,
        confidence=Confidence.LIKELY,
        severity=severity,
        evidence=[*card_evidence(cards), *source_evidence(machine)],
        errors=() if severity is Severity.WARNING else None,
        gpus=card_uuids(cards),
        cards=card_words(cards),
        driver=str(installed_release(machine) or gpu_words(machine.gpus)),
    )
