"""``archbuild explain`` and ``archbuild.explained``: what a person types, and what comes of it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import machinery, util
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archbuild.cli.main import main
from archbuild.errors import BinaryError, UnreadableError, UsageError
from archbuild.model.machine import Machine
from archbuild.model.record import render_machine
from archbuild.probe.failed_library import libraries_of
from archbuild.probe.machine import read_machine
from archbuild.report.chinese.explain import TEMPLATES, WORDS
from archbuild.report.explain import WORDS as ENGLISH_WORDS
from archbuild.report.explain import render_explain
from archbuild.report.explain_json import explain_document
from archbuild.rules.explaining.phrases import ENGLISH
from archbuild.services.explain import explain, explained
from tests.machines import machine, torch_build

DATA = Path(__file__).parent / "data"
CLASSIC = str(DATA / "classic.so")
SCHEMA = json.loads(files("archbuild.report").joinpath("schemas/explain.json").read_text())
HERE = machine("13.0", "8.6", torch=torch_build())
NO_IMAGE = "CUDA error: no kernel image is available for execution on the device"


@pytest.fixture
def record(tmp_path: Path) -> str:
    path = tmp_path / "machine.json"
    path.write_text(render_machine(HERE))
    return str(path)


def said(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["explain", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


# --- the command ----------------------------------------------------------------------------


def test_the_error_the_binary_and_the_gpu(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"RuntimeError: {NO_IMAGE}"
    options = ("--file", CLASSIC, "--gpu", "RTX 2080", "--machine", record, "--lang", "en")
    code, out, err = said(text, *options, capsys=capsys)
    assert (code, err) == (0, "")
    plain = " ".join(out.split())
    assert "209 cudaErrorNoKernelImageForDevice" in plain
    assert "RTX 2080 is 7.5;" in plain
    assert "holds SASS 8.6, 12.0 and PTX 12.0: every launch gives 209" in plain
    assert "Kernels that fail (1): scale" in plain
    assert "--source DIR" in plain


def test_words_need_no_quotes(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said("invalid", "device", "function", "--machine", record, capsys=capsys)
    assert code == 0
    assert out.startswith("98 cudaErrorInvalidDeviceFunction")


def test_an_unknown_text_says_what_would_help(
    record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said("hello", "world", "--machine", record, capsys=capsys)
    assert (code, out) == (4, "")
    assert "--file WHEEL" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["x", "--file", "a", "--package", "b"],
        ["x", "--lang", "fr"],
    ],
)
def test_wrong_options_are_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["explain", *arguments])
    assert stop.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["x", "--gpu", "RTX 9999"], 2, "in --gpu is no"),
        (["x", "--gpu", "9.0a"], 2, "names no device"),
        (["x", "--driver", "13.0"], 2, "--driver"),
        (["x", "--file", "missing.so"], 3, "missing.so"),
        (["x", "--package", "no-such-package-at-all"], 3, "no-such-package-at-all"),
        (["x", "--machine", "missing.json"], 3, "missing.json"),
        ([NO_IMAGE, "--file", CLASSIC, "--source", str(DATA)], 2, "--source"),
    ],
)
def test_one_sentence_for_what_cannot_be(
    arguments: list[str],
    code: int,
    words: str,
    record: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = [] if "--machine" in arguments else ["--machine", record]
    got, out, err = said(*arguments, *more, capsys=capsys)
    assert (got, out) == (code, "")
    assert words in err
    assert err.count("\n") == 1


def _piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_a_log_on_standard_input(
    arguments: list[str],
    record: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noise = b"step 1 loss 2\n" * 50_000
    log = noise + b"\x1b[31m\xff RuntimeError: " + NO_IMAGE.encode() + b"\x07\x1b[0m\r\n" + noise
    _piped(monkeypatch, log)
    code, out, _ = said(*arguments, "--machine", record, capsys=capsys)
    assert code == 0
    assert "cudaErrorNoKernelImageForDevice" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_a_log_that_is_named(
    tmp_path: Path, record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"step 1\n{NO_IMAGE}\n")
    code, out, _ = said(str(log), "--machine", record, capsys=capsys)
    assert code == 0
    assert "cudaErrorNoKernelImageForDevice" in out
    code, _, err = said(str(tmp_path / "missing.log"), "--machine", record, capsys=capsys)
    assert (code, "names no error" in err) == (4, True)


def test_an_empty_log(
    record: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _piped(monkeypatch, b"")
    assert said("--machine", record, capsys=capsys)[0] == 4


def test_a_binary_alone_waits_for_no_log(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--file", CLASSIC, "--gpu", "7.5", "--machine", record)
    code, out, _ = said(*options, capsys=capsys)
    assert code == 0
    assert "every launch gives 209" in " ".join(out.split())


def test_nothing_at_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    code, _, err = said(capsys=capsys)
    assert code == 2
    assert "nothing to explain" in err


def test_a_pipe_from_another_program(record: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "archbuild", "explain", "--machine", record],
        input=b"noise\n" * 1000 + NO_IMAGE.encode(),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert b"209" in done.stdout


# --- what it takes ----------------------------------------------------------------------------


def test_a_wheel_and_a_folder(tmp_path: Path) -> None:
    wheel = next(DATA.glob("*.whl"))
    told = explain(NO_IMAGE, file=wheel, gpu="5.0", machine=HERE)
    assert told.answer.decided
    assert told.circumstances.origin.name == "fixture"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "k.so").write_bytes((DATA / "classic.so").read_bytes())
    folder = explain(NO_IMAGE, file=tmp_path, gpu="7.5", machine=HERE)
    assert folder.circumstances.files is not None
    assert [file.path for file in folder.circumstances.files] == ["sub/k.so"]


def test_the_gpus_of_the_machine() -> None:
    told = explain(NO_IMAGE, file=CLASSIC, machine=machine("13.0", "8.6", "7.5"))
    keys = [part.key for part in told.answer.here]
    assert keys == ["code-none", "code-native"]


def test_a_package_that_is_not_installed_is_said_beside_the_answer() -> None:
    told = explain(NO_IMAGE, package="no-such-ops", machine=HERE)
    assert told.answer.errors == (209,)
    (said,) = told.circumstances.unread
    assert said.startswith("There is no package no-such-ops here.")
    with pytest.raises(UnreadableError, match="no package no-such-ops"):
        explain("words that say nothing", package="no-such-ops", machine=HERE)


def test_the_driver_of_the_gpus() -> None:
    text = "the provided PTX was compiled with an unsupported toolchain"
    file = DATA / "upwards.so"
    told = explain(text, file=file, gpu="12.0", driver_cuda="11.0", machine=HERE)
    assert told.answer.errors[0] == 222


def test_kernels_are_read_where_they_matter() -> None:
    told = explain("invalid device function", file=DATA / "mixed.so", gpu="7.0", machine=HERE)
    assert told.answer.kernels


def test_two_binaries_are_refused() -> None:
    with pytest.raises(UsageError, match="both"):
        explain("x", file="a", package="b", machine=HERE)
    with pytest.raises(UsageError, match="nothing to explain"):
        explain(machine=HERE)


def test_a_folder_without_libraries(tmp_path: Path) -> None:
    with pytest.raises(BinaryError, match="no library at all"):
        explain(NO_IMAGE, file=tmp_path, gpu="8.6", machine=HERE)


def test_what_is_damaged_is_told_beside_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes((DATA / "classic.so").read_bytes())
    (tmp_path / "b.so").write_bytes((DATA / "classic.so").read_bytes()[:300])
    told = explain(NO_IMAGE, file=tmp_path, gpu="7.5", machine=HERE)
    assert told.answer.here[0].key == "code-unread"
    assert told.answer.decided
    (tmp_path / "a.so").unlink()
    with pytest.raises(BinaryError):
        explain(NO_IMAGE, file=tmp_path, gpu="7.5", machine=HERE)


def test_what_is_wrong_with_the_machine() -> None:
    bare = machine("13.0", torch=torch_build())
    told = explain("CUDA driver version is insufficient for CUDA runtime version", machine=bare)
    assert told.answer.findings
    assert all(35 in found.errors for found in told.answer.findings)
    text = render_explain(told, 80)
    assert told.answer.findings[0].code in text
    # The finding has a cure of its own.
    assert "\nCure:" not in text


def _records() -> list[tuple[str, int, str]]:
    """Every record of a machine whose fault gives an error: file, error, the fault's code."""
    found = []
    for path in sorted((DATA / "machines").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))["case"]
        if case["expected"] and case["errors"]:
            found.append((path.name, case["errors"][0], case["expected"]))
    return found


