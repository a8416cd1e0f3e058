"""A real ccache in front of a real nvcc: it hits where it may, and never where it must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.build.ccache import read_settings
from archbuild.model.gencode import Gencode, render_gencodes
from archbuild.model.launcher import CacheCounts, LauncherChoice
from tests.checkouts import BRANCHES, GENCODES, Checkout, machine
from tests.stores import need

pytestmark = [pytest.mark.toolkit, pytest.mark.caches]

ALL_HIT, ALL_COMPILED = CacheCounts(2, 0), CacheCounts(0, 2)
PLAIN = LauncherChoice(None)


@pytest.fixture
def ccache() -> Path:
    return need("ccache")


@pytest.fixture
def environ(tmp_path: Path, ccache: Path) -> dict[str, str]:
    return machine(tmp_path / "home", ccache)


@pytest.fixture
def checkout(tmp_path: Path, nvcc: Path) -> Checkout:
    return Checkout(tmp_path / "one", nvcc).write()


def expected(checkout: Checkout, environ: dict[str, str]) -> bytes:
    """What nvcc makes of it with no launcher."""
    checkout.build(PLAIN, environ, binding=False)
    return checkout.object


@pytest.mark.parametrize("what", ["header", "source"])
def test_an_edit_that_one_pass_sees_is_compiled(
    what: str, checkout: Checkout, environ: dict[str, str]
) -> None:
    """ccache's preprocessor mode answers with the old object for two of the three."""
    choice = checkout.prepare("ccache", environ)
    assert checkout.build(choice, environ) == ALL_COMPILED
    for branch in BRANCHES:
        if what == "header":
            checkout.header(branch, 11)
        else:
            checkout.source(**{branch: 11})
        counts = checkout.build(choice, environ, binding=False)
        assert counts == CacheCounts(0, 1), branch
        assert checkout.object == expected(checkout, environ), branch


def test_what_other_builds_left_in_the_cache_is_not_believed(
    checkout: Checkout, environ: dict[str, str], ccache: Path
) -> None:
    """As torch's own BuildExtension does: ccache from the PATH with no settings."""
    own = checkout.prepare("ccache", environ)
    assert own.launcher is not None
    stranger = LauncherChoice(type(own.launcher)("ccache", str(ccache)))
    base = {**environ, "CCACHE_BASEDIR": str(checkout.folder), "CCACHE_NOHASHDIR": "1"}
    checkout.build(stranger, base, binding=False)
    checkout.header("new", 11)
    checkout.build(own, environ, binding=False)
    assert checkout.object == expected(checkout, environ)


def test_another_folder_hits_and_finds_its_own_headers(
    checkout: Checkout, environ: dict[str, str], tmp_path: Path, nvcc: Path
) -> None:
    checkout.build(checkout.prepare("ccache", environ), environ)
    other = Checkout(tmp_path / "else where" / "zwei", nvcc).write()
    assert other.build(other.prepare("ccache", environ), environ) == ALL_HIT
    assert other.object == checkout.object
    assert "include/new.h" in other.headers
    assert str(checkout.folder) not in other.headers
    other.header("new", 11)
    assert other.build(other.prepare("ccache", environ), environ) == CacheCounts(1, 1)


def test_what_reaches_nvcc_past_its_command_line_counts(
    checkout: Checkout, environ: dict[str, str]
) -> None:
    checkout.build(checkout.prepare("ccache", environ), environ, binding=False)
    seen = {checkout.object}
    for name in ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS"):
        env = {**environ, name: f"-DEDITED={len(seen)} -DVALUE=2"}
        # The source's own definitions win over the line's; -G changes the code for sure.
        env[name] += " -G" if name == "NVCC_APPEND_FLAGS" else " -Xptxas=-O0"
        counts = checkout.build(checkout.prepare("ccache", env), env, binding=False)
        assert counts == CacheCounts(0, 1), name
        seen.add(checkout.object)
    assert len(seen) == 3


def test_the_number_of_threads_is_no_difference(
    checkout: Checkout, environ: dict[str, str]
) -> None:
    choice = checkout.prepare("ccache", environ)
    checkout.build(choice, environ, flags=["--threads=2"])
    for flags in ([], ["--threads=1"], ["--threads=8"]):
        assert checkout.build(choice, environ, flags=flags) == ALL_HIT, flags


def test_one_list_in_two_spellings_is_one_key(checkout: Checkout, environ: dict[str, str]) -> None:
    choice = checkout.prepare("ccache", environ)
    spellings = [
        ["arch=compute_90,code=sm_90", "arch=compute_80,code=[sm_80,compute_80]"],
        [
            "arch=compute_80,code=sm_80",
            "arch=compute_90,code=sm_90",
            "arch=compute_80,code=compute_80",
        ],
    ]
    written = [render_gencodes(g for s in words for g in Gencode.parse(s)) for words in spellings]
    assert written[0] == written[1]
    for flags, counts in zip(written, (ALL_COMPILED, ALL_HIT), strict=True):
        assert checkout.build(choice, environ, gencodes=flags) == counts


def test_another_architecture_is_compiled(checkout: Checkout, environ: dict[str, str]) -> None:
    choice = checkout.prepare("ccache", environ)
    checkout.build(choice, environ)
    assert checkout.build(choice, environ, gencodes=GENCODES[:1]) == CacheCounts(1, 1)


def test_one_virtual_architecture_for_several_real_ones(
    checkout: Checkout, environ: dict[str, str]
) -> None:
    choice = checkout.prepare("ccache", environ)
    flags = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_80,code=sm_90"]
    assert checkout.build(choice, environ, gencodes=flags) == ALL_COMPILED
    assert checkout.build(choice, environ, gencodes=flags) == ALL_HIT


def test_the_settings_that_are_relied_on_have_these_names(
    ccache: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "home" / "ccache").mkdir()
    (tmp_path / "home" / "ccache" / "ccache.conf").write_text("remote_storage = redis://a|x b\n")
    settings = read_settings(str(ccache), {**environ, "CCACHE_NOHASHDIR": "1"})
    names = "base_dir cache_dir compiler_check disable hash_dir ignore_options namespace"
    assert set(f"{names} remote_only remote_storage temporary_dir".split()) <= set(settings)
    assert not settings["hash_dir"].default
    assert settings["compiler_check"].default
    assert settings["remote_storage"].value == "redis://a|x b"
    assert settings["cache_dir"].value == environ["CCACHE_DIR"]


@pytest.mark.parametrize("value", ["auto", "ccache"])
def test_a_cache_that_cannot_be_written_does_not_stop_the_build(
    value: str, checkout: Checkout, environ: dict[str, str]
) -> None:
    environ = {**environ, "CCACHE_DIR": "/dev/null/cache"}
    choice = checkout.prepare(value, environ)
    assert any("/dev/null/cache" in note for note in choice.notes)
    assert choice.launcher is None or choice.launcher.name == "sccache"
    checkout.build(PLAIN, environ, binding=False)
