"""``torch.utils.cpp_extension`` with the right architectures, checked.

Change the module's name in a setup.py and nothing else::

    from archbuild.cpp_extension import BuildExtension, CUDAExtension

Every public name of torch's module is here. Those that archbuild does not
improve are torch's own; ``CUDA_HOME`` is the toolkit that archbuild chose.

Where torch is not installed there are BuildExtension and CUDAExtension for
extensions with ``torch=False``; any other name says what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from archbuild.build.source_files import Entry, name_sources
from archbuild.model.source import Source as Source

_NO_CUDA_HOME = "no-cuda-toolkit-was-found"
_MISSING: ImportError | None = None
TORCH: Any = None

try:
    from archbuild.cpp_extension.torchs import TORCH
except ImportError as error:
    if error.name != "torch":
        raise
    _MISSING = error

if _MISSING is None:
    from archbuild.cpp_extension.build_extension import BuildExtension as BuildExtension

    if TYPE_CHECKING:
        from archbuild.cpp_extension.jit import load as load
        from archbuild.cpp_extension.jit import load_inline as load_inline

    #: The root of the toolkit that archbuild chose; None where there is none.
    CUDA_HOME: str | None = TORCH.CUDA_HOME
else:
    from archbuild.cpp_extension.plain import PlainBuildExtension

    BuildExtension = PlainBuildExtension  # type: ignore[misc,assignment]


def __getattr__(name: str) -> Any:
    if _MISSING is not None:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _without_torch()
    if name == "__all__":
        return list(TORCH.__all__)
    if name in ("load", "load_inline"):  # loaded when first used: no setup.py needs them
        from archbuild.cpp_extension import jit  # noqa: PLC0415

        return getattr(jit, name)
    return getattr(TORCH, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(TORCH)})


def _without_torch() -> ImportError:
    return ImportError(str(_MISSING), name="torch")


def CUDAExtension(  # noqa: N802
    name: str, sources: Sequence[Entry], *args: Any, torch: bool = True, **kwargs: Any
) -> Any:
    """torch's CUDAExtension, with the toolkit that archbuild chose.

    Without a toolkit it is made all the same, so that a source distribution
    and metadata need none; building it then says what is missing.

    Args:
        name: The module's full name.
        sources: C++ and CUDA sources: paths, patterns, and ``Source`` for those with
            architectures of their own.
        *args: As ``setuptools.Extension`` takes them.
        torch: Whether it uses torch. One for pybind11 or nanobind, or a plain C
            library, gets nothing of torch's, and needs none to be installed.
        **kwargs: As torch takes them, and ``archs``: an architecture list for this
            extension alone; ``lean_headers``: true, false or ``"auto"``; ``dev``: whether
            it is a development build.

    Returns:
        A ``setuptools.Extension``.

    Raises:
        ImportError: If it uses torch, and torch is not installed.
    """
    paths, known = name_sources(sources)
    own = {option: kwargs.pop(option, None) for option in ("archs", "lean_headers", "dev")}
    if not torch:
        from archbuild.cpp_extension.plain_extension import make_plain_extension  # noqa: PLC0415

        extension = make_plain_extension(name, paths, *args, **kwargs)
    elif _MISSING is not None:
        raise _without_torch()
    elif TORCH.CUDA_HOME is None and not TORCH.IS_HIP_EXTENSION:
        TORCH.CUDA_HOME = _NO_CUDA_HOME
        try:
            extension = TORCH.CUDAExtension(name, paths, *args, **kwargs)
        finally:
            TORCH.CUDA_HOME = None
    else:
        extension = TORCH.CUDAExtension(name, paths, *args, **kwargs)
    vars(extension).update(own, archbuild_sources=known)
    return extension
