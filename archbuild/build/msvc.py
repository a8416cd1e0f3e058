"""Flags of Microsoft's compiler, and of nvcc where it calls that one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath

from archbuild.build.torch_flags import CompileCall, preprocessor_words, with_standard
from archbuild.rules.selecting.nvcc_flags import parse_nvcc_flags, without_threads

_STANDARDS = ("/std:", "-std:")
_CXX_STANDARDS = ("/std:c++", "-std:c++")


@dataclass(frozen=True)
class MsvcFlags:
    """What is added to every compile on Windows.

    Args:
        host: For cl, called by itself or by nvcc: torch's ``COMMON_MSVC_FLAGS``.
        cudafe: Warnings that nvcc's front end is not to give: torch's
            ``MSVC_IGNORE_CUDAFE_WARNINGS``.
    """

    host: tuple[str, ...]
    cudafe: tuple[str, ...] = ()


#: For an extension without torch: the runtime and the exceptions of Python's own build.
PLAIN_MSVC = MsvcFlags(("/MD", "/EHsc"))


def cl_words(
    call: CompileCall, added: MsvcFlags, standard: str, *, plain_c: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """cl with its flags, and the extension's own, which come last so that they win.

    Args:
        call: What is compiled; its compiler is cl, with setuptools' options.
        added: What every compile gets.
        standard: For an extension that names none, ``c++20``; empty: cl's own.
        plain_c: Whether the source is C, for which no standard of C++ is named.
    """
    options = ("/nologo", *(word for word in call.compiler[1:] if word != "/nologo"))
    # Each cl would write to the same database of /Zi; /Z7 leaves it in the object.
    options = tuple("/Z7" if word in ("/Zi", "/ZI") else word for word in options)
    words = preprocessor_words(call.macros, call.include_dirs)
    own = call.args.get("cxx", ())
    if plain_c:
        own = tuple(word for word in own if not word.startswith(_CXX_STANDARDS))
    else:
        own = _with_cl_standard(own, standard)
    return (call.compiler[0], *options, *words, *added.host), own


def _with_cl_standard(flags: Sequence[str], standard: str) -> tuple[str, ...]:
    if not standard or any(word.startswith(_STANDARDS) for word in flags):
        return tuple(flags)
    return (*flags, f"/std:{standard}")


def msvc_nvcc_words(
    call: CompileCall, common: Sequence[str], added: MsvcFlags, standard: str
) -> tuple[str, ...]:
    """All of nvcc's flags for one extension on Windows.

    Args:
        call: What is compiled.
        common: What nvcc gets on every system: torch's ``COMMON_NVCC_FLAGS``.
        added: What every compile gets on Windows.
        standard: For an extension that names none.
    """
    # /FS: with -g all of them write to one database, which then takes turns.
    debug = ("-g", "-Xcompiler", "/FS") if call.debug else ()
    words = (*debug, *preprocessor_words(call.macros, call.include_dirs))
    own = with_standard(without_threads(call.args.get("nvcc", ())), standard)
    return (*words, *common, *_around_cl(call, added, own), *own)


def msvc_link_words(
    call: CompileCall, common: Sequence[str], added: MsvcFlags
) -> tuple[str, ...] | None:
    """nvcc's flags for a device link on Windows; None where the extension has none."""
    flags = call.args.get("nvcc_dlink")
    if flags is None:
        return None
    return (*common, *_around_cl(call, added, flags), *flags)


def _around_cl(call: CompileCall, added: MsvcFlags, own: Sequence[str]) -> tuple[str, ...]:
    """How nvcc is to call cl: the one of setuptools, which has set up what it needs."""
    folder = str(PureWindowsPath(call.compiler[0]).parent)
    named = folder == "." or parse_nvcc_flags(own).ccbin is not None
    return (
        "--use-local-env",
        *(() if named else ("-ccbin", folder)),
        *_each("-Xcompiler", added.host),
        *_each("-Xcudafe", (f"--diag_suppress={name}" for name in added.cudafe)),
    )


def _each(flag: str, words: Iterable[str]) -> Iterator[str]:
    for word in words:
        yield from (flag, word)
