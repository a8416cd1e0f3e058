"""Two machines that share a real Redis, and builds whose Redis is dead, silent or mad."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from archbuild.build.sccache import server_runs
from archbuild.model.launcher import CacheCounts
from tests.checkouts import GENCODES, TORCH_KERNEL, Checkout, machine, torch_flags
from tests.stores import (
    LOOPBACK,
    Redis,
    Talk,
    bad_server,
    free_port,
    need,
    say_nonsense,
    say_nothing,
)

pytestmark = [pytest.mark.toolkit, pytest.mark.caches]

Machine = Callable[..., dict[str, str]]


@pytest.fixture
def new_machine(tmp_path: Path) -> Iterator[Machine]:
    """Makes machines with caches of their own; ends the servers of sccache on them."""
    made: list[dict[str, str]] = []

    def make(name: str, launcher: str, store: str) -> dict[str, str]:
        variable = {"ccache": "CCACHE_REMOTE_STORAGE", "sccache": "SCCACHE_REDIS_ENDPOINT"}
        settings = {variable[launcher]: store, "SCCACHE_SERVER_PORT": str(free_port())}
        made.append(machine(tmp_path / name, need(launcher), **settings))
        return made[-1]

    yield make
    for env in made:
        if server_runs(env):
            command = [str(need("sccache")), "--stop-server"]
            subprocess.run(command, env=env, capture_output=True, check=False, timeout=60)


def build_on_two_machines(
    launcher: str,
    machines: tuple[dict[str, str], dict[str, str]],
    folder: Path,
    nvcc: Path,
    **how: object,
) -> tuple[CacheCounts, CacheCounts]:
    """One checkout each: ccache's in two folders, sccache's at one path."""
    kernel = how.pop("kernel", None)
    assert kernel is None or isinstance(kernel, str)
    first = Checkout(folder / "one", nvcc).write(kernel)
    counts = first.build(first.prepare(launcher, machines[0]), machines[0], **how)  # type: ignore[arg-type]
    made = first.object
    first.move(folder / "away")
    place = "deeper/two" if launcher == "ccache" else "one"
    second = Checkout(folder / place, nvcc).write(kernel)
    again = second.build(second.prepare(launcher, machines[1]), machines[1], **how)  # type: ignore[arg-type]
    assert second.object == made
    return counts, again


@pytest.mark.redis
@pytest.mark.parametrize("launcher", ["ccache", "sccache"])
def test_the_second_machine_compiles_nothing(
    launcher: str,
    start_redis: Callable[..., Redis],
    new_machine: Machine,
    tmp_path: Path,
    nvcc: Path,
) -> None:
    redis = start_redis()
    machines = tuple(new_machine(name, launcher, redis.url) for name in ("m1", "m2"))
    first, second = build_on_two_machines(launcher, machines, tmp_path, nvcc)  # type: ignore[arg-type]
    assert first.hits == 0
    assert first.misses >= 2
    assert redis.keys() >= 2
    assert second == CacheCounts(first.misses, 0)


@pytest.mark.redis
@pytest.mark.torch
@pytest.mark.parametrize("launcher", ["ccache", "sccache"])
def test_the_second_machine_compiles_nothing_of_torch(
    launcher: str,
    start_redis: Callable[..., Redis],
    new_machine: Machine,
    tmp_path: Path,
    nvcc: Path,
) -> None:
    """With torch/extension.h; one architecture only, since each costs half a minute."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch in this environment")
    redis = start_redis("--maxmemory", "512mb")
    machines = tuple(new_machine(name, launcher, redis.url) for name in ("m1", "m2"))
    how = {"kernel": TORCH_KERNEL, "flags": torch_flags(), "gencodes": GENCODES[:1]}
    first, second = build_on_two_machines(launcher, machines, tmp_path, nvcc, **how)  # type: ignore[arg-type]
    assert first.hits == 0
    assert second.misses == 0
    assert second.hits == first.misses > 0


@pytest.mark.parametrize("launcher", ["ccache", "sccache"])
@pytest.mark.parametrize("talk", [say_nothing, say_nonsense], ids=["silent", "nonsense"])
def test_a_bad_store_is_asked_once_and_the_build_goes_on(
    launcher: str, talk: Talk, new_machine: Machine, tmp_path: Path, nvcc: Path
) -> None:
    calls: list[int] = []

    def counted(connection: socket.socket, ended: threading.Event) -> None:
        calls.append(1)
        talk(connection, ended)

    with bad_server(counted) as port:
        env = new_machine("m", launcher, f"redis://{LOOPBACK}:{port}")
        checkout = Checkout(tmp_path / "one", nvcc).write()
        choice = checkout.prepare(launcher, env)
        assert len(calls) == 1
        counts = checkout.build(choice, env)
        assert len(calls) == 1, "the build waited for a store that does not answer"
    assert counts == (CacheCounts(0, 2) if launcher == "ccache" else CacheCounts(0, 0))
    assert any(f"{LOOPBACK}:{port}" in note and "without it" in note for note in choice.notes)


@pytest.mark.parametrize("launcher", ["ccache", "sccache"])
def test_a_dead_store_is_said_and_the_build_goes_on(
    launcher: str, new_machine: Machine, tmp_path: Path, nvcc: Path
) -> None:
    env = new_machine("m", launcher, f"redis://{LOOPBACK}:{free_port()}")
    checkout = Checkout(tmp_path / "one", nvcc).write()
    choice = checkout.prepare(launcher, env)
    checkout.build(choice, env)
    assert not server_runs(env)
    assert any("Connection refused" in note and "without it" in note for note in choice.notes)
    # What is there locally still hits.
    again = checkout.build(checkout.prepare(launcher, env), env)
    assert again == (CacheCounts(2, 0) if launcher == "ccache" else CacheCounts(0, 0))


@pytest.mark.redis
def test_a_redis_that_wants_a_password(
    start_redis: Callable[..., Redis], new_machine: Machine, tmp_path: Path, nvcc: Path
) -> None:
    redis = start_redis("--requirepass", "hush")
    url = redis.url.replace("//", "//jo:hush@").replace("jo", "default")
    machines = tuple(new_machine(name, "ccache", url) for name in ("m1", "m2"))
    first, second = build_on_two_machines("ccache", machines, tmp_path, nvcc)  # type: ignore[arg-type]
    assert (first, second) == (CacheCounts(0, 2), CacheCounts(2, 0))
    wrong = new_machine("m3", "ccache", url.replace("hush", "wrong"))
    notes = Checkout(tmp_path / "x", nvcc).write().prepare("ccache", wrong).notes
    assert "refuses" in notes[0]
    assert "wrong" not in notes[0]
