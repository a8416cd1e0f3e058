"""The type of a known error text: what programs say, what it means, what cures it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class Join(Enum):
    """What an error is joined with, since the text tells it only in part."""

    NOTHING = "nothing"
    #: Whether the binary's code runs on the GPUs.
    CODE = "code"
    #: How the binary was built: to build it again cures it.
    BUILD = "build"
    #: What is wrong with the machine.
    MACHINE = "machine"


class Rank(IntEnum):
    """Which of several known texts is explained first: the lowest, then the first in the text."""

    CAUSE = 0
    ERROR = 1
    SYMPTOM = 2


@dataclass(frozen=True)
class KnownError:
    """One text that programs print, or one group of CUDA's errors.

    Templates are filled with the named groups of the pattern; of CUDA's errors with
    ``number``, ``name`` and ``text``. What stands in brackets is left out where one of its
    values is missing.

    Args:
        key: Stable, ``torch-driver-too-old``; every language has its texts under it.
        sentence: A template: what it means.
        advice: A template: what cures it.
        marks: Words of which one stands in every such text, folded to small letters, in
            one line: what has none of them is not looked at any further.
        pattern: A regular expression for the text, in which every run of blanks and line
            ends is one blank; its case does not matter. Empty for CUDA's own errors, which
            are told by their numbers.
        commands: Templates of commands.
        errors: The CUDA errors that it stands for, the likeliest first.
        join: What it is joined with.
        rank: How deep a cause it names.
        source: Who says so: the program, and public reports that quote it.
    """

    key: str
    sentence: str
    advice: str
    marks: tuple[str, ...] = ()
    pattern: str = ""
    commands: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    join: Join = Join.NOTHING
    rank: Rank = Rank.CAUSE
    source: str = ""


def cuda_group(
    key: str,
    errors: str,
    sentence: str,
    advice: str,
    commands: tuple[str, ...] = (),
    *,
    join: Join = Join.NOTHING,
) -> KnownError:
    """One meaning for several of CUDA's errors.

    Args:
        key: Of the row.
        errors: Their numbers, ``"98 500"``, ``"805-810"``.
        sentence: What it means.
        advice: What cures it.
        commands: As commands.
        join: What it is joined with.
    """
    numbers: list[int] = []
    for piece in errors.split():
        first, _, last = piece.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return KnownError(
        key,
        sentence,
        advice,
        commands=commands,
        errors=tuple(numbers),
        join=join,
        rank=Rank.ERROR,
        source="driver_types.h and cuda.h, CUDA 13.0, read 2026-12-01",
    )
