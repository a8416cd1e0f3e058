"""A real sccache in front of a real nvcc, with a server of the test's own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from archbuild.build.launcher import find_launcher
from archbuild.build.sccache import server_runs
from archbuild.model.launcher import CacheCounts
from tests.checkouts import BRANCHES, Checkout, machine
from tests.stores import free_port, need

pytestmark = [pytest.mark.toolkit, pytest.mark.caches]

#: Two cicc, two ptxas, cudafe++ and g++ for the kernel; g++ for the binding.
PASSES = 7


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    sccache = need("sccache")
    # By a port: a socket's path below a test's folder may be too long for the system.
    env = machine(tmp_path / "home", sccache, SCCACHE_SERVER_PORT=str(free_port()))
    yield env
    subprocess.run([sccache, "--stop-server"], env=env, capture_output=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path, nvcc: Path) -> Checkout:
    return Checkout(tmp_path / "one", nvcc).write()


def test_the_second_build_at_one_path_compiles_nothing(
    checkout: Checkout, environ: dict[str, str], tmp_path: Path, nvcc: Path
) -> None:
    assert not server_runs(environ)
    choice = checkout.prepare("sccache", environ)
    assert server_runs(environ)  # started before ninja's clients, who would start several
    assert checkout.build(choice, environ) == CacheCounts(0, PASSES)
    first = checkout.object
    checkout.move(tmp_path / "away")
    again = Checkout(checkout.folder, nvcc).write()
    counts = again.build(again.prepare("sccache", environ), environ)
    assert counts == CacheCounts(PASSES, 0)
    assert again.object == first
    # Another path is another source to nvcc; what docs/caching.md says of it.
    other = Checkout(tmp_path / "two", nvcc).write()
    assert other.build(other.prepare("sccache", environ), environ).misses >= 4


@pytest.mark.parametrize("what", ["header", "source"])
def test_an_edit_that_one_pass_sees_is_compiled(
    what: str, checkout: Checkout, environ: dict[str, str]
) -> None:
    choice = checkout.prepare("sccache", environ)
    checkout.build(choice, environ, binding=False)
    seen = {checkout.object}
    for branch in BRANCHES:
        if what == "header":
            checkout.header(branch, 11)
        else:
            checkout.source(**{branch: 11})
        counts = checkout.build(choice, environ, binding=False)
        assert counts.misses >= 1, branch
        seen.add(checkout.object)
    assert len(seen) == 1 + len(BRANCHES)


def test_one_virtual_architecture_for_several_real_ones_still_fails(
    checkout: Checkout, environ: dict[str, str]
) -> None:
    """Where this sccache can do it, archbuild need not leave it out any longer."""
    choice = checkout.prepare("sccache", environ)
    flags = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_80,code=sm_90"]
    with pytest.raises(AssertionError, match="fatbinary"):
        checkout.build(choice, environ, gencodes=flags, binding=False)
    asked = {"environ": environ, "root": str(checkout.folder)}
    left = find_launcher("auto", **asked, one_virtual_serves_several=True)  # type: ignore[arg-type]
    assert left.launcher is None or left.launcher.name == "ccache"
    # PTX beside SASS of one virtual architecture is no such case.
    flags[1] = "-gencode=arch=compute_80,code=compute_80"
    checkout.build(choice, environ, gencodes=flags, binding=False)


def test_flags_past_the_command_line_and_threads(
    checkout: Checkout, environ: dict[str, str]
) -> None:
    choice = checkout.prepare("sccache", environ)
    checkout.build(choice, environ, binding=False)
    counts = checkout.build(choice, environ, flags=["--threads=2"], binding=False)
    assert counts.misses == 0
    env = {**environ, "NVCC_APPEND_FLAGS": "-Xptxas=-O0"}
    assert checkout.build(choice, env, binding=False).misses >= 2
