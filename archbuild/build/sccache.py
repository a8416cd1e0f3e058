"""sccache: which store it shares, and the server process that does its work.

Found with sccache 0.16.0 and nvcc 13.0, and tested with the sccache at hand:

* The compiles run in a server that outlives the build. Whatever store that server was
  started with is the one that counts, not what the environment says now.
* A server that finds its store dead does not start, and the client waits 10 s to say
  so; one whose store dies later takes a minute for each compile.
* Two servers asked for at once on one socket both start, and the first is orphaned:
  it is started once, before ninja starts its clients.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from archbuild.build.store import ask_store, shown
from archbuild.model.launcher import CacheCounts, Launcher, LauncherChoice, StoreState
from archbuild.probe.process import first_line, run_limited

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from typing import Any

#: The first that was tried with nvcc's passes; older ones are not used.
OLDEST = (0, 10)

#: What a person sets to have a store that machines share.
STORES = (
    "SCCACHE_AZURE_CONNECTION_STRING",
    "SCCACHE_BUCKET",
    "SCCACHE_COS_BUCKET",
    "SCCACHE_GCS_BUCKET",
    "SCCACHE_GHA_ENABLED",
    "SCCACHE_MEMCACHED",
    "SCCACHE_MEMCACHED_ENDPOINT",
    "SCCACHE_OSS_BUCKET",
    "SCCACHE_REDIS",
    "SCCACHE_REDIS_CLUSTER_ENDPOINTS",
    "SCCACHE_REDIS_ENDPOINT",
    "SCCACHE_WEBDAV_ENDPOINT",
)

_PORT = 4226
_LIMIT = 5.0
#: Seconds; the client itself gives up after ten.
_START_LIMIT = 15.0


def set_up(launcher: Launcher, environ: Mapping[str, str]) -> LauncherChoice:
    """Say what sccache is told for this build.

    Args:
        launcher: As it was found.
        environ: What the build would run in.
    """
    # A server that dies in the middle of the build then costs its answers, not the build.
    name = "SCCACHE_IGNORE_SERVER_IO_ERROR"
    variables = {} if name in environ else {name: "1"}
    return LauncherChoice(replace(launcher, variables=variables), launcher.notes)


def ask_stores(
    launcher: Launcher, environ: Mapping[str, str], *, timeout: float
) -> tuple[StoreState, ...]:
    """Ask the stores of the server that runs, else those that the next one would use.

    Args:
        launcher: As :func:`set_up` made it.
        environ: What the build would run in.
        timeout: Seconds, for each.
    """
    if server_runs(environ):
        location = _location(_show(launcher.path, launcher.environment(environ)))
        urls = [location] if "://" in location else []
    else:
        urls = configured_stores(environ)
    return tuple(ask_store(url, timeout=timeout) for url in urls)


def settle(
    launcher: Launcher, states: Iterable[StoreState], environ: Mapping[str, str]
) -> LauncherChoice:
    """Start the server where none runs; without its store sccache is not used at all.

    Its local folder is no way out: the server is one for all projects of a user and
    would have to be ended, which is not for a build to do.

    Args:
        launcher: As :func:`set_up` made it.
        states: Its stores as they answered.
        environ: What the build would run in.
    """
    dead = [state.sentence for state in states if not state.ok]
    if dead:
        return LauncherChoice(
            None,
            tuple(f"{said}: the build goes on without it, and without sccache." for said in dead),
        )
    environment = launcher.environment(environ)
    if server_runs(environ):
        return _with_running(launcher, environment)
    outcome = run_limited(
        [launcher.path, "--start-server"], timeout=_START_LIMIT, env=environment, cwd=_home()
    )
    if not outcome.ok:
        said = first_line(outcome.stderr) or outcome.reason
        note = f"sccache's server does not start ({said}): sccache is not used."
        return LauncherChoice(None, (note,))
    return LauncherChoice(launcher, launcher.notes)


def _with_running(launcher: Launcher, environment: Mapping[str, str]) -> LauncherChoice:
    shown_stats = _show(launcher.path, environment)
    if not shown_stats:
        return LauncherChoice(None, ("sccache's server gives no answer: sccache is not used.",))
    note = _other_store(_location(shown_stats), environment)
    notes = launcher.notes + ((note,) if note else ())
    return LauncherChoice(replace(launcher, notes=notes), notes)


def _home() -> str:
    """Where a server may stand for long: not in a folder that somebody will remove."""
    return Path.cwd().anchor or "/"


def server_runs(environ: Mapping[str, str]) -> bool:
    """Whether something listens where this environment's sccache looks for its server.

    Args:
        environ: What the build would run in.
    """
    path, port = environ.get("SCCACHE_SERVER_UDS"), environ.get("SCCACHE_SERVER_PORT", "")
    try:
        if path and sys.platform != "win32":
            # An "@" at its start stands for a name that is no file.
            address = "\0" + path[1:] if path.startswith("@") else path
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(1.0)
                connection.connect(address)
            return True
        number = int(port) if port.isdecimal() else _PORT
        socket.create_connection(("127.0.0.1", number), 1.0).close()
    except (OSError, OverflowError, ValueError):
        return False
    return True


def _show(path: str, environ: Mapping[str, str]) -> dict[str, Any]:
    command = [path, "--show-stats", "--stats-format=json"]
    outcome = run_limited(command, timeout=_LIMIT, env=environ)
    try:
        answer = json.loads(outcome.stdout)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _location(answer: Mapping[str, Any]) -> str:
    """The URL in ``redis, name: redis://cache:6379, prefix: /``, or the words as they are."""
    said = str(answer.get("cache_location", ""))
    url = next((word.rstrip(",") for word in said.split() if "://" in word), "")
    return url or said


