"""Every recorded machine against what was expected of it before there was a rule."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from archbuild.model.finding import Severity
from archbuild.model.machine import Machine
from archbuild.model.record import parse_machine, render_machine
from archbuild.rules.diagnosis.all_rules import KINDS, diagnose_machine
from tests.data.make_machine_records import CASES, FOLDER

RECORDS = sorted(FOLDER.glob("*.json"))
DOCS = Path(__file__).parents[1] / "docs" / "findings"


def load(path: Path) -> tuple[dict[str, Any], Machine]:
    text = path.read_text(encoding="utf-8")
    return json.loads(text)["case"], parse_machine(text, path.name)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_what_was_expected(path: Path) -> None:
    case, machine = load(path)
    report = diagnose_machine(machine)
    root = report.root_cause
    codes = {finding.code for finding in report.findings}
    assert (root.code if root else None) == case["expected"], codes
    assert set(case["also"]) <= codes
    assert not codes & set(case["never"])
    if root is not None and case["errors"]:
        assert set(case["errors"]) <= set(root.errors)
    assert report.exit_code() == case["exit"], (codes, report.unknown)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_nothing_but_what_was_expected(path: Path) -> None:
    case, machine = load(path)
    codes = {finding.code for finding in diagnose_machine(machine).findings}
    assert codes <= {case["expected"], *case["also"]}


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_healthy_machines_have_no_finding(path: Path) -> None:
    case, machine = load(path)
    if case["expected"] is None and not case["also"] and case["exit"] == 0:
        assert diagnose_machine(machine).findings == ()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_records_are_read_and_written_alike(path: Path) -> None:
    _, machine = load(path)
    assert parse_machine(render_machine(machine), "again") == machine


def test_the_files_are_those_of_the_script() -> None:
    assert {path.stem for path in RECORDS} == set(CASES)
    for path in RECORDS:
        assert path.read_text(encoding="utf-8") == CASES[path.stem].text, (
            "python -m tests.data.make_machine_records"
        )


def test_there_are_enough_of_every_kind() -> None:
    cases = [load(path)[0] for path in RECORDS]
    assert len(cases) >= 100
    kinds = Counter(case["kind"] for case in cases)
    wanted = "desktop,data centre,laptop,jetson,wsl,container,mig,mixed,none,vgpu"
    assert set(kinds) == set(wanted.split(","))
    assert all(case["source"] and case["title"] for case in cases)
    well = [c for c in cases if c["expected"] is None and not c["also"] and c["exit"] == 0]
    assert len(well) >= 10


def test_every_kind_of_finding_is_met_on_some_machine() -> None:
    met = {f.code for path in RECORDS for f in diagnose_machine(load(path)[1]).findings}
    assert met == {kind.code for kind in KINDS}


def test_every_kind_has_a_page_and_a_text_of_its_own() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(codes) == len(set(codes))
    for kind in KINDS:
        page = (DOCS / f"{kind.code.lower()}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {kind.code}: {kind.title}\n")
        assert kind.sentence.endswith(".")
        assert kind.advice.endswith((".", ".]", "}"))


def test_findings_are_whole() -> None:
    for path in RECORDS:
        for finding in diagnose_machine(load(path)[1]).findings:
            texts = (finding.message, *finding.commands)
            assert not any("?" in text and "{" in text for text in texts)
            assert all(text.strip() for text in texts)
            if finding.severity is Severity.ERROR:
                assert finding.evidence
                assert finding.advice or finding.because
