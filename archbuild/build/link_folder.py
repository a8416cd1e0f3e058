"""A folder of links through which ``-lcudart`` finds the packages' libraries."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable
from pathlib import Path

from archbuild.errors import BuildError

_VERSIONED = re.compile(r"(lib.+?\.so)\.\d+(\.\d+)*")


def plan_links(folders: Iterable[str]) -> dict[str, Path]:
    """Which libraries need a name without a version to be linked with.

    NVIDIA's packages bring ``libcudart.so.13`` and no ``libcudart.so``, which
    is the name that ``-lcudart`` looks for.

    Args:
        folders: Where the toolkit keeps its libraries.

    Returns:
        The missing name, and the file that it should lead to.
    """
    wanted: dict[str, Path] = {}
    present: set[str] = set()
    for folder in folders:
        for file in sorted(Path(folder).glob("lib*.so*")):
            match = _VERSIONED.fullmatch(file.name)
            if match is None:
                present.add(file.name)
            else:
                wanted.setdefault(match[1], file)
    return {name: file for name, file in wanted.items() if name not in present}


def make_link_folder(folders: Iterable[str], place: Path) -> Path | None:
    """Make the links; those that lead to the right file already stay.

    Args:
        folders: Where the toolkit keeps its libraries.
        place: The folder to make, or to bring up to date.

    Returns:
        The folder for ``-L``; None where nothing is missing.

    Raises:
        BuildError: If the folder can't be written.
    """
    links = plan_links(folders)
    if os.name == "nt" or not links:
        return None
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, file in links.items():
            lead_link(place / name, file.resolve())
    except OSError as error:
        raise BuildError(
            f"{place} cannot be written: {error.strerror}.",
            "It holds links to the libraries of CUDA's packages; free the place, or make it "
            "writable.",
        ) from None
    return place


def lead_link(link: Path, file: Path) -> None:
    """Point a link at a file in one step: several builds may do this at once.

    Args:
        link: What to make, or to lead anew.
        file: Where it leads; a file or a folder.

    Raises:
        OSError: If the link can't be made.
    """
    if link.is_symlink() and link.readlink() == file:
        return
    made = link.with_name(f".{link.name}.{os.getpid()}-{threading.get_ident()}")
    made.unlink(missing_ok=True)  # left by a process of this number that was killed
    made.symlink_to(file)
    made.replace(link)
