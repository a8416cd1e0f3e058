"""A toolkit in which a device link with ``-dlto`` finds its compiler.

nvlink loads ``nvvm/lib64/libnvvm.so`` below the toolkit's root. NVIDIA's
packages keep that library as ``lib/libnvvm.so.4``, so that the link ends in
"elfLink linker library load error" (nvcc 13.0 of the packages). nvcc names the
folder by itself and overrules whoever names another, but it looks for its
toolkit beside the path by which it was called: a folder of links with the one
that is missing is a toolkit that works.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from archbuild.build.link_folder import lead_link
from archbuild.errors import BuildError, ToolError
from archbuild.model.machine import Toolkit

_LIBRARY = re.compile(r"libnvvm\.so(\.\d+)*")


def nvcc_for_lto(toolkit: Toolkit, place: Path) -> str:
    """The nvcc for device links with ``-dlto``.

    Args:
        toolkit: Whose nvcc compiled the objects.
        place: A folder of the build's own; it is made, or brought up to date,
            where the toolkit needs help, and holds nothing but links.

    Returns:
        The toolkit's own nvcc, or the one of the folder of links.

    Raises:
        ToolError: If the toolkit has no libnvvm at all.
        BuildError: If the folder can't be written.
    """
    root = Path(toolkit.root)
    if os.name == "nt" or (root / "nvvm" / "lib64" / "libnvvm.so").exists():
        return toolkit.nvcc
    library = _find_library(toolkit)
    if library is None:
        raise ToolError(
            f"{root} has no libnvvm, with which a device link with -dlto compiles.",
            "Build without -dlto, or install it: "
            f"pip install 'nvidia-nvvm=={toolkit.version.major}.{toolkit.version.minor}.*'",
        )
    try:
        return _mirror(root, library, place)
    except OSError as error:
        raise BuildError(
            f"{place} cannot be written: {error.strerror}.",
            "It holds links to the CUDA Toolkit, for a device link with -dlto; free the place, "
            "or make it writable.",
        ) from None


def _find_library(toolkit: Toolkit) -> Path | None:
    folders = [*map(Path, toolkit.lib), Path(toolkit.root) / "lib"]
    files = [file for folder in folders for file in sorted(folder.glob("libnvvm.so*"))]
    return next((file for file in files if _LIBRARY.fullmatch(file.name)), None)


def _mirror(root: Path, library: Path, place: Path) -> str:
    """Links to all of a toolkit, with nvlink's library where nvlink looks."""
    # bin must be a folder, not a link to one: ``bin/..`` of a link is the old root.
    _link_entries(root, place, without=("bin", "nvvm"))
    _link_entries(root / "bin", place / "bin")
    _link_entries(root / "nvvm", place / "nvvm", without=("lib64",))
    _link_entries(root / "nvvm" / "lib64", place / "nvvm" / "lib64")
    lead_link(place / "nvvm" / "lib64" / "libnvvm.so", library.resolve())
    return str(place / "bin" / "nvcc")


def _link_entries(folder: Path, place: Path, without: tuple[str, ...] = ()) -> None:
    place.mkdir(parents=True, exist_ok=True)
    entries = folder.iterdir() if folder.is_dir() else ()
    for entry in entries:
        if entry.name not in without:
            lead_link(place / entry.name, entry.resolve())
