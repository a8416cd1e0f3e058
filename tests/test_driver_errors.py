"""The table of the driver API's errors, beside the runtime's."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from archbuild.facts.cuda_errors import find_cuda_error
from archbuild.facts.driver_errors import (
    DRIVER_ERRORS,
    driver_errors_in_text,
    find_driver_error,
)


def test_every_error_is_there_once_and_in_order() -> None:
    numbers = [row.number for row in DRIVER_ERRORS]
    assert len(numbers) == 100
    assert numbers == sorted(set(numbers))
    assert len({row.name for row in DRIVER_ERRORS}) == 100
    assert all(re.fullmatch(r"CUDA_ERROR_[A-Z_]+", row.name) for row in DRIVER_ERRORS)


def test_the_numbers_are_those_of_the_runtime() -> None:
    """All but two, which only the driver has."""
    alone = [row.name for row in DRIVER_ERRORS if find_cuda_error(row.number) is None]
    assert alone == ["CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "CUDA_ERROR_KEY_ROTATION"]


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (209, "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        (500, "CUDA_ERROR_NOT_FOUND"),
        (222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    ],
)
def test_number_and_name(number: int, name: str) -> None:
    row = find_driver_error(number)
    assert row is not None
    assert row.name == name


def test_an_unknown_number() -> None:
    assert find_driver_error(98) is None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device", [100]),
        ("CUDA_ERROR_INVALID_PTX, then CUDA_ERROR_INVALID_HANDLE", [218, 400]),
        ("CUDA_ERROR_INVALID_PTXAS CUDA_ERROR_NOTHING", []),
        ("", []),
    ],
)
def test_names_in_a_text(text: str, numbers: list[int]) -> None:
    assert [row.number for row in driver_errors_in_text(text)] == numbers


@pytest.mark.toolkit
def test_the_table_is_that_of_the_header() -> None:
    """The header of the newest toolkit in this environment may have more, never others."""
    found = [p for place in sys.path for p in Path(place).glob("nvidia/cu13/include/cuda.h")]
    if not found:
        pytest.skip("no cuda.h of CUDA 13 in the packages of this environment")
    text = found[0].read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\s+(CUDA_ERROR_\w+)\s*=\s*(\d+)", text, re.MULTILINE))
    assert {row.name: str(row.number) for row in DRIVER_ERRORS}.items() <= stated.items()
