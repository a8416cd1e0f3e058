"""Names of kernels with the hashes of their build taken out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.names import normalize


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
