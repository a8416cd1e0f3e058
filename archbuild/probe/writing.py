"""Files that are written in one step."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file in one step: whoever reads it finds all of it, or what was there before.

    Args:
        path: The file; its folder must be there.
        data: What is to be in it.

    Raises:
        OSError: If it cannot be written; nothing half-written is left.
    """
    made = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        made.write_bytes(data)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)
