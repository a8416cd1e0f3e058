"""What was proved once, and under which name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.build.memory import cache_folder, fingerprint, is_remembered, remember

posix = pytest.mark.skipif(sys.platform == "win32", reason="XDG and HOME are of POSIX")


@posix
@pytest.mark.parametrize(
    ("xdg", "expected"),
    [("/var/cache/me", "/var/cache/me/archbuild"), ("", "/home/me/.cache/archbuild")],
)
def test_where_the_cache_lies(xdg: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert cache_folder() == Path(expected)


@posix
def test_a_relative_cache_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_folder() == Path("/home/me/.cache/archbuild")


@posix
def test_a_user_without_a_home_remembers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """docker run --user 12345: there is neither HOME nor a line in passwd."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)
    folder = cache_folder()
    assert folder.is_absolute()
    assert not folder.parents[1].exists()


def test_another_tool_in_the_same_place_is_another_name(tmp_path: Path) -> None:
    tool = tmp_path / "nvcc"
    absent = fingerprint([str(tool)], ["13.0"])
    tool.write_text("one")
    first = fingerprint([str(tool)], ["13.0"])
    assert fingerprint([str(tool)], ["13.0"]) == first
    tool.write_text("other")
    second = fingerprint([str(tool)], ["13.0"])
    os.utime(tool, ns=(1, 1))
    third = fingerprint([str(tool)], ["13.0"])
    assert len({absent, first, second, third}) == 4


_TEXTS = st.lists(st.text(max_size=4), max_size=3)


@given(_TEXTS, _TEXTS, _TEXTS, _TEXTS)
def test_other_words_are_another_name(
    files: list[str], words: list[str], other_files: list[str], other_words: list[str]
) -> None:
    same = (files, words) == (other_files, other_words)
    names = [
        fingerprint([f"/nowhere/{f}" for f in some_files], some_words)
        for some_files, some_words in ((files, words), (other_files, other_words))
    ]
    assert (names[0] == names[1]) is same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((["/a"], []), ([], ["/a", "absent"])),
        (([], ["a", "b"]), ([], ["a\0b"])),
        (([], ["a", ""]), ([], ["a"])),
    ],
)
def test_files_and_words_do_not_run_together(
    one: tuple[list[str], list[str]], other: tuple[list[str], list[str]]
) -> None:
    assert fingerprint(*one) != fingerprint(*other)


def test_a_path_that_is_no_utf8_has_a_name() -> None:
    assert fingerprint(["/opt/\udcff/nvcc"], ["\udcff"])


def test_what_was_proved_is_remembered(tmp_path: Path) -> None:
    assert not is_remembered("smoke", "abc", tmp_path)
    remember("smoke", "abc", tmp_path)
    remember("smoke", "abc", tmp_path)
    assert is_remembered("smoke", "abc", tmp_path)
    assert not is_remembered("smoke", "abd", tmp_path)
    assert not is_remembered("other", "abc", tmp_path)


def test_where_nothing_can_be_written_nothing_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    remember("smoke", "abc", tmp_path / "file")
    assert not is_remembered("smoke", "abc", tmp_path / "file")
