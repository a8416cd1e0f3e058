"""Links through which -lcudart finds the libraries of the packages."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from archbuild.build.link_folder import make_link_folder, plan_links
from archbuild.errors import BuildError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows links with import libraries")


def _folder(place: Path, *names: str) -> str:
    place.mkdir(parents=True, exist_ok=True)
    for name in names:
        (place / name).write_text(name)
    return str(place)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["libcudart.so.13"], {"libcudart.so": "libcudart.so.13"}),
        (["libcudart.so.13", "libcudart.so.13.0.96"], {"libcudart.so": "libcudart.so.13"}),
        (["libcudart.so", "libcudart.so.13"], {}),
        (["libcudart_static.a", "notes.txt", "libx.so.old", "cudart.so.13"], {}),
        (
            ["libnvrtc-builtins.so.13.0", "libcudart.so.13"],
            {
                "libnvrtc-builtins.so": "libnvrtc-builtins.so.13.0",
                "libcudart.so": "libcudart.so.13",
            },
        ),
        ([], {}),
    ],
)
def test_what_is_missing(names: list[str], expected: dict[str, str], tmp_path: Path) -> None:
    found = plan_links([_folder(tmp_path / "lib", *names)])
    assert {name: file.name for name, file in found.items()} == expected


def test_the_first_folder_wins_and_any_folder_satisfies(tmp_path: Path) -> None:
    one = _folder(tmp_path / "one", "libcudart.so.13", "libcublas.so.13")
    two = _folder(tmp_path / "two", "libcudart.so.12", "libcublas.so")
    absent = str(tmp_path / "absent")
    found = plan_links([absent, one, two])
    assert {name: file.parent.name for name, file in found.items()} == {"libcudart.so": "one"}


def test_the_links_lead_to_the_files(tmp_path: Path) -> None:
    libraries = _folder(tmp_path / "lib", "libcudart.so.13")
    place = tmp_path / "build" / "links"
    assert make_link_folder([libraries], place) == place
    assert (place / "libcudart.so").read_text() == "libcudart.so.13"
    assert (place / "libcudart.so").readlink().is_absolute()


def test_nothing_missing_makes_no_folder(tmp_path: Path) -> None:
    libraries = _folder(tmp_path / "lib", "libcudart.so")
    assert make_link_folder([libraries], tmp_path / "links") is None
    assert not (tmp_path / "links").exists()


def test_a_link_to_the_right_file_stays_and_another_is_led_anew(tmp_path: Path) -> None:
    old = _folder(tmp_path / "old", "libcudart.so.12")
    new = _folder(tmp_path / "new", "libcudart.so.13")
    place = tmp_path / "links"
    make_link_folder([old], place)
    before = (place / "libcudart.so").lstat().st_ino
    make_link_folder([old], place)
    assert (place / "libcudart.so").lstat().st_ino == before
    make_link_folder([new], place)
    assert (place / "libcudart.so").read_text() == "libcudart.so.13"
    assert [path.name for path in place.iterdir()] == ["libcudart.so"]


def test_a_link_to_nowhere_and_a_file_in_its_place_are_replaced(tmp_path: Path) -> None:
    libraries = _folder(tmp_path / "lib", "libcudart.so.13", "libcublas.so.13")
    place = tmp_path / "links"
    _folder(place, "libcublas.so")
    (place / "libcudart.so").symlink_to(tmp_path / "gone")
    make_link_folder([libraries], place)
    assert (place / "libcudart.so").read_text() == "libcudart.so.13"
    assert (place / "libcublas.so").read_text() == "libcublas.so.13"


def test_many_builds_at_once(tmp_path: Path) -> None:
    libraries = _folder(tmp_path / "lib", *(f"lib{i}.so.1" for i in range(20)))
    failed: list[BaseException] = []

    def make() -> None:
        try:
            make_link_folder([libraries], tmp_path / "links")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(p.name for p in (tmp_path / "links").iterdir()) == sorted(
        f"lib{i}.so" for i in range(20)
    )


def test_what_a_killed_process_left_is_no_hindrance(tmp_path: Path) -> None:
    libraries = _folder(tmp_path / "lib", "libcudart.so.13")
    place = tmp_path / "links"
    place.mkdir()
    (place / f".libcudart.so.{os.getpid()}-{threading.get_ident()}").symlink_to("gone")
    make_link_folder([libraries], place)
    assert [path.name for path in place.iterdir()] == ["libcudart.so"]


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    libraries = _folder(tmp_path / "lib", "libcudart.so.13")
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError) as caught:
        make_link_folder([libraries], tmp_path / "file" / "links")
    assert str(tmp_path / "file" / "links") in caught.value.message
    assert caught.value.advice
