"""Small C libraries that stand for NVIDIA's and torch's, with true search paths."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from archbuild.binary.dynamic import Dynamic, read_dynamic
from archbuild.binary.source import FileSource

#: What sets RPATH and what sets RUNPATH, for binutils' and LLVM's linkers.
RPATH, RUNPATH = "-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags"


def c_compiler() -> str:
    """This machine's C compiler; without one the test is skipped."""
    if os.name != "posix" or not Path("/proc").is_dir():
        pytest.skip("the loader that is tested is that of Linux")
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if found is None:
        pytest.skip("no C compiler to build small libraries with")
    return found


def build_library(
    path: Path,
    code: str = "",
    *,
    needs: Sequence[Path] = (),
    rpath: Sequence[str] = (),
    runpath: Sequence[str] = (),
    versions: str | None = None,
    soname: str | None = None,
) -> Path:
    """Build a shared library; its soname is its file's name.

    Args:
        path: Where.
        code: C.
        needs: Libraries that it asks for, whether it uses them or not.
        rpath: Folders; ``$ORIGIN`` is left to the loader.
        runpath: The same, of the kind that comes after LD_LIBRARY_PATH.
        versions: The version of all its symbols.
        soname: Another soname.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [c_compiler(), "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", str(path)]
    command += [f"-Wl,-soname,{soname or path.name}", "-Wl,-z,now", "-Wl,--no-as-needed"]
    command += ["-Wl,--allow-shlib-undefined", *map(str, needs)]
    if rpath or runpath:
        command += [RPATH if rpath else RUNPATH, f"-Wl,-rpath,{':'.join(rpath or runpath)}"]
    if versions is not None:
        script = path.with_name(f"{path.name}.map")
        script.write_text(f"{versions} {{ global: *; }};\n")
        command.append(f"-Wl,--version-script={script}")
    subprocess.run(command, input=code, text=True, check=True, timeout=120)
    return path


def dynamic_of(path: Path) -> Dynamic:
    """What a library asks of the loader."""
    with path.open("rb", buffering=0) as file:
        return read_dynamic(FileSource(path.name, file, path.stat().st_size))
