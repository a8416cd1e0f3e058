"""Known error texts: each row by texts as programs print them, CUDA's errors by all names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.facts.cuda_errors import CudaErrorRow, cuda_errors, find_cuda_error
from archbuild.facts.driver_errors import DRIVER_ERRORS, DriverErrorRow
from archbuild.rules.explaining.cuda_meanings import CUDA_MEANINGS, cuda_meaning
from archbuild.rules.explaining.known import KnownError, Rank
from archbuild.rules.explaining.loader_errors import PACKAGES, package_of
from archbuild.rules.explaining.recognize import (
    KNOWN_ERRORS,
    package_in_text,
    plain_text,
    recognize,
)
from tests.explain_texts import TEXTS

# --- the rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text", "values"), TEXTS, ids=[f"{k}-{t[:20]}" for k, t, _ in TEXTS]
)
def test_a_text_as_it_is_printed(key: str, text: str, values: dict[str, str]) -> None:
    hit = recognize(text).first
    assert hit is not None
    assert hit.known.key == key
    assert values.items() <= hit.values.items()
    assert hit.line


@pytest.mark.parametrize("known", KNOWN_ERRORS, ids=[row.key for row in KNOWN_ERRORS])
def test_every_row_has_a_text_a_mark_and_a_source(known: KnownError) -> None:
    texts = [text for key, text, _ in TEXTS if key == known.key]
    assert texts
    assert known.source
    for text in texts:
        lines = [line.casefold() for line in plain_text(text).split("\n")]
        assert any(mark in line for mark in known.marks for line in lines), text
    assert all(mark == mark.casefold() for mark in known.marks)


def test_keys_are_unique_and_errors_known() -> None:
    rows = (*KNOWN_ERRORS, *CUDA_MEANINGS)
    keys = [row.key for row in rows]
    assert len(keys) == len(set(keys))
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in keys)
    known = {row.number for row in cuda_errors()} | {row.number for row in DRIVER_ERRORS}
    assert {number for row in rows for number in row.errors} <= known


def test_no_advice_that_harms() -> None:
    """Wrong advice that people are given, and that this tool must not give."""
    for row in (*KNOWN_ERRORS, *CUDA_MEANINGS):
        said = " ".join((row.sentence, row.advice, *row.commands)).casefold()
        assert "purge" not in said
        assert "setup.py install" not in said
        assert "downgrade torch" not in said
        assert "newest driver" not in said


@given(st.sampled_from(TEXTS), st.text(alphabet="ab \n[]{}'\"", max_size=40))
def test_a_known_text_among_others(case: tuple[str, str, dict[str, str]], noise: str) -> None:
    hit = recognize(f"{noise}\n{case[1]}\n{noise}").first
    assert hit is not None
    assert hit.known.key == case[0]


@pytest.mark.parametrize(("key", "text", "values"), TEXTS[:12])
def test_lines_of_windows_and_colours(key: str, text: str, values: dict[str, str]) -> None:
    coloured = "\x1b[31m" + text.replace("\n", "\r\n") + "\x1b[0m\x07"
    hit = recognize(coloured).first
    assert hit is not None
    assert hit.known.key == key
    assert "\x1b" not in hit.line


# --- CUDA's own errors -------------------------------------------------------------------------

RUNTIME = [row for row in cuda_errors() if row.number]


@pytest.mark.parametrize("row", RUNTIME, ids=[row.name for row in RUNTIME])
def test_every_error_of_the_runtime_by_name_text_and_number(row: CudaErrorRow) -> None:
    # 300 has the text of 200, and of the two the first is told.
    number = 200 if row.number == 300 else row.number
    for text, wanted in (
        (row.name, row.number),
        (f"RuntimeError: CUDA error: {row.text}", number),
        (f"CUDA error {row.number}", row.number),
        (f"what(): {row.text.upper()} ({row.name})", row.number),
    ):
        hit = recognize(text).first
        assert hit is not None, text
        assert hit.errors[0] == wanted, text
        assert hit.known is cuda_meaning(wanted)


@pytest.mark.parametrize("row", DRIVER_ERRORS, ids=[row.name for row in DRIVER_ERRORS])
def test_every_error_of_the_driver_by_name(row: DriverErrorRow) -> None:
    hit = recognize(f"cuModuleLoadData failed with '{row.name}'").first
    assert hit is not None
    assert hit.errors == (row.number,)
    assert row.number in hit.known.errors


@pytest.mark.parametrize(
    ("text", "number", "old"),
    [
        ("cuda runtime error (8) : invalid device function at THC/x.cu:1", 98, 8),
        ("cuda runtime error (48) : no kernel image is available for execution", 209, 48),
        ("CUDA error 48: no kernel image is available for execution on the device", 209, 48),
        ("Cuda error: invalid device function (8)", 98, 8),
        ("Cuda error: invalid device function (98)", 98, None),
        ("error=38 : no CUDA-capable device is detected", 100, 38),
        ("invalid argument (CUDA error 1)", 1, None),
    ],
)
def test_numbers_before_cuda_10_1(text: str, number: int, old: int | None) -> None:
    hit = recognize(text).first
    assert hit is not None
    assert (hit.errors, hit.old_number) == ((number,), old)


@pytest.mark.parametrize("text", ["8", "error 8", "CUDA error: 8", "cudaError 8", "[8]"])
def test_a_number_alone_means_two_errors(text: str) -> None:
    hits = recognize(text).hits
    assert [hit.errors[0] for hit in hits] == [8, 98]
    assert [hit.old_number for hit in hits] == [None, 8]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("CUDA failure 35: x ; GPU=0 ; hostname=h", 35),
        ("cudaLaunchKernel returned 209", 209),
        ("CUDA driver error 803", 803),
        ("numba.cuda.cudadrv.driver.CudaAPIError: [222] Call to cuLinkAddData results in", 222),
        ("code=222( cudaErrorUnsupportedPtxVersion ) cudaStreamCreateWithFlags", 222),
        ("THCudaCheck FAIL file=Module.cpp line=33 error=101 : invalid device ordinal", 101),
        ("CUresult 209", 209),
        ("209", 209),
    ],
)
def test_numbers_in_sentences(text: str, number: int | None) -> None:
    hit = recognize(text).first
    assert (hit.errors[0] if hit else None) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello world",
        "OSError: [Errno 22] Invalid argument",
        "g++: error: unrecognized file: out of memory for names",
        "HTTP error 404: file not found",
        "Traceback (most recent call last):\n  File 'x.py', line 98, in <module>",
        "exit status 1",
        "4711",
        "training loss 209.5 at step 98",
    ],
)
def test_what_is_no_error_of_cuda(text: str) -> None:
    assert recognize(text).first is None


@pytest.mark.parametrize("text", ["out of memory", "invalid argument", "unknown error"])
def test_a_text_that_others_have_too_counts_where_it_stands_alone(text: str) -> None:
    hit = recognize(text).first
    assert hit is not None
    assert recognize(f"{text} while reading the file of settings").first is None
    assert recognize(f"a cudaMalloc that failed: {text}").first is not None


def test_every_error_has_a_meaning_of_its_own_group() -> None:
    numbers = {row.number for row in cuda_errors()} | {row.number for row in DRIVER_ERRORS}
    grouped = [number for row in CUDA_MEANINGS for number in row.errors]
    assert sorted(grouped) == sorted(numbers)
    assert cuda_meaning(1).rank is Rank.ERROR
    assert cuda_meaning(9999).key == "cuda-wrong-call"


# --- which of several ----------------------------------------------------------------------------


def test_the_cause_goes_before_what_follows() -> None:
    log = (
        "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found "
        "version 11040).\nRuntimeError: Attempting to deserialize object on a CUDA device but "
        "torch.cuda.is_available() is False."
    )
    hits = recognize(log).hits
    assert [hit.known.key for hit in hits] == ["torch-driver-too-old", "torch-deserialize"]


def test_an_error_that_a_row_speaks_of_is_not_told_twice() -> None:
    log = (
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current "
        "PyTorch installation.\nRuntimeError: CUDA error: no kernel image is available for "
        "execution on the device"
    )
    assert [hit.known.key for hit in recognize(log).hits] == ["torch-gpu-not-in-build"]


def test_a_failed_build_is_explained_as_one() -> None:
    told = recognize("nvcc fatal   : Unsupported gpu architecture 'compute_89'")
    assert told.build is not None
    assert (told.build.code, told.first) == ("A120", None)


@pytest.mark.parametrize(
    "text",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "RuntimeError: CUDA error: out of memory",
    ],
)
def test_the_gpus_memory_is_not_the_compilers(text: str) -> None:
    told = recognize(text)
    assert told.build is None
    assert told.first is not None
    assert told.first.errors == (2,)


@pytest.mark.parametrize(
    "text",
    [
        "Segmentation fault (core dumped)",
        "Killed",
        "std::bad_alloc",
        "OSError: [Errno 28] No space left on device",
    ],
)
def test_what_any_program_says_is_no_failed_build(text: str) -> None:
    assert recognize(text).build is None


def test_what_a_compiler_says_is_one() -> None:
    told = recognize("c++: fatal error: Killed signal terminated program cc1plus").build
    assert told is not None
    assert told.code == "A101"


# --- pieces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ('File "/env/lib/python3.12/site-packages/flash_attn/a.py", line 1', "flash_attn"),
        (
            'File "/e/site-packages/xformers/a.py"\nFile "/e/site-packages/torch/nn/b.py"',
            "xformers",
        ),
        ('File "/e/dist-packages/torch/nn/b.py"', "torch"),
        ("C:\\env\\Lib\\site-packages\\spconv\\x.pyd", "spconv"),
        ("nothing", None),
    ],
)
def test_the_package_of_a_traceback(text: str, package: str | None) -> None:
    assert package_in_text(text) == package


@pytest.mark.parametrize("stem", sorted(PACKAGES))
def test_packages_of_libraries(stem: str) -> None:
    assert package_of(stem, 12) == f"{PACKAGES[stem]}-cu12"
    assert package_of(stem, 13) == f'"{PACKAGES[stem]}==13.*"'
    assert package_of(stem, 10) is None
    assert package_of("cufft", 12) is None


def test_old_texts_of_the_table_are_those_of_the_runtime() -> None:
    row = find_cuda_error(98)
    assert row is not None
    assert row.old_number == 8


@given(st.text())
def test_any_text_is_borne(text: str) -> None:
    told = recognize(text)
    assert told.build is None or told.first is None
    assert all(hit.known.key for hit in told.hits)


@given(st.binary(max_size=400), st.sampled_from(TEXTS))
def test_bytes_around_a_known_text_are_borne(
    noise: bytes, case: tuple[str, str, dict[str, str]]
) -> None:
    recognize(noise.decode("latin-1") + case[1] + noise.decode("utf-8", "replace"))
