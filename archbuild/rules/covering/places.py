"""Where code would run: the GPUs of recorded machines, each with its machine's own driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from archbuild.errors import NoGpuError
from archbuild.model.arch import ComputeCapability
from archbuild.model.coverage import Destination, Tegra
from archbuild.model.machine import Driver, Gpu, Machine, processor_name

#: Machines that a sentence names one by one.
_SHOWN = 4


@dataclass(frozen=True)
class Member:
    """One machine of several.

    Args:
        name: The name of its record, which is all the name that it has.
        machine: The record.
    """

    name: str
    machine: Machine


@dataclass(frozen=True)
class Place:
    """GPUs of one kind in one machine.

    Args:
        machine: The machine's name.
        gpu: The product's name.
        capability: None: no source could tell, so that nothing can be said of it.
        driver: The machine's; None: it has none.
        windows: Whether that is a driver for Windows, as it is inside WSL.
        count: How many of them there are.
        by_bus: Whether the PCI bus alone tells of them: no driver serves them.
        system: The machine's, as Python names it: ``linux``, ``win32``.
        processor: The machine's, as Linux names it: ``x86_64``; empty: not known.
    """

    machine: str
    gpu: str
    capability: ComputeCapability | None
    driver: Driver | None = None
    windows: bool = False
    count: int = 1
    by_bus: bool = False
    system: str = "linux"
    processor: str = ""

    def destination(self, tegra: Tegra = Tegra.UNDOCUMENTED) -> Destination | None:
        """Where code would run; None where the capability is not known.

        Args:
            tegra: How to take what NVIDIA doesn't document.
        """
        if self.capability is None:
            return None
        return Destination(self.capability, self.driver, self.windows, tegra)


def places_of(machine: Machine, name: str = "") -> tuple[Place, ...]:
    """The GPUs of a machine by kind, in the order of the first of each.

    Where no driver shows a GPU, those that the PCI bus shows are taken.

    Args:
        machine: The machine.
        name: What to call it.
    """
    by_bus = not machine.gpus
    shown = ((gpu.name, gpu.capability) for gpu in _whole(machine.gpus))
    kinds = Counter(_cards(machine) if by_bus else shown)
    return tuple(
        Place(
            name,
            gpu,
            capability,
            machine.driver,
            machine.system == "win32" or is_wsl(machine),
            count,
            by_bus,
            machine.system,
            processor_name(machine.processor),
        )
        for (gpu, capability), count in kinds.items()
    )


def is_wsl(machine: Machine) -> bool:
    """Whether it is inside Windows, whose driver then counts."""
    return machine.surroundings is not None and machine.surroundings.wsl


def _whole(gpus: tuple[Gpu, ...]) -> Iterator[Gpu]:
    """Without a GPU whose slices are listed: they stand for it."""
    sliced = {gpu.pci for gpu in gpus if gpu.uuid.startswith("MIG-")}
    for gpu in gpus:
        if gpu.uuid.startswith("MIG-") or not gpu.mig or gpu.pci not in sliced:
            yield gpu


def _cards(machine: Machine) -> Iterator[tuple[str, ComputeCapability | None]]:
    cards = machine.surroundings.cards if machine.surroundings is not None else ()
    for card in cards:
        yield card.name or card.chip or f"10de:{card.device:04x}", card.capability


def fleet_places(members: Iterable[Member]) -> tuple[Place, ...]:
    """The GPUs of all machines by kind.

    Args:
        members: The machines.

    Raises:
        NoGpuError: If none of them has a GPU of known capability.
    """
    members = tuple(members)
    places = tuple(place for one in members for place in places_of(one.machine, one.name))
    if not any(place.capability for place in places):
        names = names_of([member.name for member in members])
        raise NoGpuError(
            f"No GPU of known capability is on record in {names}.",
            "Write the records anew where the GPUs are: archbuild doctor --save FILE",
        )
    return places


def names_of(names: Iterable[str]) -> str:
    """Names of machines in a sentence, each once; of many the first.

    Args:
        names: At least one.
    """
    once = list(dict.fromkeys(names))
    rest = len(once) - _SHOWN
    return ", ".join(once[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
