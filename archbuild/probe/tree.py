"""The files by which a system describes itself, below a root that a test can fake.

Nothing here raises: what is missing, closed, damaged or endless reads as nothing.
What this user was not let read is remembered, since that is an answer of its own.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

#: Bytes read of one file. The longest that is read whole, modules.dep, has about one million.
LIMIT = 4 << 20

# A read of a pipe that nobody writes to would never end.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Tree:
    """A machine's files.

    Args:
        root: The folder that holds ``proc``, ``sys``, ``dev``, ``etc`` and so on.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self._closed: dict[str, None] = {}

    @property
    def closed(self) -> tuple[str, ...]:
        """What this user was not let read, in the order of the attempts."""
        return tuple(self._closed)

    def place(self, path: str) -> Path:
        """Where a path such as ``/proc/version`` lies."""
        return self.root / path.lstrip("/")

    def data(self, path: str, *, limit: int = LIMIT, quiet: bool = False) -> bytes | None:
        """The first bytes of a file; None where there is none to read.

        Args:
            path: From the root, beginning with a slash.
            limit: How many bytes.
            quiet: Whether a refusal is usual, and not to be remembered.
        """
        try:
            return _read(self.place(path), limit)
        except (OSError, ValueError) as error:
            self._note(path, error, quiet=quiet)
            return None

    def text(self, path: str, *, limit: int = LIMIT, quiet: bool = False) -> str | None:
        """The same as text, what is no UTF-8 replaced."""
        data = self.data(path, limit=limit, quiet=quiet)
        return None if data is None else data.decode("utf-8", "replace")

    def names(self, folder: str) -> tuple[str, ...] | None:
        """The names in a folder, ordered; None where it cannot be listed."""
        try:
            return tuple(sorted(os.listdir(self.place(folder))))  # noqa: PTH208 -- names alone
        except (OSError, ValueError) as error:
            self._note(folder, error)
            return None

    def holds(self, path: str) -> bool:
        """Whether there is such a file or folder, links followed."""
        with suppress(OSError, ValueError):
            return self.place(path).exists()
        return False

    def link(self, path: str) -> str | None:
        """What a link says; None where it is none."""
        with suppress(OSError, ValueError):
            return os.readlink(self.place(path))  # noqa: PTH115 -- as it is written
        return None

    def target(self, path: str) -> str | None:
        """The last name of where a link leads; None where it is no link."""
        return (self.link(path) or "").rstrip("/").rpartition("/")[2] or None

    def real(self, path: str) -> str | None:
        """The file, with something in it, to which a path leads; None where there is none."""
        try:
            found = Path(os.path.realpath(self.place(path), strict=True))
            state = found.stat()
        except (OSError, ValueError) as error:
            self._note(path, error)
            return None
        if not stat.S_ISREG(state.st_mode) or state.st_size == 0:
            return None
        return self._from_root(found)

    def may_use(self, path: str) -> bool:
        """Whether this user may open a file for reading and writing, which is not tried.

        Linux answers by the rules of the control group as well as by owner and mode.
        """
        try:
            return os.access(self.place(path), os.R_OK | os.W_OK)
        except ValueError:
            return False

    def is_device(self, path: str) -> bool:
        """Whether there is something else than a folder."""
        try:
            return not stat.S_ISDIR(self.place(path).stat().st_mode)
        except (OSError, ValueError):
            return False

    def _note(self, path: str, error: Exception, *, quiet: bool = False) -> None:
        if isinstance(error, PermissionError) and not quiet:
            self._closed[path] = None

    def _from_root(self, path: Path) -> str:
        with suppress(ValueError):
            return f"/{path.relative_to(os.path.realpath(self.root)).as_posix()}"
        return str(path)


def _read(path: Path, limit: int) -> bytes:
    """Up to so many bytes of a file; those of the kernel come in pieces."""
    number = os.open(path, _FLAGS)
    try:
        data = bytearray()
        while len(data) < limit and (piece := os.read(number, min(limit - len(data), 1 << 16))):
            data += piece
        return bytes(data)
    finally:
        os.close(number)
