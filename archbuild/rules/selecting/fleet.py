"""One arch list for several recorded machines, and what it does on each of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from archbuild.facts.drivers import find_cuda_row
from archbuild.facts.toolkits import TOOLKITS
from archbuild.model.arch import Arch, ComputeCapability, Stage
from archbuild.model.coverage import RegionCoverage
from archbuild.model.image import Image, ImageKind, Region
from archbuild.model.machine import Gpu, Machine
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.coverage import cover_region
from archbuild.rules.covering.places import Member, Place, fleet_places, names_of
from archbuild.rules.selecting.request import TYPED, Request
from archbuild.rules.selecting.selection import Selection

# A kernel that every image has: without one a region would be empty.
_ANY = ("kernel",)


@dataclass(frozen=True)
class Outlook:
    """What a build will do on the GPUs of one kind in one machine.

    Args:
        place: The GPUs.
        coverage: What becomes of a region with all targets there; None: the
            capability is not known.
    """

    place: Place
    coverage: RegionCoverage | None


def fleet_request(builder: Machine, members: Sequence[Member]) -> Request:
    """The request for all GPUs of several machines.

    Args:
        builder: The machine that builds, whose variables are passed over.
        members: The machines.

    Raises:
        NoGpuError: If none of them has a GPU of known capability.
    """
    homes: dict[ComputeCapability, list[str]] = {}
    for place in fleet_places(members):
        if place.capability is not None:
            homes.setdefault(place.capability, []).append(place.machine)
    count = f"{len(members)} machine{'' if len(members) == 1 else 's'}"
    told = tuple((capability, names_of(names)) for capability, names in homes.items())
    named = ((name, builder.variable(name)) for name in TYPED)
    losers = tuple(f"{name}={value}" for name, value in named if value)
    return Request(f"the GPUs of {count}", passed_over=losers, homes=told)


def with_fleet(builder: Machine, members: Sequence[Member]) -> Machine:
    """The machine that builds, with the GPUs of those that it builds for.

    Args:
        builder: Its toolkits and variables count.
        members: Their GPUs count.
    """
    gpus = tuple(
        Gpu(f"{place.machine} {number}", place.gpu, place.capability)
        for number, place in enumerate(fleet_places(members))
    )
    return replace(builder, gpus=gpus)


def foresee(selection: Selection, members: Iterable[Member]) -> tuple[Outlook, ...]:
    """What a build of this selection will do on each machine, with its own driver.

    Args:
        selection: What will be built, and by which nvcc.
        members: The machines.
    """
    region = _region(selection.targets, selection.compiler.version)
    return tuple(
        Outlook(place, None if there is None else cover_region(region, there))
        for place in fleet_places(members)
        for there in [place.destination()]
    )


def _region(targets: Iterable[Arch], cuda: CudaVersion) -> Region:
    """What nvcc makes of one source."""
    row = find_cuda_row(cuda)
    isa = None if row is None else row.isa
    real = [Image(ImageKind.SASS, a, toolkit=cuda, kernels=_ANY) for a in targets if a.is_real]
    ptx = [
        Image(ImageKind.PTX, a, isa=isa, toolkit=cuda, kernels=_ANY)
        for a in targets
        if a.is_virtual
    ]
    return Region((*real, *ptx))


def fleet_warnings(outlooks: Iterable[Outlook]) -> tuple[str, ...]:
    """A sentence on each place where the build will not run.

    Args:
        outlooks: Of :func:`foresee`.
    """
    return tuple(said for outlook in outlooks if (said := _warning(outlook)))


def older_toolkit(outlooks: Iterable[Outlook], compiler: CudaVersion) -> tuple[str, ...]:
    """A sentence on the older toolkit whose code for the same GPUs would run on all of them.

    Args:
        outlooks: Of :func:`foresee`, for a list made of these very GPUs.
        compiler: The CUDA of the nvcc that builds.
    """
    outlooks = tuple(outlooks)
    other = toolkit_for_all(outlook.place for outlook in outlooks)
    if other is None or other >= compiler or not fleet_warnings(outlooks):
        return ()
    return (f"CUDA {other} makes code that runs on every GPU that has a driver: --cuda {other}.",)


def toolkit_for_all(places: Iterable[Place]) -> CudaVersion | None:
    """The newest CUDA whose code for these very GPUs their drivers take; None: there is none.

    Args:
        places: The GPUs; those that no driver serves, or of unknown capability, don't count.
    """
    there = [
        destination
        for place in places
        for destination in [place.destination()]
        if destination is not None and not (place.by_bus and place.driver is None)
    ]
    targets = {Arch(Stage.REAL, one.capability) for one in there}
    for row in reversed(TOOLKITS):
        if not there or not targets <= set(row.archs):
            continue
        region = _region(sorted(targets), row.version)
        if all(cover_region(region, one).verdict.runs for one in there):
            return row.version
    return None


def _warning(outlook: Outlook) -> str:
    place, coverage = outlook.place, outlook.coverage
    where = f"{place.machine}: {place.gpu}"
    if coverage is None:
        return f"{where}: its capability is not on record, so that it is left out."
    if place.by_bus and place.driver is None:
        return f"{where}: there is no driver on record; nothing runs until there is one."
    if not coverage.verdict.runs:
        return f"{where}: {coverage.verdict.reason}"
    return ""
