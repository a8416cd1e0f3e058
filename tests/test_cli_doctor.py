"""The doctor as a person meets it: exit codes, records good and bad, streams, languages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import archbuild
from archbuild.cli import main as program
from archbuild.cli.language import can_show, language_of
from archbuild.cli.main import main
from archbuild.model.diagnosis import Diagnosis, Report
from archbuild.model.machine import Machine
from archbuild.probe.machine import read_machine, write_machine
from tests.doctors import HOMES, RTX_5090, SICK, desk, examined, note, report_of, root, warning
from tests.fakes import MIXED, FakeDriver
from tests.projects import clean_environment

SCHEMA = Path(archbuild.__file__).parent / "report" / "schemas" / "doctor.json"
HELP = "can this machine build and run?"

#: What the stand-in for the rules says of a machine, by its torch.
FOUND: dict[str | None, tuple[Diagnosis, ...]] = {
    "2.6.0": (root(), warning()),
    "9.9.9": (warning(),),
    "8.8.8": (note(),),
}
UNKNOWN = (("gpus", "NVML did not answer"),)


def judge(machine: Machine) -> Report:
    torch = machine.torch.version if machine.torch is not None else None
    found = FOUND.get(torch, ())
    return report_of(*found, unknown=UNKNOWN if torch is None else ())


def with_torch(version: str | None) -> Machine:
    assert SICK.torch is not None
    return replace(SICK, torch=replace(SICK.torch, version=version) if version else None)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(program.COMMANDS, "doctor", HELP)
    monkeypatch.setattr("archbuild.services.doctor.diagnose_machine", judge)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def record(tmp_path: Path) -> str:
    path = tmp_path / "sick.json"
    write_machine(SICK, path)
    return str(path)


def record_of(machine: Machine, name: str = "other.json") -> str:
    write_machine(machine, name)
    return name


# --- exit codes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("torch", "options", "code"),
    [
        ("2.6.0", [], 1),
        ("9.9.9", [], 0),
        ("9.9.9", ["--strict"], 1),
        ("8.8.8", ["--strict"], 0),
        ("1.0", [], 0),
        (None, [], 4),
        (None, ["--check"], 4),
        ("2.6.0", ["--check"], 1),
        ("1.0", ["--check"], 0),
        ("9.9.9", ["--check", "--strict"], 1),
        (None, ["--json"], 4),
        (None, ["--markdown"], 4),
        ("2.6.0", ["--json"], 1),
    ],
)
def test_exit_codes(torch: str | None, options: list[str], code: int) -> None:
    assert main(["doctor", "--machine", record_of(with_torch(torch)), *options]) == code


@pytest.mark.parametrize(
    "options",
    [["--json", "--markdown"], ["--check", "--json"], ["--lang", "de"], ["--machine"], ["x"]],
)
def test_wrong_usage(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["doctor", *options])
    assert stop.value.code == 2
    assert "usage: archbuild" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--machine", "x.json"], ["--check"]])
def test_kernels_cannot_be_run_there(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--run", *options]) == 2
    assert "--run cannot be" in capsys.readouterr().err


# --- records ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"schema": "archbuild.machine/2"}', "is of schema archbuild.machine/2"),
        (b'{"schema": "archbuild.doctor/1", "machine": {}}', "no machine record of archbuild"),
        (b"", "no machine record"),
        (b"\x00\xff", "no machine record"),
        (b"[" * 100_000, "no machine record"),
        (None, "Is a directory"),
    ],
)
@pytest.mark.parametrize("option", ["--machine", "--diff"])
def test_a_record_that_cannot_be_read_is_one_sentence(
    content: bytes | None, words: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("bad.json")
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    other = ["--machine", record_of(SICK)] if option == "--diff" else []
    assert main(["doctor", *other, option, str(path)]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert "bad.json" in said.err
    assert words in said.err
    assert said.err.count("\n") == 1


def test_a_bad_old_record_is_told_before_the_machine_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask(**_: object) -> Machine:
        raise AssertionError("this machine was asked")

    monkeypatch.setattr("archbuild.services.doctor.query_machine", ask)
    assert main(["doctor", "--diff", "nowhere.json"]) == 3


def test_saved_and_read_again(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--machine", record, "--save", "again.json", "--check"]) == 1
    assert read_machine("again.json") == SICK
    assert Path("again.json").read_bytes() == Path(record).read_bytes()
    assert main(["doctor", "--machine", record, "--save", "no/such/folder.json"]) == 3
    assert "cannot be written" in capsys.readouterr().err


def test_what_changed_since(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An old record without surroundings, as archbuild gpus --save wrote them."""
    old = record_of(
        replace(with_torch("1.0"), surroundings=None, installed=None, taken=None), "old.json"
    )
    assert main(["doctor", "--machine", record, "--diff", old]) == 1
    out = capsys.readouterr().out
    assert out.startswith("What changed since the old record\n")
    assert "torch  1.0     2.6.0" in out
    assert "new D399: torch 2.6.0 holds nothing" in out
    assert "it is not compared" in out
    assert out.index("new D399") < out.index("Root cause")


