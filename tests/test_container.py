"""Wheels, conda packages, tar archives, folders and installed packages."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import random
import struct
import sys
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary import folders, limits, tars, zips
from archbuild.binary.reader import iter_files, read
from archbuild.binary.source import BytesSource
from archbuild.errors import ArchbuildError, BinaryError
from archbuild.model.image import FileFormat
from tests.fatbins import DATA, archs, elf, entry, region

MEMBERS = ["two_units.so", "windows.dll", "static.a", "cuda13_sm_90a.cubin", "plain.ptx"]
EXPECTED = [
    ["sm_80", "compute_90", "sm_90"] * 2,
    ["sm_90", "compute_75"],
    ["sm_80", "compute_90", "sm_90"] * 3,
    ["sm_90a"],
    ["compute_75"],
]
LIBRARY = (DATA / "two_units.so").read_bytes()


def content() -> dict[str, bytes]:
    files = {f"pkg/{name}": (DATA / name).read_bytes() for name in MEMBERS}
    return {"pkg/__init__.py": b"", **files, "pkg/README": b"just text"}


def make_zip(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def make_tar(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def check(path: Path, prefix: str = "pkg/") -> None:
    """Whatever the container, the same files with the same images come out."""
    found = read(str(path), kernels=True)
    assert [file.path for file in found] == [prefix + name for name in MEMBERS]
    assert [archs(file) for file in found] == EXPECTED
    for file, name in zip(found, MEMBERS, strict=True):
        (alone,) = read(str(DATA / name), kernels=True)
        assert file.regions == alone.regions
        assert (file.size, file.format) == (alone.size, alone.format)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_wheel(tmp_path: Path, method: int) -> None:
    check(make_zip(tmp_path / "pkg-1-py3-none-any.whl", content(), method))


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".tar", bytes),
        (".tar.gz", gzip.compress),
        (".tar.xz", lzma.compress),
        (".tar.zst", lambda data: zstandard.ZstdCompressor().compress(data)),
    ],
)
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_a_tar_archive(tmp_path: Path, suffix: str, pack, form: int) -> None:
    path = tmp_path / f"pkg{suffix}"
    path.write_bytes(pack(make_tar(content(), form)))
    check(path)


def test_a_conda_package(tmp_path: Path) -> None:
    inner = zstandard.ZstdCompressor().compress(make_tar(content()))
    info = zstandard.ZstdCompressor().compress(make_tar({"info/index.json": b"{}"}))
    files = {"metadata.json": b"{}", "info-pkg-1.tar.zst": info, "pkg-pkg-1.tar.zst": inner}
    check(make_zip(tmp_path / "pkg-1.conda", files, zipfile.ZIP_STORED))


def test_long_names_in_tar_archives(tmp_path: Path) -> None:
    name = "deep/" * 60 + "library.so"
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        (tmp_path / "x.tar").write_bytes(make_tar({name: LIBRARY, "b.so": LIBRARY}, form))
        assert [file.path for file in read(str(tmp_path / "x.tar"))] == [name, "b.so"]


def test_a_folder(tmp_path: Path) -> None:
    for name, data in content().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found = read(str(tmp_path))
    assert sorted(Path(file.path).name for file in found) == sorted(MEMBERS)
    assert len({file.path for file in found}) == len(MEMBERS)


def test_an_installed_package_by_name(tmp_path: Path, monkeypatch) -> None:
    info = tmp_path / "pkg_of_tests-1.dist-info"
    info.mkdir()
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "lib.so").write_bytes(LIBRARY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pkg-of-tests\nVersion: 1\n")
    (info / "RECORD").write_text("pkg/lib.so,,\npkg/gone.so,,\npkg/__init__.py,,\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.chdir(tmp_path)
    (found,) = read("pkg-of-tests")
    assert (Path(found.path).name, archs(found)) == ("lib.so", EXPECTED[0])


@pytest.mark.parametrize("name", ["no-such-package-at-all", "no/such/file.so", "", "a\0b"])
def test_what_is_not_there_is_an_error_with_advice(name: str) -> None:
    with pytest.raises(BinaryError, match="Give a path, or the name of an installed package"):
        read(name)


def test_a_file_that_can_hold_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("just text")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text.gz").write_bytes(gzip.compress(b"no tar archive" * 99))
    for name, said in (("notes.txt", "no kind"), ("empty", "is empty"), ("text.gz", "no tar")):
        with pytest.raises(BinaryError, match=f"{name}.* {said}"):
            read(str(tmp_path / name))


def test_links_are_followed_to_files_once_and_to_folders_never(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "lib.so").write_bytes(LIBRARY)
    (inside / "a.so").symlink_to(outside / "lib.so")
    (inside / "b.so").symlink_to(outside / "lib.so")
    (inside / "gone.so").symlink_to(outside / "gone.so")
    (inside / "loop.so").symlink_to(inside / "loop.so")
    (inside / "folder").symlink_to(outside)
    (inside / "itself").symlink_to(inside)
    assert [Path(file.path).name for file in read(str(inside))] == ["a.so"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.so")
    (tmp_path / "lib.so").write_bytes(LIBRARY)
    assert len(read(str(tmp_path))) == 1
    with pytest.raises(BinaryError, match="no regular file"):
        read(str(tmp_path / "pipe.so"))


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_climb_are_names_and_nothing_is_written(tmp_path: Path, kind: str) -> None:
    names = {"../../climbing.so": LIBRARY, "/etc/absolute.so": LIBRARY}
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    path = inner / "x"
    if kind == "zip":
        make_zip(path, names)
    else:
        path.write_bytes(make_tar(names))
    assert [file.path for file in read(str(path))] == list(names)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path]


def test_links_in_tar_archives_are_passed_over(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo("link.so")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("lib.so")
        info.size = len(LIBRARY)
        archive.addfile(info, io.BytesIO(LIBRARY))
    assert [file.path for file in read(str(tmp_path / "x.tar"))] == ["lib.so"]


def test_a_wheel_cut_anywhere_is_never_taken_for_whole(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.whl", {"lib.so": LIBRARY})
    whole = path.read_bytes()
    for length in range(4, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(BinaryError, match=r"x\.whl"):
            read(str(path))


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
def test_a_tar_archive_cut_anywhere_is_never_taken_for_whole(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    whole = make_tar({"lib.so": LIBRARY})[: 512 + -(-len(LIBRARY) // 512) * 512 + 512]
    whole = gzip.compress(whole) if suffix == ".tar.gz" else whole
    for length in range(700, len(whole) - 512, 997):
        path.write_bytes(whole[:length])
        with pytest.raises(BinaryError, match=r"x\.tar"):
            read(str(path))


def test_a_flipped_bit_in_a_library_of_a_wheel_is_found(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.whl", {"lib.so": LIBRARY}, zipfile.ZIP_STORED)
    whole = bytearray(path.read_bytes())
    whole[whole.index(LIBRARY) + 5000] ^= 1
    path.write_bytes(whole)
    with pytest.raises(BinaryError, match="checksum is wrong"):
        read(str(path))


def test_members_that_share_bytes_are_refused(tmp_path: Path) -> None:
    """A small file with thousands of names for one member would be read for ever."""
    path = make_zip(tmp_path / "x.zip", {"a.so": LIBRARY, "b.so": LIBRARY})
    whole = bytearray(path.read_bytes())
    directory = struct.unpack_from("<I", whole, len(whole) - 6)[0]
    second = whole.index(b"PK\x01\x02", directory + 4)
    struct.pack_into("<I", whole, second + 20, len(whole))
    path.write_bytes(whole)
    with pytest.raises(BinaryError, match=r"b\.so"):
        read(str(path))
    struct.pack_into("<I", whole, second + 42, 0)
    path.write_bytes(whole)
    with pytest.raises(BinaryError):
        read(str(path))


def test_encrypted_and_unknown_methods_are_told(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", {"a.so": LIBRARY})
    whole = bytearray(path.read_bytes())
    directory = whole.index(b"PK\x01\x02")
    whole[directory + 8] |= 1
    path.write_bytes(whole)
    with pytest.raises(BinaryError, match="is encrypted"):
        read(str(path))
    whole[directory + 8] &= ~1
    whole[directory + 10] = 99
    path.write_bytes(whole)
    with pytest.raises(BinaryError, match="method 99"):
        read(str(path))


def test_a_member_longer_than_it_says_is_an_error(tmp_path: Path) -> None:
    bomb = elf([(".data", bytes(5 << 20))])
    path = make_zip(tmp_path / "x.zip", {"a.so": bomb})
    whole = bytearray(path.read_bytes())
    struct.pack_into("<I", whole, whole.index(b"PK\x01\x02") + 24, 1000)
    path.write_bytes(whole)
    with pytest.raises(BinaryError, match=r"a\.so"):
        read(str(path))


def test_memory_does_not_grow_with_the_member(tmp_path: Path) -> None:
    noise = random.Random(0).randbytes(1 << 20)
    peaks = []
    for megabytes in (4, 40):
        library = elf([(".text", noise * megabytes), (".nv_fatbin", region(entry()))])
        path = make_zip(tmp_path / f"{megabytes}.whl", {"lib.so": library})
        del library
        read(str(path), kernels=True)
        tracemalloc.start()
        assert archs(read(str(path), kernels=True)[0]) == ["compute_90"]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + (2 << 20)
    assert peaks[1] < 12 << 20


def test_errors_of_single_files_can_be_gathered(tmp_path: Path) -> None:
    broken = elf([(".nv_fatbin", region(entry(header=5)))])
    files = {"a.so": broken, "b.so": LIBRARY, "c.so": broken}
    (tmp_path / "x.tar").write_bytes(make_tar(files))
    make_zip(tmp_path / "x.zip", files)
    for name in ("x.zip", "x.tar"):
        with pytest.raises(BinaryError, match=r"a\.so"):
            list(iter_files(str(tmp_path / name)))
        errors: list[ArchbuildError] = []
        found = list(iter_files(str(tmp_path / name), errors=errors))
        assert [file.path for file in found] == ["b.so"]
        assert ["a.so" in str(errors[0]), "c.so" in str(errors[1])] == [True, True]


def test_sparse_files_and_giant_headers_of_tar_archives(tmp_path: Path) -> None:
    info = tarfile.TarInfo("lib.so")
    info.type, info.size = b"S", 0
    (tmp_path / "x.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(BinaryError, match="sparse"):
        read(str(tmp_path / "x.tar"))
    info.type, info.size = b"x", 1 << 40
    (tmp_path / "x.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(BinaryError, match="a name of"):
        read(str(tmp_path / "x.tar"))


def test_too_many_members(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(limits, "MEMBERS", 5)
    files = {f"{i}.so": b"x" for i in range(9)}
    make_zip(tmp_path / "x.zip", files)
    (tmp_path / "x.tar").write_bytes(make_tar(files))
    for name in ("x.zip", "x.tar"):
        with pytest.raises(BinaryError, match="more than 5 members"):
            read(str(tmp_path / name))


def test_a_wheel_of_the_other_system_reads_the_same(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.whl", {"pkg\\lib.pyd": (DATA / "windows.dll").read_bytes()})
    (found,) = read(str(path))
    assert found.format is FileFormat.PE


@given(st.binary(max_size=700))
def test_no_bytes_crash_the_readers_of_archives(data: bytes) -> None:
    header = tarfile.TarInfo("a.so").tobuf()
    for start in (b"", header[:257], header):
        with contextlib.suppress(BinaryError):
            list(tars.read_members(BytesSource("x", start + data)))
    whole = b"PK\x03\x04" + data
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, min(len(data), 46), 4, 0)
    with contextlib.suppress(BinaryError):
        list(zips.read_members(io.BytesIO(whole + end), BytesSource("x", whole + end)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.py", True), ("A.TXT", True), ("lib.so", False), ("lib.so.1", False), ("x", False)],
)
def test_names_that_say_that_no_code_is_inside(name: str, expected: bool) -> None:
    assert folders.is_text(name) is expected


def test_a_member_without_a_name(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "x.zip", {"a": LIBRARY})
    path.write_bytes(path.read_bytes().replace(b"\1\0\0\0a", b"\1\0\0\0\0").replace(b"a", b"\0"))
    assert len(list(iter_files(str(path), errors=[]))) <= 1


def test_wheels_in_a_folder_and_in_a_zip_file_are_looked_into(tmp_path: Path) -> None:
    inner = make_zip(tmp_path / "a.whl", {"pkg/two_units.so": LIBRARY})
    assert [file.path for file in read(str(tmp_path))] == [f"{inner}/pkg/two_units.so"]
    outer = make_zip(tmp_path / "artifact.zip", {"dist/a.whl": inner.read_bytes()})
    (file,) = read(str(outer), kernels=True)
    (alone,) = read(str(DATA / "two_units.so"), kernels=True)
    assert (file.path, file.regions) == ("dist/a.whl/pkg/two_units.so", alone.regions)
    deeper = make_zip(tmp_path / "deeper.zip", {"artifact.zip": outer.read_bytes()})
    with pytest.raises(BinaryError, match="an archive in an archive in an archive"):
        read(str(deeper))


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("pkg/_C.so", b"not a library", "begins with b'not a library'"),
        ("pkg/_C.so", b"", "it is empty"),
        ("pkg/lib.so.1", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    ],
)
def test_a_text_called_a_library_is_refused(
    tmp_path: Path, name: str, data: bytes, says: str
) -> None:
    for path in (make_zip(tmp_path / "x.whl", {name: data}), tmp_path / "folder"):
        if path.suffix != ".whl":
            (path / "pkg").mkdir(parents=True)
            (path / name).write_bytes(data)
        with pytest.raises(BinaryError, match=says):
            read(str(path))


@pytest.mark.parametrize(
    "data", [b"/* GNU ld script */ INPUT(x)", b"\0asm\1\0", b"\xcf\xfa\xed\xfe"]
)
def test_what_else_is_called_a_library_is_passed_over(tmp_path: Path, data: bytes) -> None:
    assert read(str(make_zip(tmp_path / "x.whl", {"libx.so": data}))) == ()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_name_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.writestr("a.so", LIBRARY)
        archive.writestr("a.so", b"")
    with pytest.raises(BinaryError, match=r"holds a\.so twice"):
        read(str(tmp_path / "x.whl"))


def test_a_symbolic_link_in_a_wheel_is_passed_over(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("liba.so")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.writestr(link, "liba.so.1")
    assert read(str(tmp_path / "x.whl")) == ()
