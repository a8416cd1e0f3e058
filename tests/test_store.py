"""Stores that are dead, silent or mad, and one that is well."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.build.store import ask_store, judge_http, judge_redis, shown
from archbuild.model.launcher import StoreKind
from tests.stores import (
    LOOPBACK,
    Redis,
    Talk,
    answer,
    bad_server,
    free_port,
    hang_up,
    say_a_byte_now_and_then,
    say_nonsense,
    say_nothing,
)


@pytest.mark.parametrize("scheme", ["redis", "rediss", "tcp", "http", "https"])
@pytest.mark.parametrize(
    ("talk", "kinds"),
    [
        (say_nothing, {StoreKind.SILENT}),
        (say_a_byte_now_and_then, {StoreKind.SILENT, StoreKind.GARBAGE}),
        (say_nonsense, {StoreKind.GARBAGE}),
        (hang_up, {StoreKind.GARBAGE}),
        (answer(b"-LOADING Redis is loading the dataset in memory\r\n"), {StoreKind.REFUSES}),
    ],
    ids=["silent", "endless", "nonsense", "hangs up", "loading"],
)
def test_a_bad_server_is_told_from_a_good_one(
    scheme: str, talk: Talk, kinds: set[StoreKind]
) -> None:
    if kinds == {StoreKind.REFUSES} and scheme not in ("redis", "tcp"):
        kinds = {StoreKind.GARBAGE}
    with bad_server(talk) as port:
        state = ask_store(f"{scheme}://{LOOPBACK}:{port}", timeout=0.4)
    assert state.kind in kinds
    assert not state.ok


@pytest.mark.parametrize("scheme", ["redis", "rediss", "http", "https"])
def test_nobody_listens(scheme: str) -> None:
    url = f"{scheme}://{LOOPBACK}:{free_port()}"
    state = ask_store(url)
    assert state.kind is StoreKind.DEAD
    assert state.sentence == f"The store {url} cannot be reached (Connection refused)"


@pytest.mark.parametrize(
    "url",
    [
        "redis://[",
        "redis://host:port",
        "redis://host:99999",
        f"redis://{'x' * 70}.example",
        "redis://a\0b",
        "redis+unix:///nowhere/redis.sock",
        "redis+unix://" + "/long" * 60,
        "http://",
        "",
    ],
)
def test_an_address_that_leads_nowhere_is_a_sentence(url: str) -> None:
    state = ask_store(url)
    assert not state.ok
    assert state.sentence


@pytest.mark.parametrize("url", ["s3://bucket", "file:/var/cache", "crsh:socket", "gcs://x"])
def test_other_kinds_are_left_to_the_launcher(url: str) -> None:
    state = ask_store(url)
    assert state.kind is (StoreKind.NOT_ASKED if "://" in url else StoreKind.DEAD)


@pytest.mark.redis
def test_a_real_redis_answers(start_redis: Callable[..., Redis]) -> None:
    server = start_redis()
    assert ask_store(server.url).kind is StoreKind.ANSWERS
    assert ask_store(f"{LOOPBACK}:{server.port}").kind is StoreKind.ANSWERS
    server.stop()
    assert ask_store(server.url).kind is StoreKind.DEAD


@pytest.mark.redis
def test_a_real_redis_on_a_socket_answers(
    start_redis: Callable[..., Redis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's whole path may be too long for the system
    start_redis("--unixsocket", "r.sock")
    assert ask_store("redis+unix:r.sock".replace(":", "://", 1)).kind is StoreKind.DEAD
    assert ask_store(f"redis+unix://{tmp_path / 'r.sock'}").kind is StoreKind.ANSWERS


@pytest.mark.redis
@pytest.mark.parametrize(
    ("secret", "kind"),
    [
        ("", StoreKind.ANSWERS),  # it is there; that it wants a password is the launcher's affair
        (":s%40fe@", StoreKind.ANSWERS),
        (":wrong@", StoreKind.REFUSES),
        ("jo:wrong@", StoreKind.REFUSES),
    ],
)
def test_a_real_redis_with_a_password(
    start_redis: Callable[..., Redis], secret: str, kind: StoreKind
) -> None:
    server = start_redis("--requirepass", "s@fe")
    state = ask_store(f"redis://{secret}{LOOPBACK}:{server.port}")
    assert state.kind is kind
    assert "wrong" not in state.sentence
    assert "fe@" not in state.sentence


class _Handler(BaseHTTPRequestHandler):
    status = 200

    def do_HEAD(self) -> None:
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name there)
        pass


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, StoreKind.ANSWERS),
        (404, StoreKind.ANSWERS),
        (401, StoreKind.ANSWERS),
        (501, StoreKind.ANSWERS),
        (503, StoreKind.REFUSES),
    ],
)
def test_a_real_web_server(status: int, kind: StoreKind) -> None:
    handler = type("Handler", (_Handler,), {"status": status})
    with HTTPServer((LOOPBACK, 0), handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        state = ask_store(f"http://{LOOPBACK}:{server.server_port}/ccache")
        thread.join(5)
    assert state.kind is kind


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://jo:secret@cache.example.org:6379/1", "redis://cache.example.org:6379"),
        ("cache.example.org:6379", "redis://cache.example.org:6379"),
        ("redis+unix:///run/redis.sock", "redis+unix:///run/redis.sock"),
        ("http://user@cache.example.org/x?key=secret", "http://cache.example.org"),
        ("redis://[", "with an address that makes no sense"),
    ],
)
def test_what_is_shown_holds_no_secret(url: str, expected: str) -> None:
    assert shown(url) == expected


@given(st.binary(max_size=64))
def test_no_reply_is_too_odd(reply: bytes) -> None:
    for judge in (judge_redis, judge_http):
        kind, detail = judge(reply)
        assert detail.isprintable()
        assert (kind is StoreKind.REFUSES) <= bool(detail)


@given(st.text(max_size=40))
def test_no_address_is_too_odd_to_be_shown(url: str) -> None:
    assert "\n" not in shown(f"redis://{url}").strip() or "\n" in url


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (b"+PONG\r\n", StoreKind.ANSWERS),
        (b"+PONG", StoreKind.GARBAGE),
        (b"+PONGO\r\n", StoreKind.GARBAGE),
        (b"HTTP/1.1 400 Bad Request\r\n", StoreKind.GARBAGE),
        (b"-NOAUTH Authentication required.\r\n", StoreKind.ANSWERS),
        (b"-DENIED Redis is running in protected mode\r\n", StoreKind.REFUSES),
        (b"", StoreKind.GARBAGE),
    ],
)
def test_what_a_redis_says(reply: bytes, kind: StoreKind) -> None:
    assert judge_redis(reply)[0] is kind


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (b"HTTP/1.0 204 No Content\r\n", StoreKind.ANSWERS),
        (b"HTTP/1.0 \r\n", StoreKind.GARBAGE),
        (b"HTTP/1.0 ok\r\n", StoreKind.GARBAGE),
        (b"SSH-2.0-OpenSSH_9.2\r\n", StoreKind.GARBAGE),
        (b"HTTP/1.1 502 Bad Gateway\r\n", StoreKind.REFUSES),
        (b"", StoreKind.GARBAGE),
    ],
)
def test_what_a_web_server_says(reply: bytes, kind: StoreKind) -> None:
    assert judge_http(reply)[0] is kind
