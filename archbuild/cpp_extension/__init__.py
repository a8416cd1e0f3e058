"""``torch.utils.cpp_extension`` with the right architectures, checked.

Change the module's name in a setup.py and nothing else::

    from archbuild.cpp_extension import BuildExtension, CUDAExtension

Every public name of torch's module is here. Those that archbuild does not
improve are torch's own; ``CUDA_HOME`` is the toolkit that archbuild chose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from archbuild.cpp_extension.build_extension import BuildExtension as BuildExtension
from archbuild.cpp_extension.jit import load as load
from archbuild.cpp_extension.jit import load_inline as load_inline
from archbuild.cpp_extension.torchs import TORCH

_NO_CUDA_HOME = "no-cuda-toolkit-was-found"

#: The root of the toolkit that archbuild chose; None where there is none.
CUDA_HOME: str | None = TORCH.CUDA_HOME


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(TORCH.__all__)
    return getattr(TORCH, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(TORCH)})


def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:  # noqa: N802
    """torch's CUDAExtension, with the toolkit that archbuild chose.

    Without a toolkit it is made all the same, so that a source distribution
    and metadata need none; building it then says what is missing.

    Args:
        name: The module's full name.
        sources: C++ and CUDA sources.
        *args: As ``setuptools.Extension`` takes them.
        **kwargs: As torch takes them, and ``archs``: an architecture list for
            this extension alone.

    Returns:
        A ``setuptools.Extension``.
    """
    archs = kwargs.pop("archs", None)
    if TORCH.CUDA_HOME is None and not TORCH.IS_HIP_EXTENSION:
        TORCH.CUDA_HOME = _NO_CUDA_HOME
        try:
            extension = TORCH.CUDAExtension(name, sources, *args, **kwargs)
        finally:
            TORCH.CUDA_HOME = None
    else:
        extension = TORCH.CUDAExtension(name, sources, *args, **kwargs)
    extension.archs = archs
    return extension
