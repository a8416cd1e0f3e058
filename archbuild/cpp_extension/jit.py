"""torch's ``load`` and ``load_inline`` with explicit architectures."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from archbuild.build.extension_plan import (
    is_cuda_source,
)
from archbuild.build.link_folder import make_link_folder
from archbuild.build.memory import cache_folder, fingerprint
from archbuild.cpp_extension.torchs import MACHINE, TORCH
from archbuild.model.gencode import render_gencodes
from archbuild.probe.project import read_config
from archbuild.rules.nvcc_flags import parse_nvcc_flags
from archbuild.rules.request import unheeded
from archbuild.rules.torch_match import check_torch_match
from archbuild.services.select import select_archs

_log = logging.getLogger(__name__)


def _with_archs(function: Callable[..., Any]) -> Callable[..., Any]:
    """torch's JIT functions, given explicit architectures and the packages' libraries."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        if not _is_cuda_call(bound.arguments) or TORCH.IS_HIP_EXTENSION:
            return function(*args, **kwargs)
        given = bound.arguments
        given["extra_cuda_cflags"] = _jit_flags(list(given.get("extra_cuda_cflags") or []))
        links = _jit_links()
        if links is not None:
            given["extra_ldflags"] = [*(given.get("extra_ldflags") or []), f"-L{links}"]
        return function(*bound.args, **bound.kwargs)

    return wrapped


def _is_cuda_call(given: dict[str, Any]) -> bool:
    with_cuda = given.get("with_cuda")
    if with_cuda is not None:
        return bool(with_cuda)
    sources = given.get("sources") or []
    sources = [sources] if isinstance(sources, str) else sources
    return bool(given.get("cuda_sources")) or any(map(is_cuda_source, map(str, sources)))


def _jit_flags(flags: list[str]) -> list[str]:
    if parse_nvcc_flags(flags, "extra_cuda_cflags").names_archs:
        return flags
    warning = check_torch_match(MACHINE)
    if warning:
        _log.warning("archbuild: %s", warning)
    selection = select_archs(toolkit=TORCH.CUDA_HOME, config=read_config()).selection
    for text in (*unheeded(MACHINE), *selection.warnings):
        _log.warning("archbuild: %s", text)
    return flags + render_gencodes(selection.gencodes)


def _jit_links() -> Path | None:
    toolkit = MACHINE.toolkit
    if toolkit is None:
        return None
    return make_link_folder(toolkit.lib, cache_folder() / "lib" / fingerprint([toolkit.nvcc], []))


load = _with_archs(TORCH.load)
load_inline = _with_archs(TORCH.load_inline)
