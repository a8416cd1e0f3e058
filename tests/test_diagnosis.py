"""The engine of diagnosis: what is the root cause, and what follows from it."""

from __future__ import annotations

import pytest

from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.finding import Severity
from archbuild.model.machine import Machine
from archbuild.rules.diagnosis.engine import judge
from archbuild.rules.diagnosis.kind import Kind, diagnosis_of

HERE = Machine("linux", "x86_64", "3.12.1")

ROOT = Kind("D001", Severity.ERROR, "root", "The root.", "Cure it.", rank=10)
CHILD = Kind("D002", Severity.ERROR, "child", "A child.", "Wait.", rank=20, after=("D001",))
OTHER = Kind("D003", Severity.WARNING, "other", "Another.", "See.", rank=5)
NOTE = Kind("D004", Severity.NOTE, "note", "A note.", "Nothing.", rank=1)
GRANDCHILD = Kind("D005", Severity.ERROR, "grand", "Below.", "Wait.", rank=3, after=("D002",))
ALL = (ROOT, CHILD, OTHER, NOTE, GRANDCHILD)


def order(*found: Diagnosis) -> list[tuple[str, str | None]]:
    report = judge(HERE, [lambda _: found], ALL)
    return [(finding.code, finding.because) for finding in report.findings]


def test_the_root_cause_is_first_and_what_follows_is_folded_below() -> None:
    found = [diagnosis_of(kind) for kind in (NOTE, OTHER, GRANDCHILD, CHILD, ROOT)]
    assert order(*found) == [
        ("D001", None),
        ("D002", "D001"),
        ("D005", "D002"),
        ("D003", None),
        ("D004", None),
    ]


def test_a_child_without_its_parent_stands_for_itself() -> None:
    assert order(diagnosis_of(CHILD)) == [("D002", None)]


@pytest.mark.parametrize(
    ("parent", "child", "folded"),
    [
        (("a",), ("a",), True),
        ((), ("a",), True),
        (("a", "b"), ("a",), True),
        (("a",), ("a", "b"), False),
        (("a",), ("b",), False),
        (("a",), (), False),
        ((), (), True),
    ],
)
def test_one_gpu_explains_nothing_of_another(
    parent: tuple[str, ...], child: tuple[str, ...], folded: bool
) -> None:
    found = order(diagnosis_of(ROOT, gpus=parent), diagnosis_of(CHILD, gpus=child))
    assert dict(found)["D002"] == ("D001" if folded else None)


def test_nothing_is_told_twice_or_lost() -> None:
    found = [diagnosis_of(CHILD, gpus=(name,)) for name in "abc"]
    found += [diagnosis_of(ROOT, gpus=(name,)) for name in "ab"]
    codes = [code for code, _ in order(*found)]
    assert sorted(codes) == ["D001"] * 2 + ["D002"] * 3


def test_a_note_is_no_root_cause() -> None:
    report = judge(HERE, [lambda _: [diagnosis_of(NOTE)]], ALL)
    assert report.root_cause is None
    assert report.exit_code() == report.exit_code(strict=True) == 0


@pytest.mark.parametrize(
    ("kinds", "unknown", "code", "strict"),
    [
        ((), (), 0, 0),
        ((OTHER,), (), 0, 1),
        ((ROOT,), (), 1, 1),
        ((), (("gpus", "no answer"),), 4, 4),
        ((ROOT,), (("gpus", "no answer"),), 1, 1),
        ((OTHER,), (("gpus", "no answer"),), 4, 1),
    ],
)
def test_unknown_is_never_green(
    kinds: tuple[Kind, ...], unknown: tuple[tuple[str, str], ...], code: int, strict: int
) -> None:
    report = judge(HERE, [lambda _: map(diagnosis_of, kinds)], ALL, unknown)
    assert (report.exit_code(), report.exit_code(strict=True)) == (code, strict)


def test_templates_are_filled() -> None:
    kind = Kind("D009", Severity.ERROR, "t", "{a} and[ {b}].", "Do {a}[ or {c}].", ("run {a}",))
    made = diagnosis_of(kind, a="x", more={"b": None, "c": "z"}, evidence=[Evidence("f", "s")])
    assert (made.message, made.advice, made.commands) == ("x and.", "Do x or z.", ("run x",))
    assert made.values == (("a", "x"), ("c", "z"))
    assert made.confidence is Confidence.CERTAIN
