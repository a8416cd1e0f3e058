"""What one build of a package holds and another does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from archbuild.facts.architectures import CAPABILITIES
from archbuild.model.arch import ComputeCapability
from archbuild.model.coverage import Destination, Outcome
from archbuild.model.image import DeviceFile, Image, ImageKind, Linkage
from archbuild.rules.comparing.pairing import Pair
from archbuild.rules.comparing.tally import stored_shares
from archbuild.rules.covering.coverage import cover_file

#: Makes the names of kernels equal which only a build makes different.
Normalize = Callable[[str], str]

# From what serves worst to what serves best.
_RANKS = {Outcome.NO: 0, Outcome.UNKNOWN: 1, Outcome.JIT: 2, Outcome.NATIVE: 3}


@dataclass(frozen=True)
class Bytes:
    """Bytes before and after."""

    before: int
    after: int

    @property
    def change(self) -> int:
        """How many more there are."""
        return self.after - self.before


@dataclass(frozen=True)
class FileDifference:
    """What changed in one file.

    Architectures are words as people use them: ``sm_90``, ``compute_90``,
    ``relocatable sm_90``. Empty images do not count.

    Args:
        before: The name of the file; None where there was none.
        after: Its name in the other build; None where there is none any more.
        archs_gained: Architectures that are new.
        archs_lost: Architectures that are gone.
        kernels_gained: Kernels that are new, mangled.
        kernels_lost: Kernels that are gone, mangled.
        narrowed: Kernels that are gone on an architecture which the file still has,
            by that architecture.
        size: Bytes of the file.
        stored: Bytes of its device code by architecture.
    """

    before: str | None
    after: str | None
    archs_gained: tuple[str, ...] = ()
    archs_lost: tuple[str, ...] = ()
    kernels_gained: tuple[str, ...] = ()
    kernels_lost: tuple[str, ...] = ()
    narrowed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    size: Bytes = Bytes(0, 0)
    stored: tuple[tuple[str, Bytes], ...] = ()

    @property
    def has_lost(self) -> bool:
        """Whether an architecture or a kernel is gone."""
        return bool(self.archs_lost or self.kernels_lost or self.narrowed)

    @property
    def has_changed(self) -> bool:
        """Whether anything but bytes is different."""
        return self.has_lost or bool(self.archs_gained or self.kernels_gained)


@dataclass(frozen=True)
class Counts:
    """How many kernels come to each outcome on a device."""

    native: int = 0
    jit: int = 0
    none: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class CoverageDifference:
    """What changed for one device; its driver is assumed to know it and the files.

    Args:
        capability: The device's.
        before: Kernels by outcome.
        after: The same of the other build.
        better: Kernels of both builds that are served better now.
        worse: Kernels of both builds that are served worse now.
    """

    capability: ComputeCapability
    before: Counts
    after: Counts
    better: int = 0
    worse: int = 0


@dataclass(frozen=True)
class Differences:
    """What changed between two builds.

    Args:
        files: Every file that holds device code in either of them.
        coverage: Every known device, whether anything changed for it or not.
    """

    files: tuple[FileDifference, ...]
    coverage: tuple[CoverageDifference, ...]

    @property
    def has_lost(self) -> bool:
        """Whether an architecture, a kernel or coverage was lost."""
        worse = any(device.worse for device in self.coverage)
        return worse or any(file.has_lost for file in self.files)

    @property
    def stored(self) -> Bytes:
        """Bytes of all device code."""
        changes = [change for file in self.files for _, change in file.stored]
        return Bytes(sum(c.before for c in changes), sum(c.after for c in changes))


def find_differences(pairs: Sequence[Pair], normalize: Normalize) -> Differences:
    """What was gained and lost between two builds.

    Args:
        pairs: Their files side by side, with kernels.
        normalize: Makes names of kernels comparable.
    """
    holding = [pair for pair in pairs if any(file is not None and file.regions for file in pair)]
    files = tuple(_file_difference(pair, normalize) for pair in holding)
    return Differences(files, tuple(_coverage(holding, normalize)))


_Where = dict[str, dict[str, str]]


def _file_difference(pair: Pair, normalize: Normalize) -> FileDifference:
    before, after = pair
    old, new = _kernels(before, normalize), _kernels(after, normalize)
    gone, come = old.keys() - new.keys(), new.keys() - old.keys()
    was, now = _all_names(old), _all_names(new)
    sizes = [_stored(before), _stored(after)]
    return FileDifference(
        before.path if before is not None else None,
        after.path if after is not None else None,
        archs_gained=_in_order(come),
        archs_lost=_in_order(gone),
        kernels_gained=tuple(sorted(now[name] for name in now.keys() - was.keys())),
        kernels_lost=tuple(sorted(was[name] for name in was.keys() - now.keys())),
        narrowed=tuple(_narrowed(old, new, now)),
        size=Bytes(_size(before), _size(after)),
        stored=tuple(
            (arch, Bytes(sizes[0].get(arch, 0), sizes[1].get(arch, 0)))
            for arch in _in_order(sizes[0].keys() | sizes[1].keys())
        ),
    )


def _kernels(file: DeviceFile | None, normalize: Normalize) -> _Where:
    """The kernels of each architecture, by normalised name."""
    found: _Where = {}
    for image in file.images if file is not None else ():
        if not image.is_empty and image.kind is not ImageKind.INDEX:
            names = found.setdefault(label(image), {})
            names.update((normalize(name), name) for name in image.kernels or ())
    return found


def _all_names(kernels: _Where) -> dict[str, str]:
    return {key: name for names in kernels.values() for key, name in names.items()}


def _narrowed(
    old: _Where, new: _Where, now: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for arch in _in_order(old.keys() & new.keys()):
        gone = [name for key, name in old[arch].items() if key not in new[arch] and key in now]
        if gone:
            yield arch, tuple(sorted(gone))


def label(image: Image) -> str:
    """An image's architecture in words: ``sm_90``, ``relocatable compute_90``."""
    arch = str(image.arch) if image.arch is not None else "unknown"
    if image.kind in (ImageKind.SASS, ImageKind.PTX):
        return f"relocatable {arch}" if image.linkage is Linkage.RELOCATABLE else arch
    return arch if image.kind is ImageKind.LTOIR else f"{image.kind.value} {arch}"


