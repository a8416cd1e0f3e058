"""The checked-in fixtures are what their script makes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
LIMIT = 60_000


def test_fixtures_are_small_and_speak_of_no_machine() -> None:
    paths = [path for path in DATA.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert len(paths) > 20
    for path in paths:
        data = path.read_bytes()
        assert len(data) < LIMIT, path
        assert not re.search(rb"/(?:home|root|Users|tmp)/", data), path


@pytest.mark.toolkit
def test_the_script_makes_what_is_checked_in(
    packaged_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    nvcc, cuobjdump = packaged_tool("nvcc"), packaged_tool("cuobjdump")
    versions = "".join(
        subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
        for tool in (nvcc, cuobjdump)
    )
    if "V13.0." not in versions or "V13.5." not in versions:
        pytest.skip("the fixtures come from nvcc 13.0 and cuobjdump 13.5")
    if shutil.which("g++") is None or shutil.which("strip") is None:
        pytest.skip("no g++ and binutils here")
    script = DATA / "make_fixtures.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    made = {path.name: path.read_text() for path in (tmp_path / "dumps").iterdir()}
    kept = {path.name: path.read_text() for path in (DATA / "dumps").iterdir()}
    assert made == kept
    # Beside them lie the other scripts, and the table that one of those makes.
    names = {p.name for p in DATA.iterdir() if p.is_file() and p.suffix not in (".py", ".tsv")}
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == names
