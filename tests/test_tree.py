"""Files of a system that may be missing, closed, endless, or no files at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from archbuild.probe.tree import Tree
from tests.trees import plant

ODD = ("/gone", "/a\0b", "/" + "x" * 10_000, "/file/below", "/loop", "/dangling")


@pytest.fixture
def odd(tmp_path: Path) -> Tree:
    plant(tmp_path, {"file": "text\n", "folder/b": "", "folder/a": ""})
    plant(tmp_path, links={"loop": "loop", "dangling": "gone", "good": "folder/../file"})
    return Tree(tmp_path)


@pytest.mark.parametrize("path", ODD)
def test_what_is_not_there_reads_as_nothing(odd: Tree, path: str) -> None:
    assert (odd.data(path), odd.text(path), odd.names(path), odd.real(path)) == (None,) * 4
    assert (odd.holds(path), odd.is_device(path), odd.may_use(path)) == (False,) * 3
    assert odd.closed == ()


def test_a_folder_is_no_file_and_a_file_no_folder(odd: Tree) -> None:
    assert (odd.text("/folder"), odd.real("/folder"), odd.is_device("/folder")) == (
        None,
        None,
        False,
    )
    assert odd.names("/file") is None
    assert odd.names("/folder") == ("a", "b")


def test_links(odd: Tree) -> None:
    assert odd.text("/good") == "text\n"
    assert odd.real("/good") == "/file"
    assert (odd.link("/good"), odd.target("/good")) == ("folder/../file", "file")
    assert (odd.link("/file"), odd.target("/file")) == (None, None)
    assert odd.target("/dangling") == "gone"


def test_an_empty_file_holds_nothing(odd: Tree) -> None:
    assert odd.text("/folder/a") == ""
    assert odd.real("/folder/a") is None


def test_a_root_behind_a_link_is_still_the_root(tmp_path: Path) -> None:
    plant(tmp_path / "real", {"etc/x": "1"})
    (tmp_path / "root").symlink_to("real")
    assert Tree(tmp_path / "root").real("/etc/x") == "/etc/x"


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    tree = Tree(tmp_path)
    assert tree.data("/huge", limit=100_000) == bytes(100_000)
    assert len(tree.text("/huge") or "") == 4 << 20


@pytest.mark.skipif(os.name != "posix", reason="pipes in the file system are POSIX's")
def test_a_pipe_that_nobody_writes_to_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    tree = Tree(tmp_path)
    assert tree.data("/pipe") == b""
    assert tree.real("/pipe") is None


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    plant(tmp_path, {"x": b"caf\xe9\0\xff"})
    assert Tree(tmp_path).text("/x") == "caf\ufffd\0\ufffd"


@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="there is no /proc")
def test_the_real_proc_is_read_although_its_files_say_that_they_are_empty() -> None:
    assert Tree().text("/proc/self/comm", limit=64)


# --- the rules of a control group -----------------------------------------------------------

_GROUPS = Path("/sys/fs/cgroup/devices")
_INSIDE = """
import os, sys
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
from archbuild.probe.tree import Tree
tree = Tree()
sys.stdout.write(f"{tree.may_use('/dev/full')} {tree.may_use('/dev/zero')}")
"""


@pytest.fixture
def without_full() -> Iterator[Path]:
    """A control group whose processes may not open /dev/full, whoever they are."""
    folder = _GROUPS / f"archbuild-test-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "devices.deny").write_text("c 1:7 rwm")
    except OSError:
        pytest.skip("no control group of version 1 for devices that this user may divide")
    try:
        yield folder
    finally:
        folder.rmdir()


def test_what_a_control_group_forbids_is_closed_to_root_as_well(without_full: Path) -> None:
    """What a container is left with when systemd has read its rules anew."""
    done = subprocess.run(
        [sys.executable, "-c", _INSIDE, str(without_full)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "False True"
