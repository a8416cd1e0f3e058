"""A finding in a language, and findings folded under their cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archbuild.report.findings import error_words, fold_findings, page_of, tell
from tests.doctors import follower, note, root, warning


def shape(*findings: object) -> list[tuple[str, list[str]]]:
    cases = fold_findings(findings)  # type: ignore[arg-type]
    return [(case.finding.code, [f.message for f in case.followers]) for case in cases]


def test_what_follows_is_folded_under_its_cause() -> None:
    second = replace(follower("b"), code="D395", because="D398")
    assert shape(root(), follower("a"), second, warning(), note()) == [
        ("D399", ["a fails as well.", "b fails as well."]),
        ("D397", []),
        ("D396", []),
    ]


def test_a_follower_whose_cause_is_not_there_stands_for_itself() -> None:
    assert shape(follower("a"), warning()) == [("D398", []), ("D397", [])]
    assert shape() == []


def test_of_two_causes_of_one_code_the_later_one_has_what_follows() -> None:
    assert shape(root(), root(file="x"), follower("a")) == [
        ("D399", []),
        ("D399", ["a fails as well."]),
    ]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (35, '35 cudaErrorInsufficientDriver: "CUDA driver version is insufficient'),
        (209, "209 cudaErrorNoKernelImageForDevice"),
        (31337, "31337"),
    ],
)
def test_errors_as_programs_print_them(number: int, words: str) -> None:
    assert error_words(number).startswith(words)


def test_texts_by_language(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"D399": ("t", "{card}[ ({missing})].", "CUDA {cuda}")}
    monkeypatch.setattr("archbuild.report.chinese.texts.TEXTS", texts)
    assert (tell(root(), "zh").message, tell(root(), "zh").advice) == ("RTX 5090.", "CUDA 128")
    assert tell(root(), "en").message == root().message
    assert tell(note(), "zh").message == note().message
    assert page_of("D310") == "docs/findings/d310.md"
