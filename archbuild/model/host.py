"""The C++ compiler that nvcc hands the host code to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostCompiler:
    """A host compiler that was asked for its version.

    Args:
        command: As it was named, or found.
        family: ``gcc`` or ``clang``; anything else is ``unknown``.
        major: Its major version; None where it did not say.
        found: Whether there is such a program.
    """

    command: str
    family: str
    major: int | None
    found: bool = True


@dataclass(frozen=True)
class HostLimits:
    """The newest host compilers that a toolkit takes, by its own header.

    Args:
        gcc: Highest major version; None where the header doesn't tell.
        clang: Highest major version; None where the header doesn't tell.
        source: The header.
    """

    gcc: int | None
    clang: int | None
    source: str
