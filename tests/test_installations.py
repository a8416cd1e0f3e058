"""What lies in folders of packages: by metadata, eggs, links to sources, and leftovers."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.probe.installations import (
    Installation,
    libraries_in,
    list_installations,
    list_libraries,
    normal_name,
    package_folders,
)
from tests.sites import DATA, install


def libraries(*folders: Path) -> set[Path]:
    return {path for one in list_installations(folders) for path in list_libraries(one)}


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(DATA / "plain.so", path)
    return path


@pytest.mark.parametrize(
    ("info", "name", "version"),
    [
        ("torch-2.14.1+cu130.dist-info", "torch", "2.14.1+cu130"),
        ("flash_attn-2.7.4.post1.dist-info", "flash_attn", "2.7.4.post1"),
        ("apex-0.1-py3.11.egg-info", "apex", "0.1"),
        ("p.egg-info", "p", ""),
        ("Größer-1.dist-info", "Größer", "1"),
    ],
)
def test_name_and_version_by_the_folder(tmp_path: Path, info: str, name: str, version: str) -> None:
    (tmp_path / info).mkdir()
    (one,) = list_installations([tmp_path])
    assert (one.name, one.version) == (name, version)
    assert one.lists_files is info.endswith(".dist-info")


@pytest.mark.parametrize("info", ["~orch-2.6.dist-info", ".dist-info", "EGG-INFO", "torch", "x.y"])
def test_what_is_no_installed_package(tmp_path: Path, info: str) -> None:
    (tmp_path / info).mkdir()
    assert list_installations([tmp_path]) == ()


def test_an_egg_on_the_path(tmp_path: Path) -> None:
    egg = tmp_path / "tinycudann-1.7-py3.11-linux-x86_64.egg"
    library = put(egg / "tinycudann_bindings" / "_86_C.so")
    (egg / "EGG-INFO").mkdir()
    (egg / "EGG-INFO" / "top_level.txt").write_text("tinycudann\ntinycudann_bindings\n")
    (one,) = list_installations([egg])
    assert (one.name, one.version) == ("tinycudann", "1.7")
    assert libraries(egg) == {library}


def test_a_source_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "p.egg-info").mkdir()
    (tmp_path / "p.egg-info" / "top_level.txt").write_text("p\np_cuda\n../x\n")
    inside = put(tmp_path / "p" / "_C.cpython-311-x86_64-linux-gnu.so")
    single = put(tmp_path / "p_cuda.cpython-311-x86_64-linux-gnu.so")
    put(tmp_path / "other.so")
    assert libraries(tmp_path) == {inside, single}


def test_metadata_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "p-1.0-py3.11.egg-info").write_text("Name: p\nVersion: 1.0\n")
    library = put(tmp_path / "p" / "_C.so")
    assert libraries(tmp_path) == {library}


@pytest.mark.parametrize(
    ("line", "listed"),
    [
        ("p/_C.so,sha256=x,1", True),
        ('"p/_C.so",sha256=x,1', True),
        ("p/_C.so.11.0,,", True),
        ("p/_C.pyd,,", True),
        ("p/kernel.cubin,,", True),
        ("größer/_C.so,,", True),
        ("p/_C.so", False),
        ("p/_C.sox,,", False),
        ("p/so,,", False),
        ("../p/_C.so,,", False),
        ("p/../../_C.so,,", False),
        ("/p/_C.so,,", False),
        ("p/\0_C.so,,", False),
    ],
)
def test_lines_of_a_record(tmp_path: Path, line: str, listed: bool) -> None:
    install(tmp_path, "p", record=line)
    assert bool(libraries(tmp_path)) is listed


class Recorded(Distribution):
    """A package of which only the RECORD is there."""

    def __init__(self, record: str) -> None:
        self._record = record

    def read_text(self, filename: str) -> str | None:
        return self._record if filename == "RECORD" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(path)


SITE = Path("site").absolute()
NAMES = st.lists(st.sampled_from(["..", ".", "", "/", "a", "ä.so", "_C.so.1", "\\", ":", ",", '"']))


@given(st.text() | NAMES.map("/".join).map("{},,".format))
def test_whatever_a_record_lists_lies_in_its_folder(record: str) -> None:
    for path in list_libraries(Installation("", Recorded(record), SITE)):
        assert os.path.normpath(path).startswith(str(SITE) + os.sep)
        assert not path.exists()


def test_a_record_that_is_no_text(tmp_path: Path) -> None:
    info = install(tmp_path, "p")
    library = put(tmp_path / "p" / "_C.so")
    (info / "RECORD").write_bytes(b"p/_C.so,,\n\xff\xfe")
    assert libraries(tmp_path) == {library}


def test_a_source_is_not_searched_without_end(tmp_path: Path) -> None:
    direct = {"url": (tmp_path / "s").as_uri(), "dir_info": {"editable": True}}
    install(tmp_path / "site", "p", direct=direct)
    near = put(tmp_path / "s" / "build" / "lib" / "p" / "_C.so")
    put(tmp_path / "s" / ".git" / "_C.so")
    put(tmp_path.joinpath("s", *"abcdefgh", "_C.so"))
    assert libraries(tmp_path / "site") == {near}


def test_names_by_their_beginning(tmp_path: Path) -> None:
    for name in ("b.so", "a.so.1", "a.txt", "ab.dll"):
        (tmp_path / name).touch()
    assert [path.name for path in libraries_in(tmp_path)] == ["a.so.1", "ab.dll", "b.so"]
    assert [path.name for path in libraries_in(tmp_path, "a.")] == ["a.so.1"]
    assert list(libraries_in(tmp_path / "gone")) == []


@pytest.mark.parametrize("name", ["Flash_Attn", "flash.attn", "flash-attn", "FLASH__attn"])
def test_one_name_however_written(name: str) -> None:
    assert normal_name(name) == "flash-attn"


def test_a_search_path_with_everything_in_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    entries = ["", str(tmp_path / "a"), str(tmp_path / "link"), str(tmp_path / "x.zip"), "/no"]
    assert package_folders(entries) == (tmp_path / "a",)


def test_a_folder_that_cannot_be_listed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert list_installations([tmp_path / "file", tmp_path / "gone"]) == ()
