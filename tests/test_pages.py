"""Every code has its page, also where only the package is."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.cli.main import main
from archbuild.probe.pages import CODE, find_page
from archbuild.rules.building.build_failure import BUILD_ERRORS
from archbuild.rules.checking.codes import CODES
from archbuild.rules.diagnosis.all_rules import KINDS

ALL = sorted(
    {*(c.code for c in CODES), *(k.code for k in KINDS), *(row.code for row in BUILD_ERRORS)}
)


@pytest.mark.parametrize("code", ALL)
def test_every_code_has_a_page(code: str) -> None:
    page = find_page(code)
    assert page is not None
    assert page.startswith((f"# {code}: ", f"### {code}: "))
    assert page == find_page(code.lower())
    assert CODE.fullmatch(code)


@pytest.mark.parametrize("code", ["D999", "V000", "A000", "D34", "A1011", ""])
def test_what_is_no_code(code: str) -> None:
    assert find_page(code) is None


def test_a_section_ends_where_the_next_begins() -> None:
    page = find_page("A101")
    assert page is not None
    assert "A102" not in page
    last = find_page("A105")
    assert last is not None
    assert "A106" not in last


def test_explain_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "d340"]) == 0
    assert capsys.readouterr().out == find_page("D340")


def test_a_code_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "D999"]) == 2
    assert "There is no finding D999" in capsys.readouterr().err


def test_a_log_of_that_name_is_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("D340").write_text("CUDA error: invalid device function", encoding="ascii")
    assert main(["explain", "D340", "--gpu", "8.6"]) == 0
    assert capsys.readouterr().out.startswith("98 ")
