"""The text that cuobjdump prints, as images; no process and no file here.

cuobjdump prints PTX as ``sm_XX`` too, so the line ``Fatbin ptx code:`` above it
decides. It prints neither where a region ends nor which images are relocatable
(13.5); only options of PTX tell the latter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from archbuild.model.arch import Arch, Stage
from archbuild.model.image import Compression, Image, ImageKind, Linkage

#: The word in ``Fatbin <word> code:`` (cuobjdump 13.5).
_KINDS = {
    "elf": (ImageKind.SASS, Stage.REAL),
    "ptx": (ImageKind.PTX, Stage.VIRTUAL),
    "nvvm": (ImageKind.LTOIR, Stage.LTO),
    "relocatable ptx": (ImageKind.PTX, Stage.VIRTUAL),
    "tile ir": (ImageKind.TILEIR, Stage.VIRTUAL),
    "concatenated entry": (ImageKind.CONCATENATED, Stage.REAL),
}
_HEADER = re.compile(r"Fatbin (.+) code:")
_MEMBER = re.compile(r"member (.+):")
_VERSION = re.compile(r"\[(\d{1,4}),(\d{1,4})\]")
_ELF = re.compile(r"\d\d-bit ELF: type=(ET_\w+),.*\bsm=(\d{2,3}[af]?)\b")
_COMMAND = re.compile(r"\s*Tool Command Line Arguments:.*-arch[ =](sm_\d{2,3}[af]?)\b")
#: Lines of an entry that say nothing which an Image holds.
_PLAIN = ("host", "compile_size", "identifier", "nvvmOptions", "tileIROptions")
_COMPILE_ONLY = "--compile-only"


@dataclass(frozen=True)
class Member:
    """The entries that cuobjdump prints under one member of an archive.

    Args:
        name: The member; None in a file that is no archive.
        images: In the order of the text; SASS has linkage UNKNOWN.
    """

    name: str | None
    images: tuple[Image, ...] = ()


@dataclass(frozen=True)
class Dump:
    """What a dump says.

    Args:
        members: One without a name for a file that is no archive.
        unknown: What could not be understood, a clause each.
    """

    members: tuple[Member, ...]
    unknown: tuple[str, ...] = ()

    @property
    def images(self) -> tuple[Image, ...]:
        """Every image of every member."""
        return tuple(image for member in self.members for image in member.images)


@dataclass(frozen=True)
class Head:
    """A cubin as ``cuobjdump -elf`` introduces it.

    Args:
        arch: With the suffix ``f`` only where ptxas left its command line.
        linkage: By the type of the ELF file.
    """

    arch: Arch
    linkage: Linkage


def parse_dump(text: str, path: str) -> Dump:
    """Read the dump that cuobjdump prints without any option, or with ``-symbols``.

    Args:
        text: Everything it printed on standard output.
        path: The file as cuobjdump was given it, which precedes members' names.

    Returns:
        The images; also what the text holds that nobody knows.
    """
    reader = _Reader(path)
    for line in text.splitlines():
        reader.take(line)
    return reader.finish()


class _Reader:
    """The state while the lines go by."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._members: list[tuple[str | None, list[Image]]] = []
        self._unknown: list[str] = []
        self._image: Image | None = None
        self._in_symbols = False
        self._stage = Stage.REAL

    def take(self, line: str) -> None:
        """Take one more line."""
        # What lies in a concatenated entry is printed one tab further right.
        line = line.rstrip().removeprefix("\t")
        if not line or not line.strip("="):
            self._in_symbols = self._in_symbols and bool(line)
        elif match := _HEADER.fullmatch(line):
            self._begin(match[1])
        elif match := _MEMBER.fullmatch(line):
            self._close()
            self._members.append((self._member_name(match[1]), []))
        elif self._image is None or not self._take_attribute(self._image, line):
            self._unknown.append(f"the line {line[:80]!r}")

    def finish(self) -> Dump:
        """The last image, and all together."""
        self._close()
        members = tuple(Member(name, tuple(images)) for name, images in self._members)
        return Dump(members, tuple(self._unknown))

    def _member_name(self, text: str) -> str:
        return text.removeprefix(f"{self._path}:")

    def _begin(self, word: str) -> None:
        self._close()
        kind, stage = _KINDS.get(word, (ImageKind.UNKNOWN, Stage.REAL))
        if kind is ImageKind.UNKNOWN:
            self._unknown.append(f"an entry of kind {word[:40]!r}")
        linkage = Linkage.RELOCATABLE if word == "relocatable ptx" else Linkage.UNKNOWN
        self._image = Image(kind, None, linkage, compression=Compression.NONE)
        self._stage = stage
        self._in_symbols = False

    def _close(self) -> None:
        if self._image is None:
            return
        if self._image.arch is None and self._image.kind is not ImageKind.CONCATENATED:
            self._unknown.append(f"an entry ({self._image.kind.value}) of no known architecture")
        if not self._members:
            self._members.append((None, []))
        self._members[-1][1].append(self._image)
        self._image = None

    def _take_attribute(self, image: Image, line: str) -> bool:
        """Whether the line belongs to an entry; what it says goes into the image."""
        if self._in_symbols:
            return self._take_symbol(image, line)
        key, equals, value = line.partition(" =")
        if equals:
            return self._take_value(image, key, value.strip())
        if line == "symbols:":
            self._in_symbols = True
            self._image = replace(image, kernels=())
        elif line == "compressed":
            self._image = replace(image, compression=Compression.UNKNOWN)
        else:
            return line == "has debug info"
        return True

    def _take_value(self, image: Image, key: str, value: str) -> bool:
        if key == "arch":
            self._image = replace(image, arch=_parse_arch(value, self._stage))
            return self._image.arch is not None
        if key == "code version":
            match = _VERSION.fullmatch(value)
            if match and image.kind is ImageKind.PTX:
                self._image = replace(image, isa=(int(match[1]), int(match[2])))
            return match is not None
        if key == "ptxasOptions":
            if image.kind is ImageKind.PTX and _COMPILE_ONLY in value.split():
                self._image = replace(image, linkage=Linkage.RELOCATABLE)
            return True
        return key in _PLAIN

    def _take_symbol(self, image: Image, line: str) -> bool:
        """One row of ``-symbols``: type, binding, visibility, place, name."""
        words = line.split()
        if len(words) < 5:
            return False
        if words[0] == "FUNC" and words[3] == "ENTRY":
            self._image = replace(image, kernels=(*(image.kernels or ()), words[-1]))
        return True


def _parse_arch(value: str, stage: Stage) -> Arch | None:
    try:
        arch = Arch.parse(value)
    except ValueError:
        return None
    return Arch(stage, arch.capability, arch.suffix)


def parse_heads(lines: Iterator[str]) -> tuple[Head, ...]:
    """The cubins that ``cuobjdump -elf`` prints, by their first lines.

    A cubin's header names no suffix ``f``: that stands in ptxas's command line,
    which ptxas 13 leaves in a note. Lines in between are the cubins' insides and
    of no interest here.

    Args:
        lines: What it printed, line by line: this can be hundreds of megabytes.
    """
    heads: list[Head] = []
    for line in lines:
        if match := _ELF.match(line):
            linkage = Linkage.RELOCATABLE if match[1] == "ET_REL" else Linkage.EXECUTABLE
            heads.append(Head(Arch.parse(f"sm_{match[2]}"), linkage))
        elif heads and (match := _COMMAND.match(line)):
            told = Arch.parse(match[1])
            if told.capability == heads[-1].arch.capability:
                heads[-1] = replace(heads[-1], arch=told)
    return tuple(heads)
