"""What an earlier build has proved, so that the next one need not prove it again."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

_NO_HOME = Path("/nonexistent/.cache")


def cache_folder() -> Path:
    """Archbuild's folder below the user's cache folder.

    A user without a home, as in a container with a number for a user, has one
    that cannot be written: nothing is remembered then.
    """
    windows = sys.platform == "win32"
    base = Path(os.environ.get("LOCALAPPDATA" if windows else "XDG_CACHE_HOME", ""))
    # The XDG specification has relative paths ignored.
    if not base.is_absolute():
        try:
            base = Path("~/AppData/Local" if windows else "~/.cache").expanduser()
        except RuntimeError:
            base = _NO_HOME
    return base / "archbuild"


def fingerprint(files: Iterable[str], words: Iterable[str]) -> str:
    """One name for these tools and words; another file in a tool's place changes it.

    Args:
        files: Tools, by path; those that are not there count as such.
        words: Versions, flags and whatever else decides.
    """
    parts = [[[file, _stamp(file)] for file in files], list(words)]
    # As JSON, in which no two inputs look the same, and a path needs not be UTF-8.
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _stamp(file: str) -> str:
    try:
        found = Path(file).stat()
    except (OSError, ValueError):  # a path that holds a zero byte is no file either
        return "absent"
    return f"{found.st_size} {found.st_mtime_ns}"


def is_remembered(kind: str, name: str, folder: Path | None = None) -> bool:
    """Whether :func:`remember` was called with these names."""
    return ((folder or cache_folder()) / kind / name).exists()


def remember(kind: str, name: str, folder: Path | None = None) -> None:
    """Note that something was proved; where nothing can be written it is proved again."""
    place = (folder or cache_folder()) / kind
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / name).touch()
    except OSError:
        return
