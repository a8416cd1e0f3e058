"""ccache: what it is told for nvcc, and which store it shares.

Found with ccache 4.14.2 and nvcc 13.0, and tested with the ccache at hand:

* Its preprocessor mode looks at the first architecture's preprocessed text alone:
  after an edit under ``#if __CUDA_ARCH__ >= 900``, or of a header included there,
  it answers with the old object. Its depend mode compares the files themselves,
  so it is the only one used; the command needs ``-MD -MF`` for it.
* NVCC_PREPEND_FLAGS, NVCC_APPEND_FLAGS, cicc and ptxas are not part of its key.
  The namespace is, so they go there.
* ``--threads=2`` is part of its key unless it is told to ignore it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from archbuild.build.store import ask_store
from archbuild.model.launcher import CacheCounts, Launcher, LauncherChoice, StoreState
from archbuild.probe.process import run_limited

#: The first with ``remote_storage``, and younger than namespaces.
OLDEST = (4, 7)

_LIMIT = 5.0
_SETTING = re.compile(r"\((?P<origin>.*)\) (?P<key>[a-z_]+) = ?(?P<value>.*)")

#: Variables that reach nvcc past its command line.
_UNSEEN = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN")

#: What ccache has to do in any case, and the variables that would undo it.
_NEEDED = {"CCACHE_DEPEND": "1", "CCACHE_DIRECT": "1"}
_UNDOING = ("CCACHE_NODEPEND", "CCACHE_NODIRECT")

#: Settings that a person's own value wins over: by ccache's name for each.
_WISHED = {
    "hash_dir": ("CCACHE_NOHASHDIR", "1"),
    "compiler_check": ("CCACHE_COMPILERCHECK", "content"),
}


@dataclass(frozen=True)
class Setting:
    """One of ccache's settings.

    Args:
        value: As it prints it.
        default: Whether nobody set it.
    """

    value: str
    default: bool


def read_settings(path: str, environ: Mapping[str, str]) -> dict[str, Setting]:
    """Ask ccache for its settings, from its files and the environment.

    Args:
        path: The program.
        environ: What it is asked in.

    Returns:
        By name; empty where it gives no answer.
    """
    outcome = run_limited([path, "--show-config"], timeout=_LIMIT, env=environ)
    found = map(_SETTING.fullmatch, outcome.stdout.splitlines() if outcome.ok else ())
    return {m["key"]: Setting(m["value"], m["origin"] == "default") for m in found if m}


def shares(path: str, environ: Mapping[str, str]) -> bool:
    """Whether a person has given ccache a store that machines share.

    Args:
        path: The program.
        environ: What the build would run in.
    """
    return bool(_value(read_settings(path, environ), "remote_storage"))


def set_up(
    launcher: Launcher, environ: Mapping[str, str], *, root: str, tools: Iterable[str] = ()
) -> LauncherChoice:
    """Say what ccache is told for this build, or why it can't be used.

    Args:
        launcher: As it was found.
        environ: What the build would run in.
        root: The project's folder; paths below it are the same to ccache in every checkout.
        tools: Files that decide what nvcc makes, and that ccache doesn't look at: cicc, ptxas.
    """
    settings = read_settings(launcher.path, environ)
    if not settings:
        return LauncherChoice(None, (f"{launcher.path} does not show its settings: not used.",))
    if _value(settings, "disable") == "true":
        return LauncherChoice(None, ("ccache is switched off (CCACHE_DISABLE): not used.",))
    for key in ("cache_dir", "temporary_dir"):
        if complaint := _unwritable(_value(settings, key)):
            return LauncherChoice(None, (f"ccache is not used: {complaint}. Set CCACHE_DIR.",))
    variables = _variables(settings, environ, root, tools)
    done = replace(launcher, variables=variables, removed=_UNDOING)
    return LauncherChoice(done, launcher.notes)


def _value(settings: Mapping[str, Setting], key: str) -> str:
    return settings[key].value if key in settings else ""


def _unwritable(folder: str) -> str:
    """Why nothing can be written there; ccache ends the compile where it can't."""
    if not folder:
        return ""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"its folder {folder} cannot be made ({error.strerror})"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"its folder {folder} cannot be written"


