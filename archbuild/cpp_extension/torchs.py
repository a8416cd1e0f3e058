"""torch's module, imported with the toolkit that archbuild chose, and the machine it chose from."""

from __future__ import annotations

from typing import Any

from archbuild.build.torch_module import load_torch_module
from archbuild.model.machine import Machine
from archbuild.probe.machine import query_machine


def _import_torch_module() -> tuple[Any, Machine]:
    machine = query_machine(gpus=False)
    toolkit = machine.toolkit
    try:
        return load_torch_module(toolkit.root if toolkit else None), machine
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in ("torch", "setuptools"):
            raise
        raise ImportError(
            f"archbuild.cpp_extension needs {name}, which this environment lacks. Inside "
            f"build isolation a package has to list it ([build-system] requires = "
            f'["setuptools", "torch", "archbuild[build]"]); with pip install --no-build-isolation '
            "the one of the outer environment is used."
        ) from None


#: ``torch.utils.cpp_extension``, and what this machine was when it was imported.
TORCH, MACHINE = _import_torch_module()
