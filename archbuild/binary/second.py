"""A second, independent look at the same files: by cuobjdump."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.binary.folders import find_package
from archbuild.binary.wheel import iter_candidates
from archbuild.errors import ArchbuildError, BlindReaderError
from archbuild.model.image import DeviceFile


@dataclass(frozen=True)
class Look:
    """What cuobjdump says of one file.

    Args:
        path: The file, by the name that the native reader gives it.
        file: What it saw; None where it can't read the file.
        reason: Why it can't, as one sentence.
        advice: What would help.
        blind: Whether it says that there is nothing, where it cannot look.
    """

    path: str
    file: DeviceFile | None
    reason: str = ""
    advice: str = ""
    blind: bool = False


def look_again(
    path: str,
    cuobjdump: str,
    wanted: Callable[[str], bool],
    *,
    kernels: bool = False,
    prefix: str = "",
) -> Iterator[Look]:
    """Ask cuobjdump about the files in a path, each by itself.

    A member of an archive is written to a temporary file for it, one at a time.

    Args:
        path: A file, folder, wheel or other zip file, or an installed package.
        cuobjdump: The tool.
        wanted: Whether to ask about a file, by its name.
        kernels: Also the names of the kernels; takes twice as long.
        prefix: What stands before the names of an archive's members.

    Raises:
        ArchbuildError: If the path itself cannot be read.
    """
    if not Path(path).exists():
        for file in find_package(path) or ():
            if wanted(file):
                yield look_at(Path(file), file, cuobjdump, kernels=kernels)
        return
    for candidate in iter_candidates(path):
        name = candidate.name if candidate.name.startswith(path) else prefix + candidate.name
        if wanted(name):
            yield look_at(candidate.real, name, cuobjdump, kernels=kernels)


def look_at(real: Path, name: str, cuobjdump: str, *, kernels: bool = False) -> Look:
    """Ask cuobjdump about one file.

    Args:
        real: Where it lies.
        name: What a person calls it.
        cuobjdump: The tool.
        kernels: Also the names of the kernels.
    """
    try:
        file = read_with_cuobjdump(real, cuobjdump, everything=True, kernels=kernels, name=name)
    except BlindReaderError as error:
        return Look(name, None, error.message, error.advice, blind=True)
    except ArchbuildError as error:
        return Look(name, None, error.message, error.advice)
    return Look(name, file)
