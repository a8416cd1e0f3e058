"""Chinese texts about GPUs, driver and container say what the English ones say."""

from __future__ import annotations

import re

import pytest

from archbuild.report.chinese.machine import TEXTS
from archbuild.rules.diagnosis.all_rules import diagnose_machine
from archbuild.rules.diagnosis.kind import Kind
from archbuild.rules.diagnosis.machine_kinds import MACHINE_KINDS
from archbuild.rules.filling import fill
from tests.data.make_machine_records import MACHINE_CASES as CASES

_CHINESE = re.compile(r"[一-鿿]")


def _places(template: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", template))


def _optional(template: str) -> list[set[str]]:
    """The places of each part in brackets."""
    return sorted((_places(part) for part in re.findall(r"\[([^][]*)\]", template)), key=sorted)


def test_there_is_a_text_for_every_kind() -> None:
    assert list(TEXTS) == sorted(kind.code for kind in MACHINE_KINDS)


@pytest.mark.parametrize("kind", MACHINE_KINDS, ids=lambda kind: kind.code)
def test_places_are_those_of_the_english_text(kind: Kind) -> None:
    _, sentence, advice = TEXTS[kind.code]
    for english, chinese in ((kind.sentence, sentence), (kind.advice, advice)):
        assert _places(english) == _places(chinese)
        assert _optional(english) == _optional(chinese)


@pytest.mark.parametrize("code", TEXTS)
def test_it_is_chinese_with_its_own_punctuation(code: str) -> None:
    title, sentence, advice = TEXTS[code]
    assert all(map(_CHINESE.search, (title, sentence, advice)))
    assert sentence.endswith("。")
    assert re.search(r"。\]?$", advice)
    assert not re.search(r"[一-鿿][,.;:]", f"{title}{sentence}{advice}")


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_it_can_be_filled_with_what_the_rules_give(case: object) -> None:
    assert hasattr(case, "machine")
    ours = (f for f in diagnose_machine(case.machine).findings if f.code in TEXTS)
    for finding in ours:
        _, sentence, advice = TEXTS[finding.code]
        for text in (sentence, advice):
            told = fill(text, dict(finding.values))
            assert "{" not in told
            assert "?" not in told
