"""Releases of torch: the Pythons their wheels are for, and what the index hands out unasked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from archbuild.model.version import CudaVersion

Python = tuple[int, int]


@dataclass(frozen=True, order=True)
class TorchRelease:
    """A release series of torch, 2.14; 2.14.0 and 2.14.1 hold the same architectures.

    Args:
        major: 2 in 2.14.
        minor: 14 in 2.14.
    """

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> TorchRelease:
        """Read ``2.14``, ``2.14.1`` or ``2.14.1+cu130``; what follows the minor is dropped.

        Raises:
            ValueError: If it is no such version.
        """
        match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})([.+a-z][\w.+-]*)?", text.strip(), re.ASCII)
        if match is None:
            raise ValueError(f"{text!r} is no release of torch such as 2.14")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True)
class ReleaseRow:
    """One release series.

    Args:
        torch: The release.
        pythons: The first and the last Python that it has wheels for.
        tried: Pythons whose wheels it calls experimental.
        released: The day; None where only the month is known.
        month: ``2026-03``.
        plain: The CUDA of the wheel that the package index hands out on Linux x86_64
            where no other index is named.
        source: Where it is written.
        date: When it was read there.
    """

    torch: TorchRelease
    pythons: tuple[Python, Python]
    tried: tuple[Python, ...]
    released: date | None
    month: str
    plain: CudaVersion
    source: str
    date: date


_READ = date(2026, 11, 30)
_SOURCE = "the wheels on the package index and PyTorch's release notes"


def parse_python(text: str) -> Python:
    """Read ``3.12`` or ``3.12.1``; a third number and what follows it are dropped.

    Raises:
        ValueError: If it is no version of Python.
    """
    match = re.fullmatch(r"(\d)\.(\d{1,2})([.a-z+][\w.+-]*)?", text.strip(), re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is no version of Python such as 3.12")
    return int(match[1]), int(match[2])


def _row(torch: str, pythons: str, day: str, plain: str, tried: str = "") -> ReleaseRow:
    first, _, last = pythons.partition("-")
    return ReleaseRow(
        TorchRelease.parse(torch),
        (parse_python(first), parse_python(last)),
        tuple(parse_python(python) for python in tried.split()),
        date.fromisoformat(day) if len(day) > len("2026-03") else None,
        day[: len("2026-03")],
        CudaVersion.parse(plain),
        _SOURCE,
        _READ,
    )


RELEASES = (
    _row("2.15", "3.11-3.15", "2026-10-28", "13.2"),
    _row("2.14", "3.10-3.15", "2026-09-02", "13.0"),
    _row("2.13", "3.10-3.15", "2026-07-08", "13.0", tried="3.15"),
    _row("2.12", "3.10-3.14", "2026-05", "13.0"),
    _row("2.11", "3.10-3.14", "2026-03", "13.0"),
    _row("2.10", "3.10-3.14", "2026-01-21", "12.8"),
    _row("2.9", "3.10-3.14", "2025-10-15", "12.8"),
    _row("2.8", "3.9-3.13", "2025-08-06", "12.8"),
    _row("2.7", "3.9-3.13", "2025-04-23", "12.6"),
    _row("2.6", "3.9-3.13", "2025-01-29", "12.4"),
    _row("2.5", "3.9-3.13", "2024-10-17", "12.4", tried="3.13"),
    _row("2.4", "3.8-3.12", "2024-07-24", "12.1"),
    _row("2.3", "3.8-3.12", "2024-04-24", "12.1"),
    _row("2.2", "3.8-3.12", "2024-01-30", "12.1"),
    _row("2.1", "3.8-3.11", "2023-10-04", "12.1"),
    _row("2.0", "3.8-3.11", "2023-03-15", "11.7"),
    _row("1.13", "3.7-3.11", "2022-10-28", "11.7"),
)

_BY_RELEASE = {row.torch: row for row in RELEASES}


def find_release(torch: TorchRelease) -> ReleaseRow | None:
    """The row of this release; None where it is not known."""
    return _BY_RELEASE.get(torch)
