"""How to install a host compiler that a toolkit takes."""

from __future__ import annotations

from collections.abc import Sequence

from archbuild.facts.host_compilers import CONDA, find_package, find_standard
from archbuild.model.host import HostFloor, HostLimits


def host_cure(limits: HostLimits, distribution: Sequence[str], processor: str) -> str:
    """The commands that install the newest g++ that a toolkit takes.

    Args:
        limits: Of the toolkit's ``crt/host_config.h``.
        distribution: ID and ID_LIKE of ``os-release``, best first.
        processor: ``x86_64``, ``aarch64``.

    Returns:
        The beginning of a sentence; empty where the limit is not known.
    """
    if limits.gcc is None:
        return ""
    row = find_package(tuple(distribution))
    commands = [row.command] if row else []
    commands += [CONDA[processor]] if processor in CONDA else []
    if not commands:
        return f"Install g++ {limits.gcc} or older"
    said = " or: ".join(command.format(n=limits.gcc) for command in commands)
    return f"Install g++ {limits.gcc} or older ({said})"


def host_floor(cplusplus: int | None, torch: str) -> HostFloor | None:
    """The oldest compilers for torch's headers.

    Args:
        cplusplus: The least ``__cplusplus`` that they take; None where they don't say.
        torch: Its version, for people.
    """
    row = find_standard(cplusplus) if cplusplus is not None else None
    if row is None:
        return None
    return HostFloor(row.gcc, row.clang, f"the headers of torch {torch} want {row.name}")