def _in_order(labels: Iterable[str]) -> tuple[str, ...]:
    def key(text: str) -> tuple[bool, int, str]:
        digits = "".join(filter(str.isdecimal, text.rpartition("_")[2]))
        return " " in text, int(digits or 0), text

    return tuple(sorted(labels, key=key))


def _stored(file: DeviceFile | None) -> Counter[str]:
    total: Counter[str] = Counter()
    for region in file.regions if file is not None else ():
        for image, stored in stored_shares(region):
            total[label(image)] += stored
    return total


def _size(file: DeviceFile | None) -> int:
    return (file.size or 0) if file is not None else 0


_Served = dict[tuple[int, str], Outcome]


def _coverage(pairs: Sequence[Pair], normalize: Normalize) -> Iterator[CoverageDifference]:
    for row in CAPABILITIES:
        destination = Destination(row.capability)
        before = _served([old for old, _ in pairs], destination, normalize)
        after = _served([new for _, new in pairs], destination, normalize)
        steps = [_RANKS[after[key]] - _RANKS[before[key]] for key in before.keys() & after.keys()]
        yield CoverageDifference(
            row.capability,
            _counts(before),
            _counts(after),
            better=sum(step > 0 for step in steps),
            worse=sum(step < 0 for step in steps),
        )


def _served(
    files: Sequence[DeviceFile | None], destination: Destination, normalize: Normalize
) -> _Served:
    """What becomes of each kernel of each file; of several of one name, the worst."""
    outcomes: _Served = {}
    for number, file in enumerate(files):
        for region in cover_file(file, destination).regions if file is not None else ():
            told = region.verdict.outcome
            groups = (
                (region.served, told),
                (region.absent, Outcome.NO),
                (region.undecided, Outcome.UNKNOWN),
            )
            for names, outcome in groups:
                for name in names:
                    key = number, normalize(name)
                    known = outcomes.get(key, outcome)
                    outcomes[key] = min(known, outcome, key=_RANKS.__getitem__)
    return outcomes


def _counts(served: _Served) -> Counts:
    found = Counter(served.values())
    return Counts(
        native=found[Outcome.NATIVE],
        jit=found[Outcome.JIT],
        none=found[Outcome.NO],
        unknown=found[Outcome.UNKNOWN],
    )
