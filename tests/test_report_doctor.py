"""The judgement for people: the root cause first, what follows folded, never wider than asked."""

from __future__ import annotations

# Chinese has punctuation of its own.
# ruff: noqa: RUF001
import re
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.diagnosis import Confidence, Evidence
from archbuild.model.finding import Severity
from archbuild.model.surroundings import Container, ContainerKind, Surroundings
from archbuild.report.chinese.doctor import CHINESE
from archbuild.report.doctor import render_doctor, summary_of
from archbuild.report.doctor_changes import render_changes
from archbuild.report.doctor_check import render_check
from archbuild.report.doctor_labels import ENGLISH, Labels
from archbuild.report.languages import labels_of
from archbuild.report.text import cells
from archbuild.rules.diagnosis.changes import Topic, compare_machines
from archbuild.services.doctor import Examination
from tests.doctors import (
    GTX_1080,
    HOMES,
    RTX_5090,
    SICK,
    bare,
    card,
    code_package,
    desk,
    examined,
    follower,
    gpu,
    note,
    report_of,
    root,
    toolkit,
    torch_of,
    warning,
)

CHINESE_TEXT = (
    "标题",
    "{package} 不含适合 {card} 的代码[，它是 {capability}]。",
    "安装 CUDA {cuda}。",
)
ALL = (root(), follower(), follower("xformers 0.0.29"), warning(), note())


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archbuild.report.chinese.texts.TEXTS", {"D399": CHINESE_TEXT})


def lines(*findings: object, width: int = 80, **more: object) -> list[str]:
    shown = {name: more.pop(name) for name in ("language", "verbose", "color") if name in more}
    made = examined(*findings, **more)  # type: ignore[arg-type]
    return render_doctor(made, width, **shown).splitlines()  # type: ignore[arg-type]


def test_the_root_cause_comes_first_with_all_that_a_person_needs() -> None:
    assert lines(*ALL)[:19] == [
        "Root cause",
        "",
        "error D399 (certain): torch 2.6.0 holds nothing for the RTX 5090, which is 12.0.",
        "  seen: libtorch_cuda.so: sm_50 sm_80 sm_86 sm_90",
        '  you meet: 209 cudaErrorNoKernelImageForDevice: "no kernel image is available',
        '    for execution on the device"',
        "  Install the wheel for CUDA 128.",
        "    $ pip install --upgrade torch --index-url https://download.pytorch.org/whl/cu128",
        "  page: archbuild explain D399",
        "  What follows from it:",
        "    D398: flash-attn 2.7 fails as well.",
        "    D398: xformers 0.0.29 fails as well.",
        "",
        "Other findings",
        "",
        "warning D397 (likely): There are two of cuDNN.",
        "  Drop one.",
        "  page: archbuild explain D397",
        "",
    ]


def test_the_machine_comes_after_and_the_outcome_last() -> None:
    text = lines(*ALL)
    assert text[text.index("The machine") :] == [
        "The machine",
        "",
        "linux x86_64, Python 3.12.1, ubuntu 24.04, kernel 6.8.0-45",
        "driver 570.124.06, for CUDA up to 12.8",
        "torch 2.6.0 of CUDA 12.4, cuDNN 9.1.0",
        "toolkit: none",
        "",
        "GPU                      capability  CUDA  PCI",
        "NVIDIA GeForce RTX 5090  12.0        0     00000000:01:00.0",
        "NVIDIA GeForce GTX 1080  6.1         1     00000000:02:00.0",
        "",
        "package         RTX 5090 (12.0)  GTX 1080 (6.1)",
        "torch 2.6.0     none (209)       none (209)",
        "flash-attn 2.7  JIT >=550        none (209)",
        "",
        "native: runs as it is; JIT: the driver compiles it first; part: some of it has",
        "nothing for this GPU; none: nothing runs; ?: not known.",
        "",
        "doctor: 3 errors, 1 warning",
    ]


def test_a_note_is_one_line_until_more_is_asked_for() -> None:
    told = "note D396 (certain): xformers is compiled by the driver."
    short, long = lines(note()), lines(note(), verbose=True)
    assert short[short.index(told) + 1] == ""
    assert long[long.index(told) + 1] == "  page: archbuild explain D396"


def test_verbose_tells_everything() -> None:
    seen = tuple(Evidence("x.so", f"piece {number}") for number in range(9))
    short, long = (lines(root(evidence=seen), follower(), verbose=v) for v in (False, True))
    assert "  and 5 more; --verbose shows all" in short
    assert sum("seen: x.so" in line for line in short) == 4
    assert sum("seen: x.so" in line for line in long) == 9
    assert any("98 cudaErrorInvalidDeviceFunction" in line for line in long)
    assert "      Rebuild it." in long
    assert any(line.startswith("torch/lib/libtorch_cuda.so") for line in long)


