"""Find the fatbins in a stretch of bytes, whatever the file around them is."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from archbuild.binary import limits
from archbuild.binary.contents import Contents
from archbuild.binary.fatbin import REGION_HEADER, REGION_MAGIC, Entry, read_entry
from archbuild.binary.source import Source
from archbuild.errors import BinaryError
from archbuild.model.image import ImageKind

# One fatbin follows the other with few zeros between them.
_NEAR = 64


@dataclass(frozen=True)
class Found:
    """One fatbin as it was found, damaged or not.

    Args:
        offset: Where it begins.
        stop: Where it says that it ends.
        entries: Those that can be read, in order, each with what is inside it.
        damage: Why the rest cannot; None where all can.
    """

    offset: int
    stop: int
    entries: list[tuple[Entry, Contents]] = field(default_factory=list)
    damage: BinaryError | None = None

    @property
    def is_plausible(self) -> bool:
        """Whether it is a fatbin rather than bytes that look like the start of one."""
        return any(entry.kind is not ImageKind.UNKNOWN for entry, _ in self.entries)

    @property
    def end(self) -> int:
        """Where the good part of it ends."""
        if self.damage is None:
            return self.stop
        first = self.offset + len(REGION_MAGIC)
        return max((e.payload + e.padded for e, _ in self.entries), default=first)


#: Looks into the images of one entry, as soon as it is met.
Look = Callable[[Source, tuple[Entry, ...]], "tuple[Contents, ...]"]
#: Gives one for each fatbin, whose images may know of each other.
Begin = Callable[[], Look]


class Scanner:
    """Finds fatbins, and counts their images over the whole of a file.

    Args:
        source: The file, or the member of an archive.
        begin: What to read of the images inside a fatbin. The look that it gives is
            called while the scan stands at the image, since a stream does not come
            by again.
    """

    def __init__(self, source: Source, begin: Begin) -> None:
        self._source = source
        self._begin = begin
        self._images = 0

    def scan(self, start: int, stop: int) -> Iterator[Found]:
        """Every fatbin that begins between two offsets, in order.

        A damaged one is given too: whether it matters depends on the section that
        it lies in, which a stream tells only later. The search goes on right after
        its last good entry.

        Raises:
            BinaryError: If there are more images than any library has.
        """
        place = start
        while (place := self._next(place, stop)) >= 0:
            found = self._region(place, stop)
            yield found
            place = found.end

    def _next(self, place: int, stop: int) -> int:
        """Where the next fatbin begins, -1 if none does: most often right here."""
        near = self._source.peek(place, min(_NEAR, stop - place)).find(REGION_MAGIC)
        return place + near if near >= 0 else self._source.find(REGION_MAGIC, place, stop)

    def _region(self, offset: int, limit: int) -> Found:
        header = self._source.peek(offset, REGION_HEADER)
        if len(header) < REGION_HEADER:
            return Found(offset, limit, damage=self._source.cut_short(offset, REGION_HEADER))
        stop = offset + REGION_HEADER + struct.unpack_from("<Q", header, 8)[0]
        found = Found(offset, stop)
        try:
            self._walk(found, min(stop, limit))
        except TooManyImagesError:
            raise
        except BinaryError as damage:
            return replace(found, damage=damage)
        if stop > limit:
            return replace(found, damage=self._source.cut_short(offset, stop - offset))
        return found

    def _walk(self, found: Found, stop: int) -> None:
        place, look = found.offset + REGION_HEADER, self._begin()
        while place < stop:
            several = read_entry(self._source, place, stop)
            self._count(len(several))
            found.entries.extend(zip(several, look(self._source, several), strict=True))
            place = several[0].payload + several[0].padded

    def _count(self, more: int) -> None:
        self._images += more
        if self._images > limits.IMAGES:
            raise TooManyImagesError(
                f"{self._source.name} claims more than {limits.IMAGES} device images.",
                "No library holds so many: the file is damaged, or made to mislead.",
            )


class TooManyImagesError(BinaryError):
    """More images than the reader is ready to hold."""
