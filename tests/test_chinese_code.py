"""The Chinese texts of findings about code have the places of the English ones."""

from __future__ import annotations

import re

import pytest

from archbuild.report.chinese.code import TEXTS
from archbuild.rules.diagnosis.code_rules import CODE_KINDS
from archbuild.rules.diagnosis.kind import Kind
from archbuild.rules.filling import fill

_PLACE = re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"\[([^][]*)\]")


def _places(template: str) -> list[str]:
    return sorted(_PLACE.findall(template))


def _optional(template: str) -> list[list[str]]:
    return sorted(_places(part) for part in _OPTIONAL.findall(template))


def test_every_kind_has_its_text_and_no_other() -> None:
    assert set(TEXTS) == {kind.code for kind in CODE_KINDS}


@pytest.mark.parametrize("kind", CODE_KINDS, ids=[kind.code for kind in CODE_KINDS])
def test_the_places_are_the_same(kind: Kind) -> None:
    title, sentence, advice = TEXTS[kind.code]
    assert _places(sentence) == _places(kind.sentence)
    assert _places(advice) == _places(kind.advice)
    assert _optional(sentence) == _optional(kind.sentence)
    assert _optional(advice) == _optional(kind.advice)
    assert title
    assert not title.endswith("。")


@pytest.mark.parametrize("kind", CODE_KINDS, ids=[kind.code for kind in CODE_KINDS])
def test_it_is_chinese_and_leaves_no_place_open(kind: Kind) -> None:
    values = dict.fromkeys(_places(kind.sentence + kind.advice), "x")
    for text in TEXTS[kind.code]:
        filled = fill(text, values)
        assert re.search(r"[一-鿿]", filled)
        assert not set(filled) & set("{}[]?")
