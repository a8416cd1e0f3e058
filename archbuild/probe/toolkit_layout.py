"""Where the parts of a toolkit lie below its root."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from archbuild.probe.places import Places, is_file, is_program

# The folder below targets/, by processor; the first that exists is the one.
_TARGETS = {
    "x86_64": ("x86_64-linux",),
    "aarch64": ("sbsa-linux", "aarch64-linux"),
}


def include_folders(root: Path, processor: str) -> tuple[str, ...]:
    """The folders for ``-I`` that this layout has.

    Empty where the headers lie in the compiler's own folders, as Debian's do:
    an ``-I`` of those breaks ``#include_next``.
    """
    places = [root / "include", *(target / "include" for target in _targets(root, processor))]
    found = [place for place in places if is_file(place / "cuda_runtime.h")]
    return _once(folder for place in found for folder in (place, place / "cccl"))


def lib_folders(root: Path, processor: str) -> tuple[str, ...]:
    """The folders for ``-L`` that this layout has, those with the CUDA runtime."""
    places = [root / "lib64", root / "lib", root / "lib" / "x64"]
    places += [target / "lib" for target in _targets(root, processor)]
    return _once(place for place in places if _holds_runtime(place))


def _targets(root: Path, processor: str) -> list[Path]:
    return [root / "targets" / name for name in _TARGETS.get(processor, ())]


def _holds_runtime(folder: Path) -> bool:
    names = ("libcudart*", "cudart*.lib")
    return any(next(folder.glob(name), None) is not None for name in names)


def _once(folders: Iterable[Path]) -> tuple[str, ...]:
    """Those that exist, each once however many links lead to it."""
    seen: dict[Path, str] = {}
    for folder in folders:
        if folder.is_dir():
            seen.setdefault(folder.resolve(), str(folder))
    return tuple(seen.values())


def beside(nvcc: str, name: str, places: Places) -> str | None:
    """A program in the folder of this nvcc."""
    path = Path(nvcc).with_name(places.program(name))
    return str(path) if is_program(path) else None
