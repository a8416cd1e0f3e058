"""The project in a folder: ``[tool.archbuild]`` of its pyproject.toml."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from archbuild.errors import ConfigError, UnreadableError
from archbuild.model.config import BuildOptions, Config, LeanHeaders, VerifyPolicy
from archbuild.model.source import Source
from archbuild.model.waiver import Waiver

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from typing import Any

_KEYS = ("archs", "verify", "waivers", "build", "sources")
_VERIFY = "[tool.archbuild.verify]"
_WAIVERS = "[[tool.archbuild.waivers]]"
_BUILD = "[tool.archbuild.build]"
_SOURCES = "[[tool.archbuild.sources]]"
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
        _build(table.get("build", {}), path),
        _sources(table.get("sources", []), path),
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


def _switch(
    table: dict[str, Any], key: str, path: Path, *, default: bool = False, where: str = _VERIFY
) -> bool:
    value = table.get(key, default)
    if isinstance(value, bool):
        return value
    raise ConfigError(f"{path}: {key} of {where} is {value!r:.60}.", "Write true or false.")


def _tables(value: object, name: str, path: Path) -> list[dict[str, Any]]:
    if isinstance(value, list) and all(isinstance(table, dict) for table in value):
        return value
    message = f"{path}: {name} is no list of tables."
    raise ConfigError(message, f"Write [[tool.archbuild.{name}]] for each.")


def _waivers(tables: object, path: Path) -> tuple[Waiver, ...]:
    return tuple(_waiver(table, path) for table in _tables(tables, "waivers", path))


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


def _build(table: object, path: Path) -> BuildOptions:
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {_BUILD} is no table.")
    _check_keys(table, ("lean-headers", "development", "launcher", "jobs"), _BUILD, path)
    launcher = table.get("launcher")
    if launcher is not None and (not isinstance(launcher, str) or not launcher.strip()):
        raise ConfigError(
            f"{path}: launcher of {_BUILD} is {launcher!r:.60}.",
            'Write "auto", "sccache", "ccache", "off" or a path.',
        )
    return BuildOptions(
        _lean_headers(table.get("lean-headers", False), path),
        _switch(table, "development", path, where=_BUILD),
        launcher,
        _jobs(table.get("jobs"), path),
    )


def _lean_headers(value: object, path: Path) -> LeanHeaders:
    lean = LeanHeaders.of(value)
    if lean is not None:
        return lean
    raise ConfigError(
        f"{path}: lean-headers of {_BUILD} is {value!r:.60}.", 'Write true, false or "auto".'
    )


def _jobs(value: object, path: Path) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is None or (isinstance(value, int) and whole and value > 0):
        return value
    raise ConfigError(
        f"{path}: jobs of {_BUILD} is {value!r:.60}.",
        "Write a whole number from 1, or leave it out.",
    )


def _sources(tables: object, path: Path) -> tuple[Source, ...]:
    return tuple(_source(table, path) for table in _tables(tables, "sources", path))


def _source(table: dict[str, Any], path: Path) -> Source:
    _check_keys(table, ("path", "archs", "define", "required"), _SOURCES, path)
    named = table.get("path")
    if not isinstance(named, str) or not named.strip():
        raise ConfigError(
            f"{path}: {_SOURCES} has no path.", 'Name a source or a pattern: path = "moe/*.cu"'
        )
    define = table.get("define")
    if define is not None and not (isinstance(define, str) and define.isidentifier()):
        raise ConfigError(
            f"{path}: define of {_SOURCES} for {named} is {define!r:.60}.",
            'Write the name of a macro: "WITH_HOPPER"',
        )
    archs = _text(table.get("archs"), f"archs of {_SOURCES} for {named}", path)
    return Source(named, archs, define, _switch(table, "required", path, where=_SOURCES))
