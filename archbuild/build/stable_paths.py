"""Paths that stay the same where torch and the toolkit move, so that ccache hits all the same.

Build isolation installs both at a new path for every build, and every machine has its
environment elsewhere. ccache's key holds the paths of the headers, but those below its
base directory relative to it; a symbolic link in the build folder, through which they
are named, makes them so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Where a path begins within a word: at its start, after an option that takes one
# without a blank, or, in an option, after a mark that separates.
_BEFORE = r"(?P<before>^-.*[=,:]|^(?:-I|-L|-isystem|-iquote|-idirafter)?)"
_AFTER = r"(?=[/,:]|$)"


@dataclass(frozen=True)
class StablePaths:
    """Links, and what they stand for.

    Args:
        links: What a link points to, and the link's own path.
    """

    links: Mapping[str, str]

    def through(self, words: Iterable[str]) -> tuple[str, ...]:
        """The words of a command, naming things through the links.

        Args:
            words: A program and its arguments.

        >>> at = StablePaths({"/env/cu13": "build/at/cuda"})
        >>> at.through(["/env/cu13/bin/nvcc", "-I/env/cu13/include", "/my/env/cu13"])
        ('build/at/cuda/bin/nvcc', '-Ibuild/at/cuda/include', '/my/env/cu13')
        """
        return tuple(self._through(word) for word in words)

    def _through(self, word: str) -> str:
        # A macro's value may be read when the library runs, elsewhere.
        if word.startswith("-D"):
            return word
        # The longest first: torch's folder may lie below the environment's.
        for target in sorted(self.links, key=len, reverse=True):
            pattern = re.compile(f"{_BEFORE}{re.escape(target)}{_AFTER}")
            word = _replaced(word, pattern, self.links[target])
        return word


def _replaced(word: str, pattern: re.Pattern[str], link: str) -> str:
    """The last place first, then those before it; what was put in is not looked at again."""
    match = pattern.search(word)
    if match is None:
        return word
    return _replaced(match["before"], pattern, link) + link + word[match.end() :]


def link_moving(folder: str, targets: Mapping[str, str], *, root: str) -> StablePaths:
    """Make a link for each thing that may move, or say that there is none.

    Args:
        folder: Where the links go, below the root; it belongs to one build at a time.
        targets: Folders by the name of their link: ``{"cuda": "/env/nvidia/cu13"}``.
        root: The project's folder. What lies below it needs no link,
            and what it lies in can have none.

    Returns:
        Those that could be made; none where the system has no links.
    """
    made: dict[str, str] = {}
    for name, target in targets.items():
        if Path(target).is_relative_to(root) or Path(root).is_relative_to(target):
            continue
        link = Path(folder, name)
        if _point(link, target):
            made[target] = str(link)
    return StablePaths(made)


def _point(link: Path, target: str) -> bool:
    """Make a link or turn it, in one step: whoever looks finds the old or the new one."""
    new = link.with_name(f"{link.name}.{os.getpid()}")
    try:
        if link.is_symlink() and str(link.readlink()) == target:
            return True
        link.parent.mkdir(parents=True, exist_ok=True)
        new.symlink_to(target, target_is_directory=True)
        new.replace(link)
    except (OSError, NotImplementedError):
        with suppress(OSError):
            new.unlink()
        return False
    return True
