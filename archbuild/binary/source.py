"""Where bytes come from: a file, a piece of memory, a stream that runs one way.

Every reader takes a :class:`Source`, so that a library is read by the same code
whether it lies on the disk or is being inflated out of a wheel.
"""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from archbuild.binary import limits
from archbuild.errors import BinaryError, UnreadableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

_CUT_SHORT = "It is cut short or damaged: get it again from where it came from."
# What is searched at a time: memory for it is found again at once, unlike for more.
_BLOCK = 1 << 16
# Windows has none.
_PREAD: Callable[[int, int, int], bytes] | None = getattr(os, "pread", None)


class Source(ABC):
    """Bytes that can be read by offset.

    Args:
        name: What to call it in messages.
        size: How many bytes there are, as far as its surroundings tell.
        is_forward: Whether going back costs much more than going on.
    """

    def __init__(self, name: str, size: int, *, is_forward: bool = False) -> None:
        self.name = name
        self.size = size
        self.is_forward = is_forward

    @abstractmethod
    def block(self, offset: int) -> tuple[bytes, int]:
        """Some bytes around ``offset``, and where they begin; empty at the end.

        What comes back covers ``offset`` and is not a copy where that can be spared.
        """

    @abstractmethod
    def _read(self, offset: int, size: int) -> bytes:
        """Up to ``size`` bytes; fewer only where the bytes end."""

    def read(self, offset: int, size: int) -> bytes:
        """Exactly ``size`` bytes from ``offset``.

        Raises:
            BinaryError: If the bytes end before that.
        """
        if offset + size > self.size or offset < 0 or size < 0:
            raise self.cut_short(offset, size)
        data = self._read(offset, size)
        if len(data) != size:
            raise self.cut_short(offset, size)
        return data

    def peek(self, offset: int, size: int) -> bytes:
        """Up to ``size`` bytes from ``offset``, fewer at the end."""
        size = min(size, self.size - offset)
        return self._read(offset, size) if size > 0 else b""

    def find(self, needle: bytes, start: int, stop: int) -> int:
        """The first place of ``needle`` wholly between two offsets, or -1."""
        reach, position, tail = len(needle) - 1, start, b""
        stop = min(stop, self.size)
        while position < stop:
            data, base = self.block(position)
            end = min(base + len(data), stop)
            if end <= position:
                return -1
            if tail:
                joint = tail + data[position - base : min(position + reach, end) - base]
                place = joint.find(needle)
                if place >= 0:
                    return position - len(tail) + place
            place = data.find(needle, position - base, end - base)
            if place >= 0:
                return base + place
            tail = (tail + data[max(position, end - reach) - base : end - base])[-reach:]
            position = end
        return -1

    def view(self, offset: int, size: int, name: str = "") -> Source:
        """A part of this source as a source of its own.

        Raises:
            BinaryError: If the part does not lie in it.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise self.cut_short(offset, size)
        return View(self, offset, size, name or self.name)

    def hold(self, offset: int, size: int) -> Source:
        """A part that can be read in any order without going back here."""
        part = self.view(offset, size)
        return _copied(part) if self.is_forward else part

    def cut_short(self, offset: int, size: int) -> BinaryError:
        """The error for bytes that should be there and are not."""
        where = f"{size} bytes at {offset:#x}" if size >= 0 else f"place {offset:#x}"
        message = f"{self.name} has {self.size} bytes and points to {where}."
        return BinaryError(message, _CUT_SHORT)


class BytesSource(Source):
    """Bytes in memory."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(name, len(data))
        self._data = data

    def block(self, offset: int) -> tuple[bytes, int]:  # noqa: ARG002 - it is always all
        """All of them."""
        return self._data, 0

    def _read(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size]


class FileSource(Source):
    """A file on the disk, read piece by piece.

    It is never mapped into memory: a file that shrinks while it is mapped ends
    the process with a signal, where a read just ends early.

    Args:
        name: What to call it in messages.
        file: Opened for reading bytes, without a buffer.
        size: Its size in bytes.
    """

    def __init__(self, name: str, file: IO[bytes], size: int) -> None:
        super().__init__(name, size)
        self._file, self._number = file, file.fileno()
        self._lock = threading.Lock()

    def block(self, offset: int) -> tuple[bytes, int]:
        """One block from ``offset``."""
        return self.peek(offset, _BLOCK), offset

    def _read(self, offset: int, size: int) -> bytes:
        try:
            data = self._read_once(offset, size)
            while len(data) < size and (
                more := self._read_once(offset + len(data), size - len(data))
            ):
                data += more
        except (OSError, ValueError, OverflowError) as error:
            raise BinaryError(f"{self.name} cannot be read at {offset:#x}: {error}.") from None
        return data

    def _read_once(self, offset: int, size: int) -> bytes:
        if _PREAD is not None:
            return _PREAD(self._number, size, offset)
        with self._lock:
            self._file.seek(offset)
            return self._file.read(size)


