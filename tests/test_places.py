"""Where code would run: GPUs by kind, with the driver of their machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archbuild.errors import NoGpuError
from archbuild.model.coverage import Destination, Tegra
from archbuild.model.machine import Machine
from archbuild.model.surroundings import Surroundings
from archbuild.rules.covering.places import Member, Place, fleet_places, names_of, places_of
from tests.doctors import GTX_1080, RTX_5090, bare, card, desk, gpu
from tests.images import cap, driver


def told(machine: Machine) -> list[tuple[str, str | None, int, bool]]:
    return [
        (p.gpu, None if p.capability is None else str(p.capability), p.count, p.by_bus)
        for p in places_of(machine)
    ]


def test_gpus_of_one_kind_are_one_place() -> None:
    eight = [gpu("NVIDIA H100", "9.0", number) for number in range(8)]
    assert told(desk(*eight, RTX_5090)) == [
        ("NVIDIA H100", "9.0", 8, False),
        ("NVIDIA GeForce RTX 5090", "12.0", 1, False),
    ]


def test_slices_stand_for_their_gpu() -> None:
    whole = gpu("A100", "8.0", mig=True)
    parts = [replace(whole, uuid=f"MIG-{n}", name="A100 MIG 1g.5gb") for n in range(7)]
    assert told(desk(whole, *parts)) == [("A100 MIG 1g.5gb", "8.0", 7, False)]
    # MIG is on, and nobody has made a slice.
    assert told(desk(whole)) == [("A100", "8.0", 1, False)]


def test_the_bus_tells_where_no_driver_does() -> None:
    machine = bare(card("RTX 5090", "12.0"), card("RTX 5090", "12.0", 1), card(None, None, 2))
    assert told(machine) == [("RTX 5090", "12.0", 2, True), ("GB202", None, 1, True)]
    # With a GPU that a driver shows, the bus has nothing to add.
    assert told(replace(machine, gpus=(GTX_1080,))) == [
        ("NVIDIA GeForce GTX 1080", "6.1", 1, False)
    ]


@pytest.mark.parametrize(
    ("system", "wsl", "windows"), [("linux", False, False), ("linux", True, True), ("win32", 0, 1)]
)
def test_whose_driver_it_is(system: str, wsl: bool, windows: bool) -> None:
    machine = replace(desk(RTX_5090), system=system, surroundings=Surroundings(wsl=bool(wsl)))
    (place,) = places_of(machine)
    assert (place.windows, place.system) == (bool(windows), system)


def test_a_place_as_a_destination() -> None:
    place = Place("a", "x", cap("8.7"), driver("550.54.14"), True)
    there = Destination(cap("8.7"), driver("550.54.14"), True, Tegra.RUNS)
    assert place.destination(Tegra.RUNS) == there
    assert replace(place, capability=None).destination() is None


def test_a_fleet_without_a_gpu_is_no_fleet() -> None:
    unknown = desk(gpu("NVIDIA Thing", None))
    with pytest.raises(NoGpuError, match="on record in a, b"):
        fleet_places([Member("a", desk()), Member("b", unknown)])
    places = fleet_places([Member("b", unknown), Member("c", desk(RTX_5090))])
    assert [(place.machine, place.capability is None) for place in places] == [
        ("b", True),
        ("c", False),
    ]


def test_names_in_a_sentence() -> None:
    assert names_of(["a", "b", "a"]) == "a, b"
    assert names_of("abcdef") == "a, b, c, d and 2 more"
