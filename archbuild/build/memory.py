"""What an earlier build has proved, so that the next one need not prove it again."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path


def cache_folder() -> Path:
    """Archbuild's folder below the user's cache folder."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path("~/AppData/Local").expanduser())
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base) / "archbuild"


def fingerprint(files: Iterable[str], words: Iterable[str]) -> str:
    """One name for these tools and words; another file in a tool's place changes it.

    Args:
        files: Tools, by path; those that are not there count as such.
        words: Versions, flags and whatever else decides.
    """
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file}\0{_stamp(file)}\0".encode())
    for word in words:
        digest.update(f"{word}\0".encode())
    return digest.hexdigest()[:32]


def _stamp(file: str) -> str:
    try:
        found = Path(file).stat()
    except OSError:
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
