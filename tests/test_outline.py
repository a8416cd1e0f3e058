"""What a file looks like from outside, and every file that is none."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.outline import Form, holds_fatbin, read_outline, sniff
from archbuild.errors import BinaryError

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize(
    ("name", "form", "executable", "relocatable"),
    [
        ("classic.so", Form.ELF, True, False),
        ("rdc.so", Form.ELF, True, True),
        ("rdc_unlinked.so", Form.ELF, False, True),
        ("rdc.o", Form.ELF, False, True),
        ("plain.so", Form.ELF, False, False),
        ("rodata.so", Form.ELF, False, False),
        ("specific.cubin", Form.CUBIN, False, False),
    ],
)
def test_sections_tell_the_linkage(
    name: str, form: Form, executable: bool, relocatable: bool
) -> None:
    outline = read_outline(DATA / name)
    assert outline.form is form
    (part,) = outline.parts
    assert (part.has_executable, part.has_relocatable) == (executable, relocatable)


def test_members_of_an_archive() -> None:
    outline = read_outline(DATA / "units.a")
    assert outline.form is Form.ARCHIVE
    assert [(p.has_executable, p.has_relocatable) for p in outline.parts] == [
        (True, False),
        (False, False),
        (False, True),
    ]


def test_objects_and_cubins_know_what_they_are() -> None:
    assert read_outline(DATA / "classic.o").parts[0].is_object
    assert not read_outline(DATA / "classic.so").parts[0].is_object
    assert read_outline(DATA / "relocatable.cubin").parts[0].is_cubin


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("carrier.so", True),
        ("rodata.so", True),
        ("classic.so", False),
        ("mixed.so", False),
        ("units.a", False),
        ("plain.so", False),
    ],
)
def test_a_fatbin_among_the_other_data(name: str, held: bool) -> None:
    places = [place for part in read_outline(DATA / name).parts for place in part.elsewhere]
    assert places
    assert holds_fatbin(DATA / name, places) is held


def test_a_magic_alone_is_no_fatbin(tmp_path: Path) -> None:
    magic, entry = b"\x50\xed\x55\xba\x01\0\x10\0", bytes(8) + b"\2\0\1\1"
    for data, held in ((magic + bytes(40), False), (magic * 2 + magic + entry, True)):
        (tmp_path / "x").write_bytes(data)
        assert holds_fatbin(tmp_path / "x", [(0, len(data))]) is held
        assert not holds_fatbin(tmp_path / "x", [(len(data) - 8, 8)])


@pytest.mark.parametrize(
    ("head", "form"),
    [
        (b"MZ\x90\0", Form.PE),
        (b"\x64\x86\x05\0", Form.COFF),
        (b"PK\x03\x04", Form.ZIP),
        (b"PK\x05\x06", Form.ZIP),
        (b"\x50\xed\x55\xba\x01\0\x10\0", Form.FATBIN),
        (b"\x50\xed\x55\xba\x02\0\x10\0", Form.OTHER),
        (b"", Form.OTHER),
        (b"//\n// Generated", Form.OTHER),
    ],
)
def test_forms_by_their_first_bytes(head: bytes, form: Form) -> None:
    assert sniff(head) is form


@pytest.mark.parametrize("name", ["classic.so", "classic.o", "units.a", "specific.cubin"])
@pytest.mark.parametrize("part", [0.05, 0.5, 0.97])
def test_a_truncated_file_is_told(tmp_path: Path, name: str, part: float) -> None:
    data = (DATA / name).read_bytes()
    cut = tmp_path / name
    cut.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(BinaryError, match="truncated"):
        read_outline(cut)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BinaryError, match=r"x\.so does not exist"):
        read_outline(tmp_path / "x.so")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "x.so").touch()
    with pytest.raises(BinaryError, match="is empty"):
        read_outline(tmp_path / "x.so")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(BinaryError, match="is a folder"):
        read_outline(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="named pipes and devices are of POSIX")
def test_a_pipe_and_a_device_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.so")
    with pytest.raises(BinaryError, match="named pipe"):
        read_outline(tmp_path / "pipe.so")
    with pytest.raises(BinaryError, match="is a device"):
        read_outline(Path(os.devnull))


def test_a_name_with_a_zero_byte() -> None:
    with pytest.raises(BinaryError):
        read_outline(Path("a\0b"))


def test_a_thin_archive(tmp_path: Path) -> None:
    (tmp_path / "thin.a").write_bytes(b"!<thin>\n" + b"x" * 60)
    with pytest.raises(BinaryError, match="thin archive"):
        read_outline(tmp_path / "thin.a")


def test_an_archive_with_rubbish_between_members(tmp_path: Path) -> None:
    (tmp_path / "odd.a").write_bytes(b"!<arch>\n" + b"x" * 80)
    with pytest.raises(BinaryError, match="no archive member at byte 8"):
        read_outline(tmp_path / "odd.a")


def test_tables_of_lying_size_are_not_read(tmp_path: Path) -> None:
    data = bytearray((DATA / "classic.so").read_bytes())
    struct.pack_into("<H", data, 60, 0)  # so many sections that the first header counts
    (offset,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<Q", data, offset + 32, 1 << 60)
    (tmp_path / "x.so").write_bytes(data)
    with pytest.raises(BinaryError, match="truncated"):
        read_outline(tmp_path / "x.so")


FIXTURES = [(DATA / name).read_bytes() for name in ("classic.o", "units.a", "rdc.so")]


@given(
    st.sampled_from(FIXTURES),
    st.lists(st.tuples(st.integers(0, 27_000), st.integers(0, 255)), max_size=8),
    st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=4),
    st.integers(1, 30_000),
)
def test_only_our_own_error_on_damaged_files(
    tmp_path_factory: pytest.TempPathFactory,
    data: bytes,
    anywhere: list[tuple[int, int]],
    headers: list[tuple[int, int]],
    length: int,
) -> None:
    damaged = bytearray(data)
    for place, value in anywhere:
        damaged[place % len(damaged)] = value
    for place, value in headers:
        damaged[place % 64] = value
    path = tmp_path_factory.mktemp("damaged") / "x"
    path.write_bytes(damaged[: max(length, len(damaged) - length)])
    with suppress(BinaryError):
        assert read_outline(path).size == path.stat().st_size
