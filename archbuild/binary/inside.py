"""Look inside images: inflate them as far as needed, and read the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from archbuild.binary.compression import filled_by_zstd, inflate
from archbuild.binary.contents import NOTHING, Contents, Depth
from archbuild.binary.cubin import read_arch, read_beginning, read_cubin
from archbuild.binary.fatbin import Entry
from archbuild.binary.parallel import in_order
from archbuild.binary.ptx import read_ptx
from archbuild.binary.scan import Found
from archbuild.binary.siblings import Siblings, siblings
from archbuild.binary.source import Source
from archbuild.model.arch import Arch
from archbuild.model.image import Compression, Flag, Image, ImageKind, Linkage

_READERS = {ImageKind.SASS: read_cubin, ImageKind.PTX: read_ptx}


def look_inside(
    source: Source,
    entries: tuple[Entry, ...],
    depth: Depth,
    known: Siblings | None = None,
    *,
    digests: bool = False,
) -> tuple[Contents, ...]:
    """What lies in images that share one payload.

    Args:
        source: What holds them.
        entries: One entry, or all those of a concatenated one.
        depth: How far to read.
        known: Images of the same fatbin, where these save some reading.
        digests: Whether the stored bytes are digested, too.

    Returns:
        One for each entry; nothing for those of a kind or a compression that
        cannot be read.

    Raises:
        BinaryError: If one is damaged.
    """
    first = entries[0]
    is_legible = any(_is_legible(entry) for entry in entries)
    if not is_legible and not digests:
        return (NOTHING,) * len(entries)
    packed = source.hold(first.payload, first.stored)
    packed.name = f"{source.name}: the device image at {first.offset:#x}"
    found = _unpack(packed, entries, depth, known) if is_legible else (NOTHING,) * len(entries)
    if not digests:
        return found
    from archbuild.binary.digests import digest_of  # noqa: PLC0415 - hashlib is slow to import

    digest = digest_of(packed, 0, packed.size)
    return tuple(replace(contents, digest=digest) for contents in found)


def _unpack(
    packed: Source, entries: tuple[Entry, ...], depth: Depth, known: Siblings | None
) -> tuple[Contents, ...]:
    first = entries[0]
    if depth in (Depth.NAMES, Depth.KERNELS) and _is_plain_zstd(first):
        with filled_by_zstd(packed) as fill:
            beginning = read_beginning(fill, packed.name, known)
        if beginning is not None:
            return (beginning,)
    whole = inflate(packed, first.compression, first.whole)
    if whole is None:
        return (NOTHING,) * len(entries)
    return tuple(_contents(whole, entries, depth))


def look_into_all(
    source: Source, found: list[Found], depth: Depth, *, digests: bool = False
) -> list[Found]:
    """The same fatbins, with what lies in each of their images.

    Args:
        source: A file that is read in any order.
        found: Its fatbins, by their headers alone.
        depth: How far to read.
        digests: Whether the stored bytes are digested, too.

    Raises:
        BinaryError: If an image is damaged.
    """
    answers = in_order(
        lambda share: _look_into(source, share, depth, digests=digests), _shares(found, depth)
    )
    contents = (one for several in answers for one in several)
    return [replace(one, entries=[(e, next(contents)) for e, _ in one.entries]) for one in found]


# Of so many fatbins whole ones are shared out: of the same symbols the second time is quick.
_MANY = 64

# Entries that lie in one payload; those which are looked into one after the other.
_Payload = tuple[Entry, ...]
_Share = list[_Payload]


def _shares(found: list[Found], depth: Depth) -> list[_Share]:
    """What can be done apart: a whole fatbin where its images know of each other."""
    fatbins = [
        [tuple(entry for entry, _ in same) for _, same in groupby(one.entries, key=_place)]
        for one in found
    ]
    if depth is Depth.NAMES or len(fatbins) >= _MANY:
        return fatbins
    return [[payload] for payloads in fatbins for payload in payloads]


def _place(pair: tuple[Entry, Contents]) -> int:
    return pair[0].offset


def _look_into(source: Source, share: _Share, depth: Depth, *, digests: bool) -> list[Contents]:
    known = siblings(depth)
    return [
        one
        for payload in share
        for one in look_inside(source, payload, depth, known, digests=digests)
    ]


def _is_plain_zstd(entry: Entry) -> bool:
    """Whether it is a cubin of which it is enough to inflate the beginning."""
    alone = entry.kind is ImageKind.SASS and entry.within is None
    return alone and entry.compression is Compression.ZSTD


def _is_legible(entry: Entry) -> bool:
    return entry.kind in _READERS and not entry.flags & Flag.OBFUSCATED.value


def _contents(whole: Source, entries: tuple[Entry, ...], depth: Depth) -> Iterator[Contents]:
    for entry in entries:
        if not _is_legible(entry):
            yield NOTHING
            continue
        own = whole if entry.within is None else whole.view(entry.within, entry.size)
        yield _READERS[entry.kind](own, depth)


def bare_cubin(source: Source, depth: Depth) -> Image:
    """The image of a ``.cubin`` file.

    Raises:
        BinaryError: If it is damaged.
    """
    contents = read_cubin(source, depth)
    return _bare(source, ImageKind.SASS, contents, read_arch(source))


def bare_ptx(source: Source, depth: Depth) -> Image:
    """The image of a ``.ptx`` file.

    Raises:
        BinaryError: If it is damaged.
    """
    contents = read_ptx(source, depth)
    return _bare(source, ImageKind.PTX, contents, contents.arch)


def _bare(source: Source, kind: ImageKind, contents: Contents, arch: Arch | None) -> Image:
    return Image(
        kind=kind,
        arch=arch,
        linkage=Linkage.RELOCATABLE if contents.relocatable else Linkage.EXECUTABLE,
        isa=contents.isa,
        size=source.size,
        stored=source.size,
        compression=Compression.NONE,
        kernels=contents.kernels,
        details=contents.details,
        variables=contents.variables,
        inner=contents.arch,
        offset=0,
        virtual=contents.virtual,
        toolkit=contents.toolkit,
    )
