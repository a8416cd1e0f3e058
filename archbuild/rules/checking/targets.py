"""Whether a file holds exactly the images that were asked for, region by region.

Plain, ``a`` and ``f`` are different, and only what a driver can load counts.
Regions without kernels and device variables are left out: they serve nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from archbuild.model.arch import Arch
from archbuild.model.finding import Finding, Severity
from archbuild.model.image import DeviceFile, ImageKind, Linkage, Region
from archbuild.rules.checking.codes import (
    HIP_CODE,
    NO_DEVICE_CODE,
    NO_WHEEL,
    SURPLUS,
    TARGET_MISSING,
    UNREADABLE,
    arch_names,
    finding_of,
)
from archbuild.rules.covering.coverage import is_empty, is_live, live_regions, loadable_images

#: How much a finding tells one by one.
SHOWN = 10

#: nvcc's default architectures, of which ``nvcc -shared`` adds an image unasked.
_DEFAULTS = frozenset({"sm_52", "sm_75"})


@dataclass(frozen=True)
class TargetVerdict:
    """One file against the targets.

    Args:
        present: Targets that every region with kernels holds, ready to load.
        missing: Targets that some region lacks.
        surplus: What it holds besides.
        note: Why it is not judged, or what is odd; empty where nothing is.
        judged: False for a file without CUDA code that could be held against them.
    """

    present: tuple[Arch, ...] = ()
    missing: tuple[Arch, ...] = ()
    surplus: tuple[Arch, ...] = ()
    note: str = ""
    judged: bool = True


#: What each region of a file must hold, in their order; None: all of the targets.
Needs = Sequence[frozenset[Arch]] | None


def judge_targets(
    file: DeviceFile, targets: Collection[Arch], needs: Needs = None
) -> TargetVerdict:
    """Hold one file against the targets.

    Args:
        file: With its kernels read or not; regions of unknown content count.
        targets: What every region with kernels must hold.
        needs: What each must hold, where it is known that they differ.
    """
    note, judged = describe(file)
    if not judged:
        return TargetVerdict(note=note, judged=False)
    lacking = dict(_lacking(file, targets, needs))
    held = {i.arch for r in live_regions(file) for i in loadable_images(r) if i.arch is not None}
    return TargetVerdict(
        present=tuple(sorted(set(targets) - set(lacking))),
        missing=tuple(sorted(lacking)),
        surplus=tuple(sorted(held - set(targets))) if targets else (),
        note=note,
    )


def describe(file: DeviceFile) -> tuple[str, bool]:
    """What there is to say of a file as a whole, and whether it can be judged."""
    if not file.images:
        return ("HIP, not CUDA" if file.hip else "no device code"), False
    if live_regions(file):
        return "", True
    if all(is_empty(region) for region in file.regions):
        return "no kernels", False
    if all(image.kind is ImageKind.LTOIR for image in file.images):
        return "LTO-IR only", True
    if any(loadable_images(region) for region in file.regions):
        return "the device link is empty", True
    return "relocatable only", True


def _lacking(
    file: DeviceFile, targets: Collection[Arch], needs: Needs = None
) -> Iterator[tuple[Arch, list[Region]]]:
    """Targets with the regions that lack them; no region where none is there to hold it."""
    live = [(i, r, _archs(r)) for i, r in enumerate(file.regions) if is_live(r)]
    for target in targets:
        asked = [(r, held) for i, r, held in live if needs is None or target in needs[i]]
        without = [region for region, held in asked if target not in held]
        if without or not asked:
            yield target, without


def _archs(region: Region) -> frozenset[Arch | None]:
    return frozenset(image.arch for image in loadable_images(region))


def needs_kernels(file: DeviceFile, targets: Collection[Arch], needs: Needs = None) -> bool:
    """Whether a region lacks a target, and may only be empty: a closer look decides."""
    lacking = [region for _, regions in _lacking(file, targets, needs) for region in regions]
    return any(is_empty(region) is None for region in lacking)


def check_targets(
    file: DeviceFile, targets: Sequence[Arch], needs: Needs = None
) -> Iterable[Finding]:
    """Targets which a region with kernels lacks, one finding each."""
    if not describe(file)[1]:
        return
    live = live_regions(file)
    for target, without in _lacking(file, targets, needs):
        reason = _there_all_the_same(file, target)
        some = 0 < len(without) < len(live)
        share = f" in {len(without)} of {len(live)} regions" if some else ""
        message = f"{file.path} has no {target}{share}{reason}."
        advice = "Build it again for this target, or take the target from the list."
        told = tuple(_evidence(file, without, len(live)))
        yield finding_of(
            TARGET_MISSING, message, file.path, arch=str(target), evidence=told, advice=advice
        )


def _there_all_the_same(file: DeviceFile, target: Arch) -> str:
    pairs = ((image, region) for region in file.regions for image in region.images)
    waiting = any(
        image.arch == target and Linkage.RELOCATABLE in (image.linkage, region.linkage)
        for image, region in pairs
    )
    return "; it is there as code that still needs a device link" if waiting else ""


def _evidence(file: DeviceFile, without: Sequence[Region], live: int) -> Iterator[str]:
    if not live or not without or len(without) == live:
        held = (image.arch for region in file.regions for image in loadable_images(region))
        yield f"holds: {arch_names(held)}" if file.targets else "holds: nothing loadable"
        return
    for region in without[:SHOWN]:
        name = next((i.identifier for i in region.images if i.identifier), "")
        place = "" if region.offset is None else f" at {region.offset:#x}"
        of = f" of {name or region.member}" if name or region.member else ""
        yield f"region{place}{of} holds: {arch_names(i.arch for i in loadable_images(region))}"
    if len(without) > SHOWN:
        yield f"and {len(without) - SHOWN} more regions"


def check_surplus(
    file: DeviceFile, targets: Collection[Arch], *, exact: bool = False
) -> Iterable[Finding]:
    """Loadable code for architectures that nobody asked for: a note each.

    Args:
        file: The file.
        targets: All that it should hold.
        exact: Whether more is as wrong as less.
    """
    for arch in judge_targets(file, targets).surplus:
        message = f"{file.path} holds {arch}, which is none of the targets."
        advice = "Take it from the build's list, or add it to the targets."
        if str(arch) in _DEFAULTS:
            advice = (
                "Where nobody asked for it, nvcc had no -gencode: at the link too, it needs them."
            )
        finding = finding_of(SURPLUS, message, file.path, arch=str(arch), advice=advice)
        yield replace(finding, severity=Severity.ERROR) if exact else finding


def check_any_code(files: Sequence[DeviceFile], path: str, *, unread: int = 0) -> Iterable[Finding]:
    """Whether there is any CUDA code at all that does something.

    Args:
        files: Everything in a path that could hold device code.
        path: The wheel, folder or file.
        unread: How many could not be read; then nobody can say that there is none.
    """
    if unread or any(describe(file)[1] for file in files):
        return
    told = tuple(file.path for file in files)[:20]
    if any(file.hip for file in files):
        # Each of these has a finding of its own.
        return
    if [file.path for file in files if file.images] == [path]:
        # A library by itself, all empty: that is a warning of its own.
        return
    looked = _count(len(files), "file") if files else "no file that could hold any"
    what = "no device code at all"
    if any(file.images for file in files):
        what = "device code, but not one kernel"
    message = f"{path} holds {what} (looked at: {looked})."
    advice = "Look whether the build went to the CPU only: no nvcc, or no GPU at build time."
    yield finding_of(NO_DEVICE_CODE, message, path, evidence=told, advice=advice)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def check_hip(file: DeviceFile) -> Iterable[Finding]:
    """Code for AMD's GPUs: a note beside CUDA code, an error in place of it."""
    if file.hip:
        message = f"{file.path} holds HIP code, for AMD's GPUs: HIP, not CUDA."
        finding = finding_of(HIP_CODE, message, file.path, advice="Verify the CUDA build.")
        yield replace(finding, severity=Severity.NOTE) if file.images else finding


def unreadable(message: str, path: str, advice: str) -> Finding:
    """A file that could not be read to its end.

    Args:
        message: The error's sentence.
        path: What was verified.
        advice: The error's advice.
    """
    return finding_of(UNREADABLE, message, path, advice=advice)


def check_container(description: str, path: str) -> Iterable[Finding]:
    """A note, where the container is something unusual.

    Args:
        description: One sentence; empty where it is nothing unusual.
        path: The container.
    """
    if description:
        yield finding_of(NO_WHEEL, description, path)
