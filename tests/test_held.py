"""The lock between processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from archbuild.build.held import held

fcntl = pytest.importorskip("fcntl", reason="Windows has no such locks")


def test_one_after_the_other(tmp_path: Path) -> None:
    """In threads, which are as apart as processes are: each has opened the file by itself."""
    inside, most, waited = [0], [0], []

    def work() -> None:
        with held(tmp_path / "lock", lambda: waited.append(1)) as alone:
            assert alone
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.05)
            inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert waited


def test_a_holder_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        with held(tmp_path / "lock", lambda: None):
            os.write(told, b"x")
            time.sleep(600)
            os._exit(0)
    os.read(ready, 1)
    with pytest.raises(BlockingIOError), (tmp_path / "lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with held(tmp_path / "lock", lambda: pytest.fail("nobody holds it")) as alone:
        assert alone
    os.close(ready)
    os.close(told)


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with held(tmp_path / "lock", lambda: None) as alone:
        assert not alone


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), held(tmp_path / "gone" / "lock", lambda: None):
        pytest.fail("it cannot be held")
