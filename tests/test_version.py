"""CUDA versions and driver releases: two things that look alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.version import CudaVersion, DriverRelease


@pytest.mark.parametrize(
    ("text", "version"),
    [("13.0", (13, 0)), ("12.9.1", (12, 9)), (" 13.0.88\n", (13, 0)), ("11.8.89.1", (11, 8))],
)
def test_a_cuda_version_is_read(text: str, version: tuple[int, int]) -> None:
    assert CudaVersion.parse(text) == CudaVersion(*version)


@pytest.mark.parametrize(
    "text", ["", "13", "13.", ".0", "v13.0", "13.0a", "13.0.", "13,0", "12040", "١٣.0", "-1.0"]
)
def test_anything_else_is_no_cuda_version(text: str) -> None:
    with pytest.raises(ValueError, match="no CUDA version"):
        CudaVersion.parse(text)


@pytest.mark.parametrize(
    ("number", "text"), [(12040, "12.4"), (13000, "13.0"), (10020, "10.2"), (12080, "12.8")]
)
def test_one_number_holds_two(number: int, text: str) -> None:
    assert str(CudaVersion.from_encoded(number)) == text


def test_versions_compare_as_numbers() -> None:
    assert CudaVersion.parse("9.2") < CudaVersion.parse("10.1") < CudaVersion.parse("10.2")
    assert DriverRelease.parse("580.9") < DriverRelease.parse("580.65.06")
    assert DriverRelease.parse("525.60.13") < DriverRelease.parse("525.147.05")


@given(st.integers(0, 999), st.integers(0, 999))
def test_a_cuda_version_survives_its_text(major: int, minor: int) -> None:
    assert CudaVersion.parse(str(CudaVersion(major, minor))) == CudaVersion(major, minor)


@pytest.mark.parametrize(
    "text", ["", "13.0", "580", "580.", "1234.5", "580.65.x", "٥٨٠.65", "12040"]
)
def test_a_cuda_version_is_no_driver_release(text: str) -> None:
    with pytest.raises(ValueError, match="no driver release"):
        DriverRelease.parse(text)


def test_a_release_keeps_its_zeros_and_compares_without_them() -> None:
    release = DriverRelease.parse(" 580.65.06\n")
    assert (str(release), release.branch) == ("580.65.06", 580)
    assert release == DriverRelease.parse("580.65.6")
    assert len({release, DriverRelease.parse("580.65.6")}) == 1
