"""Where an error came up: GPUs and driver, the binary that failed, what could build it again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from archbuild.errors import UsageError
from archbuild.model.arch import ComputeCapability, Suffix
from archbuild.model.diagnosis import Diagnosis
from archbuild.model.image import DeviceFile
from archbuild.model.machine import Driver, Machine
from archbuild.rules.covering.places import Place, places_of
from archbuild.rules.selecting.archlist import ArchItem, Word, parse_arch_list


class Builder(Enum):
    """What builds a project from source."""

    TORCH = "torch"
    CMAKE = "cmake"


@dataclass(frozen=True)
class Origin:
    """How the binary that failed can be built again.

    Args:
        name: The package, as its wheel or its metadata has it; None: not known.
        version: Its version.
        source: The folder of its source; None: not known.
        installed: Whether it is installed in this environment.
        builder: What builds it, where the source is known.
    """

    name: str | None = None
    version: str | None = None
    source: str | None = None
    installed: bool = False
    builder: Builder = Builder.TORCH


@dataclass(frozen=True)
class Circumstances:
    """What is known beside the text.

    Args:
        places: The GPUs, each with its driver.
        files: Of the binary that failed; None: none was named.
        binary: How the person named it.
        origin: How to build it again.
        machine: Where the cure is to be pasted; its GPUs are those of ``places`` only
            where no others were named.
        here: Whether ``places`` are the machine's own.
        findings: What is wrong with the machine; None: not asked.
        unread: Sentences on files of the binary that could not be read.
        suspect: The package in which the text's traceback ends.
    """

    places: tuple[Place, ...] = ()
    files: tuple[DeviceFile, ...] | None = None
    binary: str = ""
    origin: Origin = Origin()
    machine: Machine | None = None
    here: bool = False
    findings: tuple[Diagnosis, ...] | None = None
    unread: tuple[str, ...] = ()
    suspect: str | None = None


def named_places(text: str, driver: Driver | None, *, windows: bool = False) -> tuple[Place, ...]:
    """The GPUs that a person named.

    Args:
        text: As ``--gpu`` takes it: ``"RTX 3090, 12.0"``.
        driver: Theirs; None: one is assumed that knows them.
        windows: Whether it is a driver for Windows.

    Raises:
        ArchListError: If the list can't be read.
        UsageError: If it names code, such as ``9.0a``, and no device.
    """
    items = parse_arch_list(text, "--gpu")
    return tuple(
        Place("", name, capability, driver, windows)
        for item in items
        for name, capability in _devices(item)
    )


_IS_NUMBER = re.compile(r"(?:sm_)?[\d.]+")


def _devices(item: ArchItem) -> Iterator[tuple[str, ComputeCapability]]:
    real = [arch for arch in item.targets if arch.is_real]
    plain = real and all(arch.suffix is Suffix.PLAIN for arch in real)
    if item.word is not None or item.ptx or not plain:
        cure = 'Name devices: --gpu "RTX 4090, 9.0".'
        if item.word is Word.NATIVE:
            cure = "Leave --gpu out: this machine's GPUs are taken."
        raise UsageError(f"{item.text} in --gpu names no device.", cure)
    name = "" if _IS_NUMBER.fullmatch(item.text) or len(real) > 1 else item.text
    for arch in real:
        yield name, arch.capability


def places_with(machine: Machine, driver: Driver | None) -> tuple[Place, ...]:
    """The GPUs of a machine, with another driver where one is given."""
    places = places_of(machine)
    if driver is None:
        return places
    return tuple(replace(place, driver=driver) for place in places)


_WHEEL = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.]*)-(?P<version>[\w.!+]+)(?:-\d\w*)?(?:-[\w.]+){3}\.whl"
)


def origin_of_wheel(path: str) -> Origin:
    """The package that a wheel's file name tells; an empty origin for other files.

    Examples:
        >>> origin_of_wheel("dist/flash_attn-2.8.3+cu12-cp311-cp311-linux_x86_64.whl").name
        'flash-attn'
    """
    match = _WHEEL.fullmatch(re.split(r"[/\\]", path)[-1])
    if match is None:
        return Origin()
    return Origin(match["name"].replace("_", "-"), match["version"])


def same_name(first: str, second: str) -> bool:
    """Whether two names are those of one package: case and ``-_.`` don't count."""
    return _plain(first) == _plain(second)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
