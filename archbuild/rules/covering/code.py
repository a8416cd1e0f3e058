"""What installed libraries do on the GPUs of a machine, by the house's one rule of coverage.

A library is judged as it stands (:class:`Standing`) on one kind of GPU; what decides is
:mod:`archbuild.rules.covering.coverage` alone. Here is only what it is asked, and how its answers
about many regions are added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from archbuild.model.arch import ComputeCapability
from archbuild.model.coverage import Cause, Destination, Outcome, RegionCoverage, Verdict
from archbuild.model.image import Image, ImageKind, Linkage, Region
from archbuild.model.installed import CodeFile, CodeGroup, CodeImage
from archbuild.model.machine import Gpu, Machine
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.coverage import cover_region, is_live
from archbuild.rules.covering.drivers import has_retired, knows_device

#: Stands for the kernels of a region whose names were not read.
ANY_KERNEL = "(any kernel)"

#: For what nvcc builds when it is told nothing: 10.x, 11.x and 12.x, 13.x.
_DEFAULTS = ("sm_30", "sm_52", "sm_75")
_BY_DRIVER = (Cause.PTX_TOO_NEW, Cause.DRIVER_TOO_OLD)


class Standing(Enum):
    """How a library or a package stands on a kind of GPU, the worst first."""

    NOTHING = "holds nothing for it"
    REFUSED = "the driver refuses what it holds"
    UNKNOWN = "unknown"
    PART = "a part of its regions holds nothing"
    JIT = "by JIT alone"
    SERVED = "served"
    ELSEWHERE = "made for other GPUs on purpose"
    EMPTY = "nothing to judge"


@dataclass(frozen=True)
class GpuKind:
    """GPUs of one capability.

    Args:
        capability: Theirs.
        gpus: They, in the order of the machine.
    """

    capability: ComputeCapability
    gpus: tuple[Gpu, ...]

    @property
    def uuids(self) -> tuple[str, ...]:
        """Of each of them."""
        return tuple(gpu.uuid for gpu in self.gpus)


@dataclass(frozen=True)
class FileStanding:
    """How a library stands on a kind of GPU.

    Args:
        file: The library.
        kind: The GPUs.
        standing: The sum.
        verdict: The one that tells most; None where nothing was judged.
        regions: How many regions the standing concerns.
        of: How many were judged.
    """

    file: CodeFile
    kind: GpuKind
    standing: Standing
    verdict: Verdict | None = None
    regions: int = 0
    of: int = 0


def gpu_kinds(machine: Machine) -> tuple[GpuKind, ...]:
    """The GPUs that code would run on, by capability, in the machine's order.

    A GPU that CUDA does not see is left out where it sees another one: somebody hid it, or
    its slices stand for it. With no GPU known to any driver those on the PCI bus are taken.
    """
    found = list(machine.gpus) or list(_on_the_bus(machine))
    seen = [gpu for gpu in found if gpu.visible is not False]
    kinds: dict[ComputeCapability, list[Gpu]] = {}
    for gpu in seen or found:
        if gpu.capability is not None:
            kinds.setdefault(gpu.capability, []).append(gpu)
    return tuple(GpuKind(capability, tuple(gpus)) for capability, gpus in kinds.items())


def _on_the_bus(machine: Machine) -> Iterator[Gpu]:
    around = machine.surroundings
    for card in around.cards if around is not None else ():
        name = card.name or card.chip or "unknown GPU"
        yield Gpu(f"PCI-{card.address}", name, card.capability, pci=card.address, seen_by=("pci",))


def destination_of(capability: ComputeCapability, machine: Machine) -> Destination:
    """Where code for GPUs of this capability would run.

    A driver that does not serve the GPU at all is a finding of its own; here the question
    is what would run once that is cured, so that one is assumed that does.
    """
    around = machine.surroundings
    windows = machine.system == "win32" or (around is not None and around.wsl)
    asked = Destination(capability, machine.driver, windows)
    if knows_device(asked) is False or has_retired(asked):
        return Destination(capability, None, windows)
    return asked


def regions_of(file: CodeFile, built: CudaVersion | None = None) -> tuple[Region, ...]:
    """A region for each group of a library, in order; the group has how many there are.

    Args:
        file: The library.
        built: The CUDA that made it, where its images don't tell.
    """
    return tuple(_region(group, built) for group in file.groups)


def _region(group: CodeGroup, built: CudaVersion | None) -> Region:
    relocatable = all(image.linkage is Linkage.RELOCATABLE for image in group.images)
    linkage = Linkage.RELOCATABLE if relocatable else Linkage.EXECUTABLE
    kernels = _kernels(group)
    variables = 0 if group.empty else None
    images = tuple(
        Image(
            image.kind,
            image.arch,
            image.linkage,
            image.isa,
            kernels=kernels,
            variables=variables,
            toolkit=image.toolkit or built,
        )
        for image in group.images
    )
    return Region(images, linkage=linkage)


def _kernels(group: CodeGroup) -> tuple[str, ...] | None:
    """What stands for its kernels; None: it may be what ``nvcc -shared`` adds, which has none."""
    if group.empty is not None:
        return () if group.empty else (ANY_KERNEL,)
    lone = len(group.images) == group.regions == 1 and str(group.images[0].arch) in _DEFAULTS
    return None if lone else (ANY_KERNEL,)


def stand(
    file: CodeFile, kind: GpuKind, machine: Machine, built: CudaVersion | None = None
) -> FileStanding:
    """How a library stands on a kind of GPU.

    Args:
        file: The library.
        kind: The GPUs.
        machine: With the driver.
        built: The CUDA that made it, where its images don't tell.
    """
    place = destination_of(kind.capability, machine)
    counts = [group.regions for group in file.groups]
    regions = regions_of(file, built)
    judged = [
        (cover_region(region, place), count)
        for region, count in zip(regions, counts, strict=True)
        if is_live(region)
    ]
    return _sum_up(file, kind, [(c, n) for c, n in judged if not _is_unread(c)])


def _is_unread(coverage: RegionCoverage) -> bool:
    """Whether it would matter only if it held a kernel, which was not read."""
    return coverage.verdict.cause is Cause.NOT_KNOWN and not coverage.chosen


_Judged = Sequence[tuple[RegionCoverage, int]]


def _sum_up(file: CodeFile, kind: GpuKind, judged: _Judged) -> FileStanding:
    total = sum(count for _, count in judged)
    for standing, concerned in _views(judged):
        if concerned:
            telling = max(concerned, key=lambda pair: pair[1])[0].verdict
            number = sum(count for _, count in concerned)
            return FileStanding(file, kind, standing, telling, number, total)
    return FileStanding(file, kind, Standing.EMPTY)


def _views(judged: _Judged) -> Iterator[tuple[Standing, _Judged]]:
    """The standings with the regions that speak for each, the first that holds being the one."""
    plain = [(c, n) for c, n in judged if not c.on_purpose]
    runs = [(c, n) for c, n in plain if c.verdict.runs]
    refused = [(c, n) for c, n in plain if c.verdict.cause in _BY_DRIVER]
    unknown = [(c, n) for c, n in plain if c.verdict.outcome is Outcome.UNKNOWN]
    lacking = [(c, n) for c, n in plain if c.verdict.outcome is Outcome.NO]
    yield Standing.REFUSED, refused
    yield Standing.UNKNOWN, unknown
    yield (Standing.PART if runs else Standing.NOTHING), lacking
    native = any(c.verdict.outcome is Outcome.NATIVE for c, _ in runs)
    yield (Standing.SERVED if native else Standing.JIT), runs
    yield Standing.ELSEWHERE, judged


def with_ptx_alone(file: CodeFile) -> CodeFile:
    """The library as a driver sees it that is told to take no SASS."""
    kept = ((_ptx(group.images), group) for group in file.groups)
    groups = tuple(CodeGroup(ptx, group.regions, group.empty) for ptx, group in kept if ptx)
    return replace(file, groups=groups)


def _ptx(images: Iterable[CodeImage]) -> tuple[CodeImage, ...]:
    return tuple(image for image in images if image.kind is ImageKind.PTX)
