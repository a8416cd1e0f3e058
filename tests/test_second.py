"""Asking cuobjdump about files, members and packages, each by itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from archbuild.binary.second import look_again, look_at

DATA = Path(__file__).parent / "data"
WHEEL = DATA / "fixture-1.0-py3-none-linux_x86_64.whl"

pytestmark = pytest.mark.toolkit


@pytest.fixture(scope="module")
def tool(packaged_tool: Callable[[str], Path]) -> str:
    return str(packaged_tool("cuobjdump"))


def test_members_of_a_wheel_under_the_names_of_the_native_reader(tool: str) -> None:
    looks = list(look_again(str(WHEEL), tool, lambda _: True))
    assert [(k.path, len(k.file.images) if k.file else None) for k in looks] == [
        ("fixture/_C.so", 3),
        ("fixture/_host.so", 0),
    ]
    (only,) = look_again(str(WHEEL), tool, lambda name: name == "x/fixture/_C.so", prefix="x/")
    assert only.path == "x/fixture/_C.so"


def test_a_folder_with_a_wheel(tool: str, tmp_path: Path) -> None:
    shutil.copyfile(WHEEL, tmp_path / "a.whl")
    shutil.copyfile(DATA / "classic.so", tmp_path / "b.so")
    paths = [look.path for look in look_again(str(tmp_path), tool, lambda n: "host" not in n)]
    assert paths == [f"{tmp_path}/a.whl/fixture/_C.so", f"{tmp_path}/b.so"]


def test_a_blind_spot_and_damage_are_told_apart(tool: str, tmp_path: Path) -> None:
    blind = look_at(DATA / "rodata.so", "rodata.so", tool)
    assert (blind.file, blind.blind) == (None, True)
    assert "outside the section" in blind.reason
    cut = tmp_path / "cut.so"
    cut.write_bytes((DATA / "classic.so").read_bytes()[:3000])
    damaged = look_at(cut, "cut.so", tool)
    assert (damaged.file, damaged.blind) == (None, False)
    assert "cut.so" in damaged.reason


def test_what_cuobjdump_leaves_out_is_told(tool: str) -> None:
    look = look_at(DATA / "carrier.so", "carrier.so", tool)
    assert look.file is not None
    assert len(look.file.images) == 3
    assert look.passed_over.startswith("carrier.so holds a fatbin outside .nv_fatbin")
    for name in ("mixed.so", "units.a", "classic.fatbin", "specific.cubin", "plain.so"):
        assert look_at(DATA / name, name, tool).passed_over == ""


def test_relocatable_images_and_kernels(tool: str) -> None:
    look = look_at(DATA / "rdc.so", "rdc.so", tool, kernels=True)
    assert look.file is not None
    assert len(look.file.images) == 5
    assert ("shift",) in {image.kernels for image in look.file.images}


def test_what_is_not_there(tool: str) -> None:
    assert list(look_again("no-such-package-anywhere", tool, lambda _: True)) == []
