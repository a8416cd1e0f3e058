"""Which wanted targets a source serves, by its own architecture list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.errors import ArchListError, UnsupportedTargetError, UsageError
from archbuild.facts.architectures import CAPABILITIES
from archbuild.model.arch import Arch
from archbuild.model.gencode import Gencode
from archbuild.rules.selecting.archlist import parse_arch_list, targets_of
from archbuild.rules.selecting.sources import ServedSource, is_meant_for, serve_source
from tests.images import cap


def gencodes(text: str) -> list[Gencode]:
    targets = targets_of(parse_arch_list(text)) if text else ()
    return [Gencode.for_target(target) for target in targets]


def served(archs: str | None, wanted: str) -> str:
    return " ".join(map(str, serve_source(archs, gencodes(wanted)).targets))


@pytest.mark.parametrize(
    ("archs", "wanted", "expected"),
    [
        # No list of its own: everything.
        (None, "8.0;9.0a;12.0+PTX", "sm_80 sm_90a sm_120 compute_120"),
        # One device: built as what it says, never with PTX.
        ("9.0a", "8.0;9.0;12.0+PTX", "sm_90a"),
        ("9.0a", "8.0;9.0a;12.0+PTX", "sm_90a"),
        ("9.0a", "9.0;9.0a", "sm_90a"),
        ("9.0a", "9.0+PTX", "sm_90a"),
        ("9.0a", "compute_90", ""),
        ("9.0a", "compute_90a", ""),
        ("9.0a", "8.0;12.0+PTX", ""),
        ("10.3a", "10.0", ""),
        ("10.3a", "10.0f", "sm_103a"),
        ("10.0a", "10.0f", "sm_100a"),
        ("9.0a+PTX", "9.0a+PTX", "sm_90a compute_90a"),
        ("9.0a+PTX", "9.0+PTX", "sm_90a"),
        # A family: every member, once.
        ("10.0f", "8.0;10.0;10.3;12.0+PTX", "sm_100f"),
        ("10.0f", "10.0a", "sm_100f"),
        ("10.0f", "10.3f;12.0", "sm_100f"),
        ("10.0f", "10.0f", "sm_100f"),
        ("10.3f", "10.0;12.0", ""),
        ("12.0f", "12.1", "sm_120f"),
        ("12.0f", "10.0;10.3+PTX", ""),
        # And newer.
        ("8.0+", "7.5;8.0;8.6;9.0a;12.0+PTX", "sm_80 sm_86 sm_90a sm_120 compute_120"),
        ("80+", "7.5;8.0", "sm_80"),
        ("sm_80+", "7.5;8.6", "sm_86"),
        ("80-real+", "7.5;8.6", "sm_86"),
        ("9.0+", "8.0+PTX;10.0f", "sm_100f"),
        ("9.0+", "8.0+PTX", ""),
        ("9.0+", "8.0;compute_90", "compute_90"),
        ("12.0+", "10.0;10.3", ""),
        # Plain: that one, and the tail if the source can have it.
        ("9.0", "8.0;9.0;12.0+PTX", "sm_90 compute_120"),
        ("9.0", "8.0+PTX;9.0", "sm_90"),
        ("9.0", "9.0a;12.0+PTX", ""),
        ("9.0", "8.0;12.0+PTX", ""),
        ("9.0", "compute_90", "compute_90"),
        ("9.0", "compute_90a;sm_90", "sm_90"),
        ("9.0+PTX", "8.0;9.0;12.0+PTX", "sm_90 compute_120"),
        ("compute_90", "9.0+PTX", "compute_90"),
        ("compute_90", "9.0;12.0+PTX", ""),
        ("Hopper", "8.0;9.0+PTX", "sm_90 compute_90"),
        ("H100", "8.0;9.0+PTX", "sm_90 compute_90"),
        # Several pieces: the one that names a target goes before "and newer".
        ("9.0a;10.0f", "8.0;9.0;10.0;10.3;12.0+PTX", "sm_90a sm_100f"),
        ("8.0+;9.0a", "7.5;8.0;9.0;12.0+PTX", "sm_80 sm_90a sm_120 compute_120"),
        ("8.0+;10.0f", "8.0;10.0;10.3;12.0", "sm_80 sm_100f sm_120"),
        ("9.0, 9.0a", "9.0", "sm_90 sm_90a"),
        ("8.0 9.0a", "8.0;9.0;9.0+PTX", "sm_80 sm_90a compute_90"),
        ("9.0a;9.0a", "9.0", "sm_90a"),
    ],
)
def test_what_is_served(archs: str | None, wanted: str, expected: str) -> None:
    assert served(archs, wanted) == expected
    assert bool(serve_source(archs, gencodes(wanted)).left_out) is (expected == "")


def test_a_plain_one_keeps_the_pair_that_was_wanted() -> None:
    pair = Gencode.parse("arch=compute_80,code=sm_90")[0]
    assert serve_source("9.0", [pair]).gencodes == (pair,)
    assert serve_source("8.0+", [pair]).gencodes == (pair,)
    (own,) = serve_source("9.0a", [pair]).gencodes
    assert own.flag == "-gencode=arch=compute_90a,code=sm_90a"


def test_lto_stays_lto() -> None:
    pair = Gencode.parse("arch=compute_90,code=lto_90")[0]
    assert [g.flag for g in serve_source("9.0a", [pair]).gencodes] == [
        "-gencode=arch=compute_90a,code=lto_90a"
    ]
    assert serve_source("9.0", [pair]).gencodes == (pair,)
    assert serve_source("8.0", [pair]).left_out.endswith("the build is for lto_90")


def test_why_it_is_left_out() -> None:
    left = serve_source("9.0a, 10.0f", gencodes("8.0;12.0+PTX"))
    reason = "it is meant for 9.0a, 10.0f, and the build is for 8.0;12.0+PTX"
    assert left == ServedSource((), reason)


def test_what_is_required_has_to_serve() -> None:
    with pytest.raises(UsageError) as caught:
        serve_source("9.0a", gencodes("8.0"), path="hopper.cu", required=True)
    told = "hopper.cu is required, but it is meant for 9.0a, and the build is for 8.0."
    assert caught.value.message == told
    assert serve_source("9.0a", gencodes("9.0"), required=True).targets


@pytest.mark.parametrize(
    ("archs", "parts"),
    [
        ("native", ["native in archs of x.cu", "8.0+"]),
        ("all-major", ["all-major in archs of x.cu"]),
        ("9.0a+", ["'9.0a+' in archs of x.cu", "Write 9.0+"]),
        ("compute_90+", ["'compute_90+'", "only a plain number"]),
        ("9+", ["9.0", "0.9"]),
        ("8.0++", ["8.0++"]),
        ("8.0++PTX", ["8.0++PTX"]),
        ("Hopper+", ["Hopper+"]),
        ("", ["archs of x.cu", "is empty"]),
        ("frob", ["'frob' in archs of x.cu"]),
    ],
)
def test_lists_that_cannot_be_read(archs: str, parts: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        serve_source(archs, gencodes("9.0"), path="x.cu")
    for part in parts:
        assert part in str(caught.value)
    assert caught.value.exit_code == 2


def test_newer_ones_stand_in_a_source_only() -> None:
    with pytest.raises(ArchListError) as caught:
        parse_arch_list("7.5;8.0+", "TORCH_CUDA_ARCH_LIST")
    assert "'8.0+' in TORCH_CUDA_ARCH_LIST" in caught.value.message
    assert "8.0+PTX" in caught.value.advice
    (item,) = parse_arch_list("8.0+", newer=True)
    assert (item.newer, item.ptx, item.targets) == (True, False, (Arch.parse("sm_80"),))
    (item,) = parse_arch_list("8.0+PTX", newer=True)
    assert (item.newer, item.ptx) == (False, True)


def test_plain_and_family_of_one_number() -> None:
    with pytest.raises(UnsupportedTargetError, match="sm_100 and sm_100f") as caught:
        serve_source("10.0;10.0f", gencodes("10.0"), path="x.cu")
    assert "Take 10.0" in caught.value.advice
    assert served("10.0;10.0f", "9.0;10.3") == "sm_100f"


@pytest.mark.parametrize(
    ("archs", "device", "meant"),
    [
        (None, "7.5", True),
        ("8.0+", "7.5", False),
        ("8.0+", "9.0", True),
        ("9.0a", "9.0", True),
        ("9.0a", "10.0", False),
        ("10.0f", "10.3", True),
        ("9.0", "8.0", False),
    ],
)
def test_what_a_source_is_meant_for(archs: str | None, device: str, meant: bool) -> None:
    assert is_meant_for(archs, cap(device)) is meant


numbers = st.sampled_from([row.capability for row in CAPABILITIES]).map(str)
pieces = st.builds(lambda n, s: n + s, numbers, st.sampled_from(["", "a", "+", "+PTX"]))
lists = st.lists(pieces, min_size=1, max_size=4).map(";".join)
wishes = st.lists(
    st.builds(lambda n, s: n + s, numbers, st.sampled_from(["", "a"])), max_size=5
).map(";".join)


@given(lists, wishes)
def test_a_list_never_adds_a_device(archs: str, wanted: str) -> None:
    asked = gencodes(wanted)
    one = serve_source(archs, asked)
    assert one == serve_source(archs, reversed(asked))
    assert bool(one.gencodes) is not bool(one.left_out)
    for target in one.targets:
        assert target.is_virtual or any(g.target.capability <= target.capability for g in asked)
