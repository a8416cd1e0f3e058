"""Ask a store that machines share whether it is there, in a second at most."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from archbuild.model.launcher import StoreKind, StoreState

#: Seconds that a store may take, from the look-up of its name to its answer.
LIMIT = 1.0

_REDIS = ("redis", "rediss", "tcp")
_REDIS_SOCKETS = ("redis+unix", "redis+socket", "unix")
_HTTP = ("http", "https")
_PORTS = {"http": 80, "https": 443}
#: An answer's first line is short; more than this is no answer.
_ENOUGH = 512

_SAID = {
    StoreKind.ANSWERS: "{} answers",
    StoreKind.DEAD: "{} cannot be reached",
    StoreKind.SILENT: "{} did not answer within {:g} s",
    StoreKind.GARBAGE: "{} answers, but not as such a store does",
    StoreKind.REFUSES: "{} refuses",
    StoreKind.NOT_ASKED: "{} is left to the launcher",
}


class _NoTlsError(OSError):
    """Somebody is there, and does not speak TLS."""


def ask_store(url: str, *, timeout: float = LIMIT) -> StoreState:
    """Ask one store.

    Redis is sent a PING, a web server a HEAD; every other kind is left to the launcher.

    Args:
        url: ``redis://cache.example.org:6379``, ``redis+unix:///run/redis.sock``,
            ``http://cache.example.org/ccache``.
        timeout: Seconds for all of it, looking up the name included.

    Returns:
        How it answered. Nothing that a server does raises.
    """
    try:
        parts = _split(url)
        ask = _question(parts)
    except ValueError as error:
        return StoreState(url, StoreKind.DEAD, f"A store's address makes no sense ({error})")
    if ask is None:
        return _state(url, StoreKind.NOT_ASKED, timeout)
    answers: list[tuple[StoreKind, str]] = []
    # A look-up of a name cannot be given a limit, and a server may send a byte
    # a minute: only a thread that is not waited for ends in time.
    thread = threading.Thread(target=lambda: answers.append(_answer(ask, timeout)), daemon=True)
    thread.start()
    thread.join(timeout)
    kind, detail = answers[0] if answers else (StoreKind.SILENT, "")
    return _state(url, kind, timeout, detail)


def _split(url: str) -> SplitResult:
    return urlsplit(url if "://" in url else f"redis://{url}")


def _state(url: str, kind: StoreKind, timeout: float, detail: str = "") -> StoreState:
    detail = f" ({detail})" if detail else ""
    return StoreState(url, kind, _SAID[kind].format(f"The store {shown(url)}", timeout) + detail)


def shown(url: str) -> str:
    """A store's address without user, password and options, for people.

    Args:
        url: As :func:`ask_store` takes it.
    """
    try:
        parts = _split(url)
    except ValueError:
        return "with an address that makes no sense"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{'' if host else parts.path}"


def _question(parts: SplitResult) -> Callable[[float], tuple[StoreKind, str]] | None:
    if parts.scheme in _REDIS_SOCKETS:
        return lambda timeout: _ask_redis(_unix(parts.path, timeout), parts)
    if parts.scheme in (*_REDIS, *_HTTP):
        place = parts.hostname or "localhost", parts.port or _PORTS.get(parts.scheme, 6379)
        ask = _ask_http if parts.scheme in _HTTP else _ask_redis
        return lambda timeout: ask(_connect(place, timeout, parts), parts)
    return None


def _answer(ask: Callable[[float], tuple[StoreKind, str]], timeout: float) -> tuple[StoreKind, str]:
    try:
        return ask(timeout)
    except TimeoutError:
        return StoreKind.SILENT, ""
    except (ConnectionResetError, BrokenPipeError):
        return StoreKind.GARBAGE, "it hangs up"
    except ValueError:  # a name of more than 63 letters between two dots, or with a zero byte
        return StoreKind.DEAD, "no such host"
    except _NoTlsError:
        return StoreKind.GARBAGE, "it does not speak TLS"
    except OSError as error:
        return StoreKind.DEAD, error.strerror or str(error)


def _unix(path: str, timeout: float) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise OSError(0, "this system has no such sockets")
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    try:
        connection.connect(unquote(path))
    except OSError:
        connection.close()
        raise
    return connection


def _connect(place: tuple[str, int], timeout: float, parts: SplitResult) -> socket.socket:
    connection = socket.create_connection(place, timeout)
    if parts.scheme not in ("rediss", "https"):
        return connection
    import ssl  # noqa: PLC0415  (slow to load, and seldom needed)

    # Whether the certificate is one to trust is for the launcher, which sends the
    # secrets; here nothing is sent that is one.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        return context.wrap_socket(connection, server_hostname=place[0])
    except OSError as error:
        connection.close()
        if isinstance(error, ssl.SSLError):  # its own words are no sentence
            raise _NoTlsError from None
        raise


def _ask_redis(connection: socket.socket, parts: SplitResult) -> tuple[StoreKind, str]:
    with connection:
        if parts.password and parts.scheme != "rediss":
            user = [unquote(parts.username)] if parts.username else []
            connection.sendall(_words("AUTH", *user, unquote(parts.password)))
            kind, detail = judge_redis(_line(connection))
            if kind is not StoreKind.ANSWERS:
                return kind, detail
        connection.sendall(_words("PING"))
        return judge_redis(_line(connection))


def _words(*words: str) -> bytes:
    """A command as Redis takes it: a count, then each word with its length."""
    sized = (b"$%d\r\n%s\r\n" % (len(data), data) for data in map(str.encode, words))
    return b"*%d\r\n" % len(words) + b"".join(sized)


def _ask_http(connection: socket.socket, parts: SplitResult) -> tuple[StoreKind, str]:
    host = parts.netloc.rpartition("@")[2]
    asked = f"HEAD {parts.path or '/'} HTTP/1.0\r\nHost: {host}\r\n\r\n"
    with connection:
        connection.sendall(asked.encode())
        return judge_http(_line(connection))


def _line(connection: socket.socket) -> bytes:
    """What comes up to the end of the first line, at most 512 bytes."""
    data = b""
    while b"\r\n" not in data and len(data) < _ENOUGH:
        more = connection.recv(_ENOUGH)
        if not more:
            break
        data += more
    return data


#: Errors with which Redis says that it is there; a password is the launcher's affair.
_ALIVE: Mapping[bytes, StoreKind] = {
    b"-NOAUTH": StoreKind.ANSWERS,
    b"-NOPERM": StoreKind.ANSWERS,
    b"-WRONGPASS": StoreKind.REFUSES,
    b"-DENIED": StoreKind.REFUSES,
    b"-LOADING": StoreKind.REFUSES,
    b"-ERR": StoreKind.REFUSES,
    b"-MASTERDOWN": StoreKind.REFUSES,
}


def judge_redis(reply: bytes) -> tuple[StoreKind, str]:
    """What a first line says of the Redis that sent it.

    Args:
        reply: The bytes, of which everything behind the first line is ignored.

    Returns:
        The kind, and its words where it refuses.
    """
    line, ended, _ = reply.partition(b"\r\n")
    if not reply:
        return StoreKind.GARBAGE, "it hangs up"
    if ended and line in (b"+PONG", b"+OK"):
        return StoreKind.ANSWERS, ""
    kind = _ALIVE.get(line.split(b" ")[0]) if ended else None
    if kind is StoreKind.REFUSES:
        text = line[1:].decode("ascii", "replace")
        return kind, "".join(c if c.isprintable() else "?" for c in text)[:80]
    return kind or StoreKind.GARBAGE, ""


def judge_http(reply: bytes) -> tuple[StoreKind, str]:
    """What a status line says of the web server that sent it.

    Args:
        reply: The bytes. An error of the asking's own (401, 404, 405) is a sign of life;
            one of the server's own (500 and up) is none to wait for.

    Returns:
        The kind, and the status where it refuses.
    """
    words = reply.partition(b"\r\n")[0].split(b" ")
    if not reply:
        return StoreKind.GARBAGE, "it hangs up"
    if not words[0].startswith(b"HTTP/") or len(words) < 2 or not words[1].isdigit():
        return StoreKind.GARBAGE, ""
    # 501 is what a simple server says to HEAD alone.
    if words[1][:1] == b"5" and words[1] != b"501":
        return StoreKind.REFUSES, f"status {words[1].decode()}"
    return StoreKind.ANSWERS, ""
