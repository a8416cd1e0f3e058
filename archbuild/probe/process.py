"""Calls of other programs that end by a limit, whatever the program does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

#: Bytes kept of each stream; a program that prints more is ended.
OUTPUT_LIMIT = 16 << 20

# How long a killed program may take to go; one stuck in the kernel never does.
_GRACE = 1.0


class Failure(Enum):
    """Why a program gave no answer, as the end of a sentence."""

    NOT_FOUND = "was not found"
    NOT_EXECUTABLE = "cannot be executed"
    TIMED_OUT = "did not answer in time"
    TOO_MUCH = "printed without end"


@dataclass(frozen=True)
class Outcome:
    """What became of one call.

    Args:
        command: The program and its arguments.
        stdout: What it printed, undecodable bytes replaced.
        stderr: The same of its standard error.
        returncode: None where it never ran or did not end by itself;
            ``-11`` where signal 11 ended it.
        failure: None where it ran and ended by itself.
        detail: What the system says about the failure; may be empty.
    """

    command: tuple[str, ...]
    stdout: str = ""
    stderr: str = ""
    returncode: int | None = None
    failure: Failure | None = None
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with exit code 0."""
        return self.failure is None and self.returncode == 0

    @property
    def reason(self) -> str:
        """What went wrong, as the end of a sentence; empty where nothing did."""
        if self.failure is not None:
            return f"{self.failure.value}{self.detail and f' ({self.detail})'}"
        if self.returncode is None or self.returncode == 0:
            return ""
        said = first_line(self.stderr) or first_line(self.stdout)
        said = f": {said}" if said else ""
        return f"{_ending(self.returncode)}{said}"


def first_line(text: str) -> str:
    """The first line with something on it, printable and of at most 200 characters."""
    line = next((line for line in text.splitlines() if line.strip()), "").strip()
    return "".join(c if c.isprintable() else "?" for c in line)[:200]


def json_lines(text: str) -> Iterator[dict[str, Any]]:
    """The lines that are JSON objects; libraries in a child may print anything between them."""
    import json  # noqa: PLC0415 -- most programs print none

    for line in text.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _ending(returncode: int) -> str:
    if returncode > 0:
        return f"ended with exit code {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"


def run_limited(
    command: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    stdin: str | None = None,
) -> Outcome:
    """Run a program in a session of its own, and end it with all its children by the limit.

    Args:
        command: The program and its arguments.
        timeout: Seconds.
        env: Its whole environment; None: this process's.
        cwd: The folder it runs in; None: this process's.
        stdin: What it can read; None: nothing.

    Returns:
        What became of it, with at most :data:`OUTPUT_LIMIT` of each stream.
        Nothing that the program does raises.
    """
    return _Call(command, timeout, env, cwd=cwd, stdin=stdin).finish()


def run_together(
    commands: Sequence[Sequence[str]],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
) -> tuple[Outcome, ...]:
    """Run programs side by side, each as :func:`run_limited` does.

    Args:
        commands: The programs with their arguments.
        timeout: Seconds, for each.
        env: Their whole environment; None: this process's.

    Returns:
        The outcomes, in the order of the commands.
    """
    calls: list[_Call] = []
    try:
        calls.extend(_Call(command, timeout, env) for command in commands)
        return tuple(call.finish() for call in calls)
    except BaseException:
        for call in calls:
            call.kill()
        raise


class _Reader(threading.Thread):
    """Reads one stream to its end; past the limit it has the program ended."""

    def __init__(self, call: _Call, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._call, self._stream = call, stream
        self.data = bytearray()
        self.overflow = False

    def run(self) -> None:
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), 1 << 16):
                self.data += chunk
                if len(self.data) > OUTPUT_LIMIT:
                    del self.data[OUTPUT_LIMIT:]
                    self.overflow = True
                    self._call.kill()
                    return

    @property
    def text(self) -> str:
        return bytes(self.data).decode("utf-8", errors="replace")


class _Call:
    """One program that runs, from its start to :meth:`finish`."""

    def __init__(
        self,
        command: Sequence[str],
        timeout: float,
        env: Mapping[str, str] | None = None,
        *,
        cwd: str | None = None,
        stdin: str | None = None,
    ) -> None:
        self._command = tuple(command)
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._readers: list[_Reader] = []
        self._failed: Outcome | None = None
        try:
            self._process = _start(self._command, env, cwd, has_input=stdin is not None)
        except (OSError, ValueError) as error:
            self._failed = _not_started(self._command, error)
            return
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            self._readers.append(_Reader(self, stream))
            self._readers[-1].start()
        if stdin is not None:
            threading.Thread(target=self._feed, args=(stdin,), daemon=True).start()

    def _feed(self, text: str) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            with stream:
                stream.write(text.encode())
        except OSError:
            pass  # It does not want to read, which is its own affair.

    def finish(self) -> Outcome:
        """Wait for the end or the limit."""
        if self._failed is not None:
            return self._failed
        try:
            ended = self._wait(self._deadline)
        except BaseException:
            self.kill()
            raise
        if not ended:
            # A child of it may hold the pipes open although it ended itself.
            ended = self._process.poll() is not None
            self.kill()
            self._wait(time.monotonic() + _GRACE)
        return self._outcome(ended)

    def _wait(self, deadline: float) -> bool:
        for reader in self._readers:
            reader.join(max(0.0, deadline - time.monotonic()))
        if any(reader.is_alive() for reader in self._readers):
            return False
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def _outcome(self, ended: bool) -> Outcome:
        out, err = self._readers
        failure, detail = None, ""
        if out.overflow or err.overflow:
            failure = Failure.TOO_MUCH
        elif not ended:
            failure, detail = Failure.TIMED_OUT, f"limit {self._timeout:g} s"
        code = self._process.returncode if failure is None else None
        return Outcome(self._command, out.text, err.text, code, failure, detail)

    def kill(self) -> None:
        """End the program and every process it started."""
        if self._failed is None:
            _kill_all(self._process)


def _start(
    command: tuple[str, ...], env: Mapping[str, str] | None, cwd: str | None, *, has_input: bool
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if env is None else dict(env),
        cwd=cwd,
        start_new_session=True,
    )


def _not_started(command: tuple[str, ...], error: Exception) -> Outcome:
    program = command[0] if command else ""
    if isinstance(error, FileNotFoundError) and _exists(program):
        detail = "the interpreter on its first line, or what it links to, does not exist"
        return Outcome(command, failure=Failure.NOT_EXECUTABLE, detail=detail)
    if isinstance(error, (FileNotFoundError, ValueError)):
        return Outcome(command, failure=Failure.NOT_FOUND)
    detail = getattr(error, "strerror", None) or str(error)
    return Outcome(command, failure=Failure.NOT_EXECUTABLE, detail=detail)


def _exists(program: str) -> bool:
    path = Path(program)
    return path.is_symlink() or path.exists()


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        killer = Path(os.environ.get("SYSTEMROOT", "C:/Windows"), "System32", "taskkill.exe")
        command = [str(killer), "/T", "/F", "/PID", str(process.pid)]
        subprocess.run(command, check=False, capture_output=True, timeout=_GRACE)
        return
    try:
        # The session's first process leads a group of the same number.
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
