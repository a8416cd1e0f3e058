"""Device code as it lies in a file: files hold regions, regions hold images."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from archbuild.model.arch import Arch
from archbuild.model.version import CudaVersion


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


class Binding(Enum):
    """How far the name of a kernel is visible in its image."""

    GLOBAL = "global"
    LOCAL = "local"
    WEAK = "weak"
    UNKNOWN = "unknown"


class Flag(Enum):
    """What the header of an entry says of its image, beside the architecture."""

    BITS64 = 0x1
    DEBUG = 0x2
    LINUX = 0x10
    MAC = 0x20
    WINDOWS = 0x40
    OLD_COMPRESSION = 0x1000
    LZ4 = 0x2000
    ZSTD = 0x8000
    OBFUSCATED = 0x10000
    ARCH_SPECIFIC = 0x100000
    FAMILY_SPECIFIC = 0x200000
    NEW_SASS = 0x1000000


#: The bits of the flags which have a known meaning.
KNOWN_FLAGS = sum(flag.value for flag in Flag)


@dataclass(frozen=True)
class Kernel:
    """One entry function of an image.

    Args:
        name: As mangled by the compiler.
        binding: Global, local (static in the source) or weak (a template).
        size: Bytes of its code; None in PTX.
        registers: Per thread; None where the image doesn't say.
        shared: Bytes of static shared memory; None where the image doesn't say.
    """

    name: str
    binding: Binding = Binding.GLOBAL
    size: int | None = None
    registers: int | None = None
    shared: int | None = None


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
        details: The same kernels with all that is known of each; None: not read.
        variables: How many device variables it holds, without those that the
            headers of the standard library define unasked; None: not read. An
            image with kernels needs them for nothing, so they may stay unread.
        inner: The architecture which the cubin or PTX inside tells, which
            should be ``arch``; None: not read, or it tells none.
        offset: Where its entry begins in the file.
        number: The kind as the entry has it, for kinds nobody knows yet.
        sm: The SM number as the entry has it.
        flags: The flags as the entry has them; None for a bare file.
        identifier: The name of the source, where the entry holds it.
        options: The options for ptxas, where the entry holds them.
        virtual: The virtual architecture that SASS was assembled from, where
            the cubin tells it.
        toolkit: The CUDA whose tools made it, where the cubin tells it.
        digest: SHA-256 of its bytes as they are stored, in hexadecimal; images
            that are stored as one have one; None: not asked for.
    """

    kind: ImageKind
    arch: Arch | None
    linkage: Linkage = Linkage.EXECUTABLE
    isa: tuple[int, int] | None = None
    size: int | None = None
    stored: int | None = None
    compression: Compression = Compression.UNKNOWN
    kernels: tuple[str, ...] | None = None
    details: tuple[Kernel, ...] | None = None
    variables: int | None = None
    inner: Arch | None = None
    offset: int | None = None
    number: int | None = None
    sm: int | None = None
    flags: int | None = None
    identifier: str | None = None
    options: str | None = None
    virtual: Arch | None = None
    toolkit: CudaVersion | None = None
    digest: str | None = None

    def has(self, flag: Flag) -> bool:
        """Whether the entry bears this flag; False where there are no flags."""
        return bool((self.flags or 0) & flag.value)

    @property
    def unknown_flags(self) -> int:
        """The bits of the flags whose meaning nobody knows yet."""
        return (self.flags or 0) & ~KNOWN_FLAGS

    @property
    def is_empty(self) -> bool | None:
        """Whether it has neither kernels nor device variables; None: not read."""
        if self.kernels:
            return False
        if self.kernels is None or self.variables is None:
            return None
        return not self.variables

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
        section: The section that holds it; empty for a bare file.
        member: The member of the static archive that holds it; else empty.
    """

    images: tuple[Image, ...]
    offset: int | None = None
    linkage: Linkage = Linkage.EXECUTABLE
    section: str = ""
    member: str = ""


class FileFormat(Enum):
    """What kind of file holds the device code."""

    ELF = "elf"
    PE = "pe"
    COFF = "coff"
    ARCHIVE = "archive"
    CUBIN = "cubin"
    FATBIN = "fatbin"
    PTX = "ptx"


@dataclass(frozen=True)
class DeviceFile:
    """A file that can hold device code, with what it holds.

    Args:
        path: As the person named it, or the member's name in a wheel.
        regions: Empty where there is no device code.
        reader: Which reader saw it, ``"cuobjdump 13.5.37"``.
        notes: What the reader met and could not make sense of.
        format: What the file is; None where the reader doesn't tell.
        size: Bytes of the file; None where the reader doesn't tell.
        hip: Whether it holds code for AMD's GPUs.
        unnamed: Kernels whose names the host doesn't hold, so that it can't have
            made them known to the runtime; None: not looked for, or the host
            holds the name of none.
        wanting: Symbols which are undefined until a device link defines them.
        processor: What the host's code in it is for, ``x86_64``, ``aarch64``; None where
            the reader doesn't tell, and for files without host code.
    """

    path: str
    regions: tuple[Region, ...]
    reader: str
    notes: tuple[str, ...] = ()
    format: FileFormat | None = None
    size: int | None = None
    hip: bool = False
    unnamed: tuple[str, ...] | None = None
    wanting: tuple[str, ...] = ()
    processor: str | None = None

    @property
    def images(self) -> tuple[Image, ...]:
        """Every image of every region."""
        return tuple(image for region in self.regions for image in region.images)

    @property
    def targets(self) -> frozenset[Arch]:
        """The architectures of the images which a driver can load."""
        return frozenset(i.arch for i in self.images if i.arch is not None and i.is_loadable)
