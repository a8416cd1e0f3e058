"""Fixtures that several test modules share."""

from __future__ import annotations

import pytest

from tests.fakes import fake_driver, fake_libraries
from tests.stores import start_redis
from tests.tools import nvcc, other_tool, packaged_tool

__all__ = ["fake_driver", "fake_libraries", "nvcc", "other_tool", "packaged_tool", "start_redis"]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is folded for the length of this checkout's own path."""
    monkeypatch.setenv("COLUMNS", "500")
