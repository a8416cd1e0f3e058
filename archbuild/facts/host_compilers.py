"""What C++ standards ask of a host compiler, and which package brings which version of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

_READ = date(2026, 11, 30)


@dataclass(frozen=True)
class StandardRow:
    """The oldest compilers that define ``__cplusplus`` as a standard does.

    torch's headers compare it: ATen/ATen.h of 2.14.1 wants 202002.

    Args:
        value: Of ``__cplusplus``, without the L.
        name: ``C++20``.
        gcc: Major version.
        clang: Major version.
        source: Where both were read.
        date: When they were read there.
    """

    value: int
    name: str
    gcc: int
    clang: int
    source: str
    date: date


@dataclass(frozen=True)
class PackageRow:
    """How one family of distributions installs a g++ of a given major version.

    Args:
        ids: ID or ID_LIKE of ``os-release``.
        command: With ``{n}`` for the version.
        source: Where it was read.
        date: When it was read there.
    """

    ids: tuple[str, ...]
    command: str
    source: str
    date: date


STANDARDS = (
    # gcc 8-10 say 201709 for C++20, clang 5-9 say 201707.
    StandardRow(201703, "C++17", 7, 5, "the compilers' release notes", _READ),
    StandardRow(202002, "C++20", 11, 10, "the compilers' release notes", _READ),
)

PACKAGES = (
    PackageRow(("debian", "ubuntu"), "apt install g++-{n}", "Debian's package gcc-N", _READ),
    PackageRow(
        ("rhel", "centos", "rocky", "almalinux", "ol"),
        "dnf install gcc-toolset-{n}-gcc-c++",
        "Red Hat's guide to GCC Toolset",
        _READ,
    ),
    PackageRow(("fedora", "amzn"), "dnf install gcc{n}-c++", "Fedora's package gccN", _READ),
    PackageRow(
        ("suse", "opensuse", "sles"), "zypper install gcc{n}-c++", "openSUSE's package gccN", _READ
    ),
    PackageRow(("arch",), "pacman -S gcc{n}", "Arch's package gccN", _READ),
)

#: For any distribution, by the processor as Linux names it.
CONDA = {
    "x86_64": "conda install -c conda-forge gxx_linux-64={n}",
    "aarch64": "conda install -c conda-forge gxx_linux-aarch64={n}",
}


def find_standard(value: int) -> StandardRow | None:
    """The oldest standard whose ``__cplusplus`` is at least this; None where none is known."""
    return next((row for row in STANDARDS if row.value >= value), None)


def find_package(ids: tuple[str, ...]) -> PackageRow | None:
    """The row of the first of these distributions that is known."""
    rows = {name: row for row in PACKAGES for name in row.ids}
    return next((rows[name] for name in ids if name in rows), None)
