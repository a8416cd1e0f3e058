"""The pages "I have this error": one in English, one in Chinese, with the same errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archbuild.model.machine import Machine
from archbuild.services.explain import explain

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("errors.md", "errors.zh.md")


def rows(name: str) -> list[list[str]]:
    text = (DOCS / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def links(name: str) -> list[str]:
    text = (DOCS / name).read_text(encoding="utf-8")
    return re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)


def test_both_name_the_same_errors_in_the_same_order() -> None:
    english, chinese = (rows(name) for name in PAGES)
    assert [quoted(row[0]) for row in english] == [quoted(row[0]) for row in chinese]
    assert links(PAGES[0])[1:] == links(PAGES[1])[1:]


def test_both_say_what_to_run() -> None:
    english, chinese = (rows(name) for name in PAGES)
    for mine, other in zip(english, chinese, strict=True):
        assert len(mine) == len(other)
        ours, theirs = ([_stripped(word) for word in quoted(row[-1])] for row in (mine, other))
        assert ours == theirs


def _stripped(command: str) -> str:
    """Without the words that stand for a name or a file."""
    return re.sub(r"\b(?:NAME|FILE)\b|包名|文件", "X", command)


@pytest.mark.parametrize("name", [*PAGES, "doctor.md", "troubleshooting.md", "build-errors.md"])
def test_every_link_leads_somewhere(name: str) -> None:
    dead = [link for link in links(name) if "://" not in link and not (DOCS / link).exists()]
    assert dead == []


def test_the_old_page_points_to_the_new_ones() -> None:
    assert set(links("troubleshooting.md")) == set(PAGES)


def _texts() -> list[str]:
    """What the page says that people see, but for pieces that are cut in the middle."""
    cells = [row[0] for row in rows(PAGES[0]) if row and row[0] not in ("you see", "---")]
    texts = [text for cell in cells for text in quoted(cell)[:1] if "..." not in text]
    # These two say little by themselves: the page names them with what stands around them.
    return [text for text in texts if not text.startswith(("IndexError", "torch.cuda.is_"))]


@pytest.mark.parametrize("text", _texts())
def test_explain_knows_what_the_page_names(text: str) -> None:
    told = explain(text, machine=Machine("linux", "x86_64", "3.12.1"))
    assert told.exit_code == 0, text
