"""NVIDIA's GPUs on the PCI bus: they are there whether or not a driver is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archbuild.model.surroundings import PciCard
from archbuild.probe.gpu_answer import normal_pci
from archbuild.probe.tree import Tree

_BUS = "/sys/bus/pci/devices"
_NVIDIA = 0x10DE
# The first byte of the class: display controllers, with a screen (0300) or without (0302).
_DISPLAY = 0x03
# "0x030000" and a line feed; a file with more in it is none of the kernel's.
_LONGEST = 32


def query_cards(tree: Tree) -> tuple[tuple[PciCard, ...], bool]:
    """The cards on the bus, by address, and whether the bus could be read.

    A GPU that hands out shares of itself (SR-IOV) has a virtual function for each;
    those are passed by where the GPU itself is there.

    Args:
        tree: The machine's files.
    """
    addresses = tree.names(_BUS)
    if addresses is None:
        return (), False
    return tuple(_cards(tree, addresses)), True


def _cards(tree: Tree, addresses: tuple[str, ...]) -> Iterator[PciCard]:
    for name in addresses:
        folder = f"{_BUS}/{name}"
        if _number(tree, f"{folder}/vendor") != _NVIDIA:
            continue
        kind, device = _number(tree, f"{folder}/class"), _number(tree, f"{folder}/device")
        if kind is None or kind >> 16 != _DISPLAY or device is None:
            continue
        if tree.target(f"{folder}/physfn") is None:
            yield _card(normal_pci(name) or name, device, tree.target(f"{folder}/driver"))


def _number(tree: Tree, path: str) -> int | None:
    text = (tree.text(path, limit=_LONGEST) or "").strip()
    return int(text, 16) if re.fullmatch(r"0x[0-9a-f]{1,8}", text, re.ASCII) else None


def _card(address: str, device: int, driver: str | None) -> PciCard:
    # Costs what it costs only where there is a card.
    from archbuild.facts.products import find_pci_row  # noqa: PLC0415

    row = find_pci_row(device)
    if row is None:
        return PciCard(address, device, driver=driver)
    return PciCard(address, device, row.chip, row.name, row.capability, driver)
