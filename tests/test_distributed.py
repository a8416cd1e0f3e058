"""sccache-dist on loopback: a scheduler, a build server in its sandbox, and nvcc's passes on it.

The settings are those of docs/caching.md, with this test's ports, folders and secrets.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.checkouts import GENCODES, Checkout, machine
from tests.stores import LOOPBACK, free_port, need

pytestmark = [pytest.mark.toolkit, pytest.mark.caches]

PAGE = Path(__file__).parents[1] / "docs" / "caching.md"


def settings(name: str, **replaced: str) -> str:
    """A file of settings as the documentation shows it, other values in place of its own."""
    pattern = rf"```toml\n# {re.escape(name)}\n(.*?)```"
    match = re.search(pattern, PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert match, f"docs/caching.md shows no {name}"
    text = match[1]
    for key, value in replaced.items():
        text, count = re.subn(
            rf"^{key} = .*$", f"{key} = {json.dumps(value)}", text, flags=re.MULTILINE
        )
        assert count, f"{name} has no {key}"
    return text


def secret(program: Path, *words: str) -> str:
    command = [str(program), "auth", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@contextmanager
def daemon(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the foreground, ended with all its children."""
    env = {"PATH": os.defpath, "SCCACHE_NO_DAEMON": "1", "SCCACHE_LOG": "info"}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, env=env, stdout=stream, stderr=stream, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection((LOOPBACK, port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text())


def require_sandbox(bwrap: Path, folder: Path) -> None:
    """The build server mounts an overlay and starts bubblewrap in it: skip where it may not."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("sccache-dist's build server runs on Linux, as root")
    kinds = ("user", "ipc", "pid", "net", "uts")
    shared = [f"--unshare-{kind}" for kind in kinds]
    words = [str(bwrap), *shared, "--cap-drop", "ALL", "--bind", "/", "/", "--proc", "/proc"]
    tried = subprocess.run(
        [*words, "--dev", "/dev", "true"], capture_output=True, text=True, check=False, timeout=60
    )
    if tried.returncode:
        pytest.skip(f"this system does not let bubblewrap make its sandbox: {tried.stderr.strip()}")
    for name in ("lower", "upper", "work", "all"):
        (folder / name).mkdir(parents=True)
    options = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work"
    mount = ["unshare", "-m", "mount", "-t", "overlay", "overlay", "-o", options]
    try:
        tried = subprocess.run(
            [*mount, str(folder / "all")], capture_output=True, text=True, check=False, timeout=60
        )
    except FileNotFoundError:
        pytest.skip("no `unshare` to try with whether an overlay can be mounted")
    if tried.returncode:
        pytest.skip(f"this system does not mount an overlay: {tried.stderr.strip()}")


def test_the_passes_of_nvcc_run_on_a_build_server(tmp_path: Path, nvcc: Path) -> None:
    dist, sccache, bwrap = need("sccache-dist"), need("sccache"), need("bwrap")
    require_sandbox(bwrap, tmp_path / "overlay")
    scheduler, server = free_port(), free_port()
    key, token = secret(dist, "generate-jwt-hs256-key"), secret(dist, "generate-shared-token")
    address = f"{LOOPBACK}:{server}"
    words = ("generate-jwt-hs256-server-token", "--secret-key", key, "--server", address)
    files = {
        "scheduler.toml": {
            "public_addr": f"{LOOPBACK}:{scheduler}",
            "token": token,
            "secret_key": key,
        },
        "server.toml": {
            "cache_dir": str(tmp_path / "toolchains"),
            "build_dir": str(tmp_path / "jobs"),
            "bwrap_path": str(bwrap),
            "public_addr": address,
            "scheduler_url": f"http://{LOOPBACK}:{scheduler}",
            "token": secret(dist, *words),
        },
        "client.toml": {"scheduler_url": f"http://{LOOPBACK}:{scheduler}", "token": token},
    }
    for name, replaced in files.items():
        (tmp_path / name).write_text(settings(name, **replaced))
    logs = tmp_path / "scheduler.log", tmp_path / "server.log"
    one = daemon([str(dist), "scheduler", "--config", str(tmp_path / "scheduler.toml")], logs[0])
    two = daemon([str(dist), "server", "--config", str(tmp_path / "server.toml")], logs[1])
    with one as first:
        wait_for(scheduler, first, logs[0])
        with two as second:
            wait_for(server, second, logs[1])
            ran = build_on_it(sccache, tmp_path, nvcc)
    # cudafe++, cicc, ptxas and g++; and g++ for the binding.
    assert ran == {address: 5}, logs[1].read_text()


def build_on_it(sccache: Path, folder: Path, nvcc: Path) -> dict[str, int]:
    """Build, and say how many compiles which server ran."""
    env = machine(
        folder / "home",
        sccache,
        SCCACHE_SERVER_PORT=str(free_port()),
        SCCACHE_CONF=str(folder / "client.toml"),
    )

    def ask(*words: str) -> str:
        command = [str(sccache), *words]
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, check=False, timeout=120
        )
        return done.stdout

    checkout = Checkout(folder / "one", nvcc).write()
    try:
        choice = checkout.prepare("auto", env)
        assert choice.launcher is not None
        assert choice.launcher.name == "sccache"
        for _ in range(100):
            if '"num_servers":1' in ask("--dist-status"):
                break
            time.sleep(0.2)
        checkout.build(choice, env, gencodes=GENCODES[:1])
        stats = json.loads(ask("--show-stats", "--stats-format=json"))["stats"]
    finally:
        ask("--stop-server")
    assert stats["dist_errors"] == 0
    ran: dict[str, int] = stats["dist_compiles"]
    return ran
