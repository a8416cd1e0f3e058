"""What is mounted where."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.probe.mounts import Mount, mount_of, parse_mounts

ROOT = "29 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n"
HOSTS = "60 50 8:2 /var/lib/docker/containers/ab/hosts /etc/hosts rw master:1 - ext4 /dev/sda2 rw\n"
SPACED = r"61 50 0:9 /a\040b /mnt/c\134d rw - fuse my\040disk rw" + "\n"


def test_lines_with_and_without_optional_fields() -> None:
    assert parse_mounts(ROOT + HOSTS + SPACED) == (
        Mount("/", "/", "ext4", "/dev/sda2"),
        Mount("/var/lib/docker/containers/ab/hosts", "/etc/hosts", "ext4", "/dev/sda2"),
        Mount("/a b", "/mnt/c\\d", "fuse", "my disk"),
    )


@pytest.mark.parametrize("line", ["", "x", "1 2 3 4 5 6", "1 2 3 4 5 6 - ext4", " - a b c"])
def test_lines_that_are_none(line: str) -> None:
    assert parse_mounts(f"{line}\n{ROOT}") == parse_mounts(ROOT)


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    mounts = parse_mounts(text)
    mount_of("/usr/lib/x.so", mounts)


def test_the_nearest_mount_holds_a_file_and_the_later_of_two_hides_the_other() -> None:
    points = ("/", "/usr", "/usr/lib", "/usr/lib", "/usr/lib/x.so.1")
    mounts = tuple(Mount("/", point, "ext4", str(i)) for i, point in enumerate(points))
    devices = {
        path: found.device
        for path in ("/", "/bin", "/usr", "/usr/lib/a", "/usr/lib/x.so.1", "/usr/library")
        if (found := mount_of(path, mounts))
    }
    assert devices == {
        "/": "0",
        "/bin": "0",
        "/usr": "1",
        "/usr/lib/a": "3",
        "/usr/lib/x.so.1": "4",
        "/usr/library": "1",
    }
    assert mount_of("/x", ()) is None


def test_the_real_one() -> None:
    path = Path("/proc/self/mountinfo")
    if not path.exists():
        pytest.skip("there is no /proc")
    text = path.read_text("utf-8", "replace")
    assert len(parse_mounts(text)) == len(text.splitlines())
