"""What the commands print to: two streams of a certain width, in colour or not."""

from __future__ import annotations

import os
import shutil
import sys


def say(kind: str, text: str) -> None:
    """One line on standard error: a note, a warning or an error."""
    print(f"archbuild: {kind}: {text}", file=sys.stderr)


def width() -> int:
    """The columns of the terminal, 80 where there is none."""
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def color() -> bool:
    """Whether to use colours: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
