"""Kinds of findings about code: stable, each with its page and its row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archbuild.rules.diagnosis.code_rules import CODE_KINDS
from archbuild.rules.diagnosis.kind import Kind

DOCS = Path(__file__).parents[1] / "docs" / "findings"
_PLACE = re.compile(r"\{(\w+)\}")
_IDS = [kind.code for kind in CODE_KINDS]


def test_codes_are_in_order_and_stand_once() -> None:
    assert sorted(set(_IDS)) == _IDS
    assert all(340 <= int(code[1:]) <= 399 for code in _IDS)


def test_what_explains_is_of_a_lower_or_equal_weight() -> None:
    ranks = {kind.code: kind.rank for kind in CODE_KINDS}
    for kind in CODE_KINDS:
        assert kind.code not in kind.after
        assert all(ranks.get(code, 0) <= kind.rank for code in kind.after), kind.code


@pytest.mark.parametrize("kind", CODE_KINDS, ids=_IDS)
def test_texts(kind: Kind) -> None:
    assert not kind.title.endswith(".")
    assert kind.sentence.endswith((".", ".]"))
    assert kind.advice.endswith((".", ".]"))
    # These are names of arguments of diagnosis_of, so no value could have them.
    taken = {"kind", "confidence", "evidence", "commands", "errors", "gpus", "file", "severity"}
    assert not taken & set(_PLACE.findall(kind.sentence + kind.advice))


@pytest.mark.parametrize("kind", CODE_KINDS, ids=_IDS)
def test_every_kind_has_a_page_and_a_row(kind: Kind) -> None:
    text = (DOCS / f"{kind.code.lower()}.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0] == f"# {kind.code}: {kind.title}"
    assert lines[2].startswith("```"), "the command comes first"
    assert f"Severity: {kind.severity.value}." in text
    assert {"## What it means", "## Why it matters"} <= set(lines)
    assert len(lines) < 40
    row = f"| [{kind.code}]({kind.code.lower()}.md) | {kind.severity.value} | {kind.title} |"
    assert row in (DOCS / "README.md").read_text(encoding="utf-8")
