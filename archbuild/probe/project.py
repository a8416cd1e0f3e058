"""The project in a folder: ``[tool.archbuild]`` of its pyproject.toml."""

from __future__ import annotations

import sys
from pathlib import Path

from archbuild.errors import ConfigError, UnreadableError
from archbuild.model.config import Config

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from typing import Any

_KEYS = ("archs",)


def read_config(folder: str | Path = ".", *, file: str | Path | None = None) -> Config:
    """Read the table; a project without one, or without the file, is fine.

    Args:
        folder: Where pyproject.toml is looked for; parents are not searched,
            as setuptools doesn't either.
        file: A TOML file to read instead, which then has to exist.

    Raises:
        UnreadableError: If the file is there and cannot be read.
        ConfigError: If the table holds what archbuild doesn't know.
    """
    path = Path(file) if file is not None else Path(folder) / "pyproject.toml"
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        if file is None:
            return Config()
        raise UnreadableError(f"{path} does not exist.") from None
    except OSError as error:
        raise UnreadableError(
            f"{path} cannot be read: {error.strerror}.", "Check its permissions."
        ) from None
    tools = _parse(text, path).get("tool", {})
    table = tools.get("archbuild") if isinstance(tools, dict) else None
    if table is None:
        return Config(path=str(path))
    if not isinstance(table, dict):
        raise ConfigError(f"[tool.archbuild] in {path} is no table.")
    for key in table:
        _check_key(key, path)
    return Config(_archs(table.get("archs"), path), str(path))


def _parse(text: bytes, path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415  (only where there is something to read)
    else:
        import tomli as tomllib  # noqa: PLC0415
    try:
        document: dict[str, Any] = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is no TOML: {error}.") from None
    return document


def _check_key(key: str, path: Path) -> None:
    if key in _KEYS:
        return
    import difflib  # noqa: PLC0415  (only for an error)

    near = difflib.get_close_matches(key, _KEYS, 1)
    hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(_KEYS)}."
    raise ConfigError(f"{path}: [tool.archbuild] has no key {key!r}.", hint)


def _archs(value: object, path: Path) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ";".join(value)
    raise ConfigError(
        f"{path}: archs of [tool.archbuild] is {value!r:.60}.",
        'Write a string or a list of strings: archs = ["8.0", "9.0+PTX"]',
    )