def test_a_command_stays_whole_however_narrow() -> None:
    command = next(line for line in lines(root(), width=20) if line.startswith("    $ "))
    assert command.split("$ ")[1] == root().commands[0]


def test_nothing_is_printed_that_a_terminal_would_obey() -> None:
    evil = "x\x1b[31m\n\u202e"
    made = root(
        message=evil, advice=evil, commands=(evil,), evidence=(Evidence(evil, evil),), file=evil
    )
    machine = desk(
        gpu(evil, "12.0"),
        packages=[code_package(evil, evil, "sm_80")],
        torch=torch_of(evil, "12.4"),
        toolkits=(toolkit(evil, "12.4"),),
        surroundings=Surroundings(distribution=evil),
    )
    text = "\n".join(lines(made, machine=machine, unknown=[(evil, evil)], verbose=True))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)


@pytest.mark.parametrize("width", [20, 33, 60, 80, 120])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_too_long(width: int, language: str, verbose: bool, chinese: None) -> None:
    text = lines(*ALL, width=width, language=language, verbose=verbose)
    assert max(cells(line) for line in text if "$ pip" not in line) <= width


def test_colours_are_asked_for() -> None:
    assert not any("\x1b" in line for line in lines(*ALL))
    assert "\x1b[31merror D399" in "\n".join(lines(*ALL, color=True))


def test_chinese(chinese: None) -> None:
    text = lines(*ALL, language="zh")
    assert text[:4] == [
        "根本原因",
        "",
        "错误 D399 (确定)：torch 2.6.0 不含适合 RTX 5090 的代码，它是 12.0。",
        "  依据：libtorch_cuda.so: sm_50 sm_80 sm_86 sm_90",
    ]
    assert "  安装 CUDA 128。" in text
    # What has no Chinese text yet is told in English, not left out.
    assert "    D398：flash-attn 2.7 fails as well." in text
    assert text[-1] == "doctor：3 个错误，1 个警告"


def test_a_value_that_is_missing_takes_its_clause_with_it(chinese: None) -> None:
    bare_values = tuple(pair for pair in root().values if pair[0] != "capability")
    text = lines(root(values=bare_values), language="zh")
    assert "错误 D399 (确定)：torch 2.6.0 不含适合 RTX 5090 的代码。" in text


def _places(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


@pytest.mark.parametrize("name", [field.name for field in fields(Labels)])
def test_both_languages_have_the_same_places(name: str) -> None:
    english, other = getattr(ENGLISH, name), getattr(CHINESE, name)
    if name == "language":
        assert english != other
    elif isinstance(english, dict):
        assert set(english) == set(other)
    elif isinstance(english, tuple):
        assert [*map(_places, english)] == [*map(_places, other)]
    else:
        assert _places(english) == _places(other)


def test_every_value_has_a_word() -> None:
    for labels in (ENGLISH, CHINESE):
        assert set(labels.topics) == {topic.value for topic in Topic}
        assert set(labels.severities) == {severity.value for severity in Severity}
        assert set(labels.confidences) == {confidence.value for confidence in Confidence}
    assert labels_of("zh") is CHINESE
    assert labels_of("en") is labels_of("de") is ENGLISH


@pytest.mark.parametrize(
    ("made", "strict", "expected"),
    [
        (examined(), False, "doctor: all well"),
        (examined(note()), True, "doctor: all well"),
        (examined(unknown=[("gpus", "x")]), False, "doctor: not enough is known to say that"),
        (examined(root(), unknown=[("gpus", "x")]), False, "doctor: 1 error"),
        (examined(warning()), False, "doctor: 1 warning"),
        (examined(warning(), unknown=[("gpus", "x")]), False, "doctor: not enough is known"),
        (examined(warning(), unknown=[("gpus", "x")]), True, "doctor: 1 warning"),
        (examined(root(), root(), warning(), warning()), False, "doctor: 2 errors, 2 warnings"),
    ],
)
def test_the_outcome(made: Examination, strict: bool, expected: str) -> None:
    assert summary_of(made, ENGLISH, strict=strict).startswith(expected)


def test_unknown_is_told_and_never_green() -> None:
    text = lines(unknown=[("gpus", "NVML did not answer within 5 s")], color=True)
    assert "gpus: NVML did not answer within 5 s" in text
    assert text[-1].startswith("\x1b[31m")


def test_a_machine_without_driver_gpu_or_packages() -> None:
    text = lines(machine=bare(card("RTX 5090", "12.0"), card(None, None, 1)))
    assert "GPU: RTX 5090 (12.0), by the PCI bus alone" in [line.strip() for line in text]
    assert "GPU: GB202 (?), by the PCI bus alone" in [line.strip() for line in text]
    assert "driver: none" in text
    assert "Packages and libraries were not looked at." in text
    assert "GPU: none found" in lines(machine=desk())


def test_more_of_a_machine() -> None:
    machine = desk(
        replace(RTX_5090, visible=False, cuda_index=None),
        replace(GTX_1080, cuda_index=None, visible=None, mig=True, capability=None),
        toolkits=(toolkit("/usr/local/cuda-13.0", "13.0"), toolkit("/opt/cuda", "12.4")),
        surroundings=Surroundings(container=Container(ContainerKind.DOCKER)),
        packages=[code_package("a", "1", "sm_120")],
    )
    text = lines(machine=machine)
    assert "in a container (docker)" in text
    assert "toolkit of CUDA 13.0 (/usr/local/cuda-13.0), and 1 more" in text
    assert "NVIDIA GeForce RTX 5090        12.0        no    00000000:01:00.0" in text
    assert "NVIDIA GeForce GTX 1080 (MIG)  ?           ?     00000000:02:00.0" in text


# --- the short self-test ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "begins"),
    [
        (examined(), "well ["),
        (examined(root(), warning()), "failed: D399 (209) torch 2.6.0 holds nothing"),
        (examined(unknown=[("gpus", "no answer")]), "not known: gpus: no answer ["),
        (examined(warning()), "well ["),
    ],
)
def test_the_check_is_one_line(made: Examination, begins: str) -> None:
    text = render_check(made)
    assert text.startswith(begins)
    assert text.endswith(
        "[checked: 2 GPUs, driver 570.124.06, torch 2.6.0, torch/lib/libtorch_cuda.so, "
        "flash-attn/_C.so]"
    )
    assert "\n" not in text


