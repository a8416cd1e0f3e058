"""A lock between processes, which ends with the process that holds it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(file: Path, on_wait: Callable[[], None]) -> Iterator[bool]:
    """Hold a file alone; another process, or thread, that wants it waits.

    The system gives the lock back when the holder ends, however it ends: the file
    itself means nothing, and stays.

    Args:
        file: Made where it is not there; its folder has to be.
        on_wait: Called where another one holds it.

    Yields:
        Whether it is held. It is not where the system or the file system has no such
        locks; whoever builds there must not share files with others.

    Raises:
        OSError: If the file cannot be made.
    """
    number = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        yield _lock(number, on_wait)
    finally:
        os.close(number)


def _lock(number: int, on_wait: Callable[[], None]) -> bool:
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        on_wait()
        fcntl.flock(number, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return False
    return True