def test_what_changed_as_json(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    old = record_of(replace(with_torch("9.9.9"), surroundings=None), "old.json")
    assert main(["doctor", "--machine", record, "--diff", old, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    changes = document["changes"]
    assert [finding["code"] for finding in changes["new"]] == ["D399"]
    assert changes["gone"] == []
    assert changes["facts"] == [
        {"topic": "torch", "name": "torch", "before": "9.9.9", "after": "2.6.0"}
    ]
    assert changes["not_compared"] == ["driver files", "container", "system"]


# --- what is printed --------------------------------------------------------------------------


def test_json_by_its_schema(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--machine", record, "--json", "--lang", "zh"]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert document["root_cause"] == document["findings"][0]
    assert document["root_cause"]["message"] == root().message
    assert document["root_cause"]["values"]["card"] == "RTX 5090"
    assert (document["ok"], document["exit_code"], "changes" in document) == (False, 1, False)
    assert document["machine"]["gpus"][0]["capability"] == "12.0"


def test_json_of_a_path_that_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    odd = os.fsdecode(b"/opt/\xff\xfe/lib")
    machine = replace(with_torch("1.0"), variables=(("LD_LIBRARY_PATH", odd),))
    assert main(["doctor", "--machine", record_of(machine), "--json"]) == 0
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out)["machine"]["variables"] == [["LD_LIBRARY_PATH", odd]]
    assert main(["doctor", "--machine", "other.json", "--markdown"]) == 0
    assert main(["doctor", "--machine", "other.json"]) == 0


def test_markdown_names_nobody(
    record: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("USER", "jane")
    monkeypatch.setenv("LOGNAME", "jane")
    monkeypatch.setenv("HOME", f"{HOMES}/jane")
    assert main(["doctor", "--machine", record, "--markdown"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("### doctor: 1 error, 1 warning\n")
    assert "jane" not in out
    assert RTX_5090.uuid not in out
    assert "`LD_LIBRARY_PATH=.../lib64:/usr/local/cuda/lib64`" in out


@pytest.mark.parametrize(
    ("environ", "option", "word"),
    [
        ({"LANG": "zh_CN.UTF-8"}, [], "根本原因"),
        ({"LANG": "zh_CN.UTF-8"}, ["--lang", "en"], "Root cause"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, [], "Root cause"),
        ({"LC_MESSAGES": "zh_TW", "LANG": "en_US"}, [], "根本原因"),
        ({}, ["--lang", "zh"], "根本原因"),
    ],
)
def test_the_language(environ: dict[str, str], option: list[str], word: str, record: str) -> None:
    # Standard output of a child, since its encoding has a say.
    done = run("--machine", record, *option, PYTHONIOENCODING="utf-8", **environ)
    lines = done.stdout.decode().splitlines()
    assert {"根本原因": "这台机器", "Root cause": "The machine"}[word] in lines


def test_no_letter_that_the_output_cannot_show() -> None:
    chinese = {"LANG": "zh_CN.GB18030"}
    assert language_of(chinese, "gb18030") == "zh"
    assert language_of(chinese, "ascii") == language_of(chinese, "cp1252") == "en"
    assert language_of(chinese, "no-such-encoding") == "en"
    assert language_of({}, None) == "en"
    assert can_show("a", "ascii")


# --- streams ----------------------------------------------------------------------------------

_PROGRAM = (
    "import sys\n"
    "from archbuild.cli import main\n"
    f"main.COMMANDS.setdefault('doctor', {HELP!r})\n"
    "main.program()\n"
)


def run(
    *arguments: str, redirect: str = "", **variables: str
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", _PROGRAM, "doctor", *arguments]
    if redirect:
        words = " ".join(f"'{word}'" for word in arguments)
        Path("program.py").write_text(_PROGRAM)
        command = ["sh", "-c", f"{sys.executable} program.py doctor {words} {redirect}"]
    return subprocess.run(
        command,
        env=clean_environment(**variables),
        capture_output=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("option", ["--json", "--markdown", "--check", "--verbose"])
@pytest.mark.parametrize("redirect", [">&-", "| true", "2>&-"])
def test_streams_that_are_closed(option: str, redirect: str, record: str) -> None:
    done = run("--machine", record, option, redirect=redirect)
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def test_a_full_disk_is_one_sentence(record: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    done = run("--machine", record, "--json", redirect="> /dev/full")
    assert done.returncode == 3
    assert done.stderr.startswith(b"archbuild: error: The output cannot be written")


def test_letters_that_the_output_does_not_have(record: str) -> None:
    done = run("--machine", record, "--lang", "zh", PYTHONIOENCODING="ascii")
    assert b"Traceback" not in done.stderr


def test_a_record_needs_no_torch_and_no_setuptools(record: str) -> None:
    script = _PROGRAM.replace(
        "main.program()",
        "main.main()\nprint([m for m in ('torch', 'setuptools', 'rich') if m in sys.modules])",
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "doctor", "--machine", record, "--check"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_service_says_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from archbuild.services.doctor import diagnose

    asked: list[dict[str, object]] = []

    def ask(**how: object) -> Machine:
        asked.append(how)
        return SICK

    monkeypatch.setattr("archbuild.services.doctor.query_machine", ask)
    monkeypatch.setattr("archbuild.services.doctor.run_trials", lambda _: ())
    assert (diagnose().here, diagnose(desk()).here) == (True, False)
    assert diagnose(deep=False).deep is False
    assert asked == [{"deep": True}, {"deep": False}]
    assert examined(root()).report.root_cause == root()


# --- this machine, with a driver that is not there ---------------------------------------------


def asked(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, "doctor", *arguments],
        env={**clean_environment(), **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_check_asks_this_machine(fake_driver: FakeDriver) -> None:
    done = asked("--check", "--save", "here.json", env=fake_driver(MIXED))
    assert done.returncode in (0, 1, 4), done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert "checked: 3 GPUs, driver 580.65.06" in done.stdout
    saved = read_machine("here.json")
    assert saved.surroundings is not None
    assert saved.installed is not None
    assert {package.name for package in saved.installed.packages} <= {"torch"}
    assert saved.toolkits == ()


def test_all_of_this_machine(fake_driver: FakeDriver) -> None:
    done = asked("--json", "--no-run", env=fake_driver(MIXED))
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert done.returncode == document["exit_code"]
    assert len(document["machine"]["gpus"]) == 3
    assert document["machine"]["surroundings"] is not None
    assert document["machine"]["installed"] is not None
    assert document["trials"] is False
