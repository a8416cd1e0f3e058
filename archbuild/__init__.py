"""Build CUDA extensions for the GPUs they will run on, and prove it.

Nothing heavy is imported here: the public names are loaded when first used.
"""

from __future__ import annotations

from archbuild._version import __version__

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load

if TYPE_CHECKING:
    from typing import Any

    from archbuild.binary.reader import read as read
    from archbuild.cpp_extension import BuildExtension as BuildExtension
    from archbuild.cpp_extension import CppExtension as CppExtension
    from archbuild.cpp_extension import CUDAExtension as CUDAExtension
    from archbuild.cpp_extension import load as load
    from archbuild.cpp_extension import load_inline as load_inline
    from archbuild.model.source import Source as Source
    from archbuild.rules.covering.coverage import runs as runs
    from archbuild.services.doctor import diagnose as diagnose
    from archbuild.services.explain import explained as explained
    from archbuild.services.select import select_archs as select
    from archbuild.services.verify import verify as verify

# Name here -> module and name there.
_PUBLIC = {
    "BuildExtension": ("archbuild.cpp_extension", "BuildExtension"),
    "CUDAExtension": ("archbuild.cpp_extension", "CUDAExtension"),
    "CppExtension": ("archbuild.cpp_extension", "CppExtension"),
    "Source": ("archbuild.model.source", "Source"),
    "diagnose": ("archbuild.services.doctor", "diagnose"),
    "explained": ("archbuild.services.explain", "explained"),
    "load": ("archbuild.cpp_extension", "load"),
    "load_inline": ("archbuild.cpp_extension", "load_inline"),
    "read": ("archbuild.binary.reader", "read"),
    "runs": ("archbuild.rules.covering.coverage", "runs"),
    "select": ("archbuild.services.select", "select_archs"),
    "verify": ("archbuild.services.verify", "verify"),
}

__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "Source",
    "__version__",
    "diagnose",
    "explained",
    "load",
    "load_inline",
    "read",
    "runs",
    "select",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    module, attribute = _PUBLIC[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
