"""The table of CUDA's errors."""

import pytest

from archbuild.facts.cuda_errors import (
    cuda_errors,
    errors_in_text,
    errors_with_old_number,
    find_cuda_error,
    find_cuda_error_by_name,
)


def test_every_error_is_there_once() -> None:
    rows = cuda_errors()
    numbers = [row.number for row in rows]
    assert len(rows) == 138
    assert numbers == sorted(set(numbers))
    assert len({row.name for row in rows}) == 138
    assert all(row.name.startswith("cuda") and row.text for row in rows)


def test_no_two_errors_share_an_old_number() -> None:
    old = [row.old_number for row in cuda_errors() if row.old_number is not None]
    assert len(old) == len(set(old))


@pytest.mark.parametrize(
    ("number", "name", "text"),
    [
        (
            209,
            "cudaErrorNoKernelImageForDevice",
            "no kernel image is available for execution on the device",
        ),
        (98, "cudaErrorInvalidDeviceFunction", "invalid device function"),
        (500, "cudaErrorSymbolNotFound", "named symbol not found"),
        (
            222,
            "cudaErrorUnsupportedPtxVersion",
            "the provided PTX was compiled with an unsupported toolchain.",
        ),
        (34, "cudaErrorStubLibrary", "CUDA driver is a stub library"),
        (200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"),
        (802, "cudaErrorSystemNotReady", "system not yet initialized"),
    ],
)
def test_number_name_and_text(number, name, text) -> None:
    row = find_cuda_error(number)
    assert row is not None
    assert (row.name, row.text) == (name, text)
    assert find_cuda_error_by_name(name) == row


def test_a_meaning_in_our_words_or_else_the_text() -> None:
    told, plain = find_cuda_error(209), find_cuda_error(221)
    assert told is not None
    assert plain is not None
    assert told.meaning == "no image in the binary suits this GPU"
    assert plain.meaning == plain.text == "PTX JIT compiler library not found"


@pytest.mark.parametrize("number", [218, 221, 223, 35, 36, 803, 804, 100])
def test_errors_which_the_rules_name_are_known(number) -> None:
    assert find_cuda_error(number) is not None


@pytest.mark.parametrize("number", [-1, 11, 97, 12040, 10**9])
def test_unknown_number(number) -> None:
    assert find_cuda_error(number) is None
    assert find_cuda_error_by_name("cudaErrorOfAnotherKind") is None


@pytest.mark.parametrize(("old", "new"), [(8, 98), (48, 209), (38, 100), (30, 999), (77, 700)])
def test_old_numbers(old, new) -> None:
    assert [row.number for row in errors_with_old_number(old)] == [new]


def test_a_number_that_never_changed_is_no_old_number() -> None:
    assert errors_with_old_number(35) == ()
    assert find_cuda_error(35).old_number == 35


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            [209],
        ),
        ("invalid device function (8)", [98]),
        ("CUDA ERROR: INVALID\n  DEVICE   FUNCTION", [98]),
        ("the provided PTX was compiled with an unsupported toolchain", [222]),
        ("cudaErrorInvalidDevice", [101]),
        ("cudaErrorInvalidDeviceFunction", [98]),
        ("device kernel image is invalid", [200, 300]),
        ("everything is fine, no error at all", []),
        ("", []),
    ],
)
def test_errors_in_text(text, numbers) -> None:
    assert [row.number for row in errors_in_text(text)] == numbers


def test_several_errors_in_a_text_come_longest_first() -> None:
    text = "out of memory; then named symbol not found"
    assert [row.number for row in errors_in_text(text)] == [500, 2]
