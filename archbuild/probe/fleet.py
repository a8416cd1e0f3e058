"""Records of several machines: files, folders of them, patterns."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from archbuild.errors import RecordError
from archbuild.probe.machine import read_machine
from archbuild.rules.covering.places import Member

_ADVICE = "Write one with: archbuild doctor --save FILE"


def read_fleet(paths: Iterable[str]) -> tuple[Member, ...]:
    """The machines of records, in order, each named as its file.

    Args:
        paths: Files; folders, of which every ``*.json`` is taken; and patterns, which
            not every shell expands.

    Raises:
        RecordError: If one of them is no record, or there is none.
    """
    found = [file for path in paths for file in _files(path)]
    files = list({file.resolve(): file for file in reversed(found)}.values())[::-1]
    names = _names(files)
    return tuple(Member(name, read_machine(file)) for name, file in zip(names, files, strict=True))


def _files(path: str) -> Iterator[Path]:
    if not path:
        raise RecordError("A path among the records is empty.", _ADVICE)
    here = Path(path)
    if here.is_dir():
        found = sorted(here.glob("*.json"))
        if not found:
            raise RecordError(f"{path} holds no record of a machine (*.json).", _ADVICE)
        yield from found
    elif glob.has_magic(path) and not here.exists():
        matching = sorted(glob.glob(path))  # noqa: PTH207 -- a path with a pattern in it
        if not matching:
            raise RecordError(f"No file matches {path}.", _ADVICE)
        yield from map(Path, matching)
    else:
        yield here


def _names(files: list[Path]) -> list[str]:
    """What to call each: its name without the ending, or its path where two have one name."""
    stems = Counter(file.stem for file in files)
    return [file.stem if stems[file.stem] == 1 else str(file) for file in files]
