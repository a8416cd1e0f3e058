"""What conda has put into an environment beside its folder of packages.

conda's torch keeps its libraries in the environment's own ``lib``, in a package that is
no Python package.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from archbuild.probe.installations import libraries_in

_FOLDERS = ("lib", "Library/bin")
# NVIDIA's own, which hold code for every GPU that they serve.
_VENDORS = re.compile(
    r"(?:lib)?(?:cu(?:blas|dart|dnn|fft|file|pti|rand|solver|sparse|tensor)|nccl|npp|nv)",
    re.ASCII | re.IGNORECASE,
)
# Records of what lies in one package: the largest list some 20,000 files.
_MOST = 32 << 20
#: Packages of conda that hold the libraries of a Python package of another name.
PYTHON_NAMES = {"libtorch": "torch", "pytorch": "torch"}


@dataclass(frozen=True)
class CondaPackage:
    """A package of conda.

    Args:
        name: As Python calls it where conda calls it otherwise: ``torch``, not ``libtorch``.
        version: Its version.
    """

    name: str
    version: str


def conda_prefix(folder: Path) -> Path | None:
    """The environment of conda whose folder of packages this is; None: it is none's."""
    above = folder.parents
    # lib/python3.12/site-packages, and on Windows Lib/site-packages
    return next((place for place in above[1:3] if (place / "conda-meta").is_dir()), None)


def conda_libraries(prefix: Path) -> Iterator[Path]:
    """The libraries beside the folder of packages, but for links and NVIDIA's own."""
    for name in _FOLDERS:
        for path in libraries_in(prefix / name):
            if not _VENDORS.match(path.name) and not path.is_symlink():
                yield path


def conda_owner(prefix: Path, path: Path) -> CondaPackage | None:
    """The package that a library belongs to, by conda's records; None: it is nobody's."""
    listed = json.dumps(path.relative_to(prefix).as_posix()).encode()
    for record in sorted((prefix / "conda-meta").glob("*.json")):
        with suppress(OSError, ValueError, RecursionError):
            data = record.read_bytes() if record.stat().st_size <= _MOST else b""
            if listed in data:
                return _named(json.loads(data))
    return None


def _named(record: object) -> CondaPackage | None:
    told = record if isinstance(record, dict) else {}
    name, version = told.get("name"), told.get("version")
    if isinstance(name, str) and name and isinstance(version, str):
        return CondaPackage(PYTHON_NAMES.get(name, name), version)
    return None


def has_conda_record(prefix: Path, name: str, version: str) -> bool:
    """Whether conda has a record of a Python package.

    Args:
        prefix: The environment.
        name: The package's name, in lower case with dashes.
        version: Its version.
    """
    names = [name, *(conda for conda, python in PYTHON_NAMES.items() if python == name)]
    beginnings = tuple(f"{one}-{version}-" for one in names)
    try:
        records = [entry.name for entry in os.scandir(prefix / "conda-meta")]
    except OSError:
        return False
    return any(record.startswith(beginnings) and record.endswith(".json") for record in records)
