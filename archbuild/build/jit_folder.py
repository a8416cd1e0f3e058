"""Where the JIT keeps what it builds."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from archbuild.build.folder import can_be_written
from archbuild.build.memory import cache_folder
from archbuild.errors import BuildError

#: torch's own variable: the folder for everything that the JIT builds.
VARIABLE = "TORCH_EXTENSIONS_DIR"
_ODD = re.compile(r"[^\w.+-]")
_KEY_LENGTH = 16


@dataclass(frozen=True)
class Place:
    """A folder for one library.

    Args:
        folder: Absolute; it need not be there.
        note: What a person should know about it; may be empty.
    """

    folder: Path
    note: str = ""


def choose_place(
    name: str, key: str, build_directory: str | None, is_ready: Callable[[Path], bool]
) -> Place:
    """The folder of one library.

    Args:
        name: The module's.
        key: One name for all that decides what is built.
        build_directory: What the caller named; that folder itself, whatever the key.
        is_ready: Whether a folder holds the library already: it need not be written then.

    Raises:
        BuildError: If neither the folder nor a temporary one can be written.
    """
    if build_directory:
        return Place(Path(build_directory).absolute())
    below = Path(_ODD.sub("_", name), key[:_KEY_LENGTH])
    named = os.environ.get(VARIABLE)
    root = Path(named).absolute() if named else cache_folder() / "jit"
    if is_ready(root / below) or can_be_written(root / below):
        return Place(root / below)
    instead = private_folder() / below
    cure = f"Name a place that lasts in {VARIABLE}."
    return Place(instead, f"{root} cannot be written, so {instead} is used. {cure}")


def private_folder() -> Path:
    """A folder of this user below the system's temporary one.

    What lies there is loaded as code, so one that another user made is not used.

    Raises:
        BuildError: If none can be made.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    try:
        folder = Path(tempfile.gettempdir(), f"archbuild-jit-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o022:
            folder = Path(tempfile.mkdtemp(prefix="archbuild-jit-"))
    except OSError as error:
        raise BuildError(
            f"No temporary folder can be written: {error.strerror}.",
            f"Name a folder for what is built in {VARIABLE}.",
        ) from None
    return folder
