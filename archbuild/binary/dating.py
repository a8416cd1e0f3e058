"""With which CUDA a library's code was made, read from a few of its images."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from archbuild.binary.contents import NOTHING, Contents, Depth
from archbuild.binary.fatbin import Entry
from archbuild.binary.inside import look_inside
from archbuild.binary.scan import Scanner
from archbuild.binary.source import FileSource, Source
from archbuild.errors import ArchbuildError
from archbuild.model.version import CudaVersion


def read_toolkits(path: str | Path, offsets: Iterable[int]) -> dict[int, CudaVersion]:
    """The CUDA of the tools that made the fatbins at some places of a file.

    A library of thousands of them was made by one toolkit, or two: a few tell it
    in milliseconds, where to read all takes a second.

    Args:
        path: The file, by itself and uncompressed.
        offsets: Where fatbins begin, as :class:`archbuild.model.image.Region` has it.

    Returns:
        By offset; without those that tell none or can't be read.
    """
    found: dict[int, CudaVersion] = {}
    try:
        with Path(path).open("rb") as file:
            source = FileSource(str(path), file, os.fstat(file.fileno()).st_size)
            for offset in offsets:
                told = _toolkit(source, offset)
                if told is not None:
                    found[offset] = told
    except OSError:
        return found
    return found


def _toolkit(source: FileSource, offset: int) -> CudaVersion | None:
    told: list[CudaVersion] = []

    def look(whole: Source, entries: tuple[Entry, ...]) -> tuple[Contents, ...]:
        if told:
            return (NOTHING,) * len(entries)
        contents = look_inside(whole, entries, Depth.KERNELS)
        told.extend(one.toolkit for one in contents if one.toolkit is not None)
        return contents

    with suppress(ArchbuildError):
        next(Scanner(source, lambda: look).scan(offset, source.size), None)
    return told[0] if told else None
