"""Which source a region came from, and so what it was meant to hold. Pure.

A library has one region for each CUDA source, unless its device code was linked. The
manifest tells what each source was compiled for, not where its region lies, so the
two are brought together by the architectures: first those that are equal, then what
is left by likeness. So a region made for one architecture on purpose is told from
one that lost the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from archbuild.model.arch import Arch, ComputeCapability, Suffix
from archbuild.model.coverage import DeviceCoverage
from archbuild.model.gencode import Gencode
from archbuild.model.image import DeviceFile, Region
from archbuild.model.manifest import Manifest, SourceManifest
from archbuild.rules.covering.coverage import is_live, loadable_images
from archbuild.rules.selecting.sources import is_meant_for, serve_source

_Set = frozenset[Arch]
#: Beyond so many pairs nobody looks for likeness: no build has so many kinds of sources.
_MOST_PAIRS = 250_000


@dataclass(frozen=True)
class Lost:
    """Sources of which there are more than regions.

    Args:
        sources: Those that were compiled for the same.
        count: Of how many of them there is no region; which ones, nobody knows
            unless it is all.
    """

    sources: tuple[SourceManifest, ...]
    count: int


@dataclass(frozen=True)
class Intent:
    """What the regions of one file were meant for.

    Args:
        manifest: What the build said.
        origins: For each region in order the sources that it may be from, which
            were compiled for the same; empty where none is known.
        lost: Sources that were built and of which there is no region, by kind.
        own_kernels: Kernels that only the sources with architectures of their own
            have, in a library whose device code was linked.
    """

    manifest: Manifest
    origins: tuple[tuple[SourceManifest, ...], ...]
    lost: tuple[Lost, ...] = ()
    own_kernels: frozenset[str] = frozenset()

    def is_on_purpose(self, index: int, device: ComputeCapability) -> bool:
        """Whether a region is from a source that isn't meant for a device."""
        own = self.origins[index]
        return bool(own) and not any(_is_meant(source.meant_for, device) for source in own)

    @property
    def deliberate(self) -> frozenset[int]:
        """The regions with no code for newer GPUs because their source wants none."""
        tail = any(t.is_virtual and t.suffix is Suffix.PLAIN for t in self.manifest.targets)
        return frozenset(
            i for i, own in enumerate(self.origins) if own and all(_is_narrow(s, tail) for s in own)
        )


@lru_cache(maxsize=4096)
def _is_meant(archs: str | None, device: ComputeCapability) -> bool:
    return is_meant_for(archs, device)


def _is_narrow(source: SourceManifest, tail: bool) -> bool:
    if source.meant_for is None:
        return False
    suffixed = all(target.suffix is not Suffix.PLAIN for target in source.targets)
    return suffixed or (tail and not any(target.is_virtual for target in source.targets))


def find_intent(file: DeviceFile, manifest: Manifest | None) -> Intent | None:
    """What the regions of a file were meant for.

    Args:
        file: As the native reader saw it, kernels read or not.
        manifest: Of this library; None: it has none.

    Returns:
        None where there is no manifest, or where the reader tells no regions.
    """
    if manifest is None or any(region.offset is None for region in file.regions):
        return None
    built = [source for source in manifest.sources if source.targets and not source.left_out]
    if manifest.relocatable:
        nothing: tuple[tuple[SourceManifest, ...], ...] = ((),) * len(file.regions)
        return Intent(manifest, nothing, own_kernels=_own_kernels(file, built))
    match = _Match.of(file, built)
    match.equal(live=True)
    match.alike()
    # A source of host code alone leaves an empty region.
    match.equal(live=False)
    return Intent(manifest, match.origins, match.lost)


