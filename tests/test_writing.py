"""Files that are written in one step, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.probe.writing import write_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_whole(tmp_path / "x", b"1")
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "gone" / "x", b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
