"""Whether a library that stands in the JIT's cache is what would be built now."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archbuild.build.ninja import find_ninja
from archbuild.errors import BuildError
from archbuild.probe.writing import write_whole

_SUFFIX = ".ready.json"


@dataclass(frozen=True)
class Wanted:
    """What a library has to be made of.

    Args:
        key: One name for everything but files: flags, architectures, versions.
        sources: The digest of each source.
    """

    key: str
    sources: Mapping[str, str]


def digest(data: bytes) -> str:
    """One name for the content of a source."""
    return hashlib.sha256(data).hexdigest()


def is_ready(library: Path, wanted: Wanted) -> bool:
    """Whether the library is complete, was found good, and nothing it is made of has changed.

    Args:
        library: Where it would stand.
        wanted: What it has to be made of.
    """
    try:
        known = json.loads(_stamp_file(library).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(known, dict) or not isinstance(known.get("files"), dict):
        return False
    asked = _asked(library, wanted)
    if {name: known.get(name) for name in asked} != asked:
        return False
    return all(_stamp(file) == stamp for file, stamp in known["files"].items())


def note_ready(library: Path, wanted: Wanted, files: Iterable[str], began: int) -> None:
    """Note that the library which stands there is complete and good; written last of all.

    Nothing is noted where a file is newer than the build: nobody knows whether it was read
    before or after it changed, and ninja is asked next time.

    Args:
        library: The library.
        wanted: What it was made of.
        files: Headers and whatever else it was made of, absolute.
        began: When the build began, in nanoseconds of ``time.time_ns``.

    Raises:
        OSError: If it cannot be written.
    """
    stamps = {file: _stamp(file) for file in sorted(files)}
    if any(stamp[1:] > [began] for stamp in stamps.values()):
        return
    known = {**_asked(library, wanted), "files": stamps}
    write_whole(_stamp_file(library), json.dumps(known).encode())


def _asked(library: Path, wanted: Wanted) -> dict[str, Any]:
    return {"key": wanted.key, "sources": dict(wanted.sources), "library": _stamp(str(library))}


def _stamp_file(library: Path) -> Path:
    return library.with_name(library.name + _SUFFIX)


def _stamp(file: str) -> list[int]:
    try:
        found = os.stat(file)  # noqa: PTH116  (some thousands of them; pathlib is slower)
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]


def read_dependencies(build_file: Path, root: Path) -> set[str]:
    """The headers and sources that ninja knows of, absolute.

    Args:
        build_file: What ninja has run.
        root: The folder that it ran in.

    Raises:
        BuildError: If there is no ninja, or it cannot say.
    """
    command = [find_ninja(), "-f", str(build_file), "-t", "deps"]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise BuildError(f"ninja cannot tell which headers were read: {said}.")
    lines = os.fsdecode(done.stdout).splitlines()
    return {os.path.normpath(root / line[4:]) for line in lines if line.startswith("    ")}
