"""What changed between two builds? Read both, and lay them side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from archbuild.binary.names import normalize, widen
from archbuild.binary.reader import read
from archbuild.model.image import DeviceFile
from archbuild.rules.comparing.differences import Bytes, Differences, find_differences
from archbuild.rules.comparing.pairing import align_names, pair_files


@dataclass(frozen=True)
class CompareReport:
    """What compare found.

    Args:
        before: The first wheel or library, as the person named it.
        after: The second.
        differences: What was gained and lost.
        size: Bytes of the two files themselves; None where one is a folder or a package.
    """

    before: str
    after: str
    differences: Differences
    size: Bytes | None = None


def compare(before: str, after: str) -> CompareReport:
    """What was gained and lost between two wheels, libraries, folders or packages.

    Args:
        before: A path, or the name of an installed package.
        after: The same for the other build.

    Raises:
        BinaryError: If one of them cannot be read to its end.
        ToolError: If a package that inflates device code is not installed.
    """
    # The same names come again for each architecture and each device.
    normal = lru_cache(maxsize=None)(normalize)
    pairs = pair_files(_files(before), _files(after))
    differences = find_differences([align_names(pair, normal, widen) for pair in pairs], normal)
    return CompareReport(before, after, differences, _size(before, after))


def _files(path: str) -> Sequence[DeviceFile]:
    """The files of one build, named from its folder on."""
    files = read(path, kernels=True)
    if not os.path.isdir(path):  # noqa: PTH112 - pathlib is slow to import
        return files
    root = os.path.join(path, "")  # noqa: PTH118
    return [replace(file, path=file.path.removeprefix(root)) for file in files]


def _size(before: str, after: str) -> Bytes | None:
    if os.path.isfile(before) and os.path.isfile(after):  # noqa: PTH113
        return Bytes(os.path.getsize(before), os.path.getsize(after))  # noqa: PTH202
    return None