def test_there_are_records_of_many_errors() -> None:
    assert len({error for _, error, _ in _records()}) > 6


@pytest.mark.parametrize(("name", "error", "code"), _records(), ids=str)
def test_the_number_alone_leads_to_the_fault_of_a_machine(name: str, error: int, code: str) -> None:
    recorded = read_machine(DATA / "machines" / name)
    told = explain(f"CUDA error {error}", machine=recorded)
    assert code in [found.code for found in told.answer.findings]


# --- in words and in JSON -------------------------------------------------------------------------

QUESTIONS: list[dict[str, Any]] = [
    {"text": NO_IMAGE, "file": CLASSIC, "gpu": "RTX 2080, 8.6"},
    {"text": "invalid device function (8)"},
    {"text": "8"},
    {"text": "The NVIDIA driver on your system is too old (found version 12040)."},
    {"text": "nvcc fatal : Unsupported gpu architecture 'compute_89'"},
    {"text": "hello"},
    {"text": None, "file": CLASSIC, "gpu": "8.6"},
    {"text": "no CUDA-capable device is detected"},
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [20, 80])
def test_every_answer_can_be_shown(question: dict[str, Any], language: str, width: int) -> None:
    report = explain(**question, machine=machine("13.0"))
    jsonschema.validate(explain_document(report), SCHEMA)
    text = render_explain(report, width, language=language)
    assert "docs/" in text
    assert "{" not in text.replace("${", "")
    assert "?" not in text


