"""Names of kernels with the hashes of their build taken out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.names import normalize, widen


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # A namespace without a name, in a unit that defines a symbol.
        (
            "_ZN33_GLOBAL__N__0c456945_4_k_cu_plain4anonEPf",
            "_ZN33_GLOBAL__N__ffffffff_4_k_cu_plain4anonEPf",
        ),
        # In one that doesn't: a checksum, and the number of the compiler's process.
        (
            "_ZN45_GLOBAL__N__84b31575_12_anonymous_cu_7ccb1c0e7reverseEPf",
            "_ZN51_GLOBAL__N__00b31575_12_anonymous_cu_11cb1c0e_933157reverseEPf",
        ),
        # Static kernels of relocatable code, twice in one name.
        (
            "__nv_static_26__e31348ce_7_fill_cu_launch__Z6hiddenPi",
            "__nv_static_26__01234567_7_fill_cu_launch__Z6hiddenPi",
        ),
        (
            "__nv_static_34__84b31575_12_anonymous_cu_7ccb1c0e"
            "__ZN45_GLOBAL__N__84b31575_12_anonymous_cu_7ccb1c0e7reverseEPf",
            "__nv_static_36__11111111_12_anonymous_cu_22222222_5"
            "__ZN47_GLOBAL__N__11111111_12_anonymous_cu_22222222_57reverseEPf",
        ),
        (
            "_ZN47_INTERNAL_02c668e1_16_CumprodKernel_cu_a572bb774cuda3std3__45__cpo5beginE",
            "_ZN52_INTERNAL_12345678_16_CumprodKernel_cu_a572bb88_12344cuda3std3__45__cpo5beginE",
        ),
        # The name in front of the length ends in a digit itself.
        (
            "_ZN3ns133_GLOBAL__N__0c456945_4_k_cu_plain4anonEPf",
            "_ZN3ns133_GLOBAL__N__0c456946_4_k_cu_plain4anonEPf",
        ),
    ],
)
def test_two_builds_of_one_kernel_are_equal(first: str, second: str) -> None:
    assert first != second
    assert normalize(first) == normalize(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "_ZN33_GLOBAL__N__0c456945_4_k_cu_plain4anonEPf",
            "_ZN33_GLOBAL__N__0c456945_4_j_cu_plain4anonEPf",
        ),
        (
            "_ZN33_GLOBAL__N__0c456945_4_k_cu_plain4anonEPf",
            "_ZN33_GLOBAL__N__0c456945_4_k_cu_plain4onceEPf",
        ),
        (
            "__nv_static_26__e31348ce_7_fill_cu_launch__Z6hiddenPi",
            "__nv_static_26__e31348ce_7_fill_cu_launch__Z6hiddenPj",
        ),
    ],
)
def test_two_kernels_stay_two(first: str, second: str) -> None:
    assert normalize(first) != normalize(second)


def test_lengths_are_mended_so_that_the_name_still_demangles() -> None:
    name = "_ZN51_GLOBAL__N__00b31575_12_anonymous_cu_11cb1c0e_933157reverseEPf"
    mended = normalize(name)
    assert mended == "_ZN45_GLOBAL__N__00000000_12_anonymous_cu_000000007reverseEPf"
    assert len("_GLOBAL__N__00000000_12_anonymous_cu_00000000") == 45


@pytest.mark.parametrize(
    "name",
    [
        "",
        "plain",
        "_Z5scaleIfEvPT_S0_",
        "deadbeef_cafebabe",
        "_GLOBAL__N__x",
        "99999_GLOBAL__N__0c456945_999_",
    ],
)
def test_other_names_stay_as_they_are(name: str) -> None:
    assert normalize(name).replace("00000000", "0c456945") == name


@given(st.text(alphabet="_GLOBALN0123456789abcdef_INTERNAL__nv_static_", max_size=80))
def test_normalizing_twice_changes_nothing_more(name: str) -> None:
    assert normalize(normalize(name)) == normalize(name)


@pytest.mark.parametrize(
    ("linux", "windows"),
    [
        ("_Z4fillPlm", "_Z4fillPxy"),
        # Templates, literals of the type, substitutions, and names with these letters in them.
        ("_Z5scaleIlLl16ELi2EEvPT_S1_", "_Z5scaleIxLx16ELi2EEvPT_S1_"),
        ("_ZN3lml6mallocILmn4EjEEvRA16_lT0_", "_ZN3lml6mallocILyn4EjEEvRA16_xT0_"),
        ("_Z3runIZ4callvEUlmE0_Evlb", "_Z3runIZ4callvEUlyE0_Evxb"),
        # A static kernel of relocatable code: what stands before the name is no type.
        (
            "__nv_static_26__e31348ce_7_film_cu_launch__Z6hiddenPl",
            "__nv_static_26__e31348ce_7_film_cu_launch__Z6hiddenPx",
        ),
    ],
)
def test_one_key_for_long_and_long_long(linux: str, windows: str) -> None:
    assert linux != windows
    assert widen(linux) == widen(windows)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("_Z4fillPl", "_Z4fillPi"),
        ("_Z4fillPl", "_Z4fillPm"),
        ("_Z4filmPf", "_Z4fixyPf"),
        ("_Z4fillIlE", "_Z4filxIlE"),
        ("_ZN2ml1xEl", "_ZN2yx1lEl"),
        ("launch_l", "launch_x"),
        ("_Z99999999999fillPl", "_Z99999999999fillPx"),
    ],
)
def test_other_kernels_keep_keys_of_their_own(one: str, other: str) -> None:
    assert widen(one) != widen(other)


@given(st.text(alphabet="_ZNLESTlmxyA0123456789v", max_size=60))
def test_a_key_is_as_long_as_its_name(name: str) -> None:
    assert len(widen(name)) == len(name)
    assert widen(widen(name)) == widen(name)
