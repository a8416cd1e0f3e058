"""One file against everything that is asked of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from archbuild.model.arch import Arch
from archbuild.model.coverage import Destination, DeviceCoverage, Outcome
from archbuild.model.finding import Finding
from archbuild.model.image import DeviceFile, FileFormat
from archbuild.model.manifest import Manifest
from archbuild.rules.checking.audit import audit
from archbuild.rules.checking.codes import KERNEL_MISSING
from archbuild.rules.checking.demand import NOTHING, Demand
from archbuild.rules.checking.intent import Intent, find_intent, needs_of, with_purpose
from archbuild.rules.checking.manifest_checks import check_manifest
from archbuild.rules.checking.served import check_served
from archbuild.rules.checking.targets import (
    Needs,
    TargetVerdict,
    check_surplus,
    check_targets,
    describe,
    judge_targets,
    needs_kernels,
)
from archbuild.rules.covering.coverage import cover_file, is_empty, loadable_images
from archbuild.rules.selecting.expectation import Expectation

#: Who asked, where it was the manifest.
MANIFEST = "the manifest"
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
        expected: The targets that it was held against, and who asked for them.
        processor: What its host code is for, ``x86_64``; None where nobody tells.
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
    expected: Expectation = NOTHING
    processor: str | None = None

    @property
    def judged(self) -> bool:
        """Whether it holds CUDA code that could be held against something."""
        return self.targets.judged


@dataclass(frozen=True)
class _Asked:
    """What is asked of one file, its manifest heard."""

    expected: Expectation
    needs: Needs
    intent: Intent | None

    @property
    def targets(self) -> tuple[Arch, ...]:
        return self.expected.targets


def _ask(file: DeviceFile, demand: Demand, manifest: Manifest | None) -> _Asked:
    """The targets of a file, and what each of its regions has to hold of them."""
    intent = find_intent(file, manifest)
    expected = demand.expected
    by_manifest = manifest is not None and demand.heeds_manifests
    if manifest is not None and by_manifest:
        expected = Expectation(manifest.targets, MANIFEST)
    if not expected.targets:
        return _Asked(expected, None, intent)
    needs = needs_of(file, expected.targets, intent, by_manifest=by_manifest)
    own = {arch for need in needs or () for arch in need} - set(expected.targets)
    targets = (*expected.targets, *sorted(own))
    return _Asked(Expectation(targets, expected.source), needs, intent)


def judge_file(file: DeviceFile, demand: Demand, manifest: Manifest | None = None) -> FileVerdict:
    """Hold one file against what is asked.

    Args:
        file: With its kernels read or not.
        demand: What is asked.
        manifest: The one beside it. It says which region was meant for what, and
            where nobody typed what to ask, it is what the file is held against.
    """
    judged = describe(file)[1]
    asked = _ask(file, demand, manifest)
    covered = tuple(
        with_purpose(cover_file(file, _at(file, d)), asked.intent)
        for d in demand.destinations
        if judged
    )
    targets, needs = asked.targets, asked.needs
    findings = (
        *(check_targets(file, targets, needs) if targets else ()),
        *check_served(file.path, covered, allow_jit=demand.allow_jit),
        *(check_surplus(file, targets, exact=demand.exact) if targets else ()),
        *_audit(file, asked.intent),
        *_check_manifest(file, demand, manifest, asked.intent),
    )
    return FileVerdict(
        path=file.path,
        format=file.format,
        size=file.size,
        archs=tuple(sorted(file.targets)),
        targets=judge_targets(file, targets, needs),
        devices=covered,
        kernels=count_kernels(file),
        images=len(file.images),
        findings=findings,
        expected=asked.expected,
        processor=file.processor,
    )


def _check_manifest(
    file: DeviceFile, demand: Demand, manifest: Manifest | None, intent: Intent | None
) -> Iterable[Finding]:
    if manifest is None:
        return ()
    return check_manifest(file, manifest, intent, allow_dev=demand.allow_dev)


def _audit(file: DeviceFile, intent: Intent | None) -> Iterable[Finding]:
    if intent is None:
        return audit(file)
    found = audit(file, intent.deliberate)
    own = intent.own_kernels
    return (f for f in found if f.code != KERNEL_MISSING.code or f.kernel not in own)


def _at(file: DeviceFile, destination: Destination) -> Destination:
    """The destination, with a driver for the system that the file is for."""
    return replace(destination, windows=destination.windows or file.format in _WINDOWS)


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


def wants_closer_look(file: DeviceFile, demand: Demand, manifest: Manifest | None = None) -> bool:
    """Whether reading the kernels can change the verdict on a file read without.

    Args:
        file: Read without its kernels.
        demand: What is asked.
        manifest: The one beside it.
    """
    asked = _ask(file, demand, manifest)
    if needs_kernels(file, asked.targets, asked.needs):
        return True
    unread = any(is_empty(region) is None for region in file.regions)
    return unread and any(
        Outcome.UNKNOWN in cover_file(file, _at(file, d)).outcomes for d in demand.destinations
    )
