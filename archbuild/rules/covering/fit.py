"""Whether one image fits a device, and whether the driver then takes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archbuild.facts.architectures import RENAMED, family_members, find_capability_row
from archbuild.model.arch import Arch, ComputeCapability, Suffix
from archbuild.model.coverage import Cause, Destination, Outcome, Tegra, Verdict
from archbuild.model.image import ImageKind, Linkage
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.drivers import (
    device_floor,
    driver_words,
    floor_words,
    has_retired,
    knows_device,
    ptx_floor,
    sass_floor,
    takes_isa,
    takes_sass,
)
from archbuild.rules.covering.reach import Reach, reach

#: No image fits: at launch, and from the calls that ask for a function's attributes.
NOTHING_FITS = (209, 98)
#: PTX is newer than the driver.
PTX_TOO_NEW = (222,)
#: The driver is older than the runtime: any call, and single ones.
DRIVER_TOO_OLD = (35, 36)
#: The driver does not serve the device, so CUDA doesn't see it.
NO_DEVICE = (100,)


class Fit(Enum):
    """Whether an image fits a device, by kind and architecture alone."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class ImageFit:
    """Whether an image fits, with the reason.

    Args:
        fit: Yes, no or unknown.
        cause: Why, for programs.
        reason: Why, as one sentence.
    """

    fit: Fit
    cause: Cause
    reason: str


@dataclass(frozen=True)
class Traits:
    """What of an image decides whether it runs.

    Args:
        kind: SASS, PTX, LTO-IR and so on.
        linkage: Executable or relocatable.
        arch: Its architecture; None where it is unknown.
        isa: The PTX ISA, of PTX.
        built: The toolkit that made it; None where it is unknown.
    """

    kind: ImageKind
    linkage: Linkage
    arch: Arch | None
    isa: tuple[int, int] | None = None
    built: CudaVersion | None = None


_UNLOADABLE = {
    ImageKind.LTOIR: "LTO-IR is no code yet: a link has to make code of it first",
    ImageKind.INDEX: "an index holds no code",
}
_LOADABLE = (ImageKind.SASS, ImageKind.PTX)


def fit_image(traits: Traits, destination: Destination) -> ImageFit:
    """Whether an image fits a device, whatever the driver.

    Args:
        traits: Of the image; ISA and toolkit don't matter here.
        destination: The device, and how to take Tegra.
    """
    kind, arch = traits.kind, traits.arch
    if kind in _UNLOADABLE:
        return ImageFit(Fit.NO, Cause.NOT_LOADABLE, f"{arch or 'It'}: {_UNLOADABLE[kind]}.")
    if traits.linkage is Linkage.RELOCATABLE:
        reason = f"{arch or 'It'} is relocatable: a device link has to come before the driver."
        return ImageFit(Fit.NO, Cause.NOT_LOADABLE, reason)
    if kind not in _LOADABLE or traits.linkage is Linkage.UNKNOWN or arch is None:
        reason = f"Whether a driver can load {kind.value} of {arch or 'this kind'} is not known."
        return ImageFit(Fit.UNKNOWN, Cause.NOT_KNOWN, reason)
    if _is_beyond_tables(arch, destination.capability):
        reason = f"Whether {arch} runs on {destination.capability} is not known yet."
        return ImageFit(Fit.UNKNOWN, Cause.NOT_KNOWN, reason)
    return _fit_arch(arch, destination)


def _is_beyond_tables(arch: Arch, device: ComputeCapability) -> bool:
    """Whether only facts that are missing could say whether this code reaches."""
    renamed = any((row.old, row.new) == (arch.capability, device) for row in RENAMED)
    if renamed and arch.is_virtual and arch.suffix is not Suffix.PLAIN:
        # ptxas 13.x makes code for 110a from PTX of 101a; whether a driver takes
        # the entry to begin with, nobody has said.
        return True
    if arch.suffix is Suffix.ARCH or arch.capability.major != device.major:
        return False
    if arch.suffix is Suffix.FAMILY and not family_members(arch.capability):
        return arch.capability <= device
    named = find_capability_row(arch.capability) and find_capability_row(device)
    is_plain_ptx = arch.is_virtual and arch.suffix is Suffix.PLAIN
    return not named and not is_plain_ptx and arch.capability < device


def _fit_arch(arch: Arch, destination: Destination) -> ImageFit:
    device = destination.capability
    reached = reach(arch, device)
    if reached is Reach.UNDOCUMENTED:
        return _fit_undocumented(arch, destination)
    if reached is Reach.NONE:
        return ImageFit(Fit.NO, Cause.ARCHITECTURE, _why_not(arch, device))
    how = "runs as it is" if reached is Reach.NATIVE else "is compiled by the driver"
    return ImageFit(Fit.YES, Cause.FITS, f"{arch} {how} on {device}.")


