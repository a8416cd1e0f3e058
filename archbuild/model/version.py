"""Version numbers that people confuse, as types that can't be."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class CudaVersion:
    """A CUDA version: of a toolkit, of a torch, or the highest a driver serves.

    Args:
        major: 13 in 13.0.
        minor: 0 in 13.0.
    """

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> CudaVersion:
        """Read ``13.0``; a third number is dropped.

        Raises:
            ValueError: If the text is no such version.
        """
        match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(\.\d+)*", text.strip(), re.ASCII)
        if match is None:
            raise ValueError(f"{text!r} is no CUDA version such as 13.0")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def from_encoded(cls, number: int) -> CudaVersion:
        """The version which CUDA and NVML write as one number: 12040 is 12.4."""
        return cls(number // 1000, number % 1000 // 10)

    @property
    def encoded(self) -> int:
        """As CUDA and NVML write it: 12.4 is 12040."""
        return self.major * 1000 + self.minor * 10

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, order=True)
class DriverRelease:
    """The release of a display driver, 580.65.06; not a CUDA version.

    Args:
        parts: The numbers between the dots, compared as numbers.
        text: As the driver writes it, leading zeros kept.
    """

    parts: tuple[int, ...]
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> DriverRelease:
        """Read ``580.65.06`` or ``576.02``.

        Raises:
            ValueError: If the text is no such release; ``13.0`` is not one.
        """
        text = text.strip()
        match = re.fullmatch(r"\d{3}\.\d+(\.\d+)*", text, re.ASCII)
        if match is None:
            raise ValueError(f"{text!r} is no driver release such as 580.65.06")
        return cls(tuple(int(part) for part in text.split(".")), text)

    @property
    def branch(self) -> int:
        """The branch, 580 in 580.65.06."""
        return self.parts[0]

    def __str__(self) -> str:
        return self.text
