"""Paragraphs of wide letters: broken between them, never before a comma."""

from __future__ import annotations

# Chinese has punctuation of its own.
# ruff: noqa: RUF001
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.report.text import cells, escape, has_wide, wrap

TEXT = "这台机器没有 NVIDIA 驱动，因此 CUDA 看不到任何 GPU（RTX 5090）。"


def test_a_paragraph() -> None:
    assert wrap(TEXT, 30, "  ") == [
        "这台机器没有 NVIDIA 驱动，因此",
        "  CUDA 看不到任何 GPU（RTX",
        "  5090）。",
    ]


@pytest.mark.parametrize("width", range(8, 70))
def test_no_line_begins_or_ends_where_it_must_not(width: int) -> None:
    lines = wrap(TEXT, width)
    assert max(map(cells, lines)) <= width
    assert not any(line[0] in "，。）" for line in lines[1:])
    assert not any(line[-1] == "（" for line in lines)
    assert "".join(lines).replace(" ", "") == TEXT.replace(" ", "")


def test_words_stay_whole_where_they_can() -> None:
    assert wrap("中文 cudaErrorNoKernelImageForDevice 中文", 40) == [
        "中文 cudaErrorNoKernelImageForDevice 中",
        "文",
    ]
    assert max(map(cells, wrap("中" + "x" * 25, 10))) <= 10


def test_only_wide_letters_need_it() -> None:
    assert has_wide("中")
    assert not has_wide("é abc")


@given(st.text(alphabet=st.sampled_from("中文，。（） abcXYZ\n\u0301é\x1b"), max_size=80))
def test_nothing_is_lost(text: str) -> None:
    lines = wrap(text, 20, "  ")
    told = "".join("".join(line.split()) for line in lines)
    assert told == "".join(escape(text).split())
    assert all(cells(line) <= 20 for line in lines)
