"""Capabilities and architectures: what is read, what is refused, what comes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix, ptx, sass

capabilities = st.builds(ComputeCapability, st.integers(1, 99), st.integers(0, 9))
archs = st.builds(Arch, st.sampled_from(Stage), capabilities, st.sampled_from(Suffix))


@pytest.mark.parametrize(
    "text",
    ["", "9", "90", "9.", ".0", "9.00", "9.05", "09.0", "0.9", "100.0", "-9.0", "9.0a", "9,0"],
)
def test_a_capability_is_digit_dot_digit(text: str) -> None:
    with pytest.raises(ValueError, match="no compute capability"):
        ComputeCapability.parse(text)


@pytest.mark.parametrize(
    "text", [" 9.0", "9.0\n", "9.0 ", "\N{ARABIC-INDIC DIGIT NINE}.0", "9.0.0", "1e1.0"]
)
def test_nothing_around_a_capability_is_forgiven(text: str) -> None:
    with pytest.raises(ValueError, match="no compute capability"):
        ComputeCapability.parse(text)


@pytest.mark.parametrize(("major", "minor"), [(0, 9), (9, 10), (9, -1), (-9, 0), (100, 0)])
def test_a_capability_out_of_range_is_refused(major: int, minor: int) -> None:
    with pytest.raises(ValueError, match="no compute capability"):
        ComputeCapability(major, minor)


@pytest.mark.parametrize("number", [-5, 0, 5, 9, 1000])
def test_a_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="no compute capability"):
        ComputeCapability.from_number(number)


def test_capabilities_compare_as_numbers() -> None:
    texts = ["12.1", "9.0", "10.0", "8.9", "12.0", "7.5"]
    ordered = sorted(ComputeCapability.parse(text) for text in texts)
    assert [str(c) for c in ordered] == ["7.5", "8.9", "9.0", "10.0", "12.0", "12.1"]


@given(capabilities)
def test_a_capability_survives_both_of_its_spellings(capability: ComputeCapability) -> None:
    assert ComputeCapability.parse(str(capability)) == capability
    assert ComputeCapability.from_number(capability.number) == capability


@pytest.mark.parametrize(
    "name",
    ["", "90", "9.0", "sm_9", "sm_090", "sm_00", "sm_05", "sm_1000", "sm_90b", "sm_90af"],
)
def test_a_name_needs_a_number_of_two_or_three_digits(name: str) -> None:
    with pytest.raises(ValueError, match="no architecture"):
        Arch.parse(name)


@pytest.mark.parametrize(
    "name",
    ["SM_90", "sm90", "sm-90", " sm_90", "sm_90\n", "compute_9.0", "lto_", "sm_९०", "ptx_90"],
)
def test_only_the_names_of_nvcc_are_architectures(name: str) -> None:
    with pytest.raises(ValueError, match="no architecture"):
        Arch.parse(name)


@given(archs)
def test_an_architecture_survives_its_name(arch: Arch) -> None:
    assert Arch.parse(str(arch)) == arch


@given(archs)
def test_both_sides_of_an_architecture_keep_number_and_suffix(arch: Arch) -> None:
    assert arch.real.is_real
    assert arch.virtual.is_virtual
    assert arch.real.number == arch.virtual.number == arch.number
    assert arch.real.dotted == f"{arch.capability}{arch.suffix.value}"


def test_the_order_is_number_then_sass_before_ptx_then_suffix() -> None:
    names = ["sm_86", "sm_90", "sm_90f", "sm_90a", "lto_90", "compute_90", "compute_90a", "sm_100"]
    assert [str(a) for a in sorted(Arch.parse(name) for name in reversed(names))] == names


@given(archs, archs)
def test_the_order_is_total_and_agrees_with_equality(one: Arch, other: Arch) -> None:
    assert [one < other, one == other, one > other].count(True) == 1


def test_the_short_forms_read_numbers() -> None:
    assert (str(sass("90a")), str(ptx("120"))) == ("sm_90a", "compute_120")
    with pytest.raises(ValueError, match="no architecture"):
        sass("9.0")
