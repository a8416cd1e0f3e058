"""What is installed in the folders of a search path, and which libraries belong to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path, PurePath

from archbuild.probe.provenance import read_text, source_folder

_SUFFIX = r"\.(?:so(?:\.\d+)*|pyd|dll|cubin|fatbin)"
_LIBRARY = re.compile(f"{_SUFFIX}$", re.ASCII)
_LISTED = re.compile(rf'^"?([^",\n\0]+{_SUFFIX})"?,', re.MULTILINE | re.ASCII)
# Folders of a source tree in which no built library of it lies, and how deep and wide to look.
_NOT_IN = frozenset({".git", "node_modules", ".venv", "venv", "third_party", "__pycache__"})
_DEEP, _WIDE = 6, 20_000


@dataclass(frozen=True)
class Installation:
    """One distribution in one folder.

    Args:
        name: As the name of its metadata's folder spells it.
        distribution: Its metadata.
        folder: The folder of packages in which it lies.
        version: As the name of its metadata's folder has it; empty: it has none.
        lists_files: Whether it is of the kind that says which files are its own, which a
            source tree's is not.
    """

    name: str
    distribution: Distribution
    folder: Path
    version: str = ""
    lists_files: bool = True


def package_folders(search_path: Iterable[str]) -> tuple[Path, ...]:
    """The folders of packages on a search path, each once, in its order."""
    folders: dict[str, Path] = {}
    for entry in search_path:
        if entry and os.path.isdir(entry):  # noqa: PTH112 -- an entry may be a zip file
            folders.setdefault(os.path.realpath(entry), Path(entry))
    return tuple(folders.values())


def list_installations(folders: Iterable[Path]) -> tuple[Installation, ...]:
    """Every distribution in these folders, without its files; also those hidden by earlier ones."""
    return tuple(found for folder in folders for found in _in_folder(folder))


def _in_folder(folder: Path) -> Iterator[Installation]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return
    for name in names:
        stem, _, kind = name.rpartition(".")
        # What an interrupted uninstall leaves behind has a ~ in place of its first letter.
        if kind in ("dist-info", "egg-info") and stem and not name.startswith("~"):
            yield _installation(stem, folder / name, folder)
        elif name == "EGG-INFO" and folder.suffix == ".egg":
            yield _installation(folder.stem, folder / name, folder)


def _installation(stem: str, info: Path, folder: Path) -> Installation:
    name, version, *_ = *stem.split("-"), ""
    listing = info.suffix == ".dist-info"
    return Installation(name, PathDistribution(info), folder, version, listing)


def normal_name(name: str) -> str:
    """A name as the index compares it: ``flash-attn`` of ``Flash_Attn``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def list_libraries(one: Installation) -> Iterator[Path]:
    """All libraries of a package, whatever they hold.

    Those that its RECORD lists; else those below its modules. Of an editable install also
    those that were built in its source.
    """
    record = read_text(one.distribution, "RECORD")
    if record:
        names = (match[1] for match in _LISTED.finditer(record))
        yield from (one.folder / name for name in names if _is_inside(name))
    else:
        yield from _below_modules(one)
    source = source_folder(one.distribution)
    if source is not None:
        yield from _built_in(source)


def _is_inside(name: str) -> bool:
    """Whether what a RECORD lists lies in the folder of packages."""
    path = PurePath(name)
    return not path.is_absolute() and not path.drive and ".." not in path.parts


def _below_modules(one: Installation) -> Iterator[Path]:
    tops = read_text(one.distribution, "top_level.txt").split() or [one.name]
    for top in filter(re.compile(r"\w+").fullmatch, tops):
        yield from _built_in(one.folder / top)
        yield from libraries_in(one.folder, f"{top}.")


def libraries_in(folder: Path, beginning: str = "") -> Iterator[Path]:
    """The libraries in a folder whose names begin so, in order; none if it can't be listed."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return
    for name in names:
        if name.startswith(beginning) and _LIBRARY.search(name):
            yield folder / name


def _built_in(folder: Path) -> Iterator[Path]:
    """The libraries below a folder, not too deep."""
    left = _WIDE
    base = len(folder.parts)
    for place, folders, names in os.walk(folder):
        left -= len(names)
        if left < 0:
            return
        here = Path(place)
        deep = len(here.parts) - base >= _DEEP
        folders[:] = [] if deep else [name for name in folders if name not in _NOT_IN]
        yield from (here / name for name in names if _LIBRARY.search(name))
