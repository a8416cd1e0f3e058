"""How well one wheel serves each GPU: the rule of coverage, asked library by library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from archbuild.facts.toolkits import TOOLKITS
from archbuild.facts.torch_releases import Python, ReleaseRow
from archbuild.facts.torch_wheels import Standing
from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.coverage import Cause, Destination, Outcome, Tegra, Verdict
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.coverage import cover_region, is_live
from archbuild.rules.covering.reach import nearest_real
from archbuild.rules.recommending.candidates import Candidate, region_of
from archbuild.rules.recommending.cudnn_floor import CudnnFit, cudnn_fit
from archbuild.rules.recommending.jetson import needs_own_wheels
from archbuild.rules.recommending.result import (
    Card,
    CardVerdict,
    Combination,
    Grade,
    Library,
    Wish,
    worst,
)
from archbuild.rules.recommending.said import Said, said
from archbuild.rules.recommending.window import Window, last_for, release_words, window_of

_Judgement = tuple[Grade, tuple[Said, ...]]
_FINE: _Judgement = (Grade.SERVES, ())


def judge(candidate: Candidate, wish: Wish) -> Combination:
    """A wheel held against everything that was wished for.

    Args:
        candidate: The wheel.
        wish: The GPUs, the driver, Python.
    """
    window = window_of(candidate.cuda, wish.capabilities, windows=wish.windows_driver)
    grade, reasons = _judge_wheel(candidate, wish)
    release = candidate.release
    return Combination(
        candidate.torch,
        candidate.cuda,
        candidate.standing,
        grade,
        reasons,
        tuple(_judge_cards(candidate, wish, window, grade)),
        candidate.cudnn,
        window.floor,
        window.last,
        release is not None and _is_plain(candidate, release, wish),
        candidate.installed,
        release is not None and wish.python in release.tried,
    )


def _judge_cards(
    candidate: Candidate, wish: Wish, window: Window, wheel: Grade
) -> Iterator[CardVerdict]:
    """Of each GPU; where there is no such wheel at all, no library need be looked at."""
    for card in wish.cards:
        if wheel is Grade.NOT:
            yield CardVerdict(card, Grade.NOT)
        else:
            yield _judge_card(card, candidate, wish, window)


def _is_plain(candidate: Candidate, release: ReleaseRow, wish: Wish) -> bool:
    linux = (wish.system, wish.processor) == ("linux", "x86_64")
    return linux and release.plain == candidate.cuda


def _judge_wheel(candidate: Candidate, wish: Wish) -> _Judgement:
    """What all GPUs share: is there such a wheel, for this Python?"""
    if candidate.installed:
        return _FINE
    release = candidate.release
    if release is None:
        return Grade.UNSURE, (said("python_unknown"),)
    first, last = release.pythons
    if not first <= wish.python <= last:
        words = f"{python_words(first)} to {python_words(last)}"
        here = python_words(wish.python)
        return Grade.NOT, (said("python", pythons=words, python=here),)
    if candidate.standing is Standing.SCRIPTS:
        return Grade.UNSURE, (said("scripts"),)
    return _FINE


def python_words(python: Python) -> str:
    """``3.12``."""
    return ".".join(map(str, python))


def _judge_card(card: Card, candidate: Candidate, wish: Wish, window: Window) -> CardVerdict:
    capability = card.capability
    if capability is None:
        return CardVerdict(card, Grade.UNSURE, (said("capability", gpu=card.name),))
    place = Destination(capability, wish.driver, wish.windows_driver)
    found = (
        _judge_jetson(capability, candidate),
        *_judge_libraries(candidate, place),
        _judge_cudnn(capability, candidate),
        _judge_window(capability, window, wish),
    )
    return CardVerdict(card, *_sum_up(found))


def _sum_up(found: tuple[_Judgement, ...]) -> _Judgement:
    """The worst grade and what speaks for it; of what refuses a wheel the first will do."""
    grade = worst(tuple(grade for grade, _ in found))
    reasons = dict.fromkeys(r for other, said_of in found if other is grade for r in said_of)
    return grade, tuple(reasons)[:1] if grade is Grade.NOT else tuple(reasons)


def _judge_window(capability: ComputeCapability, window: Window, wish: Wish) -> _Judgement:
    """With no driver named, whether any serves this GPU beside the others."""
    last = last_for(capability)
    if wish.driver is not None or last is None or not Window(window.floor, last).is_empty:
        return _FINE
    assert window.floor is not None
    words = release_words(window.floor)
    return Grade.NOT, (said("no_driver", branch=last, capability=capability, floor=words),)


def _judge_cudnn(capability: ComputeCapability, candidate: Candidate) -> _Judgement:
    fit = cudnn_fit(candidate.cudnn, capability)
    if fit is CudnnFit.GONE:
        reason = said("cudnn", cudnn=candidate.cudnn, capability=capability)
        return Grade.NOT, (reason,)
    if fit is CudnnFit.UNKNOWN:
        return Grade.UNSURE, (said("cudnn_unknown", capability=capability),)
    return _FINE


def _judge_jetson(capability: ComputeCapability, candidate: Candidate) -> _Judgement:
    if not needs_own_wheels(capability, candidate.cuda) or candidate.installed:
        return _FINE
    return Grade.NOT, (said("jetson"),)


def _judge_libraries(candidate: Candidate, place: Destination) -> Iterator[_Judgement]:
    for index, library in enumerate(candidate.libraries):
        yield _judge_library(library, index, candidate, place)


def _judge_library(
    library: Library, index: int, candidate: Candidate, place: Destination
) -> _Judgement:
    """The worst of its regions; those made for other GPUs on purpose don't count."""
    live = [region for region in library.regions if is_live(region)]
    covered = [cover_region(region, place) for region in live]
    bad = [c.verdict for c in covered if not c.verdict.runs and not c.on_purpose]
    if not bad:
        return _FINE
    refused = next((v for v in bad if v.outcome is Outcome.NO), None)
    if refused is not None and index == 0:
        return _judge_main(refused, library, candidate, place)
    if refused is not None:
        return _judge_other(refused, library, place)
    if bad[0].cause is Cause.TEGRA and place.tegra is not Tegra.RUNS:
        return _judge_undocumented(library, index, candidate, place)
    return Grade.UNSURE, (_reason(bad[0], library, place),)


