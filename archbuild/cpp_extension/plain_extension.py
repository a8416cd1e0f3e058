"""An extension without torch: for pybind11, nanobind, or a plain C library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from setuptools import Extension

from archbuild.build.extension_plan import is_cuda_source
from archbuild.model.machine import Toolkit

_STATIC = "cudart_static"
#: What the static runtime of CUDA needs of the system's libraries.
_STATIC_NEEDS = ("rt", "pthread", "dl")


def make_plain_extension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """A ``setuptools.Extension`` which BuildExtension builds without anything of torch's.

    Args:
        name: The module's full name.
        sources: C, C++ and CUDA sources.
        *args: As ``setuptools.Extension`` takes them.
        **kwargs: As ``setuptools.Extension`` takes them, and ``dlink`` and
            ``dlink_libraries`` as torch's CUDAExtension has them.
    """
    libraries = list(kwargs.pop("dlink_libraries", ()))
    dlink = kwargs.pop("dlink", False) or libraries
    compile_args = kwargs.pop("extra_compile_args", None) or []
    if dlink:
        compile_args = _with_device_link(compile_args, libraries)
    kwargs.setdefault("language", "c++")
    extension: Any = Extension(name, sources, *args, **kwargs)
    extension.extra_compile_args = compile_args
    extension.torch = False
    return extension


def _with_device_link(compile_args: Any, libraries: Iterable[str]) -> dict[str, list[str]]:
    if isinstance(compile_args, dict):
        found = {language: list(flags) for language, flags in compile_args.items()}
    else:
        found = {"cxx": list(compile_args), "nvcc": list(compile_args)}
    words = [*found.get("nvcc_dlink", ()), "-dlink", *(f"-l{library}" for library in libraries)]
    return {**found, "nvcc_dlink": words}


def is_plain(extension: Any) -> bool:
    """Whether it was made with ``torch=False``."""
    return getattr(extension, "torch", None) is False


def has_cuda(extension: Any) -> bool:
    """Whether nvcc compiles any of its sources."""
    return any(map(is_cuda_source, map(str, extension.sources)))


def add_toolkit(extension: Any, toolkit: Toolkit) -> None:
    """Let it find CUDA's headers and libraries, and link CUDA's runtime.

    The static runtime, as nvcc links it: a library with the shared one would be found by
    no loader where CUDA comes from packages. An extension that names one keeps its own.

    Args:
        extension: The extension.
        toolkit: Where CUDA is.
    """
    # What was put there before leads to libraries whose names have no versions.
    folders = [*toolkit.lib, *extension.library_dirs]
    extension.include_dirs.extend(toolkit.include)
    extension.library_dirs.extend(toolkit.lib)
    dlink = extension.extra_compile_args
    if isinstance(dlink, dict) and "nvcc_dlink" in dlink:
        dlink["nvcc_dlink"] = [*dlink["nvcc_dlink"], *(f"-L{folder}" for folder in folders)]
    if not any(name.startswith("cudart") for name in extension.libraries):
        extension.libraries.extend(_runtime(folders))


def _runtime(folders: Sequence[str]) -> Sequence[str]:
    if any(Path(folder, f"lib{_STATIC}.a").exists() for folder in folders):
        return (_STATIC, *_STATIC_NEEDS)
    return ("cudart",)
