"""Fixtures that several test modules share."""

from __future__ import annotations

from tests.fakes import fake_driver, fake_libraries

__all__ = ["fake_driver", "fake_libraries"]
