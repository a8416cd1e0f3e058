"""The order in which a process that imports torch has its CUDA libraries loaded."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from archbuild.binary.dynamic import Dynamic, read_dynamic
from archbuild.binary.source import FileSource
from archbuild.errors import BinaryError
from archbuild.probe.stand_in import write_stand_in
from archbuild.probe.torch_build import read_torch
from archbuild.probe.torch_preload import find_preloaded, read_preload

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from typing import Any

#: The driver's library, which the runtime loads by this name.
DRIVER = "libcuda.so.1"

#: Names of NVIDIA's libraries up to ``.so``; wheels may have added eight digits.
FAMILY = re.compile(
    r"(lib(?:cuda|cudart|cublas|cublasLt|cudnn\w*|cusparse|cusparseLt|cusolver|cusolverMg|cufft"
    r"|curand|nvrtc|nvrtc-builtins|nvJitLink|cupti|nccl|nvshmem_host|cufile|nvToolsExt))"
    r"(?:-[0-9a-f]{8})?\.so(?:\.[0-9.]+)?"
)
_GLOBAL = "libtorch_global_deps.so"
# In the order in which the loader comes to them from torch's Python module; linalg and
# nvrtc follow when they are needed.
_TORCH = (
    "libtorch_python.so",
    "libtorch_cpu.so",
    "libc10_cuda.so",
    "libtorch_nvshmem.so",
    "libtorch_cuda.so",
    "libtorch_cuda_linalg.so",
    "libcaffe2_nvrtc.so",
)


@dataclass(frozen=True)
class Step:
    """One thing that the loader is asked for.

    Args:
        what: Whose needs these are, or the file to load.
        needed: Sonames, of a stand-in; empty: ``what`` itself is loaded.
        rpath: Folders before LD_LIBRARY_PATH.
        runpath: Folders after it.
        machine: The processor as ELF numbers it, for the stand-in.
        everywhere: Whether its symbols are for all that come later.
        mapped: What must be in the path of a library by then.
        after_failure: Whether it is for the case that the one for all failed.
        trouble: Why it is not tried any more; empty: it is.
    """

    what: str
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    machine: int = 0
    everywhere: bool = False
    mapped: str = ""
    after_failure: bool = False
    trouble: str = ""

    @property
    def soname(self) -> str:
        """The one library that this is about, or the file's name."""
        return self.needed[0] if self.needed else Path(self.what).name

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders that are searched besides LD_LIBRARY_PATH."""
        return self.runpath or self.rpath

    def order(self) -> dict[str, Any]:
        """What the child is told."""
        rest = {"global": self.everywhere, "mapped": self.mapped}
        if self.after_failure:
            rest["after_failure"] = True
        if not self.needed:
            return {"path": self.what, **rest}
        image = write_stand_in(self.machine, self.needed, rpath=self.rpath, runpath=self.runpath)
        return {"image": base64.b64encode(image).decode("ascii"), **rest}


def plan_steps(torch: Path | None, packages: Sequence[Path]) -> tuple[Step, ...]:
    """What to ask the loader for, in torch's order, the driver's library last.

    Args:
        torch: The folder of the package; None: there is none, so that only the driver
            remains.
        packages: Folders of packages, as they stand on ``sys.path``.
    """
    if torch is None:
        return (Step(DRIVER),)
    first = _step_of(torch / "lib" / _GLOBAL, everywhere=True)
    leading = (first,) if first is not None and first.needed else ()
    steps = [_step_of(torch / "lib" / name) for name in _TORCH]
    rest = [_without_driver(step) for step in steps if step is not None]
    using = [step for step in rest if step.needed]
    # The runtime loads it, on behalf of this library.
    chain = next((step for step in using if step.what == "libc10_cuda.so"), None)
    driver = Step(DRIVER) if chain is None else replace(chain, what=DRIVER, needed=(DRIVER,))
    return (*leading, *_by_hand(torch, packages, first), *using, driver)


def rpath_of(torch: Path) -> tuple[str, ...]:
    """The folders in which torch's libraries have their needs looked for, in order."""
    steps = (_step_of(torch / "lib" / name) for name in _TORCH)
    return tuple(dict.fromkeys(f for step in steps if step for f in (*step.rpath, *step.runpath)))


def _without_driver(step: Step) -> Step:
    return replace(step, needed=tuple(name for name in step.needed if name != DRIVER))


def _by_hand(torch: Path, packages: Sequence[Path], first: Step | None) -> Iterator[Step]:
    """What torch loads from packages by itself, before its own libraries."""
    build = read_torch(torch)[0]
    cuda = str(build.cuda) if build is not None and build.cuda is not None else None
    preload = read_preload(torch, cuda)
    for path in find_preloaded(preload.always, packages, cuda):
        yield Step(str(path), mapped=preload.mapped)
    failing = find_preloaded(preload.after_failure, packages, cuda)
    for path in failing:
        yield Step(str(path), after_failure=True)
    if failing and first is not None and first.needed:
        yield replace(first, after_failure=True)


def _step_of(path: Path, *, everywhere: bool = False) -> Step | None:
    """A stand-in for one library, asking for NVIDIA's among its needs."""
    dynamic = _read(path)
    if dynamic is None:
        return None
    return _stand_in(path, dynamic, inherited=(), everywhere=everywhere)


def _stand_in(
    path: Path, dynamic: Dynamic, *, inherited: tuple[str, ...], everywhere: bool = False
) -> Step:
    folders = _origin(dynamic.rpath, path.parent)
    return Step(
        what=path.name,
        needed=tuple(name for name in dynamic.needed if FAMILY.fullmatch(name)),
        rpath=(*folders, *inherited),
        runpath=_origin(dynamic.runpath, path.parent),
        machine=dynamic.machine,
        everywhere=everywhere,
    )


def _origin(folders: Iterable[str], origin: Path) -> tuple[str, ...]:
    pattern = re.compile(r"\$ORIGIN\b|\$\{ORIGIN\}")
    return tuple(pattern.sub(lambda _: str(origin), folder) for folder in folders)


def _read(path: Path) -> Dynamic | None:
    """The dynamic section of a library of which a stand-in can be made."""
    try:
        with path.open("rb", buffering=0) as file:
            dynamic = read_dynamic(FileSource(path.name, file, os.fstat(file.fileno()).st_size))
    except (OSError, BinaryError):
        return None
    return dynamic if (dynamic.bits, dynamic.order) == (64, "<") else None


def soname_of(path: Path) -> str:
    """The name which a library gives itself; its file's name where it gives none."""
    dynamic = _read(path)
    return path.name if dynamic is None or dynamic.soname is None else dynamic.soname


def split(step: Step) -> tuple[Step, ...]:
    """One step for each library that a stand-in needs."""
    return tuple(replace(step, needed=(name,)) for name in step.needed)


def needs_of(path: Path, step: Step) -> Step | None:
    """A stand-in for a library that can't be loaded, to learn which files it would get.

    Args:
        path: The library.
        step: What had it loaded; its ``rpath`` is handed down.

    Returns:
        None where it can't be read, or needs none of NVIDIA's libraries.
    """
    dynamic = _read(path)
    if dynamic is None:
        return None
    # The loader hands down an RPATH only where no RUNPATH stands beside it.
    inherited = () if step.runpath else step.rpath
    needs = _stand_in(path, dynamic, inherited=inherited)
    return needs if needs.needed else None
