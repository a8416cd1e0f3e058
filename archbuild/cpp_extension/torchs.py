"""torch's module, imported with the toolkit that archbuild chose, and the machine it chose from."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from archbuild.build.flavour import Flavour
from archbuild.build.msvc import MsvcFlags
from archbuild.build.platform import platform_of
from archbuild.build.torch_flags import standard_of
from archbuild.build.torch_module import load_torch_module
from archbuild.model.machine import Machine
from archbuild.probe.machine import query_machine


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage: importing torch makes none, and looking takes a tenth of it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        _age()
        if collects:
            gc.enable()


def _age() -> None:
    """Let the collector take all there is for old, else it looks through torch at once.

    Nothing stays out of its sight: this may be a program that runs for days.
    """
    if gc.get_freeze_count() == 0:  # else somebody has frozen what is to stay so
        gc.freeze()
        gc.unfreeze()


def _import_torch_module() -> tuple[Any, Machine]:
    machine = query_machine(gpus=False)
    toolkit = machine.toolkit
    try:
        with _uncollected():
            return load_torch_module(toolkit.root if toolkit else None), machine
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in ("torch", "setuptools"):
            raise
        raise ImportError(
            f"archbuild.cpp_extension needs {name}, which this environment lacks. Inside "
            f"build isolation a package has to list it ([build-system] requires = "
            f'["setuptools", "torch", "archbuild[build]"]); with pip install --no-build-isolation '
            "the one of the outer environment is used. An extension that needs no torch is "
            "CUDAExtension(..., torch=False).",
            name=name,
        ) from None


#: ``torch.utils.cpp_extension``, and what this machine was when it was imported.
TORCH, MACHINE = _import_torch_module()


def torch_flavour() -> Flavour:
    """What torch adds to the flags of an extension."""
    platform = platform_of(os.name)
    return Flavour(
        platform.split_words(TORCH.get_cxx_compiler()),
        standard_of(TORCH),
        tuple(TORCH.COMMON_NVCC_FLAGS),
        platform=platform,
        msvc=MsvcFlags(tuple(TORCH.COMMON_MSVC_FLAGS), tuple(TORCH.MSVC_IGNORE_CUDAFE_WARNINGS)),
    )
