"""Where an installed package came from, by metadata that may be damaged."""

from __future__ import annotations

import json
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from archbuild.probe.provenance import (
    describe_distribution,
    read_field,
    read_text,
    source_folder,
)
from tests.sites import install


def put(tmp_path: Path, **files: bytes) -> PathDistribution:
    info = install(tmp_path, "p", "1.0")
    for name, data in files.items():
        (info / name.replace("direct_url", "direct_url.json")).write_bytes(data)
    return PathDistribution(info)


def test_all_of_it(tmp_path: Path) -> None:
    address = {"url": "https://example.org/p.whl", "archive_info": {}}
    info = install(tmp_path, "P.x", "2.0", direct=address, installer="UV", requires=("torch>2",))
    package = describe_distribution(PathDistribution(info))
    assert (package.name, package.version, package.installer) == ("P.x", "2.0", "uv")
    assert json.loads(package.direct_url or "") == address
    assert (package.editable, package.requires_torch) == (False, True)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"\0" * 99, b"Name", b"Version: \n"])
def test_damaged_metadata(tmp_path: Path, data: bytes) -> None:
    found = put(tmp_path, METADATA=data)
    package = describe_distribution(found)
    assert (package.name, package.version) == ("unknown", "0")
    assert not package.requires_torch


def test_no_metadata_at_all(tmp_path: Path) -> None:
    found = PathDistribution(tmp_path / "gone.dist-info")
    assert describe_distribution(found).name == "unknown"
    assert read_field(found, "Name") == ""


@pytest.mark.parametrize("data", [b"\xff", b"\n \n", b""])
def test_an_installer_that_says_nothing(tmp_path: Path, data: bytes) -> None:
    assert describe_distribution(put(tmp_path, INSTALLER=data)).installer is None


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    info = install(tmp_path, "p", installer=None)
    (info / "INSTALLER").mkdir()
    assert read_text(PathDistribution(info), "INSTALLER") == ""


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b'"x"',
        b"\xff",
        b'{"dir_info": 3}',
        b'{"dir_info": {"editable": "yes"}}',
        b'{"url": "https://example.org/p", "dir_info": {"editable": true}}',
        b'{"url": "//[", "dir_info": {"editable": true}}',
        b"[" * 100_000,
    ],
)
def test_an_address_that_is_no_source(tmp_path: Path, data: bytes) -> None:
    assert source_folder(put(tmp_path, direct_url=data)) is None


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("file:///srv/a/my%20source", "/srv/a/my source"),
        ("file:///C:/source", "C:/source"),
        ("file:///gr%C3%B6%C3%9Fer", "/größer"),
    ],
)
def test_the_source_of_an_editable_install(tmp_path: Path, url: str, folder: str) -> None:
    data = json.dumps({"url": url, "dir_info": {"editable": True}}).encode()
    assert source_folder(put(tmp_path, direct_url=data)) == Path(folder)


def test_metadata_that_lies_in_its_source(tmp_path: Path) -> None:
    found = put(tmp_path)
    assert not describe_distribution(found, folder=tmp_path).editable
    (tmp_path / "setup.py").touch()
    package = describe_distribution(found, folder=tmp_path)
    assert package.editable
    assert json.loads(package.direct_url or "")["url"] == tmp_path.as_uri()
