"""The sources of an extension: patterns become files, and each file stands there once."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

from archbuild.errors import UsageError
from archbuild.model.source import Source

#: What stands in a list of sources.
Entry = str | os.PathLike[str] | Source

_ADVICE = "Paths are taken from the folder of setup.py."


class _Weight(IntEnum):
    """What said that a file is a source; a Source goes before patterns of less weight."""

    PATTERN = 0
    SOURCE_PATTERN = 1
    FILE = 2


@dataclass(frozen=True)
class _Named:
    """One file, and the entry that named it."""

    source: Source
    written: str
    weight: _Weight
    is_source: bool


def expand_sources(entries: Sequence[Entry], root: Path) -> tuple[Source, ...]:
    """The files that the entries name, each once.

    Patterns (``*``, ``?``, ``[...]``, and ``**`` for folders in folders) are
    replaced by the files they match, in the order of their paths. A file that has
    such a character in its name is taken by its name first.

    A file may be named twice only where it is plain who is right: a ``Source`` with
    its path goes before every pattern, and the pattern of a ``Source`` before that
    of a string. All else is an error, since the file would be linked twice.

    Args:
        entries: Paths, patterns and Sources, in the order of the link.
        root: The folder of setup.py, from which relative ones are taken.

    Returns:
        Sources whose paths are relative to the root with forward slashes where they
        lie in it or are given so, else absolute; never a pattern.

    Raises:
        UsageError: If one doesn't exist, is a folder, matches nothing, or stands
            there twice.
    """
    named = [one for entry in entries for one in _expand(entry, root)]
    best: dict[str, _Named] = {}
    for one in named:
        key = _key(one.source.path, root)
        best[key] = _better(best[key], one) if key in best else one
    return tuple(one.source for one in named if best[_key(one.source.path, root)] is one)


def _key(path: str, root: Path) -> str:
    return os.path.normcase(os.path.normpath(root / path))


def _better(one: _Named, other: _Named) -> _Named:
    first, second = sorted((one, other), key=lambda named: -named.weight)
    if first.weight > second.weight and first.is_source:
        return first
    raise UsageError(
        f"{one.source.path} stands twice among the sources: as {one.written!r} and as "
        f"{other.written!r}.",
        "Take one of them out; of a pattern only a Source may take a file out.",
    )


def _expand(entry: Entry, root: Path) -> Iterator[_Named]:
    is_source = isinstance(entry, Source)
    source = entry if isinstance(entry, Source) else Source(os.fspath(entry))
    written = source.path
    if not written.strip() or "\0" in written:
        raise UsageError(f"{written!r} among the sources is no path.", "Take it out.")
    if source.define is not None and not source.define.isidentifier():
        raise UsageError(
            f"define of {written} is {source.define!r:.60}, which is no name of a macro.",
            'Write the name alone: define="WITH_HOPPER"',
        )
    if (root / written).is_file():
        path = _relative(written, root)
        yield _Named(replace(source, path=path), written, _Weight.FILE, is_source)
        return
    if not glob.has_magic(written):
        raise _missing(written, root)
    weight = _Weight.SOURCE_PATTERN if is_source else _Weight.PATTERN
    for path in _matches(written, root):
        yield _Named(replace(source, path=path), written, weight, is_source)


def _matches(pattern: str, root: Path) -> list[str]:
    found = glob.glob(pattern, root_dir=root, recursive=True)  # noqa: PTH207 - Path's differ
    files = {_relative(path, root) for path in found if (root / path).is_file()}
    if not files:
        what = "only folders" if found else "no file"
        raise UsageError(
            f"{pattern!r} among the sources matches {what}.",
            f"{_ADVICE} ** goes into folders: 'csrc/**/*.cu'.",
        )
    return sorted(files)


def _relative(path: str, root: Path) -> str:
    """The one spelling of a path, from the root if it lies there or was written so."""
    plain = Path(os.path.normpath(path))
    if plain.is_absolute() and plain.is_relative_to(root):
        plain = plain.relative_to(root)
    return plain.as_posix()


def _missing(written: str, root: Path) -> UsageError:
    place = root / written
    if place.is_dir():
        inside = f"{Path(written).as_posix()}/*.cu"
        return UsageError(
            f"{written!r} among the sources is a folder.", f"Name what lies in it: {inside!r}."
        )
    near = _nearest(place)
    hint = f"Did you mean {(Path(written).parent / near).as_posix()}?" if near else _ADVICE
    if not near and not place.parent.exists():
        hint = f"There is no folder {Path(written).parent.as_posix()}. {_ADVICE}"
    return UsageError(f"{written!r} among the sources does not exist.", hint)


def _nearest(place: Path) -> str:
    """The name in the same folder that is most like this one; empty where none is."""
    try:
        names = [path.name for path in place.parent.iterdir() if path.is_file()]
    except OSError:
        return ""
    return next(iter(difflib.get_close_matches(place.name, sorted(names), 1)), "")


def name_sources(
    entries: Sequence[Entry], root: Path | None = None
) -> tuple[list[str], dict[str, Source]]:
    """The paths of sources for setuptools, and the Sources behind them.

    What can't be found is kept as it is: a setup.py is also run for its metadata, and
    the build says what is wrong.

    Args:
        entries: Paths, patterns and Sources.
        root: The folder of setup.py; None: the current one.
    """
    try:
        found = expand_sources(entries, root or Path.cwd())
    except UsageError:
        found = tuple(e if isinstance(e, Source) else Source(os.fspath(e)) for e in entries)
    return [source.path for source in found], {source.path: source for source in found}
