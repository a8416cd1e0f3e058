"""What installed packages do on the GPUs of a machine, as a table has it."""

from __future__ import annotations

from dataclasses import dataclass

from archbuild.model.installed import CodePackage
from archbuild.model.machine import Machine
from archbuild.rules.covering.code import FileStanding, GpuKind, gpu_kinds
from archbuild.rules.diagnosis.code_packages import (
    PackageStanding,
    cover,
    is_torch,
    packages_to_judge,
)


@dataclass(frozen=True)
class Served:
    """What a package, or one of its libraries, does on each kind of GPU.

    Args:
        name: The package or the library.
        version: The package's; empty for a library.
        standings: One for each kind of GPU; None where there is nothing to judge.
    """

    name: str
    version: str
    standings: tuple[FileStanding | None, ...]


@dataclass(frozen=True)
class Service:
    """All packages with device code on all GPUs.

    Args:
        kinds: The GPUs by kind.
        packages: One for each package, torch first.
        libraries: One for each of their libraries.
    """

    kinds: tuple[GpuKind, ...] = ()
    packages: tuple[Served, ...] = ()
    libraries: tuple[Served, ...] = ()


def serve(machine: Machine) -> Service:
    """What each package with device code does on each kind of GPU of a machine.

    Args:
        machine: With its packages; without them, or without a GPU, there is nothing
            to say.
    """
    kinds = gpu_kinds(machine)
    if machine.installed is None or not kinds:
        return Service(kinds)
    torch = [package for package in machine.installed.packages if is_torch(package)]
    found = [
        (package, [cover(package, kind, machine) for kind in kinds])
        for package in (*torch, *packages_to_judge(machine))
    ]
    judged = [(package, stood) for package, stood in found if any(s.main for s in stood)]
    return Service(
        kinds,
        tuple(_package(package, stood) for package, stood in judged),
        tuple(row for _, stood in judged for row in _libraries(stood)),
    )


def _package(package: CodePackage, stood: list[PackageStanding]) -> Served:
    return Served(package.name, package.version, tuple(one.main for one in stood))


def _libraries(stood: list[PackageStanding]) -> list[Served]:
    """The libraries of a package, in the order of the first kind of GPU that has them."""
    paths = dict.fromkeys(file.file.path for one in stood for file in one.files)
    by_kind = [{file.file.path: file for file in one.files} for one in stood]
    return [Served(path, "", tuple(held.get(path) for held in by_kind)) for path in paths]
