"""Tell by its first bytes what a file is, and read the device code in it."""

from __future__ import annotations

from dataclasses import replace

from archbuild.binary import elf
from archbuild.binary.contents import Depth
from archbuild.binary.fatbin import REGION_MAGIC
from archbuild.binary.host import Held, read_elf, read_fatbin, read_pe
from archbuild.binary.source import Source
from archbuild.model.image import DeviceFile, FileFormat, Image, Region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archbuild.binary.archive import Member

#: What the files are said to be read by.
READER = "archbuild"

# Objects of Windows have no magic, so the name has to speak for them too.
_OBJECTS = (".obj", ".o")
_ARCHIVES = (b"!<arch>\n", b"!<thin>\n")
_DOS = b"MZ"
_TEXT = b"./ \t\r\n"

# How a tar archive may be packed. The readers of all that lies around libraries and
# objects are imported where they are needed, since that takes longer than reading one.
_PACKED = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_TAR_MAGIC = b"ustar"
_TAR_MAGIC_PLACE = 257
# As ELF and as Windows number them.
_ELF_PROCESSORS = {21: "ppc64le", 62: "x86_64", 183: "aarch64"}
_PE_PROCESSORS = {0x8664: "x86_64", 0xAA64: "aarch64"}

_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")


def find_container(source: Source) -> str | None:
    """What is around several files: ``zip``, ``tar``, or how a tar archive is packed.

    Args:
        source: The file.

    Returns:
        None if it is a file by itself.
    """
    head = source.peek(0, 512)
    if head[:4] in _ZIP_MAGICS:
        return "zip"
    if head.startswith(_TAR_MAGIC, _TAR_MAGIC_PLACE):
        return "stored"
    return next((method for magic, method in _PACKED if head.startswith(magic)), None)


def recognize(source: Source, name: str) -> FileFormat | None:
    """What kind of file it is; None if no device code can be in it.

    Args:
        source: The file.
        name: Its name, for the kinds that have no magic.
    """
    head = source.peek(0, 64)
    if head[:4] == elf.MAGIC:
        cuda = len(head) >= 20 and int.from_bytes(head[18:20], "little") == elf.MACHINE_CUDA
        return FileFormat.CUBIN if cuda else FileFormat.ELF
    if head[:4] == REGION_MAGIC[:4]:
        return FileFormat.FATBIN
    if head[:8] in _ARCHIVES:
        return FileFormat.ARCHIVE
    if head[:2] == _DOS or name.lower().endswith(_OBJECTS):
        from archbuild.binary import pe  # noqa: PLC0415

        if pe.is_image(source):
            return FileFormat.PE
        return FileFormat.COFF if pe.is_object(head) and head[:2] != _DOS else None
    if head[:1] in _TEXT:
        from archbuild.binary import ptx  # noqa: PLC0415

        return FileFormat.PTX if ptx.find_isa(source.peek(0, ptx.BEGINNING)) else None
    return None


def read_source(
    source: Source, name: str, depth: Depth, *, names: bool = False, digests: bool = False
) -> DeviceFile | None:
    """The device code of one file; None if it is of a kind that has none.

    Args:
        source: The file, or a member of something larger.
        name: How to call it in the result.
        depth: How much to read of each image.
        names: Whether to look for the names of the kernels in the host's data.
        digests: Whether to digest the stored bytes of each image.

    Raises:
        BinaryError: If it is damaged.
        ToolError: If a package that inflates device code is not installed.
    """
    kind = recognize(source, name)
    if kind is None:
        return None
    processor = find_processor(source, kind)  # first: what is packed is read from front to end
    held = _read(source, kind, depth, names=names, digests=digests)
    return DeviceFile(
        name,
        held.regions,
        READER,
        format=kind,
        size=source.size,
        hip=held.hip,
        unnamed=held.unnamed,
        wanting=held.wanting,
        processor=processor,
    )


def find_processor(source: Source, kind: FileFormat) -> str | None:
    """The processor that the host's code of a file is for, as Linux names it.

    Args:
        source: The file.
        kind: What :func:`recognize` says of it.

    Returns:
        None for one that is not known, and for files that need not hold such code.
    """
    head = source.peek(0, 64)
    if kind is FileFormat.ELF:
        return _ELF_PROCESSORS.get(int.from_bytes(head[18:20], "little"))
    if kind is FileFormat.COFF:
        return _PE_PROCESSORS.get(int.from_bytes(head[:2], "little"))
    if kind is FileFormat.PE:
        place = int.from_bytes(head[60:64], "little") + 4  # behind "PE\0\0"
        return _PE_PROCESSORS.get(int.from_bytes(source.peek(place, 2), "little"))
    return None


def _read(source: Source, kind: FileFormat, depth: Depth, *, names: bool, digests: bool) -> Held:
    if kind is FileFormat.ELF:
        return read_elf(source, depth, names=names, digests=digests)
    if kind in (FileFormat.PE, FileFormat.COFF):
        return read_pe(source, depth, names=names, digests=digests)
    if kind is FileFormat.ARCHIVE:
        return _read_archive(source, depth, names=names, digests=digests)
    if kind is FileFormat.FATBIN:
        return Held(read_fatbin(source, depth, digests=digests))
    from archbuild.binary.inside import bare_cubin, bare_ptx  # noqa: PLC0415

    whole = source.hold(0, source.size)
    bare = bare_cubin if kind is FileFormat.CUBIN else bare_ptx
    return Held((_bare_region(bare(whole, depth)),))


def _bare_region(image: Image) -> Region:
    return Region((image,), 0, image.linkage)


def _read_archive(source: Source, depth: Depth, *, names: bool, digests: bool) -> Held:
    """What all members hold; each region says which member it is of."""
    from archbuild.binary import archive  # noqa: PLC0415

    regions: list[Region] = []
    parts: list[Held] = []
    for member in archive.read_members(source):
        own = source.view(member.offset, member.size, f"{source.name}({member.name})")
        kind = recognize(own, member.name)
        # An archive in an archive is no linker's input, and could go on for ever.
        if kind is None or kind is FileFormat.ARCHIVE:
            continue
        parts.append(_read(own, kind, depth, names=names, digests=digests))
        regions += [_placed(region, member) for region in parts[-1].regions]
    looked = [part.unnamed for part in parts if part.unnamed is not None]
    unnamed = tuple(name for names in looked for name in names) if looked else None
    return Held(tuple(regions), any(part.hip for part in parts), unnamed)


def _placed(region: Region, member: Member) -> Region:
    """A region with its offsets counted from the start of the archive."""
    images = tuple(
        replace(image, offset=image.offset + member.offset)
        for image in region.images
        if image.offset is not None
    )
    return replace(
        region, images=images, offset=(region.offset or 0) + member.offset, member=member.name
    )
