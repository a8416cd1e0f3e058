"""Fixtures for real tools: this environment's nvcc, and those of other toolkits.

The other toolkits share paths with each other, so that each needs a folder of
its own: tests/tools.json says which requirements belong into which, and the
variable ARCHBUILD_TEST_TOOLS names the folder that holds them all.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

VARIABLE = "ARCHBUILD_TEST_TOOLS"
_SUFFIX = ".exe" if sys.platform == "win32" else ""


def find_in_packages(places: Iterable[Path], name: str) -> Path | None:
    """The tool of this name in folders called ``nvidia``, such as nvcc."""
    found = (path for place in places for path in place.glob(f"*/bin/{name}{_SUFFIX}"))
    return min(found, default=None)


@pytest.fixture(scope="session")
def packaged_tool() -> Callable[[str], Path]:
    """Finds a tool in the packages of this environment, or skips the test."""
    spec = importlib.util.find_spec("nvidia")
    places = [Path(place) for place in spec.submodule_search_locations or ()] if spec else []

    def find(name: str) -> Path:
        path = find_in_packages(places, name)
        if path is None:
            pytest.skip(f"no {name} in the packages of this environment")
        return path

    return find


@pytest.fixture(scope="session")
def nvcc(packaged_tool: Callable[[str], Path]) -> Path:
    """The nvcc of this environment's packages."""
    return packaged_tool("nvcc")


@pytest.fixture(scope="session")
def other_tool() -> Callable[[str, str], Path]:
    """Finds a tool of another toolkit: ``other_tool("ptxas-12.9", "ptxas")``."""

    def find(folder: str, name: str) -> Path:
        root = os.environ.get(VARIABLE)
        if not root:
            pytest.skip(f"{VARIABLE} is not set; the nox session `tests` sets it")
        path = find_in_packages([Path(root) / folder / "nvidia"], name)
        # A folder that was promised and holds nothing is a broken session.
        assert path is not None, f"no {name} in {root}/{folder}"
        return path

    return find
