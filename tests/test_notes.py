"""The notes of cubins, made by hand and by real tools."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.notes import Notes, read_notes
from archbuild.binary.reader import read
from archbuild.model.arch import ptx
from archbuild.model.version import CudaVersion
from tests.fatbins import DATA

HEAD = struct.pack("<III", 12, 8, 1000) + b"NVIDIA Corp\0"
TOOL = b"Cuda compilation tools, release 12.9, V12.9.86\0"


def note(number: int, cuda: int, version: int = 2) -> bytes:
    return HEAD + struct.pack("<HHI", version, number, cuda)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (note(90, 130), Notes(ptx("90"), CudaVersion(13, 0))),
        (b"before" + note(120, 135) + b"after", Notes(ptx("120"), CudaVersion(13, 5))),
        (note(90, 130) + TOOL, Notes(ptx("90"), CudaVersion(13, 0))),
        (TOOL, Notes(None, CudaVersion(12, 9))),
        (note(90, 130, version=3) + TOOL, Notes(None, CudaVersion(12, 9))),
        (note(9, 130), Notes()),
        (note(90, 7), Notes()),
        (note(90, 130)[:-1], Notes()),
        (b"", Notes()),
        (b", release 1300.0, V", Notes()),
    ],
)
def test_notes(data: bytes, expected: Notes) -> None:
    assert read_notes(data) == expected


@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    read_notes(data)
    read_notes(HEAD + data)


@pytest.mark.parametrize("depth", ["kernels", "details"])
@pytest.mark.parametrize(
    ("name", "virtual", "toolkit"),
    [
        ("cuda13_sm_90.cubin", "90", "13.0"),
        ("cuda13_sm_103f.cubin", "100", "13.0"),
        ("cuda12_sm_103f.cubin", None, "12.9"),
        ("cuda12_sm_90.cubin", None, None),
        ("cuda11_sm_86.cubin", None, None),
        ("concatenated.fatbin", "75", "13.5"),
        ("mode_size.fatbin", "90", "13.0"),
        ("mode_none.fatbin", "90", "13.0"),
    ],
)
def test_real_cubins(name: str, virtual: str | None, toolkit: str | None, depth: str) -> None:
    (file,) = read(str(Path(DATA) / name), **{depth: True})
    image = next(image for image in file.images if image.kind.value == "sass")
    assert image.virtual == (ptx(virtual) if virtual else None)
    assert image.toolkit == (CudaVersion.parse(toolkit) if toolkit else None)


def test_without_kernels_notes_are_not_read() -> None:
    (file,) = read(str(Path(DATA) / "mode_size.fatbin"))
    assert {(image.virtual, image.toolkit) for image in file.images} == {(None, None)}
