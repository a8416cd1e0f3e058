"""How far a build is."""

from __future__ import annotations

from archbuild.report.progress import progress_line


def test_progress() -> None:
    assert progress_line(12, 48, "hopper.cu sm_90a") == "[12/48] hopper.cu sm_90a"
    assert progress_line(1, 1, "a\x1b[2J.cu") == "[1/1] a\\x1b[2J.cu"
