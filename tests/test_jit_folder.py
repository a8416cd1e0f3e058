"""Where the JIT keeps what it builds."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from archbuild.build.jit_folder import VARIABLE, choose_place, private_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="torch builds there")


def nothing(_: Path) -> bool:
    return False


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No variable, an own cache folder, and an own temporary one."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path


def test_the_strongest_word_wins(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = choose_place("m", "0123456789abcdef01", None, nothing)
    assert own.folder == places / "cache" / "archbuild" / "jit" / "m" / "0123456789abcdef"
    monkeypatch.setenv(VARIABLE, str(places / "torchs"))
    assert choose_place("m", "k", None, nothing).folder == places / "torchs" / "m" / "k"
    assert choose_place("m", "k", str(places / "b"), nothing).folder == places / "b"
    assert own.note == ""


def test_a_name_stays_below_the_folder(places: Path) -> None:
    folder = choose_place("../../m", "k", None, nothing).folder
    assert folder.parent.parent == places / "cache" / "archbuild" / "jit"


def test_what_cannot_be_written(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (places / "file").touch()
    monkeypatch.setenv(VARIABLE, str(places / "file" / "x"))
    instead = choose_place("m", "k", None, nothing)
    assert instead.folder.is_relative_to(places / "tmp")
    assert str(places / "file" / "x") in instead.note
    # What stands there already need not be written.
    there = choose_place("m", "k", None, lambda _: True)
    assert (there.folder, there.note) == (places / "file" / "x" / "m" / "k", "")


@pytest.mark.parametrize("kind", ["open", "link", "theirs"])
def test_a_folder_that_others_may_write_is_not_used(places: Path, kind: str) -> None:
    planted = places / "tmp" / f"archbuild-jit-{os.getuid()}"
    if kind == "open":
        planted.mkdir()
        planted.chmod(0o777)
    elif kind == "link":
        (places / "theirs").mkdir()
        planted.symlink_to(places / "theirs")
    else:
        planted.mkdir()
        if os.getuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(planted, 65534, 65534)
    assert private_folder() != planted
    assert private_folder().stat().st_mode & 0o077 == 0


def test_the_private_folder_is_found_again(places: Path) -> None:
    assert private_folder() == private_folder()
    assert private_folder().stat().st_mode & 0o077 == 0
