"""Calls of other programs, which may hang, crash or print without end."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from archbuild.probe import process
from archbuild.probe.process import Failure, first_line, run_limited, run_together
from tests.fakes import write_script

posix = pytest.mark.skipif(os.name != "posix", reason="process groups and signals are POSIX's")


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def test_an_answer_comes_whole() -> None:
    code = "import sys; print('out', end=''); print('err', end='', file=sys.stderr)"
    outcome = run_limited(python(code), timeout=60)
    assert (outcome.stdout, outcome.stderr, outcome.returncode) == ("out", "err", 0)
    assert outcome.ok
    assert outcome.reason == ""


def test_a_failing_program_is_quoted() -> None:
    outcome = run_limited(python("raise SystemExit('no such thing\\nmore')"), timeout=60)
    assert not outcome.ok
    assert outcome.reason == "ended with exit code 1: no such thing"


def test_a_missing_program(tmp_path: Path) -> None:
    outcome = run_limited([str(tmp_path / "nothing")], timeout=60)
    assert outcome.failure is Failure.NOT_FOUND
    assert outcome.returncode is None
    assert outcome.reason == "was not found"


def test_no_program_and_a_name_that_cannot_be() -> None:
    assert run_limited(["a\0b"], timeout=60).failure is Failure.NOT_FOUND


@posix
@pytest.mark.parametrize(
    ("content", "mode"),
    [
        ("#!/bin/sh\n", 0o644),
        ("no program at all", 0o755),
        ("#!/no/such/interpreter\n", 0o755),
        ("\x7fELF but no more", 0o755),
    ],
)
def test_what_cannot_be_executed(tmp_path: Path, content: str, mode: int) -> None:
    tool = tmp_path / "tool"
    tool.write_text(content)
    tool.chmod(mode)
    outcome = run_limited([str(tool)], timeout=60)
    assert outcome.failure is Failure.NOT_EXECUTABLE
    assert outcome.reason.startswith("cannot be executed (")


@posix
def test_a_folder_and_a_broken_link_cannot_be_executed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for name in (tmp_path, tmp_path / "link"):
        assert run_limited([str(name)], timeout=60).failure is Failure.NOT_EXECUTABLE


@posix
def test_a_hang_ends_with_all_its_children(tmp_path: Path) -> None:
    script = f"sleep 300 & echo $! > {tmp_path}/child; echo said; echo $$ > {tmp_path}/self; wait"
    outcome = run_limited([str(write_script(tmp_path / "tool", script))], timeout=1)
    assert outcome.failure is Failure.TIMED_OUT
    assert outcome.returncode is None
    assert outcome.reason == "did not answer in time (limit 1 s)"
    assert outcome.stdout == "said\n"
    for name in ("child", "self"):
        assert_gone(int((tmp_path / name).read_text()))


def assert_gone(pid: int) -> None:
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        status = Path(f"/proc/{pid}/status")
        if status.exists() and "\nState:\tZ" in status.read_text():
            return  # Dead; only its new parent has not asked for it yet.
        time.sleep(0.01)
    pytest.fail(f"process {pid} still runs")


@posix
def test_a_child_that_stays_behind_does_not_hide_the_answer(tmp_path: Path) -> None:
    script = f"sleep 300 & echo $! > {tmp_path}/child; echo answer; exit 3"
    outcome = run_limited([str(write_script(tmp_path / "tool", script))], timeout=1)
    assert (outcome.stdout, outcome.returncode, outcome.failure) == ("answer\n", 3, None)
    assert_gone(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_without_end_is_cut(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "OUTPUT_LIMIT", 1000)
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 100)"
    outcome = run_limited(python(code), timeout=60)
    assert outcome.failure is Failure.TOO_MUCH
    assert getattr(outcome, stream) == "x" * 1000


@posix
def test_a_signal_is_named() -> None:
    outcome = run_limited(python("import os; os.kill(os.getpid(), 11)"), timeout=60)
    assert outcome.returncode == -signal.SIGSEGV
    assert outcome.reason == "was ended by SIGSEGV"


def test_bytes_that_are_no_text_are_replaced() -> None:
    code = "import os; os.write(1, b'a\\xff\\x00b')"
    assert run_limited(python(code), timeout=60).stdout == "a\ufffd\x00b"


def test_input_is_fed_and_may_be_ignored() -> None:
    code = "import sys; print(len(sys.stdin.read()))"
    assert run_limited(python(code), timeout=60, stdin="x" * 200_000).stdout == "200000\n"
    assert run_limited(python("pass"), timeout=60, stdin="x" * 2_000_000).ok


def test_without_input_there_is_nothing_to_read() -> None:
    code = "import sys; print(repr(sys.stdin.read()))"
    assert run_limited(python(code), timeout=60).stdout == "''\n"


def test_the_environment_and_the_folder_are_those_given(tmp_path: Path) -> None:
    code = "import os; print(os.environ.get('WISH'), os.getcwd())"
    env = {"WISH": "granted", "SYSTEMROOT": os.environ.get("SYSTEMROOT", "")}
    outcome = run_limited(python(code), timeout=60, env=env, cwd=str(tmp_path))
    assert outcome.stdout.split() == ["granted", str(tmp_path.resolve())]


def test_programs_run_side_by_side(tmp_path: Path) -> None:
    # Each waits for the file of the other; one after the other they would never end.
    code = (
        "import os, sys, time\nopen(sys.argv[1], 'w').close()\n"
        "while not os.path.exists(sys.argv[2]): time.sleep(0.01)\nprint(sys.argv[1])"
    )
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    missing = [str(tmp_path / "missing")]
    commands = [[*python(code), one, two], missing, [*python(code), two, one]]
    outcomes = run_together(commands, timeout=60)
    assert [o.stdout.strip() for o in outcomes] == [one, "", two]
    assert outcomes[1].failure is Failure.NOT_FOUND


def test_first_line_is_printable_and_short() -> None:
    assert first_line("\n  \n a\x1b[31mred \n b") == "a?[31mred"
    assert len(first_line("x" * 1000)) == 200
    assert first_line("") == ""