def _other_store(location: str, environ: Mapping[str, str]) -> str | None:
    """A sentence where the server that runs was started with another store."""
    wanted = configured_stores(environ)
    if not wanted or _place(location) in map(_place, wanted):
        return None
    shared = shown(location) if "://" in location else location
    return (
        f"sccache's server was started with another store ({shared or 'unknown'}) "
        f"than {shown(wanted[0])}; `sccache --stop-server` makes the next build use that."
    )


def _place(url: str) -> str:
    """Host, port and path, whatever the scheme is called."""
    return shown(url).partition("://")[2].rstrip("/")


def configured_stores(environ: Mapping[str, str]) -> list[str]:
    """The Redis servers that a new server of sccache would use, as URLs.

    Args:
        environ: What the build would run in. Its file of settings counts as well.
    """
    redis = _redis_of_file(environ)
    one = environ.get("SCCACHE_REDIS_ENDPOINT") or redis.get("endpoint")
    many = environ.get("SCCACHE_REDIS_CLUSTER_ENDPOINTS") or redis.get("cluster_endpoints")
    whole = environ.get("SCCACHE_REDIS") or redis.get("url")
    urls = [whole] if isinstance(whole, str) else []
    named = [one] if isinstance(one, str) else many.split(",") if isinstance(many, str) else []
    if named:
        user = environ.get("SCCACHE_REDIS_USERNAME") or redis.get("username")
        password = environ.get("SCCACHE_REDIS_PASSWORD") or redis.get("password")
        urls = [_with_secret(url.strip(), user, password) for url in named]
    return urls


def _with_secret(url: str, user: object, password: object) -> str:
    scheme, mark, rest = url.partition("://") if "://" in url else ("redis", "://", url)
    if not isinstance(password, str) or not password or "@" in rest:
        return f"{scheme}{mark}{rest}"
    name = quote(user, safe="") if isinstance(user, str) else ""
    return f"{scheme}{mark}{name}:{quote(password, safe='')}@{rest}"


def shares(environ: Mapping[str, str]) -> bool:
    """Whether a person has given sccache a store that machines share, or build servers.

    Args:
        environ: What the build would run in. sccache's file of settings counts as well.
    """
    settings = _settings(environ)
    stores = settings.get("cache")
    named = set(stores) - {"disk"} if isinstance(stores, dict) else set()
    return bool(named or "dist" in settings or any(environ.get(name) for name in STORES))


def _redis_of_file(environ: Mapping[str, str]) -> dict[str, Any]:
    """``[cache.redis]`` of sccache's file of settings; empty where it has none."""
    stores = _settings(environ).get("cache")
    redis = stores.get("redis") if isinstance(stores, dict) else None
    return redis if isinstance(redis, dict) else {}


def _settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """sccache's file of settings; empty where there is none, or none that can be read."""
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415  (only where there is something to read)
    else:
        import tomli as tomllib  # noqa: PLC0415
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME") or "/") / ".config")
    file = Path(environ.get("SCCACHE_CONF") or Path(base) / "sccache" / "config")
    try:
        document: dict[str, Any] = tomllib.loads(file.read_bytes().decode())
    except (OSError, ValueError, RecursionError):
        return {}
    return document


def read_sccache_counts(path: str, environ: Mapping[str, str]) -> CacheCounts | None:
    """Ask sccache's server how often it answered, passes of nvcc counted one by one.

    Args:
        path: The program.
        environ: What the build runs in.

    Returns:
        None where it gives no answer.
    """
    stats = _show(path, environ).get("stats")
    sums = [_sum(stats, key) for key in ("cache_hits", "cache_misses")]
    hits, misses = sums
    return None if hits is None or misses is None else CacheCounts(hits, misses)


def _sum(stats: object, key: str) -> int | None:
    counted = stats.get(key) if isinstance(stats, dict) else None
    counts = counted.get("counts") if isinstance(counted, dict) else None
    if not isinstance(counts, dict):
        return None
    return sum(value for value in counts.values() if isinstance(value, int))
