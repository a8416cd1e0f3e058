"""torch's own cpp_extension, told which toolkit to use."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_MODULE = "torch.utils.cpp_extension"


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and put them back afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def load_torch_module(root: str | None) -> Any:
    """Import ``torch.utils.cpp_extension`` with ``CUDA_HOME`` set to this toolkit.

    torch reads the variable once, while the module is imported; a setup.py that
    imported it before us has to be caught up with through its public name.

    Args:
        root: The toolkit's root; None leaves torch without one.

    Raises:
        ModuleNotFoundError: If torch is not installed.
    """
    with variables({"CUDA_HOME": root} if root is not None else {}):
        __import__(_MODULE)
    module: Any = sys.modules[_MODULE]
    if not module.IS_HIP_EXTENSION:
        module.CUDA_HOME = root
    return module


def put_ninja_on_path() -> None:
    """Let torch find the ninja of this environment, also where it is not activated.

    torch calls ``ninja`` by its name alone, and builds slowly without it.
    """
    if shutil.which("ninja"):
        return
    try:
        import ninja  # noqa: PLC0415  (needed only here, and absent from many environments)
    except ModuleNotFoundError:
        return
    os.environ["PATH"] = os.pathsep.join([ninja.BIN_DIR, os.environ.get("PATH", "")])
