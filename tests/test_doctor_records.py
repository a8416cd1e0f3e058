"""Every recorded machine through every face: nothing too wide, nobody named, by the schema."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import archbuild
from archbuild.probe.machine import read_machine
from archbuild.probe.person import Person
from archbuild.report.doctor import render_doctor
from archbuild.report.doctor_check import render_check
from archbuild.report.doctor_json import doctor_document
from archbuild.report.doctor_markdown import doctor_markdown
from archbuild.report.text import cells
from archbuild.services.doctor import Examination, changes_since, diagnose

RECORDS = sorted((Path(__file__).parent / "data" / "machines").glob("*.json"))
SCHEMA = Path(archbuild.__file__).parent / "report" / "schemas" / "doctor.json"


@cache
def examination(path: Path) -> Examination:
    return diagnose(read_machine(path))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_text(path: Path, language: str) -> None:
    made = examination(path)
    commands = tuple(command for finding in made.report.findings for command in finding.commands)
    for verbose in (False, True):
        text = render_doctor(made, 80, language=language, verbose=verbose)
        lines = [line for line in text.splitlines() if not line.endswith(commands)]
        assert max(map(cells, lines)) <= 80
        assert not any("{" in line for line in lines)
        for finding in made.report.findings:
            assert finding.code in text
    assert "\n" not in render_check(made, language=language)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_json_is_by_its_schema(path: Path) -> None:
    document = doctor_document(examination(path))
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert document["exit_code"] == examination(path).report.exit_code()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_an_issue_report_tells_no_uuid_and_no_home(path: Path) -> None:
    made = examination(path)
    text = doctor_markdown(made, Person("me", "", "lab"))
    assert not any(gpu.uuid in text for gpu in made.machine.gpus if len(gpu.uuid) > 8)
    assert "/home" not in text
    assert {finding.code for finding in made.report.findings} <= set(
        text.replace("*", " ").replace(":", " ").split()
    )


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_nothing_changes_between_a_record_and_itself(path: Path) -> None:
    made = examination(path)
    assert changes_since(made.machine, made).is_empty
