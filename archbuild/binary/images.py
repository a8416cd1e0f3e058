"""From the entries of a fatbin to the images of the model."""

from __future__ import annotations

from archbuild.binary.contents import NOTHING, Contents, Depth
from archbuild.binary.fatbin import Entry
from archbuild.binary.scan import Begin, Look
from archbuild.binary.source import Source
from archbuild.model.image import Image, ImageKind, Linkage


def looker(depth: Depth, *, digests: bool = False) -> Begin:
    """What a scan calls at each fatbin and image, to read as much as ``depth`` says.

    Args:
        depth: How far to read.
        digests: Whether its stored bytes are digested, too.
    """
    if depth is Depth.HEADERS:
        return lambda: _digest if digests else _pass_by
    # The readers of cubins and PTX take a while to import, and are often not needed.
    from archbuild.binary.inside import look_inside  # noqa: PLC0415
    from archbuild.binary.siblings import siblings  # noqa: PLC0415

    def begin() -> Look:
        known = siblings(depth)
        return lambda source, entries: look_inside(source, entries, depth, known, digests=digests)

    return begin


def _pass_by(source: Source, entries: tuple[Entry, ...]) -> tuple[Contents, ...]:  # noqa: ARG001
    return (NOTHING,) * len(entries)


def _digest(source: Source, entries: tuple[Entry, ...]) -> tuple[Contents, ...]:
    from archbuild.binary.digests import digest_of  # noqa: PLC0415 - hashlib is slow to import

    # Read piece by piece and never held: a stream goes on behind it.
    digest = digest_of(source, entries[0].payload, entries[0].stored)
    return (Contents(digest=digest),) * len(entries)


def image_of(entry: Entry, contents: Contents, linkage: Linkage) -> Image:
    """One image of the model.

    Args:
        entry: Its header.
        contents: What was read of it.
        linkage: By the section that it lies in, unknown outside of those.
    """
    # What Image(...) makes too: a frozen class sets its fields one by one, which for
    # thousands of images takes longer than all the reading.
    image = object.__new__(Image)
    own = {
        "kind": entry.kind,
        "arch": entry.arch,
        "linkage": _linkage(entry, contents, linkage),
        "isa": entry.isa,
        "size": entry.size,
        "stored": entry.stored,
        "compression": entry.compression,
        "kernels": contents.kernels,
        "details": contents.details,
        "variables": contents.variables,
        "inner": contents.arch,
        "offset": entry.offset,
        "number": entry.number,
        "sm": entry.sm,
        "flags": entry.flags,
        "identifier": entry.identifier or None,
        "options": entry.options or None,
        "virtual": contents.virtual,
        "toolkit": contents.toolkit,
        "digest": contents.digest,
    }
    object.__setattr__(image, "__dict__", own)
    return image


def _linkage(entry: Entry, contents: Contents, linkage: Linkage) -> Linkage:
    """Some images say that they want a device link; for the others their section says it."""
    if contents.relocatable or entry.kind is ImageKind.LTOIR or entry.is_relocatable_ptx:
        return Linkage.RELOCATABLE
    if contents.relocatable is False or linkage is Linkage.UNKNOWN:
        return Linkage.EXECUTABLE
    return linkage


def unknown_image(offset: int, size: int, linkage: Linkage) -> Image:
    """Bytes in a place for device code that are nothing known."""
    return Image(
        kind=ImageKind.UNKNOWN,
        arch=None,
        linkage=linkage,
        size=size,
        stored=size,
        offset=offset,
    )
