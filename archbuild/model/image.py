"""Device code as it lies in a file: files hold regions, regions hold images."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archbuild.model.arch import Arch


class ImageKind(Enum):
    """What one entry of a fatbin is."""

    SASS = "sass"
    PTX = "ptx"
    LTOIR = "ltoir"
    TILEIR = "tileir"
    INDEX = "index"
    CONCATENATED = "concatenated"
    UNFINISHED = "unfinished"
    UNKNOWN = "unknown"


class Linkage(Enum):
    """Whether the driver can load it, or a device link has to come first."""

    EXECUTABLE = "executable"
    RELOCATABLE = "relocatable"
    UNKNOWN = "unknown"


class Compression(Enum):
    """How the bytes of an image are stored."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"
    OLD = "old"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Image:
    """One entry of a fatbin.

    Args:
        kind: SASS, PTX, LTO-IR and so on.
        arch: Its architecture with the suffix; None where it is unknown.
        linkage: Executable, or relocatable and in need of a device link.
        isa: The PTX ISA as (major, minor), of PTX only.
        size: Bytes when decompressed, None where the reader doesn't tell.
        stored: Bytes in the file, None where the reader doesn't tell.
        compression: How it is stored.
        kernels: Mangled names of its entry functions; None: not read.
    """

    kind: ImageKind
    arch: Arch | None
    linkage: Linkage = Linkage.EXECUTABLE
    isa: tuple[int, int] | None = None
    size: int | None = None
    stored: int | None = None
    compression: Compression = Compression.UNKNOWN
    kernels: tuple[str, ...] | None = None

    @property
    def is_loadable(self) -> bool:
        """Whether the driver can use it as it is, natively or by JIT."""
        return self.linkage is Linkage.EXECUTABLE and self.kind in (ImageKind.SASS, ImageKind.PTX)


@dataclass(frozen=True)
class Region:
    """One fatbin: a translation unit, or the outcome of one device link.

    Args:
        images: Its entries in the order of the file.
        offset: Where it begins in the file, None where the reader doesn't tell.
        linkage: Executable or relocatable, by the section that holds it.
    """

    images: tuple[Image, ...]
    offset: int | None = None
    linkage: Linkage = Linkage.EXECUTABLE


@dataclass(frozen=True)
class DeviceFile:
    """A file that can hold device code, with what it holds.

    Args:
        path: As the person named it, or the member's name in a wheel.
        regions: Empty where there is no device code.
        reader: Which reader saw it, ``"cuobjdump 13.5.37"``.
        notes: What the reader met and could not make sense of.
    """

    path: str
    regions: tuple[Region, ...]
    reader: str
    notes: tuple[str, ...] = ()

    @property
    def images(self) -> tuple[Image, ...]:
        """Every image of every region."""
        return tuple(image for region in self.regions for image in region.images)

    @property
    def targets(self) -> frozenset[Arch]:
        """The architectures of the images which a driver can load."""
        return frozenset(i.arch for i in self.images if i.arch is not None and i.is_loadable)
