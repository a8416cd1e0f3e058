"""The version of archbuild, in a place from which any module may read it."""

from __future__ import annotations

__version__ = "0.1.0"
