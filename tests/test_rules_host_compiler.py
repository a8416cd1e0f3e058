"""Which host compiler nvcc gets, and which one it does not take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.errors import BuildError, UsageError
from archbuild.model.host import HostCompiler, HostFloor, HostLimits, NamedHost
from archbuild.rules.selecting.host_compiler import (
    allows_any_host,
    check_abi,
    check_host_compiler,
    is_settled,
    named_host_compilers,
    select_host_compiler,
)
from archbuild.rules.selecting.nvcc_flags import NvccFlags, parse_nvcc_flags
from tests.machines import machine

# nvcc takes the last -ccbin: that of the appended flags comes last of all.
_ORDER = [
    ("NVCC_APPEND_FLAGS", "-ccbin=appended", "appended"),
    ("own", "", "own"),
    ("NVCC_PREPEND_FLAGS", "-ccbin prepended -O3", "prepended"),
    ("NVCC_CCBIN", "/opt/my gcc/g++", "/opt/my gcc/g++"),
    ("CUDAHOSTCXX", "/opt/my cuda gcc/g++", "/opt/my cuda gcc/g++"),
    ("CXX", "ccache g++-12 -m64", "g++-12"),
    ("CC", "gcc-12", "gcc-12"),
]


@pytest.mark.parametrize("first", range(len(_ORDER)))
def test_the_strongest_word_wins(first: int) -> None:
    variables = {name: value for name, value, _ in _ORDER[first:] if name != "own"}
    own = parse_nvcc_flags(["-ccbin", "own"]) if first <= 1 else NvccFlags()
    found = [host.command for host in named_host_compilers(own, machine(**variables))]
    assert found == [command for _, _, command in _ORDER[first:]]


def test_nobody_named_one() -> None:
    assert named_host_compilers(NvccFlags(), machine()) == ()


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
    found = [host.command for host in named_host_compilers(NvccFlags(), machine(CXX=cxx))]
    assert found == ([expected] if expected else [])


@pytest.mark.parametrize("name", ["CXX", "CC"])
def test_a_quote_that_is_never_closed_is_told(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} cannot be split"):
        named_host_compilers(NvccFlags(), machine(**{name: "g++ '-DX"}))


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


# --- the choice -------------------------------------------------------------------------------

_FLOOR = HostFloor(11, 10, "the headers of torch 2.14.1 want C++20")


def gcc(major: int | None, command: str | None = None, *, found: bool = True) -> HostCompiler:
    return HostCompiler(command or f"/usr/bin/g++-{major}", "gcc", major, found)


def clang(major: int) -> HostCompiler:
    return HostCompiler(f"/usr/bin/clang++-{major}", "clang", major)


def named(name: str, compiler: HostCompiler, *words: str) -> NamedHost:
    return NamedHost(name, compiler.command, words, compiler)


def select(candidates=(), default=None, hosts=(), **fields):
    """The choice for CUDA 13.0 and torch 2.14.1."""
    values = {"default": default or gcc(12, "gcc"), "named": hosts, "floor": _FLOOR, **fields}
    return select_host_compiler(candidates, _LIMITS, "CUDA 13.0", **values)


def test_nvccs_own_choice_stands_where_it_fits() -> None:
    """Also where a newer one that fits is installed."""
    choice = select([gcc(15), gcc(14)], gcc(12, "gcc"))
    assert (choice.path, choice.warnings) == (None, ())


@pytest.mark.parametrize("default", [gcc(16, "gcc"), gcc(10, "gcc"), gcc(None, "g++", found=False)])
@pytest.mark.parametrize(
    ("candidates", "path"),
    [
        ([gcc(12), gcc(15), gcc(16), clang(18)], "/usr/bin/g++-15"),
        ([gcc(11), clang(20)], "/usr/bin/g++-11"),
        ([clang(17), clang(21), clang(20)], "/usr/bin/clang++-20"),
        ([gcc(16), gcc(10), clang(9), clang(14)], "/usr/bin/clang++-14"),
        ([gcc(None), HostCompiler("icpx", "unknown", 2025), gcc(13)], "/usr/bin/g++-13"),
        ([gcc(14, found=False), gcc(13)], "/usr/bin/g++-13"),
    ],
)
def test_the_newest_that_fits_is_taken(
    default: HostCompiler, candidates: list[HostCompiler], path: str
) -> None:
    choice = select(candidates, default)
    assert choice.path == path
    assert "nvcc's own choice is " in choice.reason


_MAJORS = st.integers(1, 30)
_ANY = st.builds(gcc, _MAJORS) | st.builds(clang, _MAJORS)


def fits(host: HostCompiler) -> bool:
    low, high = (11, 15) if host.family == "gcc" else (10, 20)
    return host.major is not None and low <= host.major <= high


@given(st.lists(_ANY), _ANY)
def test_one_that_fits_is_chosen_wherever_there_is_one(
    candidates: list[HostCompiler], default: HostCompiler
) -> None:
    try:
        choice = select(candidates, default)
    except BuildError:
        assert not any(map(fits, [*candidates, default]))
        return
    if choice.path is None:
        assert fits(default) or (choice.warnings and not any(map(fits, candidates)))
    else:
        assert not fits(default)
        assert fits(next(host for host in candidates if host.command == choice.path))


def test_none_fits_and_the_cure_is_told() -> None:
    with pytest.raises(BuildError) as caught:
        select([gcc(16)], gcc(16, "gcc"), cure="Install g++ 15 or older (apt install g++-15)")
    said = str(caught.value)
    assert "gcc is gcc 16; CUDA 13.0 takes gcc 15 at most" in said
    assert "apt install g++-15" in said


def test_one_too_old_for_torch_is_a_warning_where_there_is_no_better() -> None:
    choice = select([gcc(9)], gcc(10, "gcc"))
    assert choice.path is None
    assert "gcc (gcc 10) is too old: the headers of torch 2.14.1 want C++20" in choice.warnings[0]
    assert select([gcc(9)], gcc(10, "gcc"), floor=None).warnings == ()


@pytest.mark.parametrize("name", ["NVCC_APPEND_FLAGS", "the nvcc flags", "NVCC_CCBIN"])
def test_what_was_named_for_nvcc_stands_or_is_an_error(name: str) -> None:
    assert select([gcc(15)], hosts=[named(name, gcc(11))]).path == "/usr/bin/g++-11"
    with pytest.raises(BuildError, match="takes gcc 15 at most"):
        select([gcc(15)], hosts=[named(name, gcc(16))])
    with pytest.raises(BuildError, match="was not found"):
        select([gcc(15)], hosts=[named(name, gcc(None, "g++-99", found=False))])


@pytest.mark.parametrize("name", ["CXX", "CC"])
def test_cxx_too_new_for_nvcc_stays_for_the_other_sources(name: str) -> None:
    hosts = [named(name, gcc(16, "g++-16"))]
    choice = select([gcc(16), gcc(14)], gcc(16, "gcc"), hosts)
    assert choice.path == "/usr/bin/g++-14"
    (said,) = choice.warnings
    assert said.startswith(f"{name} names g++-16 (gcc 16), and CUDA 13.0 takes gcc 15 at most: ")
    assert said.endswith("nvcc calls /usr/bin/g++-14 (gcc 14), the other sources keep g++-16.")
    assert select([], gcc(12, "gcc"), hosts).path is None
    with pytest.raises(BuildError, match="gcc 15 at most"):
        select([gcc(16)], gcc(16, "gcc"), hosts)


def test_whoever_answers_for_a_version_gets_it() -> None:
    hosts = [named("CXX", gcc(16, "g++-16"))]
    assert select([gcc(14)], gcc(12, "gcc"), hosts, any_version=True).path == "g++-16"
    assert select([gcc(14)], gcc(16, "gcc"), any_version=True).path is None


def test_a_conflict_is_one_sentence_that_says_who_wins_and_why() -> None:
    hosts = [
        named("NVCC_CCBIN", gcc(12)),
        named("CUDAHOSTCXX", gcc(12, "/opt/g++")),
        named("CXX", gcc(13)),
        named("CC", clang(18)),
    ]
    (said,) = select(hosts=hosts).warnings
    assert said == (
        "NVCC_CCBIN names /usr/bin/g++-12 (gcc 12) and CXX names /usr/bin/g++-13 (gcc 13), "
        "CC names /usr/bin/clang++-18 (clang 18): nvcc takes /usr/bin/g++-12, because nvcc "
        "itself reads that variable."
    )


@pytest.mark.parametrize("winner", [name for name, _, _ in _ORDER if name not in ("own", "CC")])
def test_every_winner_has_its_reason(winner: str) -> None:
    hosts = [named(winner, gcc(12)), named("CC", gcc(13))]
    (said,) = select(hosts=hosts).warnings
    assert "nothing stronger" not in said


def test_cc_and_cxx_of_one_version_are_no_conflict() -> None:
    hosts = [named("CXX", gcc(13, "g++")), named("CC", gcc(13, "gcc"))]
    assert select(hosts=hosts).warnings == ()


@pytest.mark.parametrize(
    ("hosts", "default", "settled"),
    [
        ([], gcc(12, "gcc"), True),
        ([], gcc(16, "gcc"), False),
        ([], gcc(10, "gcc"), False),
        ([], gcc(None, "g++", found=False), False),
        ([named("NVCC_CCBIN", gcc(16))], gcc(16, "gcc"), True),
        ([named("CXX", gcc(13))], gcc(16, "gcc"), True),
        ([named("CXX", gcc(16))], gcc(16, "gcc"), False),
        ([named("CXX", gcc(16))], gcc(12, "gcc"), True),
    ],
)
def test_when_nothing_else_needs_to_be_asked(
    hosts: list[NamedHost], default: HostCompiler, settled: bool
) -> None:
    assert is_settled(hosts, default, _LIMITS, _FLOOR) is settled


# --- both sides together ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cxx", "nvccs", "words", "said"),
    [
        (gcc(12), gcc(12), (), None),
        (gcc(14), gcc(12), (), None),
        (gcc(12), gcc(14), (), "is newer than /usr/bin/g++-12 (gcc 12), which links"),
        (clang(18), gcc(14), (), None),
        (gcc(12), clang(18), (), None),
        (gcc(None, "c++"), gcc(14), (), None),
        (clang(18), gcc(14), ("clang++-18", "-stdlib=libc++"), "is told to use libc++"),
        (clang(18), clang(18), ("clang++-18", "-stdlib=libc++"), "is told to use libc++"),
    ],
)
def test_what_does_not_fit_together(
    cxx: HostCompiler, nvccs: HostCompiler, words: tuple[str, ...], said: str | None
) -> None:
    found = check_abi(cxx, nvccs, words)
    assert len(found) == (said is not None)
    assert all(said in sentence for sentence in found if said)
