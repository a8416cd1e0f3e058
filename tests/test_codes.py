"""Codes are stable, and each has its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.report.findings import page_of
from archbuild.rules.checking.codes import CODES


def test_codes_are_stable_and_stand_once() -> None:
    names = [code.code for code in CODES]
    assert len(names) == len(set(names))
    assert names == sorted(names)
    assert all(code.title and not code.title.endswith(".") for code in CODES)


DOCS = Path(__file__).parents[1] / "docs" / "findings"


@pytest.mark.parametrize("code", CODES, ids=[code.code for code in CODES])
def test_every_code_has_a_page(code) -> None:
    page = DOCS.parents[1] / page_of(code.code)
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# {code.code}: {code.title}"
    assert code.severity.value in page.read_text(encoding="utf-8").casefold()
    assert lines[2].startswith("```"), "the command comes first"
    assert "## What it means" in lines
    assert "## Why it matters" in lines


def test_every_page_is_of_a_code() -> None:
    known = {code.code.lower() for code in CODES}
    assert {page.stem for page in DOCS.glob("v*.md")} == known
