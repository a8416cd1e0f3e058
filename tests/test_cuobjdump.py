"""The second reader: the real cuobjdump over every fixture, and broken ones over few."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from archbuild.binary.cuobjdump import read_version, read_with_cuobjdump
from archbuild.errors import BinaryError, BlindReaderError, ToolError
from archbuild.model.image import DeviceFile

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def cuobjdump(packaged_tool: Callable[[str], Path]) -> str:
    return str(packaged_tool("cuobjdump"))


def spell(file: DeviceFile) -> list[list[str]]:
    """Regions as short words: R for relocatable, ? for what cannot be said."""
    marks = {"executable": "", "relocatable": "R", "unknown": "?"}
    return [[f"{i.arch}{marks[i.linkage.value]}" for i in r.images] for r in file.regions]


RDC = ["sm_86R", "compute_120R", "sm_120R"]
CLASSIC = ["sm_86", "compute_120", "sm_120"]


@pytest.mark.toolkit
@pytest.mark.parametrize(
    ("name", "everything", "expected"),
    [
        ("classic.o", False, [CLASSIC]),
        ("classic.so", True, [CLASSIC]),
        ("suffixed.o", False, [["compute_90a", "sm_90a", "sm_103f", "sm_120f"]]),
        ("rdc.o", False, [RDC]),
        ("rdc_unlinked.so", False, [RDC]),
        ("rdc_unlinked.so", True, [RDC]),
        ("rdc.so", False, [["sm_86", "sm_120"]]),
        ("rdc.so", True, [["sm_86", "sm_120"], RDC]),
        ("mixed.so", False, [CLASSIC]),
        ("mixed.so", True, [CLASSIC, RDC]),
        ("units.a", True, [CLASSIC, RDC]),
        ("host_only.o", False, [CLASSIC]),
        ("empty_default.so", False, [["sm_75", *CLASSIC]]),
        ("empty_only.so", True, [["sm_75"]]),
        ("lto.o", False, [["lto_90R"]]),
        ("classic.fatbin", False, [CLASSIC]),
        ("rdc.fatbin", False, [RDC]),
        ("specific.cubin", False, [["sm_90a"]]),
        ("family.cubin", False, [["sm_120f"]]),
        ("relocatable.cubin", False, [["sm_86R"]]),
        ("plain.so", False, []),
        ("hip.so", False, []),
    ],
)
def test_every_fixture(cuobjdump: str, name: str, everything: bool, expected: list[str]) -> None:
    file = read_with_cuobjdump(DATA / name, cuobjdump, everything=everything)
    assert spell(file) == expected
    assert file.notes == ()
    assert file.reader == f"cuobjdump {read_version(cuobjdump)}"
    assert all(region.offset is None for region in file.regions)


@pytest.mark.toolkit
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("empty_default.so", [(), ("scale",), None, ("scale",)]),
        ("host_only.o", [(), None, ()]),
        ("specific.cubin", [("scale",)]),
    ],
)
def test_kernels(cuobjdump: str, name: str, expected: list[tuple[str, ...] | None]) -> None:
    file = read_with_cuobjdump(DATA / name, cuobjdump, kernels=True)
    assert [image.kernels for image in file.images] == expected


@pytest.mark.toolkit
def test_the_name_is_the_persons(cuobjdump: str) -> None:
    file = read_with_cuobjdump(DATA / "classic.so", cuobjdump, name="pkg/_C.so")
    assert file.path == "pkg/_C.so"


@pytest.mark.toolkit
@pytest.mark.parametrize("name", ["-all.so", "two words.so", "a:b.so", "nicht\nso.so", "ü.so"])
def test_odd_names(cuobjdump: str, tmp_path: Path, name: str) -> None:
    shutil.copyfile(DATA / "classic.so", tmp_path / name)
    assert spell(read_with_cuobjdump(tmp_path / name, cuobjdump)) == [CLASSIC]


@pytest.mark.toolkit
def test_a_fatbin_where_cuobjdump_does_not_look_is_no_verdict(cuobjdump: str) -> None:
    with pytest.raises(BlindReaderError, match=r"rodata\.so holds a fatbin outside"):
        read_with_cuobjdump(DATA / "rodata.so", cuobjdump)


@pytest.mark.toolkit
@pytest.mark.skipif(os.name == "nt", reason="on Windows cuobjdump reads these")
@pytest.mark.parametrize("head", [b"MZ\x90\0", b"\x64\x86\x01\0"])
def test_windows_binaries_are_no_verdict(cuobjdump: str, tmp_path: Path, head: bytes) -> None:
    (tmp_path / "x.dll").write_bytes(head + bytes(500))
    with pytest.raises(BinaryError, match=r"x\.dll"):
        read_with_cuobjdump(tmp_path / "x.dll", cuobjdump)


@pytest.mark.toolkit
def test_a_damaged_fatbin(cuobjdump: str, tmp_path: Path) -> None:
    data = bytearray((DATA / "classic.so").read_bytes())
    start = data.find(b"\x50\xed\x55\xba\x01\0\x10\0")
    data[start + 8 : start + 16] = b"\xff" * 8
    (tmp_path / "x.so").write_bytes(data)
    with pytest.raises(BinaryError, match=r"cannot read .*x\.so: Invalid fatbin header"):
        read_with_cuobjdump(tmp_path / "x.so", cuobjdump)


@pytest.mark.toolkit
def test_an_unknown_entry_is_an_image_and_a_note(cuobjdump: str, tmp_path: Path) -> None:
    data = bytearray((DATA / "classic.so").read_bytes())
    start = data.find(b"\x50\xed\x55\xba\x01\0\x10\0")
    data[start + 16 : start + 18] = b"\x77\x07"
    (tmp_path / "x.so").write_bytes(data)
    file = read_with_cuobjdump(tmp_path / "x.so", cuobjdump)
    assert len(file.images) == 3
    assert "<unknown kind>" in file.notes[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"just text\n", "is no library"),
        (b"PK\x03\x04" + bytes(60), "is a zip archive"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"", "is empty"),
    ],
)
def test_what_is_no_library_is_told_before_any_call(
    tmp_path: Path, data: bytes, message: str
) -> None:
    (tmp_path / "x.so").write_bytes(data)
    with pytest.raises(BinaryError, match=message):
        read_with_cuobjdump(tmp_path / "x.so", "not-called")


ANSWER = 'test "$1" = --version && echo "Cuda compilation tools, release 13.5, V13.5.99" && exit\n'


def fake(folder: Path, body: str) -> str:
    path = folder / "cuobjdump"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


needs_sh = pytest.mark.skipif(sys.platform == "win32", reason="the fakes are shell scripts")


@needs_sh
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo garbage", "printed nothing about .*classic.so that can be understood"),
        ("true", "printed nothing"),
        ("kill -SEGV $$", r"crashed \(SIGSEGV\) while it read .*classic.so"),
        ("echo oops >&2; exit 9", "failed with status 9 on .*classic.so"),
        ("sleep 60", "classic.so, did not end within 0.5 s"),
        ("sleep 60 & sleep 60", "did not end within 0.5 s"),
    ],
)
def test_a_broken_cuobjdump(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        read_with_cuobjdump(DATA / "classic.so", fake(tmp_path, ANSWER + body), timeout=0.5)


@needs_sh
@pytest.mark.parametrize("body", ["echo 'not a version'", "exit 3", "kill -9 $$"])
def test_something_else_under_the_name(tmp_path: Path, body: str) -> None:
    with pytest.raises(ToolError, match="does not answer --version"):
        read_with_cuobjdump(DATA / "classic.so", fake(tmp_path, body))


@needs_sh
def test_garbage_beside_images_becomes_a_note(tmp_path: Path) -> None:
    body = f"cat '{DATA / 'dumps' / 'classic.so.txt'}'; echo 'a new kind of line'"
    file = read_with_cuobjdump(DATA / "classic.so", fake(tmp_path, ANSWER + body))
    assert spell(file) == [CLASSIC]
    assert file.notes == ("the line 'a new kind of line'",)


@needs_sh
def test_no_device_code_is_a_file_without_regions(tmp_path: Path) -> None:
    body = "echo \"cuobjdump info    : File 'x' does not contain device code\" >&2; exit 255"
    file = read_with_cuobjdump(DATA / "plain.so", fake(tmp_path, ANSWER + body))
    assert file.regions == ()
    assert file.reader == "cuobjdump 13.5.99"


@needs_sh
def test_dumps_that_disagree(tmp_path: Path) -> None:
    with_all, without = DATA / "dumps" / "mixed.so.all.txt", DATA / "dumps" / "units.a.txt"
    body = f"test \"$1\" = -all && exec cat '{with_all}'\ncat '{without}'"
    with pytest.raises(ToolError, match="differently each time"):
        read_with_cuobjdump(DATA / "mixed.so", fake(tmp_path, ANSWER + body), everything=True)


def test_no_cuobjdump_at_all(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be run: No such file"):
        read_with_cuobjdump(DATA / "classic.so", str(tmp_path / "cuobjdump"))


@needs_sh
def test_a_text_in_place_of_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "cuobjdump"
    path.write_bytes(b"\0\0not a program")
    path.chmod(0o755)
    with pytest.raises(ToolError, match="cannot be run"):
        read_with_cuobjdump(DATA / "classic.so", str(path))
