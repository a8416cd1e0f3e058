"""Whether a library that stands there is what would be built."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from archbuild.build.jit_stamp import Wanted, is_ready, note_ready

WANTED = Wanted("key", {"a.cu": "digest"})


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "a.h").write_text("1")
    made = tmp_path / "m.so"
    made.write_bytes(b"library")
    note_ready(made, WANTED, [str(tmp_path / "a.h")], time.time_ns())
    return made


def test_what_was_noted_is_ready(library: Path) -> None:
    assert is_ready(library, WANTED)


@pytest.mark.parametrize(
    "other", [replace(WANTED, key="other"), replace(WANTED, sources={"a.cu": "changed"})]
)
def test_other_flags_or_sources_make_another(library: Path, other: Wanted) -> None:
    assert not is_ready(library, other)


@pytest.mark.parametrize(
    "harm",
    [
        lambda library: library.write_bytes(b"half"),
        lambda library: library.unlink(),
        lambda library: (library.parent / "a.h").write_text("12"),
        lambda library: os.utime(library.parent / "a.h", (1, 1)),
        lambda library: (library.parent / "a.h").unlink(),
        lambda library: Path(f"{library}.ready.json").unlink(),
        lambda library: Path(f"{library}.ready.json").write_text("[]"),
        lambda library: Path(f"{library}.ready.json").write_text('{"key"'),
        lambda library: Path(f"{library}.ready.json").write_bytes(b"\xff"),
    ],
)
def test_whatever_is_not_as_it_was_is_built_again(library: Path, harm) -> None:
    harm(library)
    assert not is_ready(library, WANTED)


def test_a_header_that_changed_during_the_build_leaves_it_open(library: Path) -> None:
    header = library.parent / "a.h"
    Path(f"{library}.ready.json").unlink()
    note_ready(library, WANTED, [str(header)], header.stat().st_mtime_ns - 1)
    assert not is_ready(library, WANTED)
    note_ready(library, WANTED, [str(header)], header.stat().st_mtime_ns)
    assert is_ready(library, WANTED)
