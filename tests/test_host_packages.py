"""What a person is told to install, by distribution, and what torch's headers ask for."""

from __future__ import annotations

import pytest

from archbuild.facts.host_compilers import CONDA, PACKAGES, STANDARDS
from archbuild.model.host import HostLimits
from archbuild.rules.selecting.host_packages import host_cure, host_floor

_LIMITS = HostLimits(14, 19, "host_config.h")
_CONDA = " or: conda install -c conda-forge gxx_linux-64=14)"


@pytest.mark.parametrize(
    ("ids", "command"),
    [
        (("debian",), "apt install g++-14"),
        (("ubuntu", "debian"), "apt install g++-14"),
        (("linuxmint", "ubuntu", "debian"), "apt install g++-14"),
        (("fedora",), "dnf install gcc14-c++"),
        (("rhel", "fedora"), "dnf install gcc-toolset-14-gcc-c++"),
        (("rocky", "rhel", "centos", "fedora"), "dnf install gcc-toolset-14-gcc-c++"),
        (("amzn", "fedora"), "dnf install gcc14-c++"),
        (("opensuse-leap", "suse", "opensuse"), "zypper install gcc14-c++"),
        (("manjaro", "arch"), "pacman -S gcc14"),
    ],
)
def test_the_package_of_a_distribution(ids: tuple[str, ...], command: str) -> None:
    assert host_cure(_LIMITS, ids, "x86_64") == f"Install g++ 14 or older ({command}{_CONDA}"


def test_conda_has_it_for_any_distribution() -> None:
    said = host_cure(_LIMITS, ("slackware",), "aarch64")
    assert said.endswith("(conda install -c conda-forge gxx_linux-aarch64=14)")
    assert host_cure(_LIMITS, (), "riscv64") == "Install g++ 14 or older"


def test_without_a_limit_there_is_nothing_to_say() -> None:
    assert host_cure(HostLimits(None, None, "x"), ("debian",), "x86_64") == ""


@pytest.mark.parametrize(
    ("value", "gcc", "clang"), [(201703, 7, 5), (202002, 11, 10), (201402, 7, 5)]
)
def test_the_oldest_compilers_for_a_standard(value: int, gcc: int, clang: int) -> None:
    floor = host_floor(value, "2.14.1")
    assert floor is not None
    assert (floor.gcc, floor.clang) == (gcc, clang)
    assert "torch 2.14.1" in floor.why


@pytest.mark.parametrize("value", [None, 209900])
def test_an_unknown_standard_asks_for_nothing(value: int | None) -> None:
    assert host_floor(value, "9.9") is None


def test_the_tables_are_whole() -> None:
    assert [row.value for row in STANDARDS] == sorted(row.value for row in STANDARDS)
    ids = [name for row in PACKAGES for name in row.ids]
    assert len(ids) == len(set(ids))
    assert all("{n}" in row.command for row in PACKAGES)
    assert all("{n}" in command for command in CONDA.values())