def _fit_undocumented(arch: Arch, destination: Destination) -> ImageFit:
    device = destination.capability
    reason = f"NVIDIA documents no compatibility between Tegra and others: {arch} on {device}"
    if destination.tegra is Tegra.RUNS:
        return ImageFit(Fit.YES, Cause.FITS, f"{reason}; taken as running.")
    if destination.tegra is Tegra.FAILS:
        return ImageFit(Fit.NO, Cause.ARCHITECTURE, f"{reason}; taken as failing.")
    return ImageFit(Fit.UNKNOWN, Cause.TEGRA, f"{reason}.")


def _why_not(arch: Arch, device: ComputeCapability) -> str:
    for row in RENAMED:
        if {row.old, row.new} == {arch.capability, device}:
            chip = f"{row.chip} is {row.old} before CUDA {row.since} and {row.new} since"
            return f"{arch} does not match a device that reports {device}: {chip}."
    if arch.suffix is Suffix.ARCH:
        return f"{arch} runs on {arch.capability} alone, not on {device}."
    if arch.suffix is Suffix.FAMILY:
        members = ", ".join(str(member) for member in family_members(arch.capability))
        return f"{arch} runs on its family alone ({members or arch.capability}), not on {device}."
    if arch.capability > device:
        return f"{arch} does not run on {device}: code goes upwards only."
    return f"{arch} does not run on {device}: SASS never runs on another major number."


def judge_driver(fit: ImageFit, traits: Traits, destination: Destination) -> Verdict:
    """The verdict on an image, once it is known whether it fits the device.

    Args:
        fit: What :func:`fit_image` said.
        traits: Of the image.
        destination: The device and the driver.
    """
    known = _judge_device(destination)
    if known is not None and known.outcome is Outcome.NO:
        return known
    if fit.fit is Fit.NO:
        return Verdict(Outcome.NO, fit.cause, fit.reason, NOTHING_FITS)
    if fit.fit is Fit.UNKNOWN or traits.arch is None:
        return Verdict(Outcome.UNKNOWN, fit.cause, fit.reason)
    verdict = _judge_payload(fit, traits.arch, traits, destination)
    return known if known is not None and verdict.runs else verdict


def _judge_device(destination: Destination) -> Verdict | None:
    """What the device and the driver alone decide; None: nothing."""
    device, driver = destination.capability, destination.driver
    if driver is None:
        return None
    name = driver_words(driver)
    if has_retired(destination):
        reason = f"Support for {device} has ended: {name} no longer serves it."
        return Verdict(Outcome.NO, Cause.DEVICE_RETIRED, reason, NO_DEVICE)
    knows = knows_device(destination)
    if knows:
        return None
    floor = device_floor(destination)
    if knows is False and floor is not None:
        reason = f"This driver doesn't know this GPU: {device} needs {floor_words(floor)}."
        return Verdict(Outcome.NO, Cause.DEVICE_TOO_NEW, reason, NO_DEVICE, floor)
    reason = f"Whether {name} knows {device} is not known."
    return Verdict(Outcome.UNKNOWN, Cause.NOT_KNOWN, reason, (), floor)


def _judge_payload(fit: ImageFit, arch: Arch, traits: Traits, destination: Destination) -> Verdict:
    """The verdict on an image that fits: does the driver take what is inside?"""
    windows = destination.windows
    errors: tuple[int, ...]
    if arch.is_real:
        taken = takes_sass(destination, arch, traits.built)
        floor = sass_floor(traits.built, windows=windows)
        outcome, cause, errors = Outcome.NATIVE, Cause.DRIVER_TOO_OLD, DRIVER_TOO_OLD
    else:
        taken = takes_isa(destination, traits.isa)
        floor = ptx_floor(traits.isa, windows=windows)
        outcome, cause, errors = Outcome.JIT, Cause.PTX_TOO_NEW, PTX_TOO_NEW
    if taken:
        return Verdict(outcome, fit.cause, fit.reason, (), floor)
    assert destination.driver is not None
    name = driver_words(destination.driver)
    needs = f": it needs {floor_words(floor)}" if floor is not None else ""
    if taken is False:
        reason = f"This {arch} is too new for {name}{needs}."
        return Verdict(Outcome.NO, cause, reason, errors, floor)
    reason = f"Whether {name} takes this {arch} is not known{needs}."
    return Verdict(Outcome.UNKNOWN, Cause.NOT_KNOWN, reason, (), floor)
