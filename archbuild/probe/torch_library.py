"""What torch's main library holds, and no more: for an answer within a second."""

from __future__ import annotations

from pathlib import Path

from archbuild.binary.reader import read
from archbuild.errors import ArchbuildError
from archbuild.model.installed import CodeFile, CodePackage
from archbuild.model.machine import TorchBuild
from archbuild.probe.code_groups import group_regions

#: The library with most of torch's kernels, of Linux and Windows; two before torch 1.13.
_NAMES = ("libtorch_cuda.so", "torch_cuda.dll", "libtorch_cuda_cu.so", "torch_cuda_cu.dll")


def read_torch_library(torch: TorchBuild) -> CodePackage | None:
    """torch with its main library alone, by architecture.

    Args:
        torch: The build.

    Returns:
        None where it has no such library, as a build for the CPU has none.
    """
    folder = Path(torch.root) / "lib"
    path = next((folder / name for name in _NAMES if (folder / name).is_file()), None)
    if path is None:
        return None
    return CodePackage("torch", torch.version, (_read(path),))


def _read(path: Path) -> CodeFile:
    name = f"torch/lib/{path.name}"
    try:
        (file,) = read(path)
    except (ArchbuildError, ValueError) as error:
        return CodeFile(name, 0, trouble=str(error))
    return CodeFile(name, file.size or 0, group_regions(file), file.hip)
