"""Of a log the lines that matter: any size, any bytes, nothing known lost."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.facts.cuda_errors import cuda_errors
from archbuild.facts.driver_errors import DRIVER_ERRORS
from archbuild.rules.building.build_failure import explain_failure
from archbuild.rules.explaining.log_lines import lines_that_matter
from archbuild.rules.explaining.recognize import recognize
from tests.explain_texts import TEXTS
from tests.test_build_failure import CASES

NOISE = b"step 12 loss 0.31 lr 1e-4\n" * 400
ERROR = b"RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def among_noise(text: bytes) -> list[bytes]:
    return [NOISE, NOISE[:77], b"\n", text, b"\n", NOISE]


@pytest.mark.parametrize(
    ("key", "text", "values"), TEXTS, ids=[f"{k}-{t[:20]}" for k, t, _ in TEXTS]
)
def test_no_known_text_is_lost(key: str, text: str, values: dict[str, str]) -> None:
    hit = recognize(lines_that_matter(among_noise(text.encode()))).first
    assert hit is not None
    assert hit.known.key == key


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_no_text_of_a_failed_build_is_lost(case: tuple[str, str, Sequence[str]]) -> None:
    told = explain_failure(lines_that_matter(among_noise(case[1].encode())), 1)
    assert told is not None
    assert told.code == case[0]


def test_no_error_of_cuda_is_lost() -> None:
    for row in cuda_errors():
        kept = lines_that_matter(among_noise(f"CUDA error: {row.text}".encode()))
        assert not row.number or row.text in kept
        assert row.name in lines_that_matter(among_noise(row.name.encode()))
    for driver in DRIVER_ERRORS:
        assert driver.name in lines_that_matter(among_noise(driver.name.encode()))


def test_noise_goes_and_the_lines_around_an_error_stay() -> None:
    log = b"loading\nTraceback: in f\n" + ERROR + b"a\nb\n" + NOISE
    kept = lines_that_matter([log]).split("\n")
    assert kept[:4] == ["Traceback: in f", ERROR.decode().strip(), "a", "b"]
    assert len(kept) < 10


def test_an_error_that_comes_again_and_again_is_kept_once() -> None:
    log = b"".join(b"%d CUDA error: invalid argument at x.cu:%d\n" % (n, n) for n in range(5000))
    assert len(lines_that_matter([log]).split("\n")) < 12


def test_the_first_and_the_last_of_what_looks_like_an_error_stay() -> None:
    words = [
        b"error of kind %s%s%s\n" % (a, b, c) for a in LETTERS for b in LETTERS for c in LETTERS
    ]
    kept = lines_that_matter(words).split("\n")
    assert kept[0] == words[0].decode().strip()
    assert kept[-1] == words[-1].decode().strip()
    assert len(kept) < 1000 < len(words)


LETTERS = [bytes([letter]) for letter in b"abcdefghijkl"]


def _large(size: int) -> Iterator[bytes]:
    """A log with an error in its middle, whose every line speaks of an error."""
    block = b"".join(b"[%d] error_rate 0.%d device ok\n" % (n, n) for n in range(5000))
    for place in range(size // len(block)):
        yield ERROR if place == size // len(block) // 2 else block


def test_a_large_log_takes_little_memory() -> None:
    tracemalloc.start()
    kept = lines_that_matter(_large(60 << 20))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    hit = recognize(kept).first
    assert hit is not None
    assert hit.errors == (209,)
    assert most < 8 << 20


def test_a_log_without_line_ends_takes_little_memory() -> None:
    tracemalloc.start()
    kept = lines_that_matter(b"error " * 30000 for _ in range(100))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 << 20
    assert len(kept) < 4 << 20


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_what_shells_of_windows_write(encoding: str) -> None:
    marks = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
    data = marks.get(encoding, b"") + ERROR.decode().encode(encoding)
    # Pieces that end in the middle of a character.
    kept = lines_that_matter([data[:33], data[33:]])
    assert "no kernel image" in kept


def test_progress_bars_and_bytes_that_are_no_text() -> None:
    log = b"\xff\xfa\x00 10%\r 20%\r" + ERROR.replace(b"\n", b"\r\n") + b"\x80\x81 cuda"
    kept = lines_that_matter([log])
    assert recognize(kept).first is not None


def test_an_error_over_two_pieces() -> None:
    for cut in range(len(ERROR)):
        assert "no kernel image" in lines_that_matter([ERROR[:cut], ERROR[cut:]])


def test_a_message_that_goes_on_in_the_next_piece() -> None:
    first = b"The detected CUDA version (11.8) mismatches the version that was used to compile\n"
    kept = lines_that_matter([first, b"PyTorch (12.4). Please\n", NOISE])
    hit = recognize(kept).first
    assert hit is not None
    assert hit.values["torch"] == "12.4"


@given(st.lists(st.binary(max_size=200), max_size=8))
def test_any_bytes_are_borne(blocks: list[bytes]) -> None:
    assert isinstance(lines_that_matter(blocks), str)
