"""What pyproject.toml says about sources, joined with what setup.py says. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from archbuild.errors import ConfigError
from archbuild.model.source import Source

_TABLE = "[[tool.archbuild.sources]]"


def merge_sources(
    extension_sources: Sequence[Source], config_sources: Sequence[Source]
) -> tuple[Source, ...]:
    """The sources of an extension, with what ``[[tool.archbuild.sources]]`` says of them.

    What setup.py says of a source (architectures, a macro, that it is required) wins
    as a whole. Of several tables, one with the very path goes before patterns.

    Args:
        extension_sources: Of one extension, patterns expanded, relative to the project.
        config_sources: The tables; a path may be a pattern (``*``, ``?``, ``[...]``
            within a folder, ``**`` over folders).

    Raises:
        ConfigError: If two tables match one source, and neither is plainly the one.
    """
    return tuple(_with_table(source, config_sources) for source in extension_sources)


def unmatched_sources(paths: Iterable[str], config_sources: Iterable[Source]) -> tuple[str, ...]:
    """The tables that match no source of any extension, by their paths.

    Args:
        paths: Of all sources of all extensions.
        config_sources: The tables.
    """
    known = list(paths)
    return tuple(
        table.path
        for table in config_sources
        if not any(matches_path(table.path, path) for path in known)
    )


def matches_path(pattern: str, path: str) -> bool:
    """Whether a pattern, or a path as it is, names a path; ``*`` stays within a folder.

    Examples:
        >>> matches_path("csrc/**/*.cu", "csrc/a.cu"), matches_path("*.cu", "csrc/a.cu")
        (True, False)
    """
    plain, own = _plain(pattern), _plain(path)
    return plain == own or _match(plain.split("/"), own.split("/"))


def _plain(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))


def _match(pattern: list[str], parts: list[str]) -> bool:
    """Piece by piece; what of the pattern is possible so far is a set of places."""
    places = _over_folders({0}, pattern)
    for part in parts:
        after = {at for at in places if at < len(pattern) and pattern[at] == "**"}
        after |= {
            at + 1
            for at in places
            if at < len(pattern) and pattern[at] != "**" and fnmatchcase(part, pattern[at])
        }
        places = _over_folders(after, pattern)
    return len(pattern) in places


def _over_folders(places: set[int], pattern: list[str]) -> set[int]:
    """Also the places behind a ``**``, which may stand for no folder at all."""
    found = set(places)
    for start in places:
        at = start
        while at < len(pattern) and pattern[at] == "**":
            at += 1
            found.add(at)
    return found


def _with_table(source: Source, tables: Sequence[Source]) -> Source:
    if source != Source(source.path):
        return source
    found = [table for table in tables if matches_path(table.path, source.path)]
    exact = [table for table in found if _plain(table.path) == _plain(source.path)]
    chosen = exact or found
    if len(chosen) > 1:
        first, second = chosen[0].path, chosen[1].path
        raise ConfigError(
            f"{source.path} is matched by two {_TABLE}: {first!r} and {second!r}.",
            "Give it a table with its own path, or make one of the patterns narrower.",
        )
    return replace(chosen[0], path=source.path) if chosen else source
