"""How far a build is, in a line for each image."""

from __future__ import annotations

from archbuild.report.text import escape


def progress_line(done: int, total: int, label: str) -> str:
    """How far a build is: ``[12/48] hopper.cu sm_90a``."""
    return f"[{done}/{total}] {escape(label)}"
