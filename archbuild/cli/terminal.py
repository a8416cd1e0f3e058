"""What the commands print to: two streams of a certain width, in colour or not."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def say(kind: str, text: str) -> None:
    """One line on standard error: a note, a warning or an error."""
    print(f"archbuild: {kind}: {text}", file=sys.stderr)


def open_streams() -> None:
    """Give a process whose output or errors are closed somewhere to write to."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  (open as long as the process)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115


def drop_output() -> None:
    """Let nothing that is still unwritten fail once more when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width() -> int:
    """The columns of the terminal, 80 where there is none."""
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def color() -> bool:
    """Whether to use colours: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
