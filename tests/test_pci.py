"""Cards on a PCI bus made of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import ComputeCapability
from archbuild.model.surroundings import PciCard
from archbuild.probe.pci import query_cards
from archbuild.probe.tree import Tree
from tests.trees import card, plant

BUS = "sys/bus/pci/devices"
RTX_3090, RTX_5090, H100, UNKNOWN = 0x2204, 0x2B85, 0x2330, 0xFFFE


def ask(root: Path) -> tuple[PciCard, ...]:
    cards, bus_read = query_cards(Tree(root))
    assert bus_read
    return cards


def test_a_card_without_a_driver_has_a_name_and_a_capability(tmp_path: Path) -> None:
    card(tmp_path, "0000:01:00.0", RTX_3090)
    (found,) = ask(tmp_path)
    assert found == PciCard(
        "00000000:01:00.0",
        RTX_3090,
        "GA102",
        "GeForce RTX 3090",
        ComputeCapability(8, 6),
        None,
    )


@pytest.mark.parametrize("name", ["nvidia", "nouveau", "vfio-pci", "pci-stub"])
def test_the_driver_that_is_bound(tmp_path: Path, name: str) -> None:
    card(tmp_path, "0000:c1:00.0", RTX_5090, driver=name)
    (found,) = ask(tmp_path)
    assert (found.address, found.driver) == ("00000000:C1:00.0", name)


def test_a_card_that_the_table_lacks_is_a_card(tmp_path: Path) -> None:
    card(tmp_path, "10000:e1:00.0", UNKNOWN, driver="nvidia")
    assert ask(tmp_path) == (PciCard("00010000:E1:00.0", UNKNOWN, driver="nvidia"),)


def test_only_nvidias_display_controllers_count(tmp_path: Path) -> None:
    card(tmp_path, "0000:01:00.0", H100, kind=0x030200)  # no screen
    card(tmp_path, "0000:01:00.1", 0x22BA, kind=0x040300)  # its sound
    card(tmp_path, "0000:02:00.0", RTX_3090, vendor=0x1002)  # another maker's
    card(tmp_path, "0000:03:00.0", 0x1AF1, kind=0x068000)  # a switch between GPUs
    card(tmp_path, "0000:04:00.0", 0x008E, vendor=0x1414, kind=0x030200)  # WSL's own
    assert [found.address for found in ask(tmp_path)] == ["00000000:01:00.0"]


def test_shares_of_a_gpu_that_is_there_are_no_cards(tmp_path: Path) -> None:
    card(tmp_path, "0000:41:00.0", 0x20B0, driver="nvidia")
    for function in range(4, 8):
        address = f"0000:41:00.{function}"
        card(tmp_path, address, 0x20B0, driver="nvidia")
        plant(tmp_path, links={f"{BUS}/{address}/physfn": "../0000:41:00.0"})
    assert [found.address for found in ask(tmp_path)] == ["00000000:41:00.0"]


def test_a_bus_without_cards_and_no_bus_at_all(tmp_path: Path) -> None:
    assert query_cards(Tree(tmp_path)) == ((), False)
    (tmp_path / BUS).mkdir(parents=True)
    assert query_cards(Tree(tmp_path)) == ((), True)


def test_devices_that_are_no_folders_are_passed_by(tmp_path: Path) -> None:
    card(tmp_path, "0000:01:00.0", RTX_3090)
    plant(
        tmp_path,
        {f"{BUS}/0000:02:00.0": "a file", f"{BUS}/0000:03:00.0/vendor": "0x10de\n"},
        {f"{BUS}/0000:04:00.0": "gone", f"{BUS}/0000:05:00.0": "0000:05:00.0"},
    )
    assert len(ask(tmp_path)) == 1


@pytest.mark.parametrize("file", ["vendor", "device", "class"])
@given(data=st.binary(max_size=40))
def test_no_number_is_too_odd(
    tmp_path_factory: pytest.TempPathFactory, file: str, data: bytes
) -> None:
    root = tmp_path_factory.mktemp("bus")
    card(root, "0000:01:00.0", RTX_3090)
    plant(root, {f"{BUS}/0000:01:00.0/{file}": data})
    assert len(ask(root)) <= 1
