"""The files of a folder, and of an installed package."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from archbuild.binary import limits
from archbuild.errors import BinaryError

# Of these only the end of the name is looked at, since a folder holds thousands.
_TEXT = (
    ".py .pyi .pyc .pxd .pyx .txt .md .rst .html .css .js .json .yaml .yml .toml .cfg .ini "
    ".h .hh .hpp .hxx .cuh .inl .c .cc .cpp .cxx .cu .cmake .csv .svg .png .jpg .gif .xml"
)
_LIBRARIES = (".so", ".dll", ".pyd", ".cubin", ".fatbin")
_SCRIPTS = (b"/* GNU ld script", b"INPUT", b"GROUP", b"OUTPUT_FORMAT")
_PASSED_OVER = tuple(_TEXT.split())


def is_text(name: str) -> bool:
    """Whether a file's name says that no device code is in it."""
    return name.lower().endswith(_PASSED_OVER)


def refuse_text(name: str, head: bytes) -> None:
    """Refuse a text that bears the name of a library, such as what Git LFS leaves.

    A linker's script is none: distributions have some, which only name the library.

    Args:
        name: Of a file that can hold no device code by what is in it.
        head: Its first bytes.

    Raises:
        BinaryError: If it is such a text, or empty.
    """
    plain = name.lower()
    if not (plain.endswith(_LIBRARIES) or ".so." in plain.rpartition("/")[2]):
        return
    if head.lstrip().startswith(_SCRIPTS) or not _is_printable(head):
        return
    if head.startswith(b"version https://git-lfs"):
        message = f"{name} is the pointer of a file in Git LFS, not the file."
        raise BinaryError(message, "Run: git lfs pull")
    what = f"it begins with {head[:16]!r}" if head else "it is empty"
    raise BinaryError(f"{name} is no library, though it is called so: {what}.", "Build it again.")


def _is_printable(head: bytes) -> bool:
    return all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head)


def walk(folder: str) -> Iterator[str]:
    """The files below a folder, in order, each once.

    A link to a file is followed (some installers put links in place of files), a
    link to a folder isn't. Pipes and devices are never opened.

    Raises:
        BinaryError: If the folder itself cannot be read.
    """
    seen: set[tuple[int, int]] = set()
    for root, folders, files in os.walk(folder, onerror=_refuse):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(root, name)  # noqa: PTH118 - pathlib is slow to import
            if not is_text(name) and _is_new_file(path, seen):
                yield path
        if len(seen) > limits.MEMBERS:
            raise BinaryError(f"{folder} holds more than {limits.MEMBERS} files.")


def _is_new_file(path: str, seen: set[tuple[int, int]]) -> bool:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return False
    key = (status.st_dev, status.st_ino)
    if not stat.S_ISREG(status.st_mode) or (status.st_ino and key in seen):
        return False
    seen.add(key)
    return True


def _refuse(error: OSError) -> None:
    message = f"The folder {error.filename} cannot be read: {error.strerror}."
    raise BinaryError(message, "Check its permissions.")


def find_package(name: str) -> list[str] | None:
    """The files of an installed package; None if no such package is installed.

    Args:
        name: The name it was installed by, ``flash-attn``.
    """
    from importlib import metadata  # noqa: PLC0415 - slow to import

    try:
        distribution = metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError, OSError):
        return None
    seen: set[tuple[int, int]] = set()
    paths = (str(distribution.locate_file(file)) for file in distribution.files or ())
    return [path for path in paths if not is_text(path) and _is_new_file(path, seen)]
