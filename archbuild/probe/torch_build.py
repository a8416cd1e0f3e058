"""The installed torch, read without importing it."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from archbuild.model.arch import Arch
from archbuild.model.machine import Absence, TorchBuild
from archbuild.model.version import CudaVersion
from archbuild.probe.nvcc import sass_and_ptx
from archbuild.probe.process import run_limited

# Importing torch on a cold disk takes long.
TIMEOUT = 60.0


def find_torch() -> tuple[TorchBuild | None, tuple[Absence, ...]]:
    """The torch that ``import torch`` would take, with what its version.py states.

    Returns:
        The build, or None with the reason.
    """
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError) as error:
        return None, (Absence("torch", f"torch cannot be found: {error}"),)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        return None, (Absence("torch", "torch is not installed in this environment"),)
    return read_torch(Path(folders[0]))


def read_torch(root: Path) -> tuple[TorchBuild | None, tuple[Absence, ...]]:
    """The torch in this folder.

    Args:
        root: The folder of the package, with version.py in it.

    Returns:
        The build, or None with the reason.
    """
    path = root / "version.py"
    try:
        stated = dict(_assignments(path.read_text("utf-8", "replace")))
    except FileNotFoundError:
        return None, (Absence("torch", f"{root} is no installed torch: it has no version.py"),)
    except OSError as error:
        return None, (Absence("torch", f"{path} cannot be read: {error.strerror}"),)
    version = stated.get("__version__")
    if version is None:
        return None, (Absence("torch", f"{path} states no version: install torch again"),)
    build = TorchBuild(version, str(root), _cuda(stated.get("cuda")), stated.get("hip"))
    return build, ()


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Names to which the text assigns a plain string; nothing of it is run."""
    pattern = r"""^(\w+)[ \t]*(?::[^=\n]+)?=[ \t]*(['"])([^'"\\\n]*)\2[ \t]*(?:#.*)?$"""
    for name, _, value in re.findall(pattern, text, re.MULTILINE | re.ASCII):
        yield name, value


def _cuda(text: str | None) -> CudaVersion | None:
    try:
        return CudaVersion.parse(text) if text else None
    except ValueError:
        return None


def read_cxx11_abi(torch: TorchBuild) -> bool | None:
    """Whether a torch was built with C++11's ABI, by the CMake file that it ships.

    torch has had no other since 2.7, and newer ones don't state it.

    Args:
        torch: The build.

    Returns:
        None where it is not stated, or cannot be read.
    """
    path = Path(torch.root) / "share" / "cmake" / "Torch" / "TorchConfig.cmake"
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return None
    match = re.search(r"_GLIBCXX_USE_CXX11_ABI=([01])", text)
    return None if match is None else match[1] == "1"


# The child gets this process's search path, so that it finds the same torch.
_QUESTION = """
import sys
sys.path[:] = sys.argv[1:]
import torch
print("archs", torch._C._cuda_getArchFlags())
"""


def query_torch_archs(torch: TorchBuild, *, timeout: float = TIMEOUT) -> tuple[Arch, ...] | None:
    """What torch says it was compiled for, asked in a child process.

    It needs no GPU, but seconds. What the library really holds is in its
    device code, and the two can differ.

    Args:
        torch: The build to ask.
        timeout: Seconds.

    Returns:
        The architectures in order; None where it is not a CUDA build, or
        cannot be imported.
    """
    if torch.cuda is None:
        return None
    loaded = _loaded_flags(torch)
    if loaded is not None:
        return sass_and_ptx(loaded.split())
    folders = [str(Path(torch.root).parent), *filter(None, sys.path)]
    outcome = run_limited([sys.executable, "-I", "-c", _QUESTION, *folders], timeout=timeout)
    match = re.search(r"^archs (.*)$", outcome.stdout, re.MULTILINE)
    if not outcome.ok or match is None:
        return None
    return sass_and_ptx(match[1].split())


def _loaded_flags(torch: TorchBuild) -> str | None:
    """What torch says where this process has imported it; None: it has not, or not this one."""
    module = sys.modules.get("torch")
    place = getattr(module, "__file__", None)
    if place is None or Path(place).parent != Path(torch.root):
        return None
    flags = getattr(getattr(module, "_C", None), "_cuda_getArchFlags", None)
    return flags() or None if flags is not None else None
