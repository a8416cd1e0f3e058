"""Which host compiler nvcc gets, and which one it does not take."""

from __future__ import annotations

import pytest

from archbuild.errors import BuildError, UsageError
from archbuild.model.host import HostCompiler, HostLimits
from archbuild.rules.host_compiler import (
    allows_any_host,
    check_host_compiler,
    named_host_compiler,
)
from archbuild.rules.nvcc_flags import NvccFlags, parse_nvcc_flags
from tests.machines import machine

# nvcc takes the last -ccbin: that of the appended flags comes last of all.
_ORDER = [
    ("NVCC_APPEND_FLAGS", "-ccbin=appended", "appended"),
    ("own", "", "own"),
    ("NVCC_PREPEND_FLAGS", "-ccbin prepended -O3", "prepended"),
    ("NVCC_CCBIN", "/opt/my gcc/g++", "/opt/my gcc/g++"),
    ("CXX", "ccache g++-12 -m64", "g++-12"),
    ("CC", "gcc-12", "gcc-12"),
]


@pytest.mark.parametrize("first", range(len(_ORDER)))
def test_the_strongest_word_wins(first: int) -> None:
    variables = {name: value for name, value, _ in _ORDER[first:] if name != "own"}
    own = parse_nvcc_flags(["-ccbin", "own"]) if first <= 1 else NvccFlags()
    assert named_host_compiler(own, machine(**variables)) == _ORDER[first][2]


def test_nobody_named_one() -> None:
    assert named_host_compiler(NvccFlags(), machine()) is None


@pytest.mark.parametrize(
    ("cxx", "expected"),
    [
        ("g++", "g++"),
        ("/usr/bin/ccache /usr/bin/g++ -std=c++17", "/usr/bin/g++"),
        ("sccache clang++", "clang++"),
        ("'/opt/my gcc/g++' -m64", "/opt/my gcc/g++"),
        ("ccache", None),
        ("  ", None),
    ],
)
def test_the_compiler_among_wrappers_and_options(cxx: str, expected: str | None) -> None:
    assert named_host_compiler(NvccFlags(), machine(CXX=cxx)) == expected


@pytest.mark.parametrize("name", ["CXX", "CC"])
def test_a_quote_that_is_never_closed_is_told(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} cannot be split"):
        named_host_compiler(NvccFlags(), machine(**{name: "g++ '-DX"}))


_LIMITS = HostLimits(15, 20, "/cuda/include/crt/host_config.h")


@pytest.mark.parametrize(
    ("family", "major", "limits"),
    [
        ("gcc", 15, _LIMITS),
        ("gcc", 9, _LIMITS),
        ("clang", 20, _LIMITS),
        ("unknown", None, _LIMITS),
        ("unknown", 99, _LIMITS),
        ("gcc", None, _LIMITS),
        ("gcc", 99, HostLimits(None, 20, "x")),
        ("clang", 99, HostLimits(15, None, "x")),
    ],
)
def test_what_nvcc_takes_or_nobody_knows_passes(
    family: str, major: int | None, limits: HostLimits
) -> None:
    check_host_compiler(HostCompiler("c++", family, major), limits, "CUDA 13.0")


@pytest.mark.parametrize(
    ("family", "major", "limit", "cure"),
    [("gcc", 16, 15, "CXX=g++-15"), ("clang", 21, 20, "CXX=clang++-20")],
)
def test_a_newer_one_is_refused_with_both_versions(
    family: str, major: int, limit: int, cure: str
) -> None:
    with pytest.raises(BuildError) as caught:
        check_host_compiler(HostCompiler("/usr/bin/c++", family, major), _LIMITS, "CUDA 13.0")
    said = str(caught.value)
    assert f"/usr/bin/c++ is {family} {major}; CUDA 13.0 takes {family} {limit} at most" in said
    assert _LIMITS.source in said
    assert cure in said


def test_a_missing_one_is_told() -> None:
    host = HostCompiler("g++-99", "unknown", None, found=False)
    with pytest.raises(BuildError, match=r"g\+\+-99 was not found"):
        check_host_compiler(host, _LIMITS, "CUDA 13.0")


@pytest.mark.parametrize(
    ("own", "variables", "allowed"),
    [
        ((), {}, False),
        (("-allow-unsupported-compiler",), {}, True),
        ((), {"NVCC_APPEND_FLAGS": "-O3 --allow-unsupported-compiler"}, True),
    ],
)
def test_a_newer_compiler_passes_only_where_somebody_answers_for_it(
    own: tuple[str, ...], variables: dict[str, str], allowed: bool
) -> None:
    flags = NvccFlags(rest=own)
    assert allows_any_host(flags, machine("13.0", **variables)) is allowed
    newer, limits = HostCompiler("g++", "gcc", 99), HostLimits(15, 20, "host_config.h")
    if allowed:
        check_host_compiler(newer, limits, "CUDA 13.0", any_version=True)
    else:
        with pytest.raises(BuildError, match="-allow-unsupported-compiler"):
            check_host_compiler(newer, limits, "CUDA 13.0")
