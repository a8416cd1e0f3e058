"""A second, independent look at the same files: by cuobjdump."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.binary.folders import find_package
from archbuild.binary.outline import (
    EXECUTABLE_SECTION,
    RELOCATABLE_SECTION,
    Form,
    holds_fatbin,
    read_outline,
)
from archbuild.binary.wheel import iter_candidates
from archbuild.errors import ArchbuildError, BlindReaderError
from archbuild.model.image import DeviceFile

_BOTH = "Let archbuild read it as well: --reader both"


@dataclass(frozen=True)
class Look:
    """What cuobjdump says of one file.

    Args:
        path: The file, by the name that the native reader gives it.
        file: What it saw; None where it can't read the file.
        reason: Why it can't, as one sentence.
        advice: What would help.
        blind: Whether it says that there is nothing, where it cannot look.
        passed_over: What it left out of ``file`` without a word, as one sentence.
    """

    path: str
    file: DeviceFile | None
    reason: str = ""
    advice: str = ""
    blind: bool = False
    passed_over: str = ""


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
        passed_over = find_passed_over(real, name) if file.regions else ""
    except BlindReaderError as error:
        return Look(name, None, error.message, error.advice, blind=True)
    except ArchbuildError as error:
        return Look(name, None, error.message, error.advice)
    return Look(name, file, advice=_BOTH if passed_over else "", passed_over=passed_over)


def find_passed_over(path: Path, name: str) -> str:
    """What cuobjdump leaves out without a word: a fatbin outside its sections (13.5).

    Args:
        path: A file in which cuobjdump saw something.
        name: What a person calls it.

    Returns:
        One sentence; empty where it leaves nothing out.

    Raises:
        BinaryError: If the file is truncated, damaged, or of no known kind.
    """
    outline = read_outline(path, name)
    places = [place for part in outline.parts for place in part.elsewhere]
    if outline.form not in (Form.ELF, Form.ARCHIVE) or not holds_fatbin(path, places):
        return ""
    sections = f"{EXECUTABLE_SECTION} and {RELOCATABLE_SECTION}"
    return f"{name} holds a fatbin outside {sections}, the only sections that cuobjdump reads."