class View(Source):
    """A part of another source."""

    def __init__(self, parent: Source, offset: int, size: int, name: str) -> None:
        super().__init__(name, size, is_forward=parent.is_forward)
        self._parent, self._offset = parent, offset

    def block(self, offset: int) -> tuple[bytes, int]:
        """The parent's block, with this part's offsets."""
        data, base = self._parent.block(self._offset + offset)
        return data, base - self._offset

    def _read(self, offset: int, size: int) -> bytes:
        return self._parent.peek(self._offset + offset, size)


class StreamSource(Source):
    """Bytes that come one after the other, such as a member being inflated.

    A little of what has passed is kept. Reading further back begins the stream
    again, which is allowed a few times only, so that no file can make its reader
    go round and round.

    Args:
        name: What to call it in messages.
        size: How many bytes there should be.
        begin: Gives the bytes from the start, chunk by chunk.
    """

    def __init__(self, name: str, size: int, begin: Callable[[], Iterator[bytes]]) -> None:
        super().__init__(name, size, is_forward=True)
        self._begin = begin
        self._reopens = limits.REOPENS
        self._is_whole = False
        self._start()

    def _start(self) -> None:
        self._chunks: deque[tuple[int, bytes]] = deque()
        self._first = self._end = 0
        self._iterator = self._begin()

    def _pull(self, keep: int) -> bool:
        """Take one more chunk; let go of what lies before ``keep``."""
        chunk = next(self._iterator, b"")
        if not chunk:
            self._is_whole = self._is_whole or self._end == self.size
            return False
        self._chunks.append((self._end, chunk))
        self._end += len(chunk)
        if self._end > self.size:
            message = f"{self.name} is longer than the {self.size} bytes it should have."
            raise BinaryError(message, _CUT_SHORT)
        keep = min(keep, self._end - limits.HISTORY)
        while len(self._chunks) > 1 and self._chunks[1][0] <= keep:
            self._chunks.popleft()
            self._first = self._chunks[0][0]
        return True

    def _reach(self, offset: int, stop: int) -> None:
        """Have the bytes from ``offset`` to ``stop`` at hand, as far as they exist."""
        if offset < self._first:
            self._reopens -= 1
            if self._reopens < 0:
                message = f"{self.name} lies in an order that cannot be read as a stream."
                raise BinaryError(message, "Unpack it and read the file itself.")
            self._start()
        while self._end < stop and self._pull(offset):
            pass

    def block(self, offset: int) -> tuple[bytes, int]:
        """The chunk with ``offset`` in it."""
        self._reach(offset, offset + 1)
        for base, chunk in reversed(self._chunks):
            if base <= offset:
                return (chunk, base) if offset < base + len(chunk) else (b"", offset)
        return b"", offset

    def _read(self, offset: int, size: int) -> bytes:
        stop = offset + size
        self._reach(offset, stop)
        parts = []
        for base, chunk in reversed(self._chunks):
            if base < stop and offset < base + len(chunk):
                parts.append(chunk[max(0, offset - base) : stop - base])
            if base <= offset:
                break
        return parts[0] if len(parts) == 1 else b"".join(reversed(parts))

    def drain(self) -> None:
        """Run to the end, where checksums are, of a stream whose size is not known.

        Raises:
            BinaryError: If it is cut short or damaged.
        """
        while self._pull(self._end):
            pass

    def finish(self) -> None:
        """Run to the end, so that a stream which is cut short or damaged is found.

        Raises:
            BinaryError: If it ends early, or its checksum is wrong.
        """
        if self._is_whole:
            return
        self.drain()
        if self._end != self.size:
            raise BinaryError(
                f"{self.name} ends after {self._end} of {self.size} bytes.", _CUT_SHORT
            )


@contextmanager
def temporary_copy(source: Source) -> Iterator[IO[bytes]]:
    """All bytes of a source in a temporary file, which is gone afterwards.

    Raises:
        BinaryError: If they are not all there.
        UnreadableError: If there is no room for them.
    """
    import tempfile  # noqa: PLC0415 - slow to import

    try:
        with tempfile.TemporaryFile() as file:
            for start in range(0, source.size, limits.CHUNK):
                file.write(source.read(start, min(limits.CHUNK, source.size - start)))
            file.seek(0)
            yield file
    except OSError as error:
        message = f"{source.name} cannot be unpacked to a temporary file: {error.strerror}."
        raise UnreadableError(message, "Set TMPDIR to a folder with more room.") from None


def _copied(part: Source) -> Source:
    """The bytes of a part, in memory or, if they are many, in a temporary file."""
    if part.size <= limits.HELD:
        return BytesSource(part.name, part.read(0, part.size))
    import tempfile  # noqa: PLC0415 - slow to import

    file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with its source
    for start in range(0, part.size, limits.CHUNK):
        file.write(part.read(start, min(limits.CHUNK, part.size - start)))
    source = FileSource(part.name, file, part.size)
    weakref.finalize(source, file.close)
    return source
