"""Which GPUs cuDNN no longer has: a corner of its own beside torch, driver and GPU."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class CudnnRow:
    """A release of cuDNN that left GPUs behind.

    Args:
        since: The first release without them, its numbers.
        below: What a person asks for instead: ``<9.11``.
        generations: Those left behind, as facts/architectures.py names them.
        source: Where it is written.
        date: When it was read there.
    """

    since: tuple[int, ...]
    below: str
    generations: tuple[str, ...]
    source: str
    date: date


CUDNN = (
    CudnnRow(
        (9, 11),
        "9.11",
        ("Maxwell", "Pascal", "Volta"),
        "cuDNN 9.11 release notes and support matrix",
        date(2026, 11, 30),
    ),
    CudnnRow(
        (9, 0),
        "9",
        ("Kepler",),
        "cuDNN 9.0 release notes: support for Kepler ended",
        date(2026, 11, 30),
    ),
)


def cudnn_floor(version: str, generation: str) -> CudnnRow | None:
    """The row by which this cuDNN no longer has a generation; None: none is known.

    Args:
        version: As its package or its own function tells it, ``9.13.0.50``.
        generation: As facts/architectures.py names it.
    """
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    rows = (row for row in CUDNN if generation in row.generations)
    return next((row for row in rows if numbers and numbers >= row.since), None)
