"""Huge pages for nvcc's parsers: who asks for them, how, and that nothing breaks without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from archbuild.build.huge_pages import VARIABLE, make_library, must_ask, with_huge_pages
from archbuild.model.build import Edge, Step
from tests.trees import plant

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the setting is Linux's")

SETTING = "sys/kernel/mm/transparent_hugepage/enabled"
LIBRARY = Path("/build/huge_pages.so")

# Takes 64 MB as cicc's allocator does, and says how much of it came in huge pages.
TAKES = """\
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
  char line[256];
  char *piece = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(piece, 1, 64 << 20);
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, "AnonHugePages:", 14)) fputs(line + 14, stdout);
  return 0;
}
"""


def edge(step: Step) -> Edge:
    return Edge(step, ("out",), ("in",), (("tool", "in"),), step.value)


EDGES = tuple(map(edge, Step))


@pytest.fixture
def compiler() -> str:
    found = shutil.which("gcc")
    if found is None:
        pytest.skip("there is no gcc on this machine")
    return found


@pytest.mark.parametrize(
    ("setting", "environ", "asks"),
    [
        ("always [madvise] never\n", {}, True),
        ("always [madvise] never\n", {VARIABLE: "1"}, True),
        ("always [madvise] never\n", {VARIABLE: " 0 "}, False),
        ("[always] madvise never\n", {}, False),
        ("always madvise [never]\n", {}, False),
        ("", {}, False),
        (None, {}, False),
    ],
)
def test_who_asks(tmp_path: Path, setting: str | None, environ: dict[str, str], asks: bool) -> None:
    if setting is not None:
        plant(tmp_path, {SETTING: setting})
    assert must_ask(environ, str(tmp_path)) == asks


@pytest.mark.parametrize(
    ("device", "features", "asks"),
    [
        ("0x0005\n", "0110010100000000000000000000000010000000\n", False),
        ("0x0005\n", "0110000100000000000000000000000010000000\n", True),
        ("0x0002\n", "0010011001100100000000000000010010000000\n", True),
        ("0x0005\n", "", True),
    ],
)
def test_a_machine_that_gives_free_memory_back_does_not_ask(
    tmp_path: Path, device: str, features: str, asks: bool
) -> None:
    here = "sys/bus/virtio/devices/virtio0"
    about = {f"{here}/device": device, f"{here}/features": features}
    plant(tmp_path, {SETTING: "always [madvise] never\n", **about})
    assert must_ask({}, str(tmp_path)) == asks
    assert must_ask({VARIABLE: "1"}, str(tmp_path))
    assert not must_ask({VARIABLE: "0"}, str(tmp_path))


def test_other_processors_and_pages_have_not_been_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, {SETTING: "always [madvise] never\n"})
    with monkeypatch.context() as patch:
        patch.setattr("platform.machine", lambda: "riscv64")
        assert not must_ask({}, str(tmp_path))
    monkeypatch.setattr("os.sysconf", lambda _: 65536)
    assert not must_ask({}, str(tmp_path))


def test_the_two_parsers_get_them_and_nothing_else_does() -> None:
    asked = {edge.step: dict(edge.environ) for edge in with_huge_pages(EDGES, {}, LIBRARY)}
    assert {step: environ for step, environ in asked.items() if environ} == {
        Step.SPLIT: {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
        Step.DEVICE: {"LD_PRELOAD": "/build/huge_pages.so"},
    }


@pytest.mark.parametrize(
    ("environ", "split", "device"),
    [
        (
            {"GLIBC_TUNABLES": "glibc.malloc.check=3", "LD_PRELOAD": "/a.so /b.so"},
            "glibc.malloc.check=3:glibc.malloc.hugetlb=1",
            "/a.so /b.so /build/huge_pages.so",
        ),
        ({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=2"}, None, "/build/huge_pages.so"),
    ],
)
def test_what_a_person_has_set_stays(
    environ: dict[str, str], split: str | None, device: str
) -> None:
    asked = {edge.step: dict(edge.environ) for edge in with_huge_pages(EDGES, environ, LIBRARY)}
    assert asked[Step.SPLIT].get("GLIBC_TUNABLES") == split
    assert asked[Step.DEVICE]["LD_PRELOAD"] == device


def test_without_the_library_the_other_parser_still_asks() -> None:
    asked = {edge.step: dict(edge.environ) for edge in with_huge_pages(EDGES, {}, None)}
    assert asked[Step.SPLIT]
    assert not asked[Step.DEVICE]


def test_the_library_asks(tmp_path: Path, compiler: str) -> None:
    setting = Path("/") / SETTING
    if not setting.exists() or "[never]" in setting.read_text(encoding="ascii"):
        pytest.skip("this system gives no huge pages")
    library = make_library(tmp_path, compiler)
    assert library is not None
    (tmp_path / "takes.c").write_text(TAKES, encoding="ascii")
    subprocess.run([compiler, "-o", "takes", "takes.c"], cwd=tmp_path, check=True)
    environ = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run(
        [str(tmp_path / "takes")], env=environ, capture_output=True, text=True, check=True
    )
    assert int(done.stdout.split()[0]) > 0
    assert done.stderr == ""


def test_it_is_made_once(tmp_path: Path, compiler: str) -> None:
    first = make_library(tmp_path, compiler)
    assert first is not None
    before = first.stat().st_mtime_ns
    assert make_library(tmp_path, "/no/such/compiler") == first
    assert first.stat().st_mtime_ns == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["huge_pages.c", "huge_pages.so"]


@pytest.mark.parametrize("compiler", ["/no/such/compiler", "/bin/false", "/bin/true"])
def test_a_compiler_that_makes_none(tmp_path: Path, compiler: str) -> None:
    assert make_library(tmp_path, compiler) is None
    assert make_library(tmp_path, compiler) is None


def test_a_library_that_the_loader_refuses(tmp_path: Path, compiler: str) -> None:
    library = make_library(tmp_path, compiler)
    assert library is not None
    library.write_bytes(b"\x7fELF")
    assert make_library(tmp_path, compiler) is None


@pytest.mark.parametrize("name", ["my build", "a:b", "a;b"])
def test_a_folder_that_the_loader_would_divide(tmp_path: Path, compiler: str, name: str) -> None:
    (tmp_path / name).mkdir()
    assert make_library(tmp_path / name, compiler) is None


def test_a_folder_that_is_not_there(tmp_path: Path, compiler: str) -> None:
    assert make_library(tmp_path / "gone", compiler) is None