def _variables(
    settings: Mapping[str, Setting], environ: Mapping[str, str], root: str, tools: Iterable[str]
) -> dict[str, str]:
    variables = dict(_NEEDED)
    for key, (name, value) in _WISHED.items():
        if key not in settings or settings[key].default:
            variables[name] = value
    if not _value(settings, "base_dir"):
        variables["CCACHE_BASEDIR"] = root
    ignored = _value(settings, "ignore_options").split()
    if "--threads=*" not in ignored:
        variables["CCACHE_IGNOREOPTIONS"] = " ".join([*ignored, "--threads=*"])
    variables["CCACHE_NAMESPACE"] = _namespace(_value(settings, "namespace"), environ, tools)
    return variables


def _namespace(own: str, environ: Mapping[str, str], tools: Iterable[str]) -> str:
    """A name that differs where what ccache doesn't look at differs.

    It also keeps apart what other builds put into the same cache: without depend mode
    they list too few headers, and ccache would believe them.
    """
    digest = hashlib.sha256()
    for tool in tools:
        digest.update(_digest(tool))
    for name in _UNSEEN:
        digest.update(f"{name}={environ.get(name, '')}\0".encode("utf-8", "surrogateescape"))
    added = f"archbuild-{digest.hexdigest()[:16]}"
    if re.search(r"(^|\.)archbuild-[0-9a-f]{16}$", own):
        own = own.rpartition("archbuild-")[0].rstrip(".")
    return f"{own}.{added}" if own else added


def _digest(file: str) -> bytes:
    digest = hashlib.sha256()
    try:
        with Path(file).open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    except OSError:
        return b"absent"
    return digest.digest()


def ask_stores(
    launcher: Launcher, environ: Mapping[str, str], *, timeout: float
) -> tuple[StoreState, ...]:
    """Ask every store that ccache's settings name.

    Args:
        launcher: As :func:`set_up` made it.
        environ: What the build would run in.
        timeout: Seconds, for each.
    """
    settings = read_settings(launcher.path, launcher.environment(environ))
    stores = split_stores(_value(settings, "remote_storage"))
    return tuple(replace(ask_store(_url(s), timeout=timeout), url=s) for s in stores)


def split_stores(value: str) -> list[str]:
    """The stores in ccache's setting, each with the options that belong to it.

    Args:
        value: ``redis://a:6379|shards=1,2 http://b/cache``: stores stand apart by blanks,
            options behind a bar; newer versions take options behind a blank, too.
    """
    stores: list[str] = []
    for word in value.split():
        if "://" in word.partition("|")[0].partition("=")[0] or not stores:
            stores.append(word)
        else:
            stores[-1] += f" {word}"
    return stores


def _url(store: str) -> str:
    return re.split(r"[| ]", store, maxsplit=1)[0]


def without(
    launcher: Launcher, states: Iterable[StoreState], environ: Mapping[str, str]
) -> LauncherChoice:
    """Go on without the stores that don't answer; the local cache stays.

    Args:
        launcher: As :func:`set_up` made it.
        states: All its stores as they answered.
        environ: What the build would run in.
    """
    states = tuple(states)
    if all(state.ok for state in states):
        return LauncherChoice(launcher, launcher.notes)
    notes = launcher.notes + tuple(
        f"{state.sentence}: ccache goes on without it." for state in states if not state.ok
    )
    kept = " ".join(state.url for state in states if state.ok)
    variables = {**launcher.variables, "CCACHE_REMOTE_STORAGE": kept}
    removed = launcher.removed
    if not kept:
        # "Remote only" with no remote would be a cache that keeps nothing.
        settings = read_settings(launcher.path, environ)
        if _value(settings, "remote_only") == "true":
            variables["CCACHE_NOREMOTE_ONLY"] = "1"
            removed += ("CCACHE_REMOTE_ONLY",)
    done = replace(launcher, variables=variables, removed=removed, notes=notes)
    return LauncherChoice(done, notes)


def read_ccache_counts(path: str, environ: Mapping[str, str]) -> CacheCounts | None:
    """Ask ccache how often it answered.

    Args:
        path: The program.
        environ: What the build runs in.

    Returns:
        None where it gives no answer.
    """
    outcome = run_limited([path, "--print-stats"], timeout=_LIMIT, env=environ)
    lines = (line.split("\t") for line in outcome.stdout.splitlines() if outcome.ok)
    counts = {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}
    if "cache_miss" not in counts:
        return None
    hits = counts.get("direct_cache_hit", 0) + counts.get("preprocessed_cache_hit", 0)
    return CacheCounts(hits, counts["cache_miss"])
