"""Which devices code for an architecture reaches, by the architectures alone."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from archbuild.model.arch import Arch, ComputeCapability, Suffix

# The tables are loaded where they are used: most lists need none of them, and a command
# has to start quickly.
# ruff: noqa: PLC0415


class Reach(Enum):
    """How code for an architecture gets onto a device."""

    NATIVE = "native"
    JIT = "jit"
    NONE = "none"
    UNDOCUMENTED = "undocumented"


def reach(arch: Arch, device: ComputeCapability) -> Reach:
    """Whether code for ``arch`` runs on a device, given a driver that knows both.

    SASS runs on the same major with an equal or higher minor; PTX on every
    equal or newer device; an ``a`` suffix binds to one device, ``f`` to a family
    (CUDA C++ Programming Guide, Application Compatibility and Compute
    Capabilities). Between desktop and Tegra chips NVIDIA documents nothing.

    Args:
        arch: Of the image, real or virtual.
        device: The GPU's capability.
    """
    from archbuild.facts.architectures import family_members, is_tegra

    if not arch.is_real and not arch.is_virtual:
        return Reach.NONE
    hit = Reach.NATIVE if arch.is_real else Reach.JIT
    if arch.suffix is Suffix.ARCH:
        return hit if arch.capability == device else Reach.NONE
    if arch.suffix is Suffix.FAMILY:
        return hit if device in family_members(arch.capability) else Reach.NONE
    if arch.is_virtual:
        return Reach.JIT if arch.capability <= device else Reach.NONE
    if arch.capability.major != device.major or arch.capability.minor > device.minor:
        return Reach.NONE
    if is_tegra(arch.capability) != is_tegra(device):
        return Reach.UNDOCUMENTED
    return Reach.NATIVE


def best_reach(archs: Iterable[Arch], device: ComputeCapability) -> Reach:
    """The best way in which any of these architectures reaches the device."""
    order = (Reach.NATIVE, Reach.JIT, Reach.UNDOCUMENTED, Reach.NONE)
    return min((reach(arch, device) for arch in archs), key=order.index, default=Reach.NONE)


def nearest_real(archs: Iterable[Arch], device: ComputeCapability) -> Arch | None:
    """The plain real architecture among these that serves the device best, natively."""
    serving = [
        arch
        for arch in archs
        if arch.is_real and arch.suffix is Suffix.PLAIN and reach(arch, device) is Reach.NATIVE
    ]
    return max(serving, default=None)


def nearest_virtual(archs: Iterable[Arch], device: ComputeCapability) -> Arch | None:
    """The highest plain virtual architecture among these that JIT can take there."""
    serving = [
        arch
        for arch in archs
        if arch.is_virtual and arch.suffix is Suffix.PLAIN and arch.capability <= device
    ]
    return max(serving, default=None)
