"""A recommendation for programs, by ``report/schemas/recommend.json``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from archbuild.model.record import encode
from archbuild.report.recommend import source_commands
from archbuild.report.recommend_formats import conda_command
from archbuild.rules.recommending.judging import python_words
from archbuild.rules.recommending.result import (
    Card,
    Combination,
    Loss,
    Recommendation,
    SourceBuild,
    Wish,
)
from archbuild.rules.recommending.torch_choice import (
    index_of,
    pip_command,
    requirement,
    uv_command,
)

SCHEMA = "archbuild.recommend/1"


def recommend_json(answer: Recommendation) -> str:
    """The recommendation as JSON text."""
    return json.dumps(recommend_document(answer), indent=2, ensure_ascii=True)


def recommend_document(answer: Recommendation) -> dict[str, Any]:
    """What :func:`recommend_json` writes, as data."""
    wish, best = answer.wish, answer.best
    python = answer.python
    return {
        "schema": SCHEMA,
        "outcome": answer.outcome.value,
        "gpus": [_card(card) for card in wish.cards],
        "system": wish.system,
        "processor": wish.processor,
        "python": python_words(wish.python),
        "driver": encode(wish.driver),
        "windows_driver": wish.windows_driver,
        "best": _combination(best, wish),
        "lost": [_loss(loss, wish) for loss in answer.lost],
        "visible_devices": answer.visible,
        "newer": [_combination(combination, wish) for combination in answer.newer],
        "with_other_driver": _combination(answer.better, wish),
        "with_other_python": None
        if python is None
        else {"python": python_words(python[0]), "best": _combination(python[1], wish)},
        "source_build": _source(answer.source),
        "notes": [str(note) for note in answer.notes],
        "facts": None if answer.facts is None else answer.facts.isoformat(),
    }


def _card(card: Card) -> dict[str, Any]:
    return {"name": card.name, "capability": encode(card.capability), "uuid": card.uuid}


def _combination(combination: Combination | None, wish: Wish) -> dict[str, Any] | None:
    if combination is None:
        return None
    return {
        "torch": str(combination.torch),
        "cuda": str(combination.cuda),
        "grade": combination.grade.value,
        "standing": combination.standing.value,
        "reasons": [str(reason) for reason in combination.why],
        "gpus": [
            {
                "name": verdict.card.name,
                "grade": verdict.grade.value,
                "reasons": [str(reason) for reason in verdict.reasons],
            }
            for verdict in combination.cards
        ],
        "cudnn": combination.cudnn,
        "oldest_driver": encode(combination.floor),
        "last_driver_branch": combination.last,
        "plain": combination.plain,
        "installed": combination.installed,
        "requirement": requirement(combination),
        "index": index_of(combination),
        "commands": {
            "pip": pip_command(combination, wish),
            "uv": uv_command(combination, wish),
            "conda": conda_command(combination, wish),
        },
    }


def _loss(loss: Loss, wish: Wish) -> dict[str, Any]:
    return {
        "gpu": _card(loss.card),
        "reasons": [str(reason) for reason in loss.reasons],
        "alone": _combination(loss.alone, replace(wish, installed=None)),
    }


def _source(build: SourceBuild | None) -> dict[str, Any] | None:
    if build is None:
        return None
    pythons = None if build.pythons is None else [python_words(p) for p in build.pythons]
    return {
        "archs": encode(build.archs),
        "cuda": encode(build.cuda),
        "torch": None if build.torch is None else str(build.torch),
        "pythons": pythons,
        "oldest_driver": encode(build.floor),
        "last_driver_branch": build.last,
        "nvcc_here": build.here,
        "commands": [] if build.torch is None else list(source_commands(build)),
    }
