"""How much memory Windows has free."""

from __future__ import annotations

import ctypes
from typing import Any


class MemoryStatus(ctypes.Structure):
    """``MEMORYSTATUSEX`` of ``sysinfoapi.h``; the sizes are in bytes."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("available", ctypes.c_uint64),
        ("total_page_file", ctypes.c_uint64),
        ("available_page_file", ctypes.c_uint64),
        ("total_virtual", ctypes.c_uint64),
        ("available_virtual", ctypes.c_uint64),
        ("available_extended", ctypes.c_uint64),
    )


def query_available(kernel: Any = None) -> int | None:
    """Bytes of physical memory that are available; None where Windows does not say.

    Args:
        kernel: ``kernel32``; None: the system's.
    """
    library = kernel or getattr(ctypes, "windll").kernel32  # noqa: B009 -- only on Windows
    status = MemoryStatus(length=ctypes.sizeof(MemoryStatus))
    return int(status.available) if library.GlobalMemoryStatusEx(ctypes.byref(status)) else None
