"""What is mounted where, as ``/proc/self/mountinfo`` tells it to this process."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mount:
    """One mount.

    Args:
        top: Which part of the file system is mounted: ``/`` for all of it.
        point: Where.
        kind: Of the file system: ``ext4``, ``overlay``, ``tmpfs``.
        device: What holds it: ``/dev/sda2``, ``overlay``.
    """

    top: str
    point: str
    kind: str
    device: str


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """The mounts, in their order; lines that are none are passed by."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        words, tail = before.split(" "), after.split(" ")
        if len(words) >= 6 and len(tail) >= 2:
            found.append(Mount(_plain(words[3]), _plain(words[4]), tail[0], _plain(tail[1])))
    return tuple(found)


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount in which a file lies; None where none was told.

    Examples:
        >>> top, lib = Mount("/", "/", "ext4", "sda1"), Mount("/", "/usr/lib", "ext4", "sda2")
        >>> mount_of("/usr/lib/x.so", (top, lib)).device
        'sda2'
    """
    around = [m for m in mounts if path == m.point or path.startswith(m.point.rstrip("/") + "/")]
    # Of two at one point the later hides the earlier.
    return max(reversed(around), key=lambda mount: len(mount.point), default=None)


def _plain(text: str) -> str:
    r"""A path as it is; a blank is written ``\040`` there."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
