"""The choice: the newest torch and CUDA for all GPUs, else the best part, else none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from archbuild.facts.torch_releases import RELEASES, Python
from archbuild.facts.torch_wheels import wheels_for
from archbuild.model.machine import Driver
from archbuild.rules.recommending.candidates import find_candidates
from archbuild.rules.recommending.judging import judge, serving
from archbuild.rules.recommending.notes import notes_on
from archbuild.rules.recommending.result import (
    Card,
    Combination,
    Grade,
    Loss,
    Outcome,
    Recommendation,
    Wish,
)
from archbuild.rules.recommending.source_build import source_build
from archbuild.rules.recommending.window import cuda_of_driver

# In this order: what is sure but for one library comes before what may not serve at all.
_OUTCOMES = {
    Grade.SERVES: Outcome.ALL,
    Grade.PARTLY: Outcome.PARTLY,
    Grade.UNSURE: Outcome.UNSURE,
}
_HOPELESS = (Outcome.PART, Outcome.NONE)


def recommend(wish: Wish, today: date) -> Recommendation:
    """The newest torch and CUDA that serve every GPU of a wish.

    Args:
        wish: The GPUs, driver, system, processor and Python.
        today: Against which the age of the facts is told.

    Returns:
        The answer; "none" is one, and so is "not known".
    """
    wish = replace(wish, cards=tuple(dict.fromkeys(wish.cards)))
    ranked = rank(wish)
    best, outcome = _choose(ranked, wish)
    lost = _lost(best, wish) if outcome is Outcome.PART and best is not None else ()
    better = _with_other_driver(wish, outcome, best)
    others = _others(ranked, best, outcome)
    late = any(combination.wheel is Grade.NOT for combination in others)
    python = _with_other_python(wish, outcome, best) if late else None
    plain = Recommendation(
        wish,
        outcome,
        best,
        others,
        lost,
        better,
        python,
        source_build(wish) if outcome in _HOPELESS and not (better or python) else None,
        facts=max((row.date for row in wheels_for(wish.system, wish.processor)), default=None),
    )
    return replace(plain, notes=notes_on(plain, today))


def rank(wish: Wish) -> tuple[Combination, ...]:
    """Every wheel, judged, the most wanted first whether it serves or not.

    A newer torch comes first. Of one torch a CUDA that is not newer than the driver's
    comes before one that leans on minor-version compatibility, then the newer one; with
    no driver known, the one that the package index hands out.
    """
    own = cuda_of_driver(wish.driver, wish.capabilities)

    def wanted(combination: Combination) -> tuple[object, ...]:
        settled = combination.plain if own is None else combination.cuda <= own
        return combination.torch, settled, combination.cuda

    judged = (judge(candidate, wish) for candidate in find_candidates(wish))
    return tuple(sorted(judged, key=wanted, reverse=True))


def _choose(ranked: tuple[Combination, ...], wish: Wish) -> tuple[Combination | None, Outcome]:
    if not wish.capabilities or not ranked:
        # Of a Mac it is known; of a system that the table lacks, it is not.
        return None, Outcome.NONE if wish.system == "darwin" else Outcome.UNSURE
    for grade, outcome in _OUTCOMES.items():
        found = next((c for c in ranked if c.grade is grade), None)
        if found is not None:
            return found, outcome
    best = max(ranked, key=_worth)
    return (best, Outcome.PART) if any(serving(best)) else (None, Outcome.NONE)


def _worth(combination: Combination) -> tuple[int, list[object]]:
    """How many GPUs it surely serves, then which: a newer GPU counts more."""
    served = list(serving(combination))
    newest = sorted((c.capability for c in served if c.capability is not None), reverse=True)
    return len(served), list(newest)


def _others(
    ranked: tuple[Combination, ...], best: Combination | None, outcome: Outcome
) -> tuple[Combination, ...]:
    """Those that would have been preferred; every other one where none serves all."""
    if best is None:
        return ranked
    if outcome is Outcome.PART:
        return tuple(c for c in ranked if c is not best)
    return ranked[: ranked.index(best)]


def _lost(best: Combination, wish: Wish) -> tuple[Loss, ...]:
    served = set(serving(best))
    return tuple(
        Loss(verdict.card, verdict.reasons, _alone(verdict.card, wish))
        for verdict in best.cards
        if verdict.card not in served
    )


def _alone(card: Card, wish: Wish) -> Combination | None:
    """What a GPU would have if it were the only one."""
    single = replace(wish, cards=(card,))
    return _first(rank(single), (Grade.SERVES, Grade.PARTLY))


def _first(ranked: Iterable[Combination], grades: tuple[Grade, ...]) -> Combination | None:
    ordered = tuple(ranked)
    return next((c for grade in grades for c in ordered if c.grade is grade), None)


def _with_other_driver(
    wish: Wish, outcome: Outcome, best: Combination | None
) -> Combination | None:
    """What any driver would allow, where this one stands in the way."""
    if wish.driver is None:
        return None
    free = replace(wish, driver=None)
    found = _first(rank(free), (Grade.SERVES,))
    if found is None or (outcome is Outcome.ALL and best is not None and found.torch <= best.torch):
        return None
    if found.floor is None:
        return found
    least = replace(wish, driver=Driver(found.floor.release, found.floor.cuda))
    same = _first(rank(least), (Grade.SERVES,))
    return same if same is not None and same.torch >= found.torch else found


def _with_other_python(
    wish: Wish, outcome: Outcome, best: Combination | None
) -> tuple[Python, Combination] | None:
    """The Python nearest to this one that allows the newest torch, where that is newer."""
    ends = {end for row in RELEASES for end in row.pythons} - {wish.python}
    found = {end: _first(rank(replace(wish, python=end)), (Grade.SERVES,)) for end in ends}
    able = {end: c for end, c in found.items() if c is not None}
    if not able:
        return None
    end = max(able, key=lambda end: (able[end].torch, -_apart(end, wish.python)))
    settled = outcome is Outcome.ALL and best is not None and able[end].torch <= best.torch
    return None if settled else (end, able[end])


def _apart(one: Python, other: Python) -> int:
    return abs(one[0] - other[0]) * 100 + abs(one[1] - other[1])
