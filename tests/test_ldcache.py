"""The loader's list of libraries, whole and damaged."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.probe.ldcache import parse_ldcache
from archbuild.probe.places import this_processor
from tests.trees import ldcache

CUDA = "libcuda.so.1"
PAIRS = [
    ("libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"),
    (CUDA, "/usr/local/cuda/compat/libcuda.so.1"),
    (CUDA, "/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
    ("libcuda.so.11", "/usr/lib/x86_64-linux-gnu/libcuda.so.11"),
]
PATHS = tuple(path for name, path in PAIRS if name == CUDA)


def test_the_first_choice_comes_first_and_a_longer_name_is_another() -> None:
    assert parse_ldcache(ldcache(PAIRS), CUDA, "x86_64") == PATHS


def test_a_list_that_follows_the_old_one() -> None:
    old = b"ld.so-1.7.0\0" + bytes(100)
    assert parse_ldcache(ldcache(PAIRS, old=old), CUDA, "x86_64") == PATHS


@pytest.mark.parametrize(
    ("flags", "processor", "counts"),
    [
        (0x0303, "x86_64", True),
        (0x0003, "x86_64", False),  # 32 bits
        (0x0803, "x86_64", False),  # x32
        (0x0A03, "aarch64", True),
        (0x0303, "aarch64", False),
        (0x0003, "riscv64", True),  # not known here
    ],
)
def test_libraries_for_another_processor_do_not_count(
    flags: int, processor: str, counts: bool
) -> None:
    assert bool(parse_ldcache(ldcache(PAIRS, flags), CUDA, processor)) == counts


@pytest.mark.parametrize("data", [b"", b"glibc-ld.so.cache1.1", b"x" * 1000, bytes(1000)])
def test_what_is_no_list(data: bytes) -> None:
    assert parse_ldcache(data, CUDA, "x86_64") == ()


def test_a_path_is_a_path() -> None:
    assert parse_ldcache(ldcache([(CUDA, "relative/libcuda.so.1"), (CUDA, "")]), CUDA, "") == ()


@given(st.integers(0, 400), st.binary(max_size=30))
def test_no_damage_is_too_odd(place: int, piece: bytes) -> None:
    data = ldcache(PAIRS)
    damaged = data[:place] + piece + data[place + len(piece) :]
    for found in (damaged, damaged[:place]):
        assert all(path.startswith("/") for path in parse_ldcache(found, CUDA, "x86_64"))


def test_it_says_what_ldconfig_says() -> None:
    program, cache = shutil.which("ldconfig", path="/sbin:/usr/sbin:/bin"), "/etc/ld.so.cache"
    if program is None or not Path(cache).exists():
        pytest.skip("there is no ldconfig, or no list of libraries")
    done = subprocess.run(
        [program, "-p"], capture_output=True, text=True, check=True, timeout=60, errors="replace"
    )
    printed = re.findall(r"^\tlibc\.so\.6 \(libc6.*\) => (\S+)$", done.stdout, re.MULTILINE)
    found = parse_ldcache(Path(cache).read_bytes(), "libc.so.6", this_processor())
    assert found
    assert set(found) <= set(printed)
