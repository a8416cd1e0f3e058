"""The face of `archbuild recommend`: text in two languages, JSON, formats, exit codes."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import replace
from datetime import date
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from archbuild.cli import main as program
from archbuild.model.arch import ComputeCapability
from archbuild.model.machine import Driver, Gpu, Machine
from archbuild.model.record import render_machine
from archbuild.model.version import CudaVersion, DriverRelease
from archbuild.report.chinese.recommend import TEXTS as CHINESE
from archbuild.report.recommend import remarks, render_recommend
from archbuild.report.recommend_formats import FORMATS, render_format
from archbuild.report.recommend_json import recommend_document, recommend_json
from archbuild.report.recommend_words import ENGLISH, WORDS
from archbuild.report.text import cells
from archbuild.rules.recommending.choosing import recommend
from archbuild.rules.recommending.result import Outcome, Recommendation
from archbuild.rules.recommending.said import NOTES, REASONS
from archbuild.rules.recommending.wish import Asked, make_wish
from archbuild.services import recommend as service

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = json.loads(files("archbuild.report").joinpath("schemas/recommend.json").read_text())
LINUX = Machine("linux", "x86_64", "3.12.1")
MIXED = replace(
    LINUX,
    gpus=(
        Gpu("GPU-old", "GTX 1080", ComputeCapability(6, 1), index=0),
        Gpu("GPU-new", "RTX 5090", ComputeCapability(12, 0), index=1),
    ),
    driver=Driver(DriverRelease.parse("580.95.05"), CudaVersion(13, 0)),
)


def ask(machine: Machine = LINUX, /, **typed: str) -> Recommendation:
    return recommend(make_wish(machine, Asked(**typed)), date(2026, 12, 1))


#: One of each outcome, and of each kind of note.
ANSWERS = {
    "all": ask(gpus="RTX 5090", driver="570.124"),
    "pascal": ask(gpus="GTX 1080", driver="580"),
    "partly": ask(gpus="RTX 2080, RTX 5090", python="3.15"),
    "unsure": ask(gpus="Jetson Orin", processor="aarch64"),
    "unknown": ask(gpus="RTX 4090", cuda="12.7"),
    "part": ask(MIXED),
    "named": ask(gpus="GTX 1080, RTX 5090"),
    "none": ask(gpus="Tesla K40"),
    "clash": ask(gpus="Tesla K80, H100"),
    "nothing": ask(gpus="2.1"),
    "retired": ask(gpus="GTX 1080", driver="590.44"),
    "python": ask(gpus="RTX 4090", python="3.16"),
    "windows": ask(gpus="RTX 4090", system="windows", driver="572.61"),
    "wsl": ask(gpus="RTX 4090", system="wsl", driver="572.61"),
    "mac": ask(replace(LINUX, system="darwin"), gpus="RTX 4090"),
}


@pytest.fixture(params=ANSWERS)
def answer(request: pytest.FixtureRequest) -> Recommendation:
    return ANSWERS[request.param]


@pytest.fixture(autouse=True)
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(program.COMMANDS, "recommend", "which torch to install")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


# --- text -----------------------------------------------------------------------------------


def test_the_text_begins_with_the_answer_and_its_command() -> None:
    text = render_recommend(ANSWERS["all"], 80)
    assert "torch 2.11 of CUDA 12.8 is the newest that serves it." in text
    assert (
        '\n  pip install "torch==2.11.*" --index-url https://download.pytorch.org/whl/cu128\n'
        in text
    )
    assert "With driver 580 or newer: torch 2.15 of CUDA 13.0." in text
    assert "Why not a newer one:" in text
    assert text.endswith("By a table of 2026-11-30.")


def test_the_card_that_loses_is_named_with_how_to_hide_it() -> None:
    text = render_recommend(ANSWERS["part"], 80)
    assert "serves RTX 5090, not GTX 1080." in text
    assert "export CUDA_VISIBLE_DEVICES=GPU-new" in text
    assert "whl/cu126" in text
    assert 'TORCH_CUDA_ARCH_LIST="6.1;12.0"' in text
    assert "Nobody here has tried that." in text


def test_without_uuids_people_are_told_where_they_stand() -> None:
    assert "which archbuild gpus tells" in render_recommend(ANSWERS["named"], 120)


def test_windows_sets_variables_otherwise() -> None:
    both = replace(MIXED, system="win32")
    assert "set CUDA_VISIBLE_DEVICES=GPU-new" in render_recommend(ask(both), 80)


def test_none_says_what_a_source_build_takes() -> None:
    text = render_recommend(ANSWERS["none"], 80)
    assert "No wheel of torch serves Tesla K40 here." in text
    assert "CUDA 11.8, the newest toolkit for 3.5" in text
    assert "up to branch 470" in text
    assert "No toolkit that archbuild knows" in render_recommend(ANSWERS["nothing"], 80)
    assert "but no driver:" in render_recommend(ANSWERS["clash"], 80)


def test_wheels_with_the_same_reasons_stand_together() -> None:
    text = " ".join(render_recommend(ANSWERS["all"], 200).split())
    assert "torch 2.12 to 2.15 of CUDA 12.6: libtorch_cuda holds nothing for 12.0" in text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [20, 60, 80])
def test_no_line_is_too_long_but_for_commands(
    answer: Recommendation, language: str, width: int
) -> None:
    for line in render_recommend(answer, width, language=language).split("\n"):
        pasted = line.startswith(("  pip ", "  git ", "  cd ", "  TORCH", "  export", "  set "))
        assert pasted or cells(line) <= max(width, 40), line


def test_colours_only_where_they_are_wanted(answer: Recommendation) -> None:
    assert "\x1b[" not in render_recommend(answer, 80)
    assert "\x1b[" in render_recommend(answer, 80, color=True)


def test_names_from_outside_are_made_safe() -> None:
    evil = Gpu("GPU-1\n\x1b[31m", "RTX\n\x1b[31m4090", ComputeCapability(8, 9))
    found = ask(replace(MIXED, gpus=(*MIXED.gpus, evil)))
    text = render_recommend(found, 80)
    assert "\x1b" not in text
    for style in FORMATS:
        if found.best is not None:
            assert "\x1b" not in render_format(found, style)


# --- Chinese --------------------------------------------------------------------------------


def _places(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w+\}", text))


def test_both_languages_say_the_same_things() -> None:
    assert set(CHINESE) == set(ENGLISH)
    assert len(ENGLISH) == len(REASONS) + len(NOTES) + len(WORDS)


@pytest.mark.parametrize("key", sorted(ENGLISH))
def test_both_languages_have_the_same_places(key: str) -> None:
    assert _places(CHINESE[key]) == _places(ENGLISH[key])


def test_the_chinese_text_is_chinese(answer: Recommendation) -> None:
    text = render_recommend(answer, 80, language="zh")
    assert re.search(r"[\u4e00-\u9fff]", text)
    assert "wheels" not in text
    assert "{" not in text


# --- JSON -----------------------------------------------------------------------------------


def test_json_fits_its_schema(answer: Recommendation) -> None:
    document = json.loads(recommend_json(answer))
    jsonschema.validate(document, SCHEMA)
    assert document["outcome"] == answer.outcome.value


@pytest.mark.parametrize(
    "change", [{"schema": "archbuild.recommend/2"}, {"outcome": "yes"}, {"gpus": []}, {"more": 1}]
)
def test_the_schema_refuses_what_it_should(change: dict[str, object]) -> None:
    document = {**recommend_document(ANSWERS["all"]), **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_json_tells_what_was_chosen_and_what_refused_the_rest() -> None:
    document = recommend_document(ANSWERS["part"])
    assert document["best"]["requirement"] == "torch==2.15.*"
    assert document["visible_devices"] == "GPU-new"
    assert document["lost"][0]["alone"]["index"].endswith("/cu126")
    assert all(refused["reasons"] for refused in document["newer"])


# --- what is pasted -------------------------------------------------------------------------


def _requirement_lines(text: str) -> list[str]:
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    return [line for line in lines if not line.startswith("--")]


def test_a_requirements_file_keeps_the_index_on_a_line_of_its_own() -> None:
    text = render_format(ANSWERS["pascal"], "requirements")
    (line,) = _requirement_lines(text)
    assert Requirement(line).name == "torch"
    assert "--index-url https://download.pytorch.org/whl/cu126" in text.split("\n")


def test_a_project_part_has_an_explicit_index() -> None:
    project = tomllib.loads(render_format(ANSWERS["pascal"], "pyproject"))
    (wanted,) = project["project"]["dependencies"]
    (index,) = project["tool"]["uv"]["index"]
    (source,) = project["tool"]["uv"]["sources"]["torch"]
    assert str(Requirement(wanted).specifier) == "==2.14.*"
    assert index["explicit"] is True
    assert index["url"] == "https://download.pytorch.org/whl/cu126"
    assert source["index"] == index["name"]
    assert source["marker"] == "sys_platform == 'linux'"


@pytest.mark.parametrize(("style", "program_"), [("pip", "pip"), ("uv", "uv"), ("conda", "conda")])
def test_a_command_is_one_line_that_a_shell_can_read(style: str, program_: str) -> None:
    text = render_format(ANSWERS["all"], style)
    assert "\n" not in text
    assert shlex.split(text)[0] == program_


def test_conda_names_conda_forges_own_packages() -> None:
    words = shlex.split(render_format(ANSWERS["all"], "conda"))
    assert words[-3:] == ["pytorch-gpu=2.11", "cuda-version=12.8", "python=3.12"]
    assert any("conda-forge builds torch by itself" in r for r in remarks(ANSWERS["all"], "conda"))


def test_a_dockerfile_needs_no_cuda_image() -> None:
    lines = render_format(ANSWERS["all"], "dockerfile").split("\n")
    assert [line for line in lines if line.startswith("FROM")] == ["FROM python:3.12-slim"]
    assert any("--gpus all" in line for line in lines if line.startswith("#"))
    (run,) = (line for line in lines if line.startswith("RUN "))
    assert '"torch==2.11.*" --index-url https://download.pytorch.org/whl/cu128' in run


@given(name=st.text(max_size=40), style=st.sampled_from(sorted(FORMATS)))
@settings(max_examples=60, deadline=None)
def test_no_name_of_a_gpu_breaks_a_format(name: str, style: str) -> None:
    machine = replace(MIXED, gpus=(Gpu("GPU-1", name, ComputeCapability(8, 9)),))
    found = ask(machine)
    text = render_format(found, style)
    if style == "pyproject":
        assert tomllib.loads(text)["project"]["dependencies"] == ["torch==2.15.*"]
    elif style == "requirements":
        assert [str(Requirement(line)) for line in _requirement_lines(text)] == ["torch==2.15.*"]
    elif style == "dockerfile":
        plain = [line for line in text.split("\n") if not line.startswith("#")]
        assert [line.split()[0] for line in plain] == ["FROM", "RUN"]
    else:
        assert "\n" not in text


# --- the command ----------------------------------------------------------------------------


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = program.main(["recommend", *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def record(tmp_path: Path) -> str:
    path = tmp_path / "mixed.json"
    path.write_text(render_machine(MIXED))
    return str(path)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--gpu", "RTX 5090", "--driver", "570.124"], 0),
        (["--gpu", "GTX 1080"], 0),
        ([], 1),
        (["--with-gpu", "Tesla K40"], 1),
        (["--gpu", "RTX 4090", "--with-cuda", "12.7"], 4),
        (["--gpu", "GT 730"], 2),
        (["--gpu", "RTX 4090", "--driver", "570", "--with-driver", "580"], 2),
        (["--gpu", "RTX 4090", "--system", "windows", "--format", "dockerfile"], 2),
    ],
)
def test_exit_codes(
    words: list[str], code: int, record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, _, err = _run(capsys, "--machine", record, *words)
    assert found == code
    assert "Traceback" not in err


def test_what_if_a_driver_were_newer(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    gpu = ("--machine", record, "--gpu", "RTX 5090", "--format", "pip")
    assert "/cu128" in _run(capsys, *gpu, "--with-driver", "575")[1]
    assert "/cu130" in _run(capsys, *gpu)[1]
    assert "/cu132" in _run(capsys, *gpu, "--with-cuda", "13.2")[1]
    assert "torch==2.11.*" in _run(capsys, *gpu, "--torch", "2.11")[1]


def test_nothing_is_pasted_that_does_not_serve_all(
    record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(capsys, "--machine", record, "--format", "pip")
    assert (code, out) == (1, "")
    assert "archbuild: error: No wheel serves all." in err


def test_what_has_to_be_known_goes_to_standard_error(
    record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu = ("--machine", record, "--gpu", "GTX 1080", "--format")
    _, out, err = _run(capsys, *gpu, "pip")
    assert out.startswith("pip install ")
    assert "archbuild: note: Leave nvidia-cudnn-cu12 at 9.10.2.21" in err


def test_json_on_the_command_line(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "--machine", record, "--json")
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    assert (code, document["outcome"]) == (1, "part")


@pytest.mark.parametrize(
    ("words", "locale", "chinese"),
    [
        (["--lang", "zh"], "C.UTF-8", True),
        ([], "zh_CN.UTF-8", True),
        (["--lang", "en"], "zh_CN", False),
    ],
)
def test_the_language_is_that_of_the_option_or_the_locale(
    words: list[str],
    locale: str,
    *,
    chinese: bool,
    record: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    _, out, _ = _run(capsys, "--machine", record, *words)
    assert ("没有支持全部" in out) is chinese


def test_a_machine_without_gpus_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bare.json"
    path.write_text(render_machine(LINUX))
    code, out, err = _run(capsys, "--machine", str(path))
    assert (code, out) == (4, "")
    assert "--gpu" in err


# --- the service ----------------------------------------------------------------------------


def test_this_machine_is_asked_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def query(*, deep: bool) -> Machine:
        asked.append(deep)
        return MIXED

    monkeypatch.setattr(service, "query_machine", query)
    assert service.recommend_torch().outcome is Outcome.PART
    assert service.recommend_torch(asked=Asked(gpus="RTX 4090")).outcome is Outcome.ALL
    # Packages are read only where the GPUs of this machine are meant.
    assert asked == [True, False]


def test_the_age_of_the_facts_is_told_against_today() -> None:
    found = service.recommend_torch(MIXED, today=date(2029, 1, 1))
    assert any(note.key == "facts_old" for note in found.notes)
