"""[tool.archbuild] of a pyproject.toml, whole and broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from archbuild.errors import ArchbuildError, ConfigError, UnreadableError
from archbuild.model.config import BuildOptions, Config, LeanHeaders, VerifyPolicy
from archbuild.model.source import Source
from archbuild.model.waiver import Waiver
from archbuild.probe.project import read_config


def _write(folder: Path, text: str | bytes, name: str = "pyproject.toml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "archs"),
    [
        ("", None),
        ("[project]\nname = 'x'\n", None),
        ("tool = 3\n", None),
        ("[tool]\nother = 1\n", None),
        ("[tool.archbuild]\n", None),
        ("[tool.archbuild]\narchs = '8.0;9.0+PTX'\n", "8.0;9.0+PTX"),
        ("[tool.archbuild]\narchs = ['8.0', '9.0+PTX']\n", "8.0;9.0+PTX"),
        ("[tool.archbuild]\narchs = ['RTX 4090']\n", "RTX 4090"),
        # Not None: a list that was emptied by mistake has to be refused later.
        ("[tool.archbuild]\narchs = []\n", ""),
        ("[tool.archbuild]\narchs = ''\n", ""),
    ],
)
def test_the_table(text: str, archs: str | None, tmp_path: Path) -> None:
    path = _write(tmp_path, text)
    assert read_config(tmp_path) == Config(archs, str(path))
    assert read_config("elsewhere", file=path) == Config(archs, str(path))


def test_no_file_is_no_project(tmp_path: Path) -> None:
    assert read_config(tmp_path) == Config()
    assert read_config(tmp_path / "absent") == Config()


def test_parents_are_not_searched(tmp_path: Path) -> None:
    _write(tmp_path, "[tool.archbuild]\narchs = '8.0'\n")
    (tmp_path / "child").mkdir()
    assert read_config(tmp_path / "child") == Config()


def test_the_folder_is_this_one_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, "[tool.archbuild]\narchs = '8.0'\n")
    monkeypatch.chdir(tmp_path)
    assert read_config().archs == "8.0"


VERIFY = "[tool.archbuild.verify]\n"
WAIVER = "[[tool.archbuild.waivers]]\n"
BUILD = "[tool.archbuild.build]\n"
SOURCE = "[[tool.archbuild.sources]]\n"


def test_a_policy_and_waivers(tmp_path: Path) -> None:
    text = (
        f"{VERIFY}runs-on = ['RTX 4090', '9.0']\ndriver = '550.54'\ndriver-cuda = '12.4'\n"
        "allow-jit = false\nexact = true\nstrict = true\nsize-budget = '100MB'\n"
        f"{WAIVER}code = 'V22?'\nkernel = '*sm90*'\nreason = 'for Hopper alone'\n"
        f"{WAIVER}file = '*.dll'\narch = 'sm_75'\nreason = 'no Turing on Windows'\n"
    )
    _write(tmp_path, text)
    config = read_config(tmp_path)
    assert config.verify == VerifyPolicy(
        "RTX 4090;9.0",
        "550.54",
        "12.4",
        allow_jit=False,
        exact=True,
        strict=True,
        size_budget="100MB",
    )
    assert config.waivers == (
        Waiver("for Hopper alone", code="V22?", kernel="*sm90*"),
        Waiver("no Turing on Windows", file="*.dll", arch="sm_75"),
    )


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (BUILD, BuildOptions()),
        (f"{BUILD}lean-headers = false\n", BuildOptions()),
        (f"{BUILD}lean-headers = true\n", BuildOptions(LeanHeaders.ON)),
        (f"{BUILD}lean-headers = 'auto'\n", BuildOptions(LeanHeaders.AUTO)),
        (
            f"{BUILD}development = true\nlauncher = 'ccache'\njobs = 4\n",
            BuildOptions(development=True, launcher="ccache", jobs=4),
        ),
    ],
)
def test_how_it_is_built(text: str, options: BuildOptions, tmp_path: Path) -> None:
    _write(tmp_path, text)
    assert read_config(tmp_path).build == options


def test_sources_with_architectures_of_their_own(tmp_path: Path) -> None:
    text = (
        f"{SOURCE}path = 'hopper.cu'\narchs = '9.0a'\ndefine = 'WITH_HOPPER'\n"
        f"{SOURCE}path = 'moe/*.cu'\narchs = ['8.0+', '10.0f']\nrequired = true\n"
    )
    _write(tmp_path, text)
    assert read_config(tmp_path).sources == (
        Source("hopper.cu", "9.0a", "WITH_HOPPER"),
        Source("moe/*.cu", "8.0+;10.0f", required=True),
    )


@pytest.mark.parametrize(
    ("text", "error", "parts"),
    [
        ("[tool", ConfigError, ["is no TOML"]),
        (b"\xff\xfe", ConfigError, ["is no TOML"]),
        ("a = " + "[" * 20_000, ConfigError, ["is no TOML"]),
        ("[tool]\narchbuild = '8.0'\n", ConfigError, ["is no table"]),
        ("[tool.archbuild]\narch = '8.0'\n", ConfigError, ["'arch'", "Did you mean archs?"]),
        ("[tool.archbuild]\nfrobnicate = 1\n", ConfigError, ["'frobnicate'", "Known: archs"]),
        ("[tool.archbuild]\narchs = 8.0\n", ConfigError, ["8.0", "a list of strings"]),
        ("[tool.archbuild]\narchs = ['8.0', 9.0]\n", ConfigError, ["a list of strings"]),
        ("[tool.archbuild.archs]\nx = 1\n", ConfigError, ["a list of strings"]),
        ("[tool.archbuild]\nverify = 1\n", ConfigError, ["verify] is no table"]),
        (f"{VERIFY}run-on = '9.0'\n", ConfigError, ["'run-on'", "Did you mean runs-on?"]),
        (f"{VERIFY}runs-on = 9.0\n", ConfigError, ["runs-on of", "a list of strings"]),
        (f"{VERIFY}strict = 'yes'\n", ConfigError, ["strict of", "true or false"]),
        (f"{VERIFY}size-budget = 100\n", ConfigError, ["size-budget of"]),
        ("[tool.archbuild]\nwaivers = ['V201']\n", ConfigError, ["no list of tables"]),
        ("[tool.archbuild.waivers]\ncode = 'V201'\n", ConfigError, ["no list of tables"]),
        (f"{WAIVER}code = 'V201'\n", ConfigError, ["code = 'V201' has no reason"]),
        (f"{WAIVER}reason = ' '\n", ConfigError, ["no glob has no reason"]),
        (f"{WAIVER}codes = 'V201'\nreason = 'x'\n", ConfigError, ["Did you mean code?"]),
        (f"{WAIVER}code = 201\nreason = 'x'\n", ConfigError, ["code of", "a string"]),
        ("[tool.archbuild]\nbuild = 1\n", ConfigError, ["build] is no table"]),
        (f"{BUILD}lean_headers = true\n", ConfigError, ["Did you mean lean-headers?"]),
        (f"{BUILD}lean-headers = 'yes'\n", ConfigError, ["'yes'", 'or "auto"']),
        (f"{BUILD}lean-headers = 1\n", ConfigError, ["lean-headers of", "is 1."]),
        (f"{BUILD}development = 'no'\n", ConfigError, ["development of [tool.archbuild.build]"]),
        (f"{BUILD}launcher = true\n", ConfigError, ["launcher of", "sccache"]),
        (f"{BUILD}launcher = ''\n", ConfigError, ["launcher of", "a path"]),
        (f"{BUILD}jobs = 0\n", ConfigError, ["jobs of", "is 0.", "whole number"]),
        (f"{BUILD}jobs = true\n", ConfigError, ["jobs of", "whole number"]),
        (f"{BUILD}jobs = 1.5\n", ConfigError, ["jobs of", "whole number"]),
        ("[tool.archbuild]\nsources = ['a.cu']\n", ConfigError, ["sources is no list of tables"]),
        ("[tool.archbuild.sources]\npath = 'a.cu'\n", ConfigError, ["no list of tables"]),
        (SOURCE, ConfigError, ["has no path", 'path = "moe/*.cu"']),
        (f"{SOURCE}path = ' '\n", ConfigError, ["has no path"]),
        (f"{SOURCE}path = 'a.cu'\narch = '9.0a'\n", ConfigError, ["Did you mean archs?"]),
        (f"{SOURCE}path = 'a.cu'\narchs = 9.0\n", ConfigError, ["for a.cu", "a list of strings"]),
        (f"{SOURCE}path = 'a.cu'\ndefine = 'A=1'\n", ConfigError, ["define of", "'A=1'"]),
        (f"{SOURCE}path = 'a.cu'\nrequired = 'yes'\n", ConfigError, ["required of [[tool"]),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    text: str | bytes, error: type[ArchbuildError], parts: list[str], tmp_path: Path
) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(error) as caught:
        read_config(tmp_path)
    for part in [str(path), *parts]:
        assert part in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_named_file_has_to_exist(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"other\.toml does not exist") as caught:
        read_config(file=tmp_path / "other.toml")
    assert caught.value.exit_code == 3


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").mkdir()
    with pytest.raises(UnreadableError, match="cannot be read"):
        read_config(tmp_path)


_AS_NOBODY = """
import os, sys
from archbuild.errors import UnreadableError
from archbuild.probe.project import read_config
read_config(sys.argv[1] + "/..")  # loads what reads TOML, which nobody may not do later
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    read_config(sys.argv[1])
except UnreadableError as error:
    sys.stdout.write(str(error))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("closed", ["folder", "file"])
def test_what_may_not_be_read_is_told(closed: str, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    path = _write(folder, "[tool.archbuild]\narchs = '8.0'\n")
    _write(tmp_path, "")
    for parent in [*tmp_path.parents[:2], tmp_path]:
        if parent.owner() == tmp_path.owner():
            parent.chmod(0o755)
    (folder if closed == "folder" else path).chmod(0)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(folder)],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    finally:
        folder.chmod(0o755)
    assert done.stdout == f"{path} cannot be read: Permission denied. Check its permissions."
