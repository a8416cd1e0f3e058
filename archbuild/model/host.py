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


@dataclass(frozen=True)
class HostFloor:
    """The oldest host compilers that torch's headers take.

    Args:
        gcc: Lowest major version.
        clang: Lowest major version.
        why: For people, ``the headers of torch 2.14.1 want C++20``.
    """

    gcc: int
    clang: int
    why: str


@dataclass(frozen=True)
class NamedHost:
    """A host compiler that somebody named.

    Args:
        name: Where: ``NVCC_CCBIN``, ``CXX``, ``the nvcc flags``.
        command: The compiler, without wrappers and options.
        words: All that stands there.
        compiler: What it is; None as long as it was not asked.
    """

    name: str
    command: str
    words: tuple[str, ...] = ()
    compiler: HostCompiler | None = None


@dataclass(frozen=True)
class HostChoice:
    """The host compiler of nvcc.

    Args:
        path: For ``-ccbin``; None where nvcc's own choice stands.
        reason: Why this one, for people.
        warnings: What a person should know, one sentence each.
    """

    path: str | None
    reason: str
    warnings: tuple[str, ...] = ()
