"""The source of a package in a folder: its name and what builds it, nothing executed."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from archbuild.rules.explaining.circumstances import Builder

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from typing import Any

#: Bytes of a file that are read; no project describes itself in more.
_MOST = 1 << 20
_SETUP_NAME = re.compile(r"""\bname\s*=\s*["']([A-Za-z0-9][\w.-]*)["']""")
_CMAKE_BACKENDS = ("scikit_build_core", "skbuild", "py_build_cmake")


@dataclass(frozen=True)
class SourceTree:
    """A folder in which pip can build a package.

    Args:
        name: As pyproject.toml, setup.cfg or setup.py have it; None where none of them
            says it plainly.
        builder: What builds its extensions.
    """

    name: str | None
    builder: Builder


def find_source_tree(folder: Path) -> SourceTree | None:
    """The source in a folder; None where there is no pyproject.toml and no setup.py.

    Args:
        folder: Where pip would be run.
    """
    texts = {name: _read(folder / name) for name in ("pyproject.toml", "setup.cfg", "setup.py")}
    if texts["pyproject.toml"] is None and texts["setup.py"] is None:
        return None
    project = _toml(texts["pyproject.toml"] or "")
    backend = _at(project, "build-system", "build-backend")
    builder = Builder.TORCH
    if isinstance(backend, str) and backend.startswith(_CMAKE_BACKENDS):
        builder = Builder.CMAKE
    named = _at(project, "project", "name")
    if isinstance(named, str):
        return SourceTree(named, builder)
    for name in ("setup.py", "setup.cfg"):
        pattern = _SETUP_NAME if name == "setup.py" else re.compile(r"(?m)^name\s*=\s*([\w.-]+)")
        match = pattern.search(texts[name] or "")
        if match is not None:
            return SourceTree(match[1], builder)
    return SourceTree(None, builder)


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415  (only where there is something to read)
    else:
        import tomli as tomllib  # noqa: PLC0415
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document


def _at(document: dict[str, Any], *keys: str) -> object:
    value: object = document
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