def test_the_schema_refuses_what_it_should() -> None:
    document = explain_document(explain("8", machine=HERE))
    for change in ({"schema": "archbuild.explain/2"}, {"errors": ["209"]}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**document, **change}, SCHEMA)


def test_json_on_standard_output(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said("hello", "--json", "--machine", record, capsys=capsys)
    document = json.loads(out)
    assert (code, document["exit_code"], document["key"]) == (4, 4, None)
    assert err.startswith("archbuild: error: ")


def test_chinese_is_said(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--file", CLASSIC, "--gpu", "RTX 2080", "--machine", record, "--lang", "zh")
    code, out, _ = said(NO_IMAGE, *options, capsys=capsys)
    assert code == 0
    assert "解决办法" in out
    assert "RTX 2080 是 7.5" in out
    assert "Build it again" not in out


def _places(template: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", template))


def test_every_sentence_is_there_in_chinese_with_the_same_places() -> None:
    assert set(TEMPLATES) == set(ENGLISH)
    differing = [key for key in ENGLISH if _places(ENGLISH[key]) != _places(TEMPLATES[key])]
    assert differing == []
    assert set(WORDS) == set(ENGLISH_WORDS)
    same = [key for key in ENGLISH if ENGLISH[key] == TEMPLATES[key]]
    assert same == ["raw", "code-unread"]


@given(st.text(max_size=200))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_text_is_borne(text: str) -> None:
    report = explain(text, machine=HERE)
    assert report.exit_code in (0, 4)
    render_explain(report, 60)
    jsonschema.validate(explain_document(report), SCHEMA)


# --- around a call ------------------------------------------------------------------------------


def notes(error: BaseException) -> str:
    """What was added: as a note, or before Python 3.11 in the message."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


@pytest.mark.parametrize("kind", [RuntimeError, OSError, ImportError, AssertionError])
def test_a_known_error_is_explained_and_goes_on(kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught, explained(file=CLASSIC, machine=machine("13.0", "7.5")):
        raise kind(NO_IMAGE)
    assert type(caught.value) is kind
    told = notes(caught.value)
    assert "Card0 is 7.5" in told
    assert "every launch gives 209" in told
    assert "Cure: " in told


@pytest.mark.parametrize("error", [RuntimeError("other"), KeyError(NO_IMAGE), OSError(2, "no")])
def test_other_errors_go_on_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, explained(machine=HERE):
        raise error
    assert caught.value is error
    assert not getattr(error, "__notes__", ())


def test_where_nothing_is_raised_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archbuild.services.explain.query_machine", _refuse)
    with explained():
        pass
    with pytest.raises(RuntimeError, match="other"), explained():
        raise RuntimeError("other")


def _refuse(**_: object) -> Machine:
    raise AssertionError


def test_explaining_itself_never_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archbuild.services.explain.query_machine", _refuse)
    with pytest.raises(RuntimeError) as caught, explained():
        raise RuntimeError(NO_IMAGE)
    assert notes(caught.value) == NO_IMAGE


def test_a_binary_that_cannot_be_read_is_passed_over() -> None:
    with pytest.raises(RuntimeError) as caught, explained(file="missing.so", machine=HERE):
        raise RuntimeError(NO_IMAGE)
    assert "Cure: " in notes(caught.value)


def test_before_notes_the_message_is_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    class OddError(RuntimeError):
        def __init__(self, text: str, more: int) -> None:
            super().__init__(text)

    monkeypatch.setattr(sys, "version_info", (3, 10, 0, "final", 0))
    with pytest.raises(RuntimeError) as caught, explained(machine=HERE):
        raise RuntimeError(NO_IMAGE)
    assert str(caught.value).startswith(f"{NO_IMAGE}\narchbuild:")
    assert str(caught.value.__cause__) == NO_IMAGE
    with pytest.raises(OddError) as odd, explained(machine=HERE):
        raise OddError(NO_IMAGE, 1)
    assert str(odd.value) == NO_IMAGE


@pytest.fixture
def package(tmp_path: Path) -> Iterator[ModuleType]:
    """A package whose Python calls a module that comes from a library."""
    source = f"import sample._C\ndef run():\n    raise RuntimeError({NO_IMAGE!r})\n"
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "ops.py").write_text(source)
    (tmp_path / "_C.so").write_bytes((DATA / "classic.so").read_bytes())
    library = ModuleType("sample._C")
    library.__file__ = str(tmp_path / "_C.so")
    sys.modules["sample._C"] = library
    spec = util.spec_from_file_location(
        "sample", tmp_path / "__init__.py", submodule_search_locations=[str(tmp_path)]
    )
    assert spec is not None
    sys.modules["sample"] = util.module_from_spec(spec)
    sys.modules["sample"]._C = library  # type: ignore[attr-defined]
    loader = machinery.SourceFileLoader("sample.ops", str(tmp_path / "ops.py"))
    ops_spec = util.spec_from_loader("sample.ops", loader)
    assert ops_spec is not None
    ops = util.module_from_spec(ops_spec)
    loader.exec_module(ops)
    yield ops
    del sys.modules["sample"], sys.modules["sample._C"]


def test_the_library_that_failed_is_found_by_the_traceback(package: ModuleType) -> None:
    with pytest.raises(RuntimeError) as caught, explained(machine=machine("13.0", "7.5")):
        package.run()
    assert "_C.so holds SASS 8.6, 12.0" in notes(caught.value)


def test_libraries_of_an_error_without_any() -> None:
    try:
        raise RuntimeError
    except RuntimeError as error:
        assert all(path.endswith((".so", ".pyd")) for path in libraries_of(error))
    assert libraries_of(RuntimeError()) == ()


def test_the_library_that_the_text_names(tmp_path: Path) -> None:
    path = tmp_path / "_C.so"
    path.write_bytes((DATA / "classic.so").read_bytes())
    with pytest.raises(ImportError) as caught, explained(machine=HERE):
        raise ImportError(f"{path}: undefined symbol: _ZN3c105ErrorC2E")
    assert "was built for another torch" in notes(caught.value)
