"""A library, program or object: where in it device code can lie, and what does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from archbuild.binary import elf, limits
from archbuild.binary.contents import Contents, Depth
from archbuild.binary.fatbin import Entry
from archbuild.binary.images import image_of, looker, unknown_image
from archbuild.binary.scan import Found, Scanner
from archbuild.binary.source import Source
from archbuild.model.image import ImageKind, Linkage, Region

_FATBINS = {
    ".nv_fatbin": Linkage.EXECUTABLE,
    "__nv_relfatbin": Linkage.RELOCATABLE,
    # Names in Windows files end after eight characters.
    ".nv_fatb": Linkage.EXECUTABLE,
    "__nv_rel": Linkage.RELOCATABLE,
}
_HIP = frozenset({".hip_fatbin", ".hipFatBinSegment", ".hip_fat", ".hipFatB"})
# Loaded and not code, yet never a place for device code; skipped for speed.
_NEVER = frozenset({".eh_frame", ".eh_frame_hdr", ".gcc_except_table", ".pdata", ".reloc"})
_PROGRAM_DATA = 1
# Where the host's strings lie, in files of Linux and of Windows.
_STRINGS = (".rodata", ".rdata")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archbuild.binary import pe


@dataclass(frozen=True)
class Held:
    """What a file holds.

    Args:
        regions: Its fatbins.
        hip: Whether it holds HIP code.
        unnamed: Kernels whose names the host doesn't hold; None: not looked for.
        wanting: Symbols which are undefined until a device link defines them.
    """

    regions: tuple[Region, ...]
    hip: bool = False
    unnamed: tuple[str, ...] | None = None
    wanting: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stretch:
    """A part of a file to look through.

    Args:
        start: Its first byte.
        stop: The byte after its last.
        section: The section's name.
        linkage: What the section says of its images; unknown where it is no
            section for device code.
        strict: Whether all in it must be fatbins.
    """

    start: int
    stop: int
    section: str = ""
    linkage: Linkage = Linkage.UNKNOWN
    strict: bool = False


def read_elf(source: Source, depth: Depth, *, names: bool = False, digests: bool = False) -> Held:
    """What an ELF file holds.

    Args:
        source: The file.
        depth: How much to read of each image.
        names: Whether to look for the names of the kernels in the host's data,
            for which a stream has to begin again.
        digests: Whether to digest the stored bytes of each image.

    Raises:
        BinaryError: If the file is damaged where that matters for device code.
    """
    header = elf.read_header(source)
    scanner = _scanner(source, depth, digests=digests)
    found: list[Found] = []
    passed_over = source.is_forward and header.section_offset <= source.size
    if passed_over:
        # The section table comes last; what it will say is applied afterwards.
        found += scanner.scan(0, header.section_offset or source.size)
    sections = elf.read_sections(source, header)
    # A file that was stripped of its section table is looked through as a whole.
    places = _elf_stretches(sections) if sections else [Stretch(0, source.size)]
    stretches = _apart(places)
    if not passed_over:
        found = _scan(scanner, stretches, 0)
    elif sections:
        found += _scan(scanner, stretches, header.section_offset)
    hip = any(section.name in _HIP for section in sections)
    regions = _regions(source, stretches, found, depth, digests=digests)
    unnamed = _unnamed(source, regions, sections) if names else None
    return Held(regions, hip, unnamed, _wanting(source, regions, header, sections))


def read_pe(source: Source, depth: Depth, *, names: bool = False, digests: bool = False) -> Held:
    """What a PE file or COFF object holds; the arguments are those of :func:`read_elf`.

    Raises:
        BinaryError: If the file is damaged where that matters for device code.
    """
    from archbuild.binary import pe  # noqa: PLC0415 - only for files of Windows

    sections = pe.read_sections(source)
    stretches = _apart(
        _stretch(s.name, s.offset, s.size)
        for s in sections
        if s.size and (not s.executable or s.name in _FATBINS)
    )
    found = _scan(_scanner(source, depth, digests=digests), stretches, 0)
    hip = any(section.name in _HIP for section in sections)
    regions = _regions(source, stretches, found, depth, digests=digests)
    return Held(regions, hip, _unnamed(source, regions, sections) if names else None)


def _unnamed(
    source: Source,
    regions: tuple[Region, ...],
    sections: Iterable[elf.Section | pe.PeSection],
) -> tuple[str, ...] | None:
    """The kernels that the host doesn't name, where kernels are read at all.

    A fatbin outside the sections for them is data, which the program itself hands to the
    driver: the runtime is told of none of its kernels.
    """
    own = [region for region in regions if region.section in _FATBINS]
    if not any(image.kernels for region in own for image in region.images):
        return None
    from archbuild.binary.registration import unnamed_kernels  # noqa: PLC0415 - slow to import

    places = [s for s in sections if s.size and s.name.startswith(_STRINGS)]
    return unnamed_kernels(own, [source.hold(s.offset, s.size) for s in places])


def _wanting(
    source: Source,
    regions: tuple[Region, ...],
    header: elf.Header,
    sections: tuple[elf.Section, ...],
) -> tuple[str, ...]:
    """What a device link would define, where there is something to link."""
    if not any(region.linkage is Linkage.RELOCATABLE for region in regions):
        return ()
    from archbuild.binary.registration import wanting_link  # noqa: PLC0415 - slow to import

    return wanting_link(source, header, sections)


def read_fatbin(source: Source, depth: Depth, *, digests: bool = False) -> tuple[Region, ...]:
    """The fatbins of a ``.fatbin`` file.

    Raises:
        BinaryError: If it is damaged.
    """
    stretches = [Stretch(0, source.size, strict=True)]
    found = _scan(_scanner(source, depth, digests=digests), stretches, 0)
    return _regions(source, stretches, found, depth, digests=digests)


def _elf_stretches(sections: tuple[elf.Section, ...]) -> list[Stretch]:
    return [
        _stretch(section.name, section.offset, section.size)
        for section in sections
        if section.size and (section.name in _FATBINS or _may_hold(section))
    ]


def _may_hold(section: elf.Section) -> bool:
    flags = section.flags & (elf.ALLOC | elf.EXECINSTR)
    special = section.name in _NEVER or section.name in _HIP
    return section.type == _PROGRAM_DATA and flags == elf.ALLOC and not special


def _stretch(name: str, offset: int, size: int) -> Stretch:
    linkage = _FATBINS.get(name, Linkage.UNKNOWN)
    return Stretch(offset, offset + size, name, linkage, name in _FATBINS)


def _apart(stretches: Iterable[Stretch]) -> list[Stretch]:
    """In the order of the file, no byte in two of them, those for device code first.

    Sections that overlap are a damaged file's, which must not be read many times over.
    """
    apart: list[Stretch] = []
    for stretch in sorted(stretches, key=lambda s: (s.start, not s.strict, s.stop)):
        start = max(stretch.start, apart[-1].stop if apart else 0)
        if start < stretch.stop:
            apart.append(replace(stretch, start=start))
    return apart


def _scan(scanner: Scanner, stretches: list[Stretch], start: int) -> list[Found]:
    """What lies in the stretches from ``start`` on."""
    return [
        found
        for stretch in stretches
        if stretch.stop > start
        for found in scanner.scan(max(stretch.start, start), stretch.stop)
    ]


def _scanner(source: Source, depth: Depth, *, digests: bool) -> Scanner:
    """A stream is looked into as it passes, a file when all its images are known."""
    if source.is_forward or depth is Depth.HEADERS:
        return Scanner(source, looker(depth, digests=digests))
    return Scanner(source, looker(Depth.HEADERS))


def _regions(
    source: Source,
    stretches: list[Stretch],
    found: list[Found],
    depth: Depth,
    *,
    digests: bool,
) -> tuple[Region, ...]:
    for stretch in stretches:
        if stretch.stop > source.size:
            raise source.cut_short(stretch.start, stretch.stop - stretch.start)
    sound = [
        (stretch, one)
        for stretch in stretches
        for one in found
        if stretch.start <= one.offset < stretch.stop and (stretch.strict or one.is_plausible)
    ]
    for stretch, one in sound:
        if one.damage is not None:
            raise one.damage
        if one.stop > stretch.stop:
            raise source.cut_short(one.offset, one.stop - one.offset)
    if depth is not Depth.HEADERS and not source.is_forward:
        from archbuild.binary.inside import look_into_all  # noqa: PLC0415 - slow to import

        known = look_into_all(source, [one for _, one in sound], depth, digests=digests)
        sound = [(stretch, one) for (stretch, _), one in zip(sound, known, strict=True)]
    regions = [_region(source, stretch, one) for stretch, one in sound]
    regions += (
        gap for stretch in stretches if stretch.strict for gap in _gaps(source, stretch, sound)
    )
    return tuple(sorted(regions, key=lambda region: region.offset or 0))


def _gaps(source: Source, stretch: Stretch, sound: list[tuple[Stretch, Found]]) -> Iterator[Region]:
    place = stretch.start
    for own, one in sound:
        if own is stretch:
            yield from _gap(source, stretch, place, one.offset)
            place = one.stop
    yield from _gap(source, stretch, place, stretch.stop)


def _gap(source: Source, stretch: Stretch, start: int, stop: int) -> Iterator[Region]:
    """Between two fatbins lie zeros; anything else is told as unknown."""
    for place in range(start, stop, limits.CHUNK):
        data = source.read(place, min(limits.CHUNK, stop - place))
        if data.strip(b"\0"):
            image = unknown_image(start, stop - start, stretch.linkage)
            yield Region((image,), start, stretch.linkage, stretch.section)
            return


def _region(source: Source, stretch: Stretch, found: Found) -> Region:
    entries = found.entries
    if stretch.linkage is Linkage.UNKNOWN:
        entries = [_told(source, entry, contents) for entry, contents in entries]
    images = tuple(image_of(entry, contents, stretch.linkage) for entry, contents in entries)
    linkage = stretch.linkage
    if linkage is Linkage.UNKNOWN:
        relocatable = [image.linkage is Linkage.RELOCATABLE for image in images]
        linkage = Linkage.RELOCATABLE if relocatable and all(relocatable) else Linkage.EXECUTABLE
    return Region(images, found.offset, linkage, stretch.section)


def _told(source: Source, entry: Entry, contents: Contents) -> tuple[Entry, Contents]:
    """Where no section tells it, the cubin's own header tells whether it is relocatable."""
    if entry.kind is not ImageKind.SASS or contents.relocatable is not None:
        return entry, contents
    from archbuild.binary.inside import look_inside  # noqa: PLC0415 - slow to import

    told = look_inside(source, (entry,), Depth.HEADERS)[0]
    return entry, replace(told, digest=contents.digest)
