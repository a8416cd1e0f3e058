"""Whether a library is linked again, and where its objects are kept."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

from archbuild.build.folder import build_folder, can_be_written
from archbuild.build.linking import is_linked, link_key, note_linked


def linked(folder: Path) -> tuple[Path, Path, str]:
    library, obj = folder / "_C.so", folder / "a.o"
    obj.write_text("1")
    library.write_text("2")
    key = link_key(["-lcudart"], [str(obj)])
    note_linked(folder, key, library)
    return library, obj, key


def test_what_was_linked_stays(tmp_path: Path) -> None:
    library, obj, key = linked(tmp_path)
    assert link_key(["-lcudart"], [str(obj)]) == key
    assert is_linked(tmp_path, key, library)


@pytest.mark.parametrize("change", ["words", "object", "library", "gone", "stamp", "elsewhere"])
def test_a_change_links_again(tmp_path: Path, change: str) -> None:
    library, obj, key = linked(tmp_path)
    words = ["-lcudart", *["-s"] * (change == "words")]
    if change == "object":
        obj.write_text("12")
    elif change == "library":
        library.write_text("23")
    elif change == "gone":
        library.unlink()
    elif change == "stamp":
        (tmp_path / "linked.json").write_text("[")
    elif change == "elsewhere":
        library = library.rename(tmp_path / "other.so")
    assert not is_linked(tmp_path, link_key(words, [str(obj)]), library)
    assert key


def test_options_that_are_no_json_count_too(tmp_path: Path) -> None:
    assert link_key({"a": tmp_path}, []) != link_key({"a": tmp_path / "b"}, [])


def test_a_stamp_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    library, _, key = linked(tmp_path)
    note_linked(tmp_path / "gone", key, library)
    assert not is_linked(tmp_path / "gone", key, library)


def test_one_folder_for_each_extension_python_and_kind(tmp_path: Path) -> None:
    tag = sysconfig.get_config_var("SOABI")
    plain = build_folder("pkg._C", tmp_path, None)
    assert plain == f"build/archbuild/pkg._C-{tag}"
    assert build_folder("pkg._C", tmp_path, None, debug=True) == f"{plain}-debug"
    assert build_folder("pkg/ö C", tmp_path, None).startswith("build/archbuild/pkg_ö_C-")


def test_a_named_place_is_relative_only_below_the_project(tmp_path: Path) -> None:
    assert build_folder("x", tmp_path, "out").startswith("out/x-")
    assert build_folder("x", tmp_path, str(tmp_path / "in")).startswith("in/x-")
    outside = [build_folder("x", tmp_path / name, str(tmp_path)) for name in ("p", "q")]
    assert all(place.startswith(f"{tmp_path}/x-") for place in outside)
    assert outside[0] != outside[1]


def test_a_folder_that_can_be_made_can_be_written(tmp_path: Path) -> None:
    assert can_be_written(tmp_path / "a" / "b")
    if os.geteuid() != 0:
        (tmp_path / "closed").mkdir(mode=0o500)
        assert not can_be_written(tmp_path / "closed" / "b")
    assert not can_be_written(Path("/proc/1/archbuild/x"))
