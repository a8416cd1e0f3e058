"""PTX text: its version, its target and its entry functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archbuild.binary import limits
from archbuild.binary.contents import Contents, Depth
from archbuild.binary.source import Source
from archbuild.errors import BinaryError
from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix
from archbuild.model.image import Binding, Kernel

# Comments and blanks may come first, then always the version.
_BEGINNING = re.compile(rb"(?s)(?:\s|//[^\n]*\n|/\*.*?\*/)*\.version\s+(\d+)\.(\d+)")
_MARKS = re.compile(rb"/\*|//|\"")
_ENDS = {b"/*": b"*/", b"//": b"\n", b'"': b'"'}
_TARGET = re.compile(rb"\.target\s+sm_(\d{2,3})([af]?)(?![0-9A-Za-z_])")
_ENTRY = re.compile(rb"\.entry\s+([A-Za-z_$%][\w$]*)")
# What may stand before a variable of the whole text; one that is extern lies elsewhere.
_BEFORE_VARIABLE = (b"", b".visible", b".weak", b".common")
_VARIABLES = (b".global ", b".global\t", b".const ", b".const\t")
_BINDINGS = {b".visible": Binding.GLOBAL, b".weak": Binding.WEAK}

# No line of a compiler is longer; of a longer one only the end is looked at.
_LINE = 4096

#: Bytes from the start among which the version of a PTX text has to be.
BEGINNING = 4096


def find_isa(head: bytes) -> tuple[int, int] | None:
    """The PTX ISA at the start of a text; None if it is no PTX.

    Args:
        head: The first bytes of a file.

    Examples:
        >>> find_isa(b".version 8.7 .target sm_90")
        (8, 7)
    """
    match = _BEGINNING.match(head[:BEGINNING])
    return (int(match[1]), int(match[2])) if match and len(match[1] + match[2]) < 8 else None


def read_ptx(source: Source, depth: Depth) -> Contents:
    """What lies in a PTX text.

    Args:
        source: The text, inflated.
        depth: How far to read.

    Raises:
        BinaryError: If it is longer than any PTX text, or damaged.
    """
    if depth is Depth.HEADERS:
        head = source.peek(0, BEGINNING)
        return Contents(arch=_arch(head), isa=find_isa(head))
    if source.size > limits.TEXT:
        message = f"{source.name} holds PTX of {source.size} bytes."
        raise BinaryError(message, "No compiler writes so much: the file is damaged.")
    data = source.peek(0, source.size)
    text = b" ".join(_without_comments(data)) if b"/*" in data else data
    kernels = tuple(_kernels(text))
    return Contents(
        kernels=tuple(kernel.name for kernel in kernels),
        details=kernels if depth is Depth.DETAILS else None,
        variables=sum(_count(text, word) for word in _VARIABLES),
        arch=_arch(text),
        isa=find_isa(data),
    )


def _without_comments(text: bytes) -> Iterator[bytes]:
    """The text between the comments, in one pass; strings are left as they are."""
    start = place = 0
    while (match := _MARKS.search(text, place)) is not None:
        end = _ENDS[match[0]]
        stop = text.find(end, match.end())
        place = stop + len(end) if stop >= 0 else len(text)
        if match[0] != b'"':
            yield text[start : match.start()]
            start = stop if end == b"\n" and stop >= 0 else place
    yield text[start:]


def _arch(text: bytes) -> Arch | None:
    for match in _TARGET.finditer(text):
        if _is_code(_line_before(text, match.start())):
            capability = ComputeCapability.from_number(int(match[1]))
            return Arch(Stage.VIRTUAL, capability, Suffix(match[2].decode()))
    return None


def _kernels(text: bytes) -> Iterator[Kernel]:
    for match in _ENTRY.finditer(text):
        start = match.start()
        if _is_code(_line_before(text, start)):
            word = text[max(0, start - 32) : start].split()[-1:]
            binding = _BINDINGS.get(word[0] if word else b"", Binding.LOCAL)
            yield Kernel(match[1].decode(), binding)


def _count(text: bytes, word: bytes) -> int:
    """How often a line of its own begins with this word, as that of a variable does."""
    count, place = 0, -1
    while (place := text.find(word, place + 1)) >= 0:
        count += _line_before(text, place).strip() in _BEFORE_VARIABLE
    return count


def _line_before(text: bytes, place: int) -> bytes:
    first = max(0, place - _LINE)
    return text[max(first, text.rfind(b"\n", first, place) + 1) : place]


def _is_code(before: bytes) -> bool:
    """Whether what follows on the line is neither in a comment nor in a string."""
    return b"//" not in before and before.count(b'"') % 2 == 0
