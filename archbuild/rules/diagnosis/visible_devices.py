"""CUDA_VISIBLE_DEVICES as CUDA reads it; pure.

The list is read from its first entry on and ends at the first one that is no GPU of the
machine; what comes after doesn't count. An entry is a number, of which trailing characters
are dropped, or a UUID or its beginning, if that fits one GPU alone; the first entry decides
which of the two the list is of. A GPU named twice hides all of them, and so does an empty
list. Sources: CUDA programming guide, environment variables; torch's own reading of the
variable, which was made after CUDA's, both read 2026-12.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_NUMBER = re.compile(r"\s*\+?(\d+)", re.ASCII)
_NEGATIVE = re.compile(r"\s*-\d", re.ASCII)
_PREFIXES = ("GPU-", "MIG-")


class Ending(Enum):
    """Why the list ends where it does."""

    WHOLE = "all of it was read"
    EMPTY = "it is empty"
    NOT_THERE = "no such GPU"
    AMBIGUOUS = "several GPUs begin so"
    REPEATED = "named twice"
    CLOSED = "a negative number ends it, as is meant"


@dataclass(frozen=True)
class VisibleDevices:
    """What CUDA makes of the variable.

    Args:
        taken: The entries that count, in order, as they were written.
        chosen: The GPUs: numbers in CUDA's own order, or UUIDs.
        ending: Why the list ends there.
        entry: The entry at which it ends before its end; None: it doesn't.
    """

    taken: tuple[str, ...] = ()
    chosen: tuple[int | str, ...] = ()
    ending: Ending = Ending.WHOLE
    entry: str | None = None

    @property
    def hides_all(self) -> bool:
        """Whether no GPU is left."""
        return not self.chosen


def parse_visible_devices(
    value: str, uuids: Sequence[str], count: int | None = None
) -> VisibleDevices:
    """What CUDA makes of a value of CUDA_VISIBLE_DEVICES.

    Args:
        value: The value; a variable that is not set hides nothing, and is not asked here.
        uuids: Of the GPUs and slices that are there, whole.
        count: How many numbers there are; None: as many as UUIDs of GPUs.

    Examples:
        >>> parse_visible_devices("1,7,0", ["GPU-a1", "GPU-b2"]).taken
        ('1',)
        >>> parse_visible_devices("GPU-b", ["GPU-a1", "GPU-b2"]).chosen
        ('GPU-b2',)
        >>> parse_visible_devices("0,0", ["GPU-a1", "GPU-b2"]).hides_all
        True
    """
    if not value.strip():
        return VisibleDevices(ending=Ending.EMPTY)
    entries = [entry.strip() for entry in value.split(",")]
    prefix = next((p for p in _PREFIXES if entries[0].startswith(p)), None)
    whole = sum(uuid.startswith("GPU-") for uuid in uuids) if count is None else count
    taken: list[str] = []
    chosen: list[int | str] = []
    for entry in entries:
        found = _number(entry, whole) if prefix is None else _uuid(entry, prefix, uuids)
        if isinstance(found, Ending):
            return VisibleDevices(tuple(taken), tuple(chosen), found, entry)
        if found in chosen:
            return VisibleDevices(ending=Ending.REPEATED, entry=entry)
        taken.append(entry)
        chosen.append(found)
    return VisibleDevices(tuple(taken), tuple(chosen))


def _number(entry: str, count: int) -> int | Ending:
    if _NEGATIVE.match(entry):
        return Ending.CLOSED
    match = _NUMBER.match(entry)
    # More digits than a machine has GPUs are no number to convert.
    if match is None or len(match[1].lstrip("0")) > 9:
        return Ending.NOT_THERE
    number = int(match[1])
    return number if number < count else Ending.NOT_THERE


def _uuid(entry: str, prefix: str, uuids: Sequence[str]) -> str | Ending:
    if not entry.startswith(prefix) or entry == prefix:
        return Ending.NOT_THERE
    fitting = [uuid for uuid in dict.fromkeys(uuids) if uuid.startswith(entry)]
    if len(fitting) > 1:
        return fitting[0] if entry == fitting[0] else Ending.AMBIGUOUS
    return fitting[0] if fitting else Ending.NOT_THERE
