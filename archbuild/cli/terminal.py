"""What the commands print to: two streams of a certain width, in colour or not."""

from __future__ import annotations

import io
import os
import sys

# Neither pathlib nor shutil is imported here, since every command would wait for them.


def say(kind: str, text: str) -> None:
    """One line on standard error: a note, a warning or an error."""
    print(f"archbuild: {kind}: {text}", file=sys.stderr)


def open_streams() -> None:
    """Give a process whose output or errors are closed somewhere to write to.

    A letter that the output's encoding does not have is spelled out, not an error.
    """
    if sys.stdout is None:
        # Open as long as the process.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Let nothing that is still unwritten fail once more when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width() -> int:
    """The columns of the terminal, 80 where there is none."""
    wish = os.environ.get("COLUMNS", "")
    if wish.isdecimal() and int(wish) > 0:
        return max(40, int(wish))
    try:
        return max(40, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (AttributeError, OSError, ValueError):
        return 80


def color() -> bool:
    """Whether to use colours: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