@dataclass
class _Match:
    """Regions and sources while they are brought together."""

    archs: list[_Set]
    live: list[bool]
    sources: dict[_Set, tuple[SourceManifest, ...]]
    left: Counter[_Set]
    found: dict[int, _Set] = field(default_factory=dict)

    @classmethod
    def of(cls, file: DeviceFile, built: Iterable[SourceManifest]) -> _Match:
        sources: dict[_Set, tuple[SourceManifest, ...]] = {}
        for source in built:
            key = frozenset(source.targets)
            sources[key] = (*sources.get(key, ()), source)
        left = Counter({key: len(several) for key, several in sources.items()})
        archs = [_archs(region) for region in file.regions]
        return cls(archs, [is_live(region) for region in file.regions], sources, left)

    def equal(self, *, live: bool) -> None:
        """Give each region a source that was compiled for just what it holds."""
        for index, held in enumerate(self.archs):
            if self.live[index] is live and index not in self.found and self.left[held] > 0:
                self._give(index, held)

    def alike(self) -> None:
        """Give what is left of the regions what is left of the sources, the likest first."""
        rest: dict[_Set, list[int]] = {}
        for index, live in enumerate(self.live):
            if live and index not in self.found:
                rest.setdefault(self.archs[index], []).append(index)
        wanted = [key for key, count in self.left.items() if count > 0]
        if len(rest) * len(wanted) > _MOST_PAIRS:
            return
        pairs = [(held, key) for held in rest for key in wanted if held & key]
        pairs.sort(key=lambda pair: len(pair[0] ^ pair[1]))
        for held, key in pairs:
            while rest[held] and self.left[key] > 0:
                self._give(rest[held].pop(0), key)

    def _give(self, index: int, key: _Set) -> None:
        self.found[index] = key
        self.left[key] -= 1

    @property
    def origins(self) -> tuple[tuple[SourceManifest, ...], ...]:
        keys = (self.found.get(index) for index in range(len(self.archs)))
        return tuple(self.sources[key] if key is not None else () for key in keys)

    @property
    def lost(self) -> tuple[Lost, ...]:
        several = ((key, count) for key, count in self.left.items() if count > 0)
        return tuple(Lost(self.sources[key], count) for key, count in several)


def _archs(region: Region) -> _Set:
    return frozenset(i.arch for i in loadable_images(region) if i.arch is not None)


def _own_kernels(file: DeviceFile, built: Sequence[SourceManifest]) -> frozenset[str]:
    """Kernels which just the architectures of a source with its own list have."""
    own = {frozenset(source.targets) for source in built if source.meant_for is not None}
    holders: dict[str, set[Arch]] = {}
    for region in file.regions if own else ():
        for image in loadable_images(region):
            for name in image.kernels or () if image.arch is not None else ():
                holders.setdefault(name, set()).add(image.arch)  # type: ignore[arg-type]
    return frozenset(name for name, archs in holders.items() if frozenset(archs) in own)


def needs_of(
    file: DeviceFile, targets: Sequence[Arch], intent: Intent | None, *, by_manifest: bool
) -> tuple[frozenset[Arch], ...] | None:
    """What each region has to hold.

    By the manifest it is what its source was compiled for. Where somebody else
    named the targets, it is what its source serves of them. A region of unknown
    origin, such as one of a static library, has to hold what a source without
    architectures of its own does.

    Args:
        file: The file.
        targets: Of the whole file.
        intent: What its regions were meant for; None: not known.
        by_manifest: Whether the targets are the manifest's.

    Returns:
        None where each has to hold all targets.
    """
    if intent is None or not any(intent.origins):
        return None
    everything = frozenset(targets)
    general = _general(intent.manifest.sources, everything) if by_manifest else everything
    return tuple(
        _need(_archs(region), own, general, None if by_manifest else tuple(targets))
        for region, own in zip(file.regions, intent.origins, strict=True)
    )


def _general(sources: Iterable[SourceManifest], everything: _Set) -> _Set:
    plain = [source for source in sources if source.meant_for is None and source.targets]
    return frozenset(plain[0].targets) & everything if plain else frozenset()


def _need(
    held: _Set, own: Sequence[SourceManifest], general: _Set, targets: tuple[Arch, ...] | None
) -> _Set:
    """Of several sources that it may be from the one of which it lacks the least."""
    if not own:
        return general
    if targets is None:
        return frozenset(own[0].targets)
    lists = sorted({source.meant_for for source in own}, key=lambda archs: archs or "")
    return min((_served(archs, targets) for archs in lists), key=lambda need: len(need - held))


@lru_cache(maxsize=1024)
def _served(archs: str | None, targets: tuple[Arch, ...]) -> _Set:
    if archs is None:
        return frozenset(targets)
    return frozenset(serve_source(archs, map(Gencode.for_target, targets)).targets)


def with_purpose(coverage: DeviceCoverage, intent: Intent | None) -> DeviceCoverage:
    """What a file does on a device, knowing what its regions were meant for.

    Args:
        coverage: As the file alone shows it.
        intent: What its regions were meant for; None: not known.
    """
    if intent is None:
        return coverage
    device = coverage.destination.capability
    regions = tuple(
        replace(
            region,
            on_purpose=region.on_purpose
            or (not region.chosen and intent.is_on_purpose(region.index, device)),
            absent=tuple(name for name in region.absent if name not in intent.own_kernels),
        )
        for region in coverage.regions
    )
    return replace(coverage, regions=regions)
