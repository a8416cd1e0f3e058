"""WSL, Jetson boards, and the versions of a system."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.probe.system import System, parse_os_release, query_system
from archbuild.probe.tree import Tree
from tests.trees import DEBIAN, LIBRARY, Files, plant

ORIN = "NVIDIA Jetson AGX Orin Developer Kit"
L4T = "# R36 (release), REVISION: 4.0, GCID: 37537400, BOARD: generic, EABI: aarch64\n"


def ask(root: Path, processor: str = "x86_64") -> System:
    return query_system(Tree(root), processor)


def test_a_plain_system(tmp_path: Path) -> None:
    found = ask(plant(tmp_path, DEBIAN))
    assert (found.distribution, found.kernel) == ("debian 12", "6.1.0-25-amd64")
    assert (found.wsl, found.wsl_library, found.jetson, found.l4t) == (False, None, None, None)


def test_an_empty_one(tmp_path: Path) -> None:
    assert ask(tmp_path) == System(glibc=ask(tmp_path).glibc)


# --- WSL ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "wsl"),
    [
        ("5.15.153.1-microsoft-standard-WSL2\n", True),
        ("4.4.0-19041-Microsoft\n", True),
        ("6.8.0-45-generic\n", False),
        ("5.15.0-1064-azure\n", False),
    ],
)
def test_wsl_by_its_kernel(tmp_path: Path, kernel: str, wsl: bool) -> None:
    assert ask(plant(tmp_path, {"proc/sys/kernel/osrelease": kernel})).wsl == wsl


def test_wsl_with_a_kernel_of_ones_own(tmp_path: Path) -> None:
    plant(tmp_path, DEBIAN | {"usr/lib/wsl/lib/libdxcore.so": LIBRARY})
    assert not ask(tmp_path).wsl
    plant(tmp_path, {"dev/dxg": ""})
    assert ask(tmp_path).wsl


@pytest.mark.parametrize(("content", "there"), [(LIBRARY, True), (b"", False)])
def test_the_library_of_wsl(tmp_path: Path, content: bytes, there: bool) -> None:
    plant(tmp_path, {"usr/lib/wsl/lib/libcuda.so.1": content})
    path = "/usr/lib/wsl/lib/libcuda.so.1"
    assert ask(tmp_path).wsl_library == (path if there else None)


# --- Jetson ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "board"),
    [
        ({"proc/device-tree/model": f"{ORIN}\0"}, ORIN),
        (
            {
                "proc/device-tree/model": "reComputer J4012\0",
                "proc/device-tree/compatible": "nvidia,p3767-0000\0nvidia,tegra234\0",
            },
            "reComputer J4012",
        ),
        # A container hides the device tree.
        (
            {"sys/devices/soc0/family": "Tegra\n", "sys/devices/soc0/machine": f"{ORIN}\n"},
            ORIN,
        ),
        ({"etc/nv_tegra_release": L4T}, "Jetson"),
        ({"proc/device-tree/model": "Raspberry Pi 5 Model B Rev 1.0\0"}, None),
        ({"proc/device-tree/model": b"\xff\xfe\0\0"}, None),
        ({}, None),
    ],
)
def test_the_board(tmp_path: Path, files: Files, board: str | None) -> None:
    plant(tmp_path, files)
    assert ask(tmp_path, "aarch64").jetson == board
    # Such files may lie in an image that is made on another machine.
    assert ask(tmp_path, "x86_64").jetson is None


def test_a_device_tree_behind_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    plant(tmp_path, {"etc/nv_tegra_release": L4T})
    plant(tmp_path, links={"proc/device-tree": "../sys/firmware/devicetree/base"})
    found = ask(tmp_path, "aarch64")
    assert (found.jetson, found.l4t) == ("Jetson", "36.4.0")


@pytest.mark.parametrize(
    ("text", "release"),
    [
        (L4T, "36.4.0"),
        ("# R32 (release), REVISION: 7.1, GCID: 29689809, BOARD: t210ref\n", "32.7.1"),
        ("# R38 (release), REVISION: 2, GCID: 1\n", "38.2"),
        ("# R (release), REVISION: x\n", None),
        ("", None),
        ("\0" * 1000, None),
    ],
)
def test_the_release_of_its_system(tmp_path: Path, text: str, release: str | None) -> None:
    assert ask(plant(tmp_path, {"etc/nv_tegra_release": text}), "aarch64").l4t == release


# --- versions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ID=ubuntu\nVERSION_ID='24.04'\n", "ubuntu 24.04"),
        ('# ID=x\n  ID="rocky"  \nVERSION_ID="9.4"\n', "rocky 9.4"),
        ("ID=arch\n", "arch"),
        ("VERSION_ID=12\n", "12"),
        ("ID=\n", None),
        ("", None),
        ("\x1b[31mID=x\x07\n", None),
        ('ID="a\x1b[31mb"\n', "a?[31mb"),
    ],
)
def test_the_distribution(tmp_path: Path, text: str, name: str | None) -> None:
    assert ask(plant(tmp_path, {"etc/os-release": text})).distribution == name


def test_the_distribution_by_its_other_place_and_behind_a_loop(tmp_path: Path) -> None:
    plant(tmp_path, {"usr/lib/os-release": "ID=fedora\nVERSION_ID=42\n"})
    plant(tmp_path, links={"etc/os-release": "os-release"})
    assert ask(tmp_path).distribution == "fedora 42"


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    assert all(len(value) <= 200 for value in parse_os_release(text).values())


@pytest.mark.parametrize(
    ("told", "version"), [("glibc 2.39", "2.39"), ("musl 1.2", None), ("", None), (None, None)]
)
def test_the_c_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str | None, version: str | None
) -> None:
    monkeypatch.setattr(os, "confstr", lambda _name: told, raising=False)
    assert ask(tmp_path).glibc == version


@pytest.mark.parametrize("error", [ValueError, OSError, AttributeError])
def test_a_c_library_that_knows_no_such_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def refuse(_name: str) -> str:
        raise error

    monkeypatch.setattr(os, "confstr", refuse, raising=False)
    assert ask(tmp_path).glibc is None