def test_the_check_of_nothing() -> None:
    empty = examined(machine=desk(driver=None, installed=None))
    assert render_check(empty) == "well [checked: 0 GPUs, driver -, torch -]"
    assert render_check(empty, language="zh").startswith("正常")
    strict = render_check(examined(warning("a\nb")), strict=True)
    assert strict.startswith("failed: D397 There are two of a\\x0ab.")


# --- changes ----------------------------------------------------------------------------------

OLD = desk(RTX_5090, driver="550.54.14", torch=torch_of("2.5.0", "12.1"), surroundings=None)


def changed(width: int = 80, language: str = "en") -> list[str]:
    before, after = report_of(warning(), follower("old")), report_of(*ALL)
    changes = compare_machines(OLD, SICK, before, after)
    return render_changes(changes, width, language=language).splitlines()


def test_what_changed() -> None:
    assert changed() == [
        "What changed since the record of 2026-12-01",
        "",
        "what                 before     now",
        "driver               550.54.14  570.124.06",
        "driver CUDA          12.4       12.8",
        "torch                2.5.0      2.6.0",
        "torch CUDA of torch  12.1       12.4",
        "package flash-attn   -          2.7",
        "GPU NVIDIA GeForce GTX 1080 GPU-00000002-1111-2222-3333-444444444444",
        "  before: -",
        "  now: 6.1, visible",
        "variable LD_LIBRARY_PATH",
        "  before: -",
        f"  now: {HOMES}/jane/cuda/lib64:/usr/local/cuda/lib64",
        "",
        "new D399: torch 2.6.0 holds nothing for the RTX 5090, which is 12.0.",
        "new D396: xformers is compiled by the driver.",
        "",
        "Only one of the two tells of this, so that it is not compared: driver's files,",
        "  container, system.",
    ]


@pytest.mark.parametrize("width", [20, 40, 80])
def test_changes_fit(width: int) -> None:
    assert max(cells(line) for line in changed(width, "zh")) <= width


def test_nothing_changed() -> None:
    text = render_changes(compare_machines(SICK, SICK), 80)
    assert text.endswith("Nothing that both records tell of has changed.")
    assert render_changes(compare_machines(replace(SICK, taken=None), SICK), 80).startswith(
        "What changed since the old record\n"
    )


@given(st.text(max_size=60), st.integers(20, 100))
def test_any_text_fits(text: str, width: int) -> None:
    made = root(message=text, advice=text, evidence=(Evidence(text, text),), commands=())
    assert max(cells(line) for line in lines(made, width=width)) <= width
