"""The project in a folder: ``[tool.archbuild]`` of its pyproject.toml."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from archbuild.errors import ConfigError, UnreadableError
from archbuild.model.config import Config, VerifyPolicy
from archbuild.model.waiver import Waiver

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from typing import Any

_KEYS = ("archs", "verify", "waivers")
_VERIFY = "[tool.archbuild.verify]"
_WAIVERS = "[[tool.archbuild.waivers]]"
#: Keys of the policy: of those that are lists or texts, and those that are true or false.
_TEXTS = ("runs-on", "driver", "driver-cuda", "size-budget")
_SWITCHES = ("allow-jit", "exact", "strict")
_GLOBS = ("code", "file", "kernel", "arch")


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
    _check_keys(table, _KEYS, "[tool.archbuild]", path)
    return Config(
        _text(table.get("archs"), "archs of [tool.archbuild]", path),
        str(path),
        _policy(table.get("verify", {}), path),
        _waivers(table.get("waivers", []), path),
    )


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


def _check_keys(table: dict[str, Any], known: Iterable[str], where: str, path: Path) -> None:
    names = list(known)
    for key in table:
        if key in names:
            continue
        import difflib  # noqa: PLC0415  (only for an error)

        near = difflib.get_close_matches(key, names, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(names)}."
        raise ConfigError(f"{path}: {where} has no key {key!r}.", hint)


def _text(value: object, what: str, path: Path) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ";".join(value)
    raise ConfigError(
        f"{path}: {what} is {value!r:.60}.",
        'Write a string or a list of strings: ["8.0", "9.0"]',
    )


def _policy(table: object, path: Path) -> VerifyPolicy:
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {_VERIFY} is no table.")
    _check_keys(table, (*_TEXTS, *_SWITCHES), _VERIFY, path)
    text = {key: _text(table.get(key), f"{key} of {_VERIFY}", path) for key in _TEXTS}
    return VerifyPolicy(
        runs_on=text["runs-on"],
        driver=text["driver"],
        driver_cuda=text["driver-cuda"],
        size_budget=text["size-budget"],
        allow_jit=_switch(table, "allow-jit", path, default=True),
        exact=_switch(table, "exact", path),
        strict=_switch(table, "strict", path),
    )


def _switch(table: dict[str, Any], key: str, path: Path, *, default: bool = False) -> bool:
    value = table.get(key, default)
    if isinstance(value, bool):
        return value
    raise ConfigError(f"{path}: {key} of {_VERIFY} is {value!r:.60}.", "Write true or false.")


def _waivers(tables: object, path: Path) -> tuple[Waiver, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{path}: waivers is no list of tables.", f"Write {_WAIVERS} for each.")
    return tuple(_waiver(table, path) for table in tables)


def _waiver(table: dict[str, Any], path: Path) -> Waiver:
    _check_keys(table, ("reason", *_GLOBS), _WAIVERS, path)
    for key, value in table.items():
        if not isinstance(value, str):
            raise ConfigError(f"{path}: {key} of {_WAIVERS} is {value!r:.60}.", "Write a string.")
    if not table.get("reason", "").strip():
        named = ", ".join(f"{key} = {table[key]!r}" for key in _GLOBS if key in table)
        raise ConfigError(
            f"{path}: {_WAIVERS} with {named or 'no glob'} has no reason.",
            'Say why it is let pass: reason = "..."',
        )
    return Waiver(**table)
