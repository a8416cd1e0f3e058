"""Compute capabilities and architectures: a GPU's number, and code for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import total_ordering


@dataclass(frozen=True, order=True)
class ComputeCapability:
    """A GPU's compute capability, such as 9.0; never a float.

    Args:
        major: Before the dot, 12 in 12.1; at most two digits.
        minor: After the dot, one digit.

    Raises:
        ValueError: If they are out of range.

    Examples:
        >>> str(ComputeCapability(12, 1)), ComputeCapability(12, 1).number
        ('12.1', 121)
        >>> ComputeCapability(9, 0) < ComputeCapability(10, 0)
        True
    """

    major: int
    minor: int

    def __post_init__(self) -> None:
        if not (1 <= self.major <= 99 and 0 <= self.minor <= 9):
            raise ValueError(f"{self.major}.{self.minor} is no compute capability")

    @classmethod
    def from_number(cls, number: int) -> ComputeCapability:
        """The capability which nvcc writes without a dot: 90 is 9.0, 121 is 12.1.

        Args:
            number: Ten times the major number, plus the minor number.

        Raises:
            ValueError: If the number has fewer than two digits.
        """
        return cls(*divmod(number, 10))

    @classmethod
    def parse(cls, text: str) -> ComputeCapability:
        """Read ``"9.0"``, with the dot and nothing else.

        Raises:
            ValueError: If the text is anything else.
        """
        match = re.fullmatch(r"([1-9]\d?)\.(\d)", text, re.ASCII)
        if match is None:
            raise ValueError(f"{text!r} is no compute capability such as 9.0")
        return cls(int(match[1]), int(match[2]))

    @property
    def number(self) -> int:
        """The number in ``sm_90``: ten times the major, plus the minor."""
        return self.major * 10 + self.minor

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Stage(Enum):
    """What an architecture names: a virtual one is PTX, a real one SASS."""

    REAL = "sm"
    VIRTUAL = "compute"
    LTO = "lto"


class Suffix(Enum):
    """How far code for an architecture reaches beyond its own number."""

    PLAIN = ""
    ARCH = "a"
    FAMILY = "f"


_NAME = re.compile(r"(sm|compute|lto)_([1-9]\d{1,2})([af]?)", re.ASCII)
_ORDER = {Suffix.PLAIN: 0, Suffix.FAMILY: 1, Suffix.ARCH: 2}
_STAGES = {Stage.REAL: 0, Stage.LTO: 1, Stage.VIRTUAL: 2}


@total_ordering
@dataclass(frozen=True)
class Arch:
    """One architecture as nvcc names it: ``sm_90a``, ``compute_120``.

    Order is that of the capability as numbers, then plain, ``f``, ``a``; SASS
    comes before PTX of the same number.

    Args:
        stage: Real (SASS), virtual (PTX) or LTO-IR.
        capability: The number in the name.
        suffix: Plain, arch-specific ``a`` or family-specific ``f``.

    Examples:
        >>> str(Arch.parse("sm_90a").virtual)
        'compute_90a'
    """

    stage: Stage
    capability: ComputeCapability
    suffix: Suffix = Suffix.PLAIN

    @classmethod
    def parse(cls, name: str) -> Arch:
        """Read nvcc's own name of an architecture, and nothing more liberal.

        Raises:
            ValueError: If it is no such name.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"{name!r} is no architecture such as sm_90a or compute_90")
        capability = ComputeCapability.from_number(int(match[2]))
        return cls(Stage(match[1]), capability, Suffix(match[3]))

    @property
    def is_real(self) -> bool:
        """Whether it names SASS."""
        return self.stage is Stage.REAL

    @property
    def is_virtual(self) -> bool:
        """Whether it names PTX."""
        return self.stage is Stage.VIRTUAL

    @property
    def real(self) -> Arch:
        """SASS of the same number and suffix."""
        return Arch(Stage.REAL, self.capability, self.suffix)

    @property
    def virtual(self) -> Arch:
        """PTX of the same number and suffix."""
        return Arch(Stage.VIRTUAL, self.capability, self.suffix)

    @property
    def number(self) -> str:
        """The name without its stage: ``90a``."""
        return f"{self.capability.number}{self.suffix.value}"

    @property
    def dotted(self) -> str:
        """The number as torch and people write it: ``9.0a``."""
        return f"{self.capability}{self.suffix.value}"

    @property
    def _key(self) -> tuple[ComputeCapability, int, int]:
        return self.capability, _STAGES[self.stage], _ORDER[self.suffix]

    def __lt__(self, other: Arch) -> bool:
        return self._key < other._key

    def __str__(self) -> str:
        return f"{self.stage.value}_{self.number}"


def sass(number: str) -> Arch:
    """The real architecture with this number: ``sass("90a")`` is ``sm_90a``."""
    return Arch.parse(f"sm_{number}")


def ptx(number: str) -> Arch:
    """The virtual architecture with this number: ``ptx("90")`` is ``compute_90``."""
    return Arch.parse(f"compute_{number}")
