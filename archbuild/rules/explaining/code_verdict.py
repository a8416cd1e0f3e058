"""What a binary does on each GPU, by the rule of coverage, put into a few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from archbuild.model.arch import Arch
from archbuild.model.coverage import (
    KERNEL_ABSENT_ERRORS,
    Cause,
    DeviceCoverage,
    DriverFloor,
    Outcome,
    RegionCoverage,
)
from archbuild.model.image import DeviceFile, Image, ImageKind, Region
from archbuild.rules.covering.coverage import cover_file, is_live, loadable_images
from archbuild.rules.covering.places import Place
from archbuild.rules.explaining.answer import Phrase, phrase


class State(IntEnum):
    """What becomes of a file on a GPU; the lower, the worse."""

    DEVICE = 0
    NONE = 1
    PTX = 2
    DRIVER = 3
    PART = 4
    ABSENT = 5
    UNREGISTERED = 6
    PURPOSE = 7
    TEGRA = 8
    UNKNOWN = 9
    JIT = 10
    NATIVE = 11


#: States in which something of the file fails there.
FAILING = tuple(state for state in State if state <= State.PURPOSE)

_DEVICE = (Cause.DEVICE_TOO_NEW, Cause.DEVICE_RETIRED)


@dataclass(frozen=True)
class CodeVerdict:
    """What becomes of one file on one kind of GPU.

    Args:
        place: The GPU.
        file: The file.
        coverage: By the rule.
        state: In a word.
        regions: Those regions that are in this state.
        kernels: Mangled names of the kernels that fail.
        errors: The CUDA errors that a person would see, the likeliest first.
    """

    place: Place
    file: DeviceFile
    coverage: DeviceCoverage
    state: State
    regions: tuple[RegionCoverage, ...]
    kernels: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether something of the file fails there."""
        return self.state in FAILING


def has_code(file: DeviceFile) -> bool:
    """Whether a file holds CUDA code that is not known to be empty."""
    return any(is_live(region) or region.images for region in file.regions)


def judge_code(files: Iterable[DeviceFile], places: Sequence[Place]) -> tuple[CodeVerdict, ...]:
    """What each file with device code does on each GPU, the worst first.

    Args:
        files: Of the binary.
        places: The GPUs; those of unknown capability are left out.
    """
    found = [
        verdict
        for file in files
        if has_code(file)
        for place in places
        if (verdict := _judge(file, place)) is not None
    ]
    return tuple(sorted(found, key=lambda verdict: verdict.state))


def _judge(file: DeviceFile, place: Place) -> CodeVerdict | None:
    destination = place.destination()
    if destination is None:
        return None
    coverage = cover_file(file, destination)
    if not coverage.regions:
        return None
    state, regions = _state(file, coverage.regions)
    kernels = tuple(dict.fromkeys(_kernels(file, state, regions)))
    return CodeVerdict(place, file, coverage, state, regions, kernels, _errors(state, regions))


def _state(
    file: DeviceFile, regions: tuple[RegionCoverage, ...]
) -> tuple[State, tuple[RegionCoverage, ...]]:
    failing = [r for r in regions if r.verdict.outcome is Outcome.NO]
    by_cause = {
        State.DEVICE: [r for r in failing if r.verdict.cause in _DEVICE],
        State.PTX: [r for r in failing if r.verdict.cause is Cause.PTX_TOO_NEW],
        State.DRIVER: [r for r in failing if r.verdict.cause is Cause.DRIVER_TOO_OLD],
        State.ABSENT: [r for r in regions if r.absent],
    }
    told = {id(r) for found in by_cause.values() for r in found}
    rest = [r for r in failing if id(r) not in told]
    by_cause[State.NONE] = rest if len(rest) == len(regions) else []
    by_cause[State.PART] = [r for r in rest if not r.on_purpose]
    by_cause[State.UNREGISTERED] = list(regions) if file.unnamed else []
    by_cause[State.PURPOSE] = rest
    unsure = [r for r in regions if r.verdict.outcome is Outcome.UNKNOWN or r.undecided]
    by_cause[State.TEGRA] = [r for r in unsure if r.verdict.cause is Cause.TEGRA]
    by_cause[State.UNKNOWN] = unsure
    by_cause[State.JIT] = [r for r in regions if r.verdict.outcome is Outcome.JIT]
    by_cause[State.NATIVE] = list(regions)
    state = min(state for state, found in by_cause.items() if found)
    return state, tuple(by_cause[state])


