"""One file against everything that is asked of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from archbuild.model.arch import Arch
from archbuild.model.coverage import Destination, DeviceCoverage, Outcome
from archbuild.model.finding import Finding
from archbuild.model.image import DeviceFile, FileFormat
from archbuild.rules.audit import audit
from archbuild.rules.coverage import cover_file, is_empty, loadable_images
from archbuild.rules.demand import Demand
from archbuild.rules.served import check_served
from archbuild.rules.targets import (
    TargetVerdict,
    check_surplus,
    check_targets,
    describe,
    judge_targets,
    needs_kernels,
)

_WINDOWS = (FileFormat.PE, FileFormat.COFF)


@dataclass(frozen=True)
class FileVerdict:
    """What became of one file.

    Args:
        path: The file.
        format: What it is; None where the reader doesn't tell.
        size: Its bytes; None where the reader doesn't tell.
        archs: What of it a driver can load.
        targets: Against the targets.
        devices: What it does on each device; empty for a file without code.
        kernels: How many kernels it has; None: they were not read.
        images: How many images it has.
        findings: What is wrong or odd.
    """

    path: str
    format: FileFormat | None
    size: int | None
    archs: tuple[Arch, ...]
    targets: TargetVerdict
    devices: tuple[DeviceCoverage, ...]
    kernels: int | None
    images: int
    findings: tuple[Finding, ...]

    @property
    def judged(self) -> bool:
        """Whether it holds CUDA code that could be held against something."""
        return self.targets.judged


def judge_file(file: DeviceFile, demand: Demand) -> FileVerdict:
    """Hold one file against what is asked.

    Args:
        file: With its kernels read or not.
        demand: What is asked.
    """
    judged = describe(file)[1]
    covered = tuple(cover_file(file, _at(file, d)) for d in demand.destinations if judged)
    findings = (
        *(check_targets(file, demand.targets) if demand.targets else ()),
        *check_served(file.path, covered, allow_jit=demand.allow_jit),
        *(check_surplus(file, demand.targets, exact=demand.exact) if demand.targets else ()),
        *audit(file),
    )
    return FileVerdict(
        path=file.path,
        format=file.format,
        size=file.size,
        archs=tuple(sorted(file.targets)),
        targets=judge_targets(file, demand.targets),
        devices=covered,
        kernels=count_kernels(file),
        images=len(file.images),
        findings=findings,
    )


def _at(file: DeviceFile, destination: Destination) -> Destination:
    """The destination, with a driver for the system that the file is for."""
    return replace(destination, windows=file.format in _WINDOWS)


def count_kernels(file: DeviceFile) -> int | None:
    """How many kernels the regions of a file have; None where they were not read."""
    total = 0
    for region in file.regions:
        images = loadable_images(region)
        read = [image.kernels for image in images if image.kernels is not None]
        if images and not read:
            return None
        total += len({name for kernels in set(read) for name in kernels})
    return total


def wants_closer_look(file: DeviceFile, demand: Demand) -> bool:
    """Whether reading the kernels can change the verdict on a file read without.

    Args:
        file: Read without its kernels.
        demand: What is asked.
    """
    if needs_kernels(file, demand.targets):
        return True
    unread = any(is_empty(region) is None for region in file.regions)
    return unread and any(
        Outcome.UNKNOWN in cover_file(file, _at(file, d)).outcomes for d in demand.destinations
    )
