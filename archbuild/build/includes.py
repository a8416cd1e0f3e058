"""Which headers a source includes, by its text and that of the project's own headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# A project's source has at most some megabytes; a larger one is data, and its
# include lines stand at its beginning.
_BYTES = 4 << 20
_FILES = 2000

# A string keeps the slashes in it; what is between comment marks is blank to the compiler.
_HIDDEN = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.MULTILINE)


@dataclass(frozen=True)
class Scan:
    """What the text of a source shows.

    Args:
        includes: Every header that it or one of the project's own headers
            names, as it is written there.
        text_bytes: The size of the source and of those headers together.
        files: How many of them were read.
    """

    includes: frozenset[str]
    text_bytes: int
    files: int


def find_includes(
    source: Path, include_dirs: Iterable[Path] = (), *, root: Path | None = None
) -> frozenset[str]:
    """Name the headers of a source; see :func:`scan_source`."""
    return scan_source(source, include_dirs, root=root).includes


def scan_source(
    source: Path, include_dirs: Iterable[Path] = (), *, root: Path | None = None
) -> Scan:
    """Read the include lines of a source, and those of the project's headers in turn.

    Conditions are not evaluated: what any branch includes counts. What cannot
    be read has no lines.

    Args:
        source: The source.
        include_dirs: Where the compiler looks; those outside the project are left out.
        root: The project's folder; None: the current one.

    Returns:
        The names, and how much text the project brings itself.
    """
    project = (root or Path.cwd()).resolve()
    folders = [folder for folder in include_dirs if _is_within(folder, project)]
    names: set[str] = set()
    seen: set[Path] = set()
    size, waiting = 0, [source]
    while waiting and len(seen) < _FILES:
        path = waiting.pop()
        real = _resolve(path)
        if real is None or real in seen:
            continue
        seen.add(real)
        text = _read(real)
        size += len(text)
        for name, quoted in _lines(text):
            names.add(name)
            waiting.extend(_own(name, ([path.parent] if quoted else []) + folders, project))
    return Scan(frozenset(names), size, len(seen))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each header that a text includes, and whether it stands in quotes."""
    plain = _HIDDEN.sub(lambda match: match[1] or " ", text)
    for match in _INCLUDE.finditer(plain):
        yield match[1] or match[2], match[2] is not None


def _own(name: str, folders: Iterable[Path], project: Path) -> Iterator[Path]:
    """The project's file that an include line means, if it is one of the project's."""
    for folder in folders:
        path = folder / name
        if _is_within(path, project) and _is_file(path):
            yield path
            return


def _is_within(path: Path, project: Path) -> bool:
    real = _resolve(path)
    return real is not None and (real == project or project in real.parents)


def _resolve(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _read(path: Path) -> str:
    try:
        if not path.is_file():  # a pipe would wait for a writer
            return ""
        with path.open("rb") as file:
            return file.read(_BYTES).decode("utf-8-sig", "replace")
    except (OSError, ValueError):
        return ""
