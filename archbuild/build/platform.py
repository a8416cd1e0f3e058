"""What differs between systems in the plan of a build: names of files, and how paths are read."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath, PureWindowsPath


@dataclass(frozen=True)
class Platform:
    """A system that a build is planned for; a plan for another one can be made anywhere.

    Args:
        name: As ``os.name`` has it.
        object_suffix: Of objects, with its dot.
        library_suffix: Of a Python module, with its dot.
        path: How paths are taken apart.
    """

    name: str
    object_suffix: str
    library_suffix: str
    path: type[PurePath]

    @property
    def is_windows(self) -> bool:
        """Whether Microsoft's compiler is called, and programs without a shell."""
        return self.name == "nt"

    def split_words(self, text: str) -> tuple[str, ...]:
        r"""A command in a variable, word by word.

        Examples:
            >>> WINDOWS.split_words(r'sccache "C:\Program Files\nvcc.exe"')
            ('sccache', 'C:\\Program Files\\nvcc.exe')
        """
        lexer = shlex.shlex(text, posix=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        if self.is_windows:
            lexer.escape, lexer.quotes = "", '"'  # a backslash is a part of a path there
        return tuple(lexer)


POSIX = Platform("posix", ".o", ".so", PurePosixPath)
WINDOWS = Platform("nt", ".obj", ".pyd", PureWindowsPath)


def platform_of(name: str) -> Platform:
    """The platform that ``os.name`` names."""
    return WINDOWS if name == "nt" else POSIX
