"""Compute capabilities, families and generations, as NVIDIA and torch name them.

A missing row means "unknown", never "there is no such thing".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.version import CudaVersion

_GPU_LISTS = "NVIDIA's lists of CUDA GPUs, joined with the chips in pci.ids"
_PTXAS = "ptxas --help of CUDA 13.0; NVIDIA names no product"
_INFERRED = "pci.ids of 2026-08-22 and ptxas --help of CUDA 13.5; inferred"
_READ = date(2026, 11, 30)


@dataclass(frozen=True)
class CapabilityRow:
    """One compute capability.

    Args:
        capability: The number.
        generation: NVIDIA's name of the generation, as torch spells it.
        chips: The chips that have it; empty where none is known.
        tegra: Whether its chips are Tegra: modules of Jetson and DRIVE, for
            which NVIDIA documents no binary compatibility with other GPUs.
            None where it is not known.
        source: Where it is written.
        date: When it was read there.
    """

    capability: ComputeCapability
    generation: str
    chips: tuple[str, ...]
    tegra: bool | None
    source: str
    date: date


@dataclass(frozen=True)
class FamilyRow:
    """The devices which family-specific code (suffix ``f``) runs on.

    Args:
        head: The number in the name, 10.0 of ``sm_100f``.
        members: The capabilities served, the head included.
        source: Where it is written.
        date: When it was read there.
    """

    head: ComputeCapability
    members: tuple[ComputeCapability, ...]
    source: str
    date: date


@dataclass(frozen=True)
class GenerationRow:
    """A name that torch takes in TORCH_CUDA_ARCH_LIST, and what it stands for.

    Args:
        name: As torch spells it.
        expansion: SASS upwards, then PTX where torch adds it.
        source: Where it is written.
        date: When it was read there.
    """

    name: str
    expansion: tuple[Arch, ...]
    source: str
    date: date


@dataclass(frozen=True)
class RenamedRow:
    """A chip whose number changed between two toolkits.

    Args:
        old: The number before ``since``.
        new: The number from ``since`` on.
        since: The first CUDA that knows the new number, and not the old one.
        chip: The chip.
        source: Where it is written.
        date: When it was read there.
    """

    old: ComputeCapability
    new: ComputeCapability
    since: CudaVersion
    chip: str
    source: str
    date: date


def _row(
    number: str,
    generation: str,
    chips: str = "",
    *,
    tegra: bool | None = False,
    source: str = _GPU_LISTS,
) -> CapabilityRow:
    capability = ComputeCapability.parse(number)
    return CapabilityRow(capability, generation, tuple(chips.split()), tegra, source, _READ)


CAPABILITIES = (
    _row("3.0", "Kepler", "GK104 GK106 GK107"),
    _row("3.2", "Kepler", "GK20A", tegra=True),
    _row("3.5", "Kepler", "GK110 GK180 GK208"),
    _row("3.7", "Kepler", "GK210"),
    _row("5.0", "Maxwell", "GM107 GM108"),
    _row("5.2", "Maxwell", "GM200 GM204 GM206"),
    _row("5.3", "Maxwell", "GM20B", tegra=True),
    _row("6.0", "Pascal", "GP100"),
    _row("6.1", "Pascal", "GP102 GP104 GP106 GP107 GP108"),
    _row("6.2", "Pascal", "GP10B", tegra=True),
    _row("7.0", "Volta", "GV100"),
    _row("7.2", "Volta", "GV11B", tegra=True),
    _row("7.5", "Turing", "TU102 TU104 TU106 TU116 TU117"),
    _row("8.0", "Ampere", "GA100"),
    _row("8.6", "Ampere", "GA102 GA103 GA104 GA106 GA107"),
    _row("8.7", "Ampere", "GA10B", tegra=True),
    _row("8.8", "Ampere", tegra=None, source=_PTXAS),
    _row("8.9", "Ada", "AD102 AD103 AD104 AD106 AD107"),
    _row("9.0", "Hopper", "GH100"),
    _row("10.0", "Blackwell", "GB100 GB102"),
    _row("10.1", "Blackwell", "GB10B", tegra=True),
    _row("10.3", "Blackwell", "GB110 GB112"),
    _row("10.7", "Rubin", "GR100 GR102", source=_INFERRED),
    _row("11.0", "Blackwell", "GB10B", tegra=True),
    _row("12.0", "Blackwell", "GB202 GB203 GB205 GB206 GB207"),
    _row("12.1", "Blackwell", "GB20B"),
)


def _family(head: str, members: str, source: str) -> FamilyRow:
    served = tuple(ComputeCapability.parse(member) for member in members.split())
    return FamilyRow(ComputeCapability.parse(head), served, source, _READ)


# A family is this table and not "the same major": code for 100f does not
# assemble for 10.1. 10.7 joined the families of 100f and 103f with CUDA 13.4.
FAMILIES = (
    _family("10.0", "10.0 10.3 10.7", "PTX of 100f assembled by ptxas 12.9, 13.0 and 13.5"),
    _family("10.1", "10.1", "PTX of 101f assembled by ptxas 12.9"),
    _family("10.3", "10.3 10.7", "PTX of 103f assembled by ptxas 12.9, 13.0 and 13.5"),
    _family("10.7", "10.7", "PTX of 107f assembled by ptxas 13.5"),
    _family("11.0", "11.0", "PTX of 110f assembled by ptxas 13.0 and 13.5"),
    _family("12.0", "12.0 12.1", "PTX of 120f assembled by ptxas 12.9, 13.0 and 13.5"),
    _family("12.1", "12.1", "PTX of 121f assembled by ptxas 12.9, 13.0 and 13.5"),
)


def _generation(name: str, expansion: str) -> GenerationRow:
    archs = tuple(Arch.parse(arch) for arch in expansion.split())
    return GenerationRow(name, archs, "torch 2.14.1, torch/utils/cpp_extension.py", _READ)


# torch puts PTX on the last number of a name, and none on a Tegra name.
GENERATIONS = (
    _generation("Kepler", "sm_35 compute_35"),
    _generation("Kepler+Tesla", "sm_37"),
    _generation("Maxwell", "sm_50 sm_52 compute_52"),
    _generation("Maxwell+Tegra", "sm_53"),
    _generation("Pascal", "sm_60 sm_61 compute_61"),
    _generation("Volta", "sm_70 compute_70"),
    _generation("Volta+Tegra", "sm_72"),
    _generation("Turing", "sm_75 compute_75"),
    _generation("Ampere", "sm_80 sm_86 compute_86"),
    _generation("Ampere+Tegra", "sm_87"),
    _generation("Ada", "sm_89 compute_89"),
    _generation("Hopper", "sm_90 compute_90"),
    _generation("Blackwell", "sm_100 sm_103 sm_120 sm_121 compute_121"),
    _generation("Blackwell+Tegra", "sm_110"),
    _generation("Rubin", "sm_107 compute_107"),
)

RENAMED = (
    RenamedRow(
        ComputeCapability(10, 1),
        ComputeCapability(11, 0),
        CudaVersion(13, 0),
        "Thor",
        "ptxas --help of CUDA 12.9 and 13.0",
        _READ,
    ),
)

_BY_CAPABILITY = {row.capability: row for row in CAPABILITIES}
_MEMBERS = {row.head: row.members for row in FAMILIES}
_EXPANSIONS = {row.name.casefold(): row.expansion for row in GENERATIONS}


def find_capability_row(capability: ComputeCapability) -> CapabilityRow | None:
    """The row of this capability; None where it is not known."""
    return _BY_CAPABILITY.get(capability)


def family_members(capability: ComputeCapability) -> tuple[ComputeCapability, ...]:
    """The devices that code for the family of this capability serves.

    Args:
        capability: The number in ``sm_100f``, 10.0.

    Returns:
        The capabilities upwards, the head included; empty where no such family
        is known.
    """
    return _MEMBERS.get(capability, ())


def is_tegra(capability: ComputeCapability) -> bool | None:
    """Whether GPUs of this capability are Tegra; None where it is not known."""
    row = _BY_CAPABILITY.get(capability)
    return row.tegra if row else None


def generation_expansion(name: str) -> tuple[Arch, ...] | None:
    """What torch makes of the name of a generation.

    Args:
        name: Such as ``Ampere`` or ``ampere+tegra``, in any case.

    Returns:
        SASS upwards, then PTX where torch adds it; None where torch knows no
        such name.
    """
    return _EXPANSIONS.get(name.casefold())
