"""What has to be said besides: the age of the facts, drivers, cuDNN, what is here already."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from archbuild.rules.recommending.cudnn_floor import CudnnFit, cudnn_fit
from archbuild.rules.recommending.jetson import is_before_thor
from archbuild.rules.recommending.judging import python_words, serving
from archbuild.rules.recommending.result import Card, Combination, Outcome, Recommendation, Wish
from archbuild.rules.recommending.said import Said, said
from archbuild.rules.recommending.window import cuda_of_driver, last_for, release_words

#: After this the table is called old: torch has a release every two months.
_OLD = timedelta(days=183)


def notes_on(answer: Recommendation, today: date) -> tuple[Said, ...]:
    """Sentences about a recommendation, what matters most first.

    Args:
        answer: Without notes.
        today: Against which the age of the facts is told.
    """
    return (
        *_on_the_system(answer.wish, answer),
        *_on_the_best(answer),
        *_on_the_driver(answer),
        *_on_the_age(answer, today),
    )


def _on_the_system(wish: Wish, answer: Recommendation) -> Iterator[Said]:
    if wish.system == "darwin":
        yield said("macos")
    elif answer.facts is None:
        yield said("no_rows", system=wish.system, processor=wish.processor)
    elif answer.best is None and not answer.newer:
        yield said("asked_for", torch=wish.torch, cuda=wish.cuda)
    if any(card.capability and is_before_thor(card.capability) for card in wish.cards):
        yield said("jetson_own")
    elif answer.source is not None and answer.source.cuda is not None and _is_young(wish):
        yield said("conda")
    if answer.outcome is Outcome.NONE and answer.better is None and answer.python is None:
        yield said("cpu")


def _is_young(wish: Wish) -> bool:
    """Whether conda-forge's recipes may have these GPUs: they begin with Maxwell."""
    return all(card.capability and card.capability.major >= 5 for card in wish.cards)


def _on_the_best(answer: Recommendation) -> Iterator[Said]:
    best, wish = answer.best, answer.wish
    if best is None:
        return
    spoilt = _spoilt(best, wish)
    if spoilt is not None:
        yield spoilt
    elif best.installed and wish.installed is not None:
        yield said("installed", version=wish.installed.version, cuda=best.cuda)
    if best.tried:
        yield said("tried", torch=best.torch, python=python_words(wish.python))
    held = _left_later(best)
    if held and best.cudnn is not None and spoilt is None:
        yield said("cudnn_keep", package=_package(best), cudnn=best.cudnn, gpus=_names(held))


def _left_later(best: Combination) -> list[Card]:
    """The GPUs that a newer cuDNN leaves out: it must not be updated by itself."""
    return [card for card in serving(best) if _leaves(card, None)]


def _spoilt(best: Combination, wish: Wish) -> Said | None:
    """What cures a cuDNN that is installed and leaves out a GPU which torch's own one serves."""
    here = wish.installed.cudnn if wish.installed is not None else None
    held = [] if here is None else [c for c in _left_later(best) if _leaves(c, here)]
    if not held or best.cudnn is None:
        return None
    gpus = _names(held)
    return said("cudnn_here", here=here, gpus=gpus, package=_package(best), cudnn=best.cudnn)


def _package(best: Combination) -> str:
    return f"nvidia-cudnn-cu{best.cuda.major}"


def _leaves(card: Card, cudnn: str | None) -> bool:
    """Whether a cuDNN leaves a GPU out; None: whether any newer one does."""
    if card.capability is None:
        return False
    return cudnn_fit(cudnn, card.capability) is not CudnnFit.HOLDS


def _names(cards: list[Card]) -> str:
    return ", ".join(dict.fromkeys(card.name for card in cards))


def _on_the_driver(answer: Recommendation) -> Iterator[Said]:
    best, wish = answer.best, answer.wish
    own = cuda_of_driver(wish.driver, wish.capabilities)
    if best is not None and wish.driver is None and best.floor is not None:
        yield said("assumed", floor=release_words(best.floor))
    if best is not None and own is not None and best.cuda > own:
        yield said("minor", cuda=best.cuda, driver=own)
    if answer.better is not None:
        yield _better(answer.better)
    if answer.python is not None:
        python, other = answer.python
        words = python_words(python)
        yield said("python_better", python=words, torch=other.torch, cuda=other.cuda)
    if best is not None and best.last is not None:
        old = [c for c in serving(best) if c.capability and last_for(c.capability) == best.last]
        if old:
            yield said("last_driver", branch=best.last, gpus=_names(old))
    if wish.windows_driver and wish.system == "linux":
        yield said("wsl")


def _better(better: Combination) -> Said:
    floor = "?" if better.floor is None else release_words(better.floor)
    return said("better", floor=floor, last=better.last, torch=better.torch, cuda=better.cuda)


def _on_the_age(answer: Recommendation, today: date) -> Iterator[Said]:
    if answer.facts is not None and today - answer.facts > _OLD:
        yield said("facts_old", date=answer.facts)
