"""Sources as people list them: patterns, twins, folders, odd names, and what is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from archbuild.build.source_files import Entry, expand_sources
from archbuild.errors import UsageError
from archbuild.model.source import Source

FILES = (
    "a.cu",
    "b.cu",
    "bind.cpp",
    "moe/a.cu",
    "moe/gate.cu",
    "moe/deep/x.cu",
    "odd/mit Leer.cu",
    "odd/größe.cu",
    "odd/q'uote\".cu",
    "odd/w[1].cu",
    "odd/w1.cu",
    "only/folders/in.txt",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "pro jekt"
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def paths(root: Path, *entries: Entry) -> list[str]:
    return [source.path for source in expand_sources(entries, root)]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], []),
        (["b.cu", "a.cu"], ["b.cu", "a.cu"]),
        (["./moe/../a.cu"], ["a.cu"]),
        (["*.cu"], ["a.cu", "b.cu"]),
        (["bind.cpp", "moe/*.cu"], ["bind.cpp", "moe/a.cu", "moe/gate.cu"]),
        (["moe/**/*.cu"], ["moe/a.cu", "moe/deep/x.cu", "moe/gate.cu"]),
        (["moe/**"], ["moe/a.cu", "moe/deep/x.cu", "moe/gate.cu"]),
        (["?.cu", "[a-m]oe/g*.cu"], ["a.cu", "b.cu", "moe/gate.cu"]),
        # The same name in two folders.
        (["a.cu", "moe/a.cu"], ["a.cu", "moe/a.cu"]),
        (["odd/mit Leer.cu", "odd/größe.cu"], ["odd/mit Leer.cu", "odd/größe.cu"]),
        (["odd/q'uote\".cu"], ["odd/q'uote\".cu"]),
        # A file with this very name goes before what the pattern would match.
        (["odd/w[1].cu", "odd/w1.cu"], ["odd/w[1].cu", "odd/w1.cu"]),
        ([Path("a.cu")], ["a.cu"]),
    ],
)
def test_files(entries: list[Entry], expected: list[str], root: Path) -> None:
    assert paths(root, *entries) == expected


def test_a_source_keeps_what_it_says(root: Path) -> None:
    moe = Source("moe/*.cu", archs="8.0+", define="WITH_MOE", required=True)
    assert expand_sources([moe], root) == (
        Source("moe/a.cu", "8.0+", "WITH_MOE", required=True),
        Source("moe/gate.cu", "8.0+", "WITH_MOE", required=True),
    )


def test_a_source_goes_before_patterns(root: Path) -> None:
    own = Source("moe/gate.cu", archs="9.0a")
    moe = Source("./moe/*.cu", archs="8.0+")
    assert expand_sources(["**/*.cu", moe, own], root)[-2:] == (Source("moe/a.cu", "8.0+"), own)
    assert expand_sources([own, moe], root) == (own, Source("moe/a.cu", "8.0+"))
    assert len(paths(root, "moe/**/*.cu", moe, own)) == 3


@pytest.mark.parametrize(
    ("entries", "parts"),
    [
        (["a.cu", "./a.cu"], ["a.cu stands twice", "'a.cu'", "'./a.cu'"]),
        (["a.cu", "*.cu"], ["a.cu stands twice", "'*.cu'"]),
        (["*.cu", "**/*.cu"], ["stands twice", "'*.cu'", "'**/*.cu'"]),
        ([Source("a.cu"), "a.cu"], ["a.cu stands twice"]),
        ([Source("a.cu"), Source("a.cu", "9.0a")], ["a.cu stands twice"]),
        ([Source("moe/*.cu"), Source("moe/g*.cu")], ["moe/gate.cu stands twice"]),
        ([Source("moe/*.cu"), "moe/a.cu"], ["moe/a.cu stands twice"]),
        (["moe/gatee.cu"], ["'moe/gatee.cu'", "does not exist", "Did you mean moe/gate.cu?"]),
        (["zzz.f90"], ["does not exist", "folder of setup.py"]),
        (["meo/gate.cu"], ["does not exist", "no folder meo"]),
        (["*.cuh"], ["'*.cuh'", "matches no file", "**"]),
        (["only/*"], ["matches only folders"]),
        (["moe"], ["'moe' among the sources is a folder", "'moe/*.cu'"]),
        ([""], ["is no path"]),
        (["a\0.cu"], ["is no path"]),
    ],
)
def test_what_cannot_be_taken(entries: list[Entry], parts: list[str], root: Path) -> None:
    with pytest.raises(UsageError) as caught:
        expand_sources(entries, root)
    for part in parts:
        assert part in str(caught.value)


def test_absolute_paths(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "shared.cu"
    outside.touch()
    assert paths(root, str(root / "a.cu"), str(root / "moe" / "g*.cu")) == ["a.cu", "moe/gate.cu"]
    assert paths(root, str(outside)) == [outside.as_posix()]
    assert paths(root, "../shared.cu") == ["../shared.cu"]
    with pytest.raises(UsageError, match="twice"):
        paths(root, str(root / "a.cu"), "a.cu")


def test_outside_of_the_root_twice(root: Path, tmp_path: Path) -> None:
    (tmp_path / "shared.cu").touch()
    with pytest.raises(UsageError, match="twice"):
        paths(root, str(tmp_path / "shared.cu"), "../shared.cu")


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links on this system")
def test_a_link_to_nowhere_does_not_exist(root: Path) -> None:
    (root / "gone.cu").symlink_to(root / "nowhere")
    with pytest.raises(UsageError, match="does not exist"):
        paths(root, "gone.cu")


def test_a_thousand_sources(root: Path) -> None:
    names = [f"many/{index:04}.cu" for index in range(1000)]
    (root / "many").mkdir()
    for name in names:
        (root / name).touch()
    assert paths(root, "many/*.cu", Source("many/0500.cu")) == [
        *names[:500],
        *names[501:],
        "many/0500.cu",
    ]