def _kernels(file: DeviceFile, state: State, regions: Iterable[RegionCoverage]) -> Iterator[str]:
    if state is State.UNREGISTERED:
        yield from file.unnamed or ()
    elif state is State.ABSENT:
        for region in regions:
            yield from region.absent
    elif state in FAILING:
        for region in regions:
            yield from region.served


def _errors(state: State, regions: Iterable[RegionCoverage]) -> tuple[int, ...]:
    if state is State.ABSENT:
        return KERNEL_ABSENT_ERRORS
    if state is State.UNREGISTERED:
        return KERNEL_ABSENT_ERRORS[:1]
    if state not in FAILING:
        return ()
    return tuple(dict.fromkeys(number for r in regions for number in r.verdict.errors))


# --- in words --------------------------------------------------------------------------------


def verdict_phrase(verdict: CodeVerdict) -> Phrase:
    """The verdict as one sentence."""
    errors = [str(number) for number in verdict.errors]
    driver = verdict.place.driver
    return phrase(
        f"code-{verdict.state.name.lower()}",
        place=place_phrase(verdict.place),
        gpu=verdict.place.gpu or str(verdict.place.capability),
        capability=str(verdict.place.capability),
        file=verdict.file.path,
        held=held_phrase(verdict.file.regions),
        error=errors[0] if errors else None,
        other=errors[1] if len(errors) > 1 else None,
        part=str(len(verdict.regions)),
        all=str(len(verdict.coverage.regions)),
        count=str(len(verdict.kernels)) if verdict.kernels else None,
        driver=_driver_words(verdict) if driver is not None else None,
        **_floor(verdict),
    )


def _driver_words(verdict: CodeVerdict) -> str | None:
    driver = verdict.place.driver
    if driver is None:
        return None
    return str(driver.release) if driver.release is not None else f"CUDA {driver.cuda}"


def _floor(verdict: CodeVerdict) -> dict[str, str | None]:
    """The oldest driver that would do, by release and by CUDA version."""
    if verdict.state is State.JIT:
        floor = verdict.coverage.jit_floor
    elif verdict.state in (State.DEVICE, State.PTX, State.DRIVER):
        floor = max(
            (r.verdict.floor for r in verdict.regions if r.verdict.floor is not None),
            key=lambda found: found.cuda,
            default=None,
        )
    else:
        floor = None
    return floor_values(floor)


def floor_values(floor: DriverFloor | None) -> dict[str, str | None]:
    """A floor of the driver as values for templates: ``floor`` and ``floor_cuda``."""
    if floor is None:
        return {}
    release = None if floor.release is None else str(floor.release)
    return {"floor": release, "floor_cuda": str(floor.cuda)}


def place_phrase(place: Place) -> Phrase:
    """``RTX 5090 is 12.0``; of a GPU without a name its capability."""
    key = "place-named" if place.gpu else "place-number"
    return phrase(key, gpu=place.gpu or None, capability=str(place.capability))


def held_phrase(regions: Iterable[Region]) -> Phrase:
    """What a file holds that a driver could load: ``SASS 8.0, 9.0 and no PTX``."""
    images = [image for region in regions for image in loadable_images(region)]
    sass, ptx = _held(images, ImageKind.SASS), _held(images, ImageKind.PTX)
    if sass and ptx:
        return phrase("held-both", sass=sass, ptx=ptx)
    if sass:
        return phrase("held-sass", sass=sass)
    if ptx:
        return phrase("held-ptx", ptx=ptx)
    return phrase("held-nothing")


_SHOWN = 14


def _held(images: Iterable[Image], kind: ImageKind) -> str:
    archs = sorted({i.arch for i in images if i.kind is kind and i.arch is not None})
    return _list(archs)


def _list(archs: Sequence[Arch]) -> str:
    names = [arch.dotted for arch in archs]
    if len(names) > _SHOWN:
        names = [*names[: _SHOWN - 2], "...", names[-1]]
    return ", ".join(names)
