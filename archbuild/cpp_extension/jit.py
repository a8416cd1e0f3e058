"""torch's ``load`` and ``load_inline``, built by archbuild's engine.

What is not CUDA on Linux, and what this cannot do as torch does it, torch does.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from archbuild.build.extension_plan import is_cuda_source
from archbuild.build.inline import inline_sources
from archbuild.cpp_extension.jit_call import JitCall, jit_links, jit_selection
from archbuild.cpp_extension.jit_run import run_call
from archbuild.cpp_extension.torchs import TORCH
from archbuild.errors import ArchbuildError
from archbuild.model.gencode import render_gencodes
from archbuild.rules.selecting.nvcc_flags import parse_nvcc_flags

_log = logging.getLogger(__name__)

#: Arguments that are the same for both functions, and those that each alone has.
_COMMON = (
    *("name", "extra_cflags", "extra_cuda_cflags", "extra_ldflags", "extra_include_paths"),
    *("build_directory", "verbose", "with_cuda", "is_python_module", "keep_intermediates"),
)
_OF_LOAD = (*_COMMON, "sources", "is_standalone")
_OF_INLINE = (
    *_COMMON,
    *("cpp_sources", "cuda_sources", "functions"),
    *("with_pytorch_error_handling", "no_implicit_headers"),
)


def _built_here(
    function: Callable[..., Any],
    known: tuple[str, ...],
    files_of: Callable[[Mapping[str, Any]], tuple[tuple[str, ...], Mapping[str, str]]],
) -> Callable[..., Any]:
    """torch's function, whose calls the engine answers where it can.

    Args:
        function: torch's.
        known: The arguments that the engine understands.
        files_of: The sources of a call: paths, and texts by the names of their files.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapped(*args: Any, archs: str | None = None, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        given = bound.arguments
        if not _is_cuda_call(given) or TORCH.IS_HIP_EXTENSION:
            return function(*args, **kwargs)
        if _is_ours(given, known, signature):
            try:
                return run_call(JitCall.of(given, *files_of(given), archs))
            except ArchbuildError as error:
                # The sentence says it all: how it came about in here helps nobody.
                raise error.with_traceback(None) from error.__cause__
        _let_torch(given, archs)
        return function(*bound.args, **bound.kwargs)

    archs_too = inspect.Parameter("archs", inspect.Parameter.KEYWORD_ONLY, default=None)
    shown = signature.replace(parameters=[*signature.parameters.values(), archs_too])
    vars(wrapped)["__signature__"] = shown
    return wrapped


def _is_cuda_call(given: Mapping[str, Any]) -> bool:
    with_cuda = given.get("with_cuda")
    if with_cuda is not None:
        return bool(with_cuda)
    return _has_cuda_sources(given)


def _has_cuda_sources(given: Mapping[str, Any]) -> bool:
    sources = given.get("sources") or []
    sources = [sources] if isinstance(sources, str) else sources
    return bool(given.get("cuda_sources")) or any(map(is_cuda_source, map(str, sources)))


def _is_ours(
    given: Mapping[str, Any], known: tuple[str, ...], signature: inspect.Signature
) -> bool:
    """Whether the engine does all that this call asks for."""
    others = {
        name: value
        for name, value in given.items()
        if name not in known and value and value != signature.parameters[name].default
    }
    contradicts = given.get("is_standalone") and given.get("is_python_module", True)
    return TORCH.IS_LINUX and _has_cuda_sources(given) and not others and not contradicts


def _let_torch(given: dict[str, Any], archs: str | None) -> None:
    """Give torch's own function the architectures and the packages' libraries."""
    flags = list(given.get("extra_cuda_cflags") or [])
    if not parse_nvcc_flags(flags, "extra_cuda_cflags").names_archs:
        flags += render_gencodes(jit_selection(archs).selection.gencodes)
    given["extra_cuda_cflags"] = flags
    links = jit_links()
    if links is not None:
        given["extra_ldflags"] = [*(given.get("extra_ldflags") or []), f"-L{links}"]


def _files_of_load(given: Mapping[str, Any]) -> tuple[tuple[str, ...], Mapping[str, str]]:
    sources = given["sources"]
    sources = [sources] if isinstance(sources, str) else sources
    return tuple(map(str, sources)), {}


def _files_of_inline(given: Mapping[str, Any]) -> tuple[tuple[str, ...], Mapping[str, str]]:
    # A header that torch compiled before is older than this call's flags; torch drops it too.
    with suppress(OSError):
        TORCH.remove_extension_h_precompiler_headers()
    texts = inline_sources(
        given["cpp_sources"],
        given["cuda_sources"],
        given.get("functions"),
        implicit_headers=not given.get("no_implicit_headers"),
        error_handling=bool(given.get("with_pytorch_error_handling", True)),
    )
    return (), texts


load = _built_here(TORCH.load, _OF_LOAD, _files_of_load)
load_inline = _built_here(TORCH.load_inline, _OF_INLINE, _files_of_inline)
