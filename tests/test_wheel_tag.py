"""The tag of a wheel, held against its extension."""

from __future__ import annotations

import pytest

from archbuild.rules.checking.wheel_tag import OLDEST, check_wheel_tag, tag_of_version


@pytest.mark.parametrize(
    ("limited", "option"),
    [
        (False, None),
        (False, False),
        (False, ""),
        (True, "cp310"),
        (True, "cp311"),
        (True, "cp320"),
    ],
)
def test_they_agree(limited: bool, option: str | bool | None) -> None:
    assert check_wheel_tag(limited, option) is None


@pytest.mark.parametrize(
    ("limited", "option", "words"),
    [
        (True, None, ["this one alone", '"py_limited_api": "cp310"']),
        (True, False, ["this one alone", "bdist_wheel"]),
        (False, "cp310", ["cp310-abi3", "py_limited_api=True"]),
        (True, "cp39", ["cp39-abi3", "cp310 and newer"]),
        (True, True, ["True", "no tag"]),
        (False, True, ["True", "no tag"]),
        (True, "3.10", ["'3.10'", "no tag", '"cp310"']),
        (True, "cp310 ", ["no tag"]),
    ],
)
def test_they_disagree(limited: bool, option: str | bool | None, words: list[str]) -> None:
    said = check_wheel_tag(limited, option)
    assert said is not None
    assert [word for word in words if word not in said] == []


def test_another_oldest_python() -> None:
    assert check_wheel_tag(True, "cp310", "cp312") is not None
    assert check_wheel_tag(True, "cp312", "cp312") is None


@pytest.mark.parametrize(
    ("number", "tag"),
    [("0x030A0000", "cp310"), ("0x03090000", "cp39"), ("0x030e0000", "cp314")],
)
def test_the_tag_of_a_macro(number: str, tag: str) -> None:
    assert tag_of_version(number) == tag


@pytest.mark.torch
def test_torch_still_compiles_for_that_python() -> None:
    module = pytest.importorskip("torch.utils.cpp_extension")
    assert tag_of_version(module.min_supported_cpython) == OLDEST
