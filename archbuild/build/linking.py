"""Whether a library has to be linked again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from archbuild.probe.writing import write_whole

_STAMP = "linked.json"


def link_key(words: Any, objects: Iterable[str]) -> str:
    """One name for a link: its words, and the objects as they are now.

    Args:
        words: Whatever decides how it is linked; must be what JSON can write, or have
            a representation that tells all.
        objects: Files whose change makes another library.
    """
    parts = [words, [[path, *_stamp(path)] for path in objects]]
    text = json.dumps(parts, default=repr, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_by_linker(
    libraries: Iterable[str], folders: Sequence[str], words: Iterable[str]
) -> Iterator[str]:
    """Files besides the objects that a link reads, as far as its words tell.

    Args:
        libraries: Names as ``-l`` takes them.
        folders: Where they are looked for.
        words: Further words: an archive, or ``-Wl,--version-script=names.map``.
    """
    for name in libraries:
        files = (f"lib{name}.so", f"lib{name}.a", f"{name}.lib")
        paths = (Path(folder, file) for folder in folders for file in files)
        found = next((path for path in paths if path.is_file()), None)
        if found is not None:
            yield str(found)
    for word in words:
        yield from (part for part in re.split("[=,]", word) if part and Path(part).is_file())


def is_linked(folder: Path, key: str, library: Path) -> bool:
    """Whether the library that stands there is what this link made, and was found good."""
    try:
        known = json.loads((folder / _STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(known == [key, str(library), *_stamp(str(library))])


def note_linked(folder: Path, key: str, library: Path) -> None:
    """Note that this link made the library that stands there, and that it was found good."""
    text = json.dumps([key, str(library), *_stamp(str(library))])
    with suppress(OSError):  # it is linked and checked again next time
        write_whole(folder / _STAMP, text.encode())


def _stamp(path: str) -> list[int]:
    try:
        found = Path(path).stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]
