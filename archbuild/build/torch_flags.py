"""The flags that torch's BuildExtension adds to each compile, by language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archbuild.rules.selecting.nvcc_flags import without_threads

# How torch 2.11 to 2.14 name the standard that they add where the extension names none.
_STANDARD = re.compile(r"'c\+\+(\d\d)'")
_OLDEST = "17"


@dataclass(frozen=True)
class CompileCall:
    """What setuptools asks its compiler to compile.

    Args:
        sources: In the order in which their objects are linked.
        macros: ``(name, value)``, or ``(name,)`` to undefine one.
        include_dirs: All of them, in order.
        debug: Whether ``build_ext --debug`` was said.
        args: The extension's own flags, by language.
        compiler: The words of setuptools' compiler, with its flags.
        depends: Further files that the objects depend on.
    """

    sources: tuple[str, ...]
    macros: tuple[tuple[Any, ...], ...]
    include_dirs: tuple[str, ...]
    debug: bool
    args: Mapping[str, tuple[str, ...]]
    compiler: tuple[str, ...]
    depends: tuple[str, ...] = ()


def preprocessor_words(macros: Iterable[Sequence[Any]], folders: Iterable[str]) -> tuple[str, ...]:
    """``-D``, ``-U`` and ``-I``, as setuptools has them.

    Examples:
        >>> preprocessor_words([("A", None), ("B", "1"), ("C",)], ["include"])
        ('-DA', '-DB=1', '-UC', '-Iinclude')
    """
    return (*map(_macro, macros), *(f"-I{folder}" for folder in folders))


def _macro(macro: Sequence[Any]) -> str:
    if len(macro) == 1:
        return f"-U{macro[0]}"
    return f"-D{macro[0]}" if macro[1] is None else f"-D{macro[0]}={macro[1]}"


def standard_of(torch_module: Any) -> str:
    """The C++ standard that this torch adds, ``c++20``.

    torch tells it nowhere but in its own text.
    """
    try:
        text = Path(torch_module.__file__).read_text(encoding="utf-8")
    except OSError:
        text = ""
    return f"c++{max(_STANDARD.findall(text), default=_OLDEST)}"


def with_standard(flags: Iterable[str], standard: str) -> tuple[str, ...]:
    """The flags, with a standard if none is among them; an empty one adds nothing."""
    words = tuple(flags)
    if not standard or any(
        word.startswith(("-std=", "--std=")) or word in ("-std", "--std") for word in words
    ):
        return words
    return (*words, f"-std={standard}")


def host_words(call: CompileCall, cxx: Sequence[str], standard: str) -> tuple[tuple[str, ...], ...]:
    """The host compiler with its flags, and what comes after the source."""
    flags = (*call.compiler[1:], *_debug(call), *preprocessor_words(call.macros, call.include_dirs))
    return (*cxx, *flags), with_standard(call.args.get("cxx", ()), standard)


def nvcc_words(call: CompileCall, common: Sequence[str], standard: str) -> tuple[str, ...]:
    """All of nvcc's flags for one extension.

    Args:
        call: What is compiled.
        common: torch's ``COMMON_NVCC_FLAGS``.
        standard: The one that this torch adds.
    """
    flags = (*_debug(call), *preprocessor_words(call.macros, call.include_dirs))
    # How many passes run at once is for the schedule to say.
    own = with_standard(without_threads(call.args.get("nvcc", ())), standard)
    return (*flags, *common, "--compiler-options", "-fPIC", *own)


def link_words(call: CompileCall, common: Sequence[str]) -> tuple[str, ...] | None:
    """nvcc's flags for a device link; None where the extension has none."""
    flags = call.args.get("nvcc_dlink")
    if flags is None:
        return None
    return (*common, "--compiler-options", "-fPIC", *flags)


def _debug(call: CompileCall) -> tuple[str, ...]:
    return ("-g",) if call.debug else ()