def _judge_undocumented(
    library: Library, index: int, candidate: Candidate, place: Destination
) -> _Judgement:
    """Code that may run on Tegra: not known, unless even then the driver refuses it."""
    grade, reasons = _judge_library(library, index, candidate, replace(place, tegra=Tegra.RUNS))
    if grade is Grade.SERVES:
        return Grade.UNSURE, (said("tegra", capability=place.capability),)
    return grade, reasons


def _judge_main(
    verdict: Verdict, library: Library, candidate: Candidate, place: Destination
) -> _Judgement:
    if verdict.cause is Cause.ARCHITECTURE and _runs_if_promised(candidate, place):
        return Grade.UNSURE, (said("promised", capability=place.capability),)
    return Grade.NOT, (_reason(verdict, library, place),)


def _runs_if_promised(candidate: Candidate, place: Destination) -> bool:
    if not candidate.promised or _is_beyond(candidate.cuda, place.capability):
        return False
    region = region_of(candidate.promised, candidate.cuda)
    return cover_region(region, place).verdict.runs


@lru_cache(maxsize=256)
def _is_beyond(cuda: CudaVersion, device: ComputeCapability) -> bool:
    """Whether a GPU is known to later toolkits alone: this one's cuBLAS holds nothing for it."""
    able = [row.version for row in TOOLKITS if nearest_real(row.archs, device) is not None]
    return bool(able) and cuda not in able


def _judge_other(verdict: Verdict, library: Library, place: Destination) -> _Judgement:
    """A library besides the main one: without it torch works but for what it computes."""
    if verdict.cause not in (Cause.ARCHITECTURE, Cause.NOT_LOADABLE):
        return Grade.NOT, (_reason(verdict, library, place),)
    key = "library_inferred" if library.inferred else "library"
    return Grade.PARTLY, (
        said(
            key,
            library=library.name,
            capability=place.capability,
            held=arch_words(library.held),
        ),
    )


def arch_words(archs: Iterable[Arch]) -> str:
    """Architectures as people name them: ``7.5, 8.0, PTX of 9.0``."""
    return ", ".join(a.dotted if a.is_real else f"PTX of {a.dotted}" for a in archs)


_KEYS = {
    Cause.ARCHITECTURE: "held",
    Cause.NOT_LOADABLE: "held",
    Cause.DRIVER_TOO_OLD: "driver",
    Cause.DEVICE_TOO_NEW: "device",
    Cause.DEVICE_RETIRED: "retired",
    Cause.PTX_TOO_NEW: "ptx",
    Cause.TEGRA: "tegra",
}


def _reason(verdict: Verdict, library: Library, place: Destination) -> Said:
    key = _KEYS.get(verdict.cause, "unclear")
    if key in ("driver", "device", "ptx") and verdict.floor is None:
        key = "unclear"
    values: dict[str, object] = {"capability": place.capability}
    if key == "held":
        values |= {"library": library.name, "held": arch_words(library.held)}
    elif key == "driver":
        values = {}
    elif key == "retired":
        values |= {"branch": last_for(place.capability)}
    if verdict.floor is not None and key in ("driver", "device", "ptx"):
        values |= {"floor": release_words(verdict.floor)}
    return said(key, **values)


def serving(combination: Combination) -> Iterator[Card]:
    """The GPUs that it surely serves."""
    if combination.wheel is Grade.SERVES:
        yield from (v.card for v in combination.cards if v.grade is Grade.SERVES)
