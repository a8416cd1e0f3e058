"""What a list of nvcc flags says about architectures, and the flags without it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from archbuild.errors import UsageError
from archbuild.model.arch import Arch, Stage, Suffix
from archbuild.model.gencode import Gencode

_ARCH = ("-arch", "--gpu-architecture")
_CODE = ("-code", "--gpu-code")
_GENCODE = ("-gencode", "--generate-code")
_CCBIN = ("-ccbin", "--compiler-bindir")
_THREADS = ("-t", "--threads")
_WORDS = ("native", "all", "all-major")

# What follows one of these belongs to another program: -Xcompiler -march=native
# says nothing about a GPU.
_PASSED_ON = (
    "-Xcompiler",
    "--compiler-options",
    "-Xptxas",
    "--ptxas-options",
    "-Xlinker",
    "--linker-options",
    "-Xnvlink",
    "--nvlink-options",
    "-Xfatbin",
    "--fatbin-options",
    "-Xcudafe",
    "-Xarchive",
    "--archive-options",
    "-Xcicc",
    "-I",
    "-isystem",
    "-D",
    "-include",
    "-o",
)


@dataclass(frozen=True)
class NvccFlags:
    """nvcc flags, taken apart.

    Args:
        gencodes: The images that they ask for, in the order of the flags.
        words: ``native``, ``all`` or ``all-major``, where ``-arch`` says so.
        rest: The flags that say nothing about architectures, unchanged.
        ccbin: The host compiler that they name.
        threads: The number that ``--threads`` gives.
    """

    gencodes: tuple[Gencode, ...] = ()
    words: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    ccbin: str | None = None
    threads: int | None = None

    @property
    def names_archs(self) -> bool:
        """Whether they say anything about architectures."""
        return bool(self.gencodes or self.words)


def parse_nvcc_flags(flags: Sequence[str], where: str = "the nvcc flags") -> NvccFlags:
    """Take a list of nvcc flags apart, as nvcc 13 itself reads them.

    Args:
        flags: One word each, or with an option and its value in two words.
        where: What the flags are, for messages.

    Raises:
        UsageError: If an architecture flag has no value, or one that nvcc
            would refuse.
    """
    archs: list[str] = []
    codes: list[str] = []
    gencodes: list[Gencode] = []
    rest: list[str] = []
    ccbin: str | None = None
    threads: int | None = None
    words = iter(flags)
    for word in words:
        option, value, tail = _option(word)
        if option in _PASSED_ON and value is None:
            rest += [word, *_next(words)]
            continue
        if value is None and option in _ARCH + _CODE + _GENCODE + _CCBIN + _THREADS:
            following = _next(words)
            if not following:
                raise UsageError(f"{word} in {where} has no value.", "Give it one, or drop it.")
            value, tail = following[0], [word, *following]
        if option in _ARCH:
            archs.append(str(value))
        elif option in _CODE:
            codes.append(str(value))
        elif option in _GENCODE:
            gencodes += _gencode(str(value), where)
        else:
            rest += tail
            ccbin = value if option in _CCBIN else ccbin
            if option in _THREADS and value is not None and value.isdigit():
                threads = int(value)
    shorthand, named = _shorthand(archs, codes, where)
    return NvccFlags((*gencodes, *shorthand), named, tuple(rest), ccbin, threads)


def parse_nvcc_variable(text: str | None, name: str) -> NvccFlags:
    """Take NVCC_PREPEND_FLAGS or NVCC_APPEND_FLAGS apart.

    Args:
        text: The variable's value; None where it is not set.
        name: The variable's name, for messages.

    Raises:
        UsageError: If a quote in it is never closed, or as
            :func:`parse_nvcc_flags` does.
    """
    try:
        words = shlex.split(text or "")
    except ValueError as error:
        raise UsageError(f"{name} cannot be split into flags: {error}.") from None
    return parse_nvcc_flags(words, name)


def _option(word: str) -> tuple[str, str | None, list[str]]:
    name, equals, value = word.partition("=")
    return name, value if equals else None, [word]


def _next(words: Iterator[str]) -> list[str]:
    following = next(words, None)
    return [] if following is None else [following]


def _gencode(value: str, where: str) -> tuple[Gencode, ...]:
    try:
        return Gencode.parse(value)
    except ValueError as error:
        raise UsageError(f"{where}: {error}.") from None


def _shorthand(
    archs: list[str], codes: list[str], where: str
) -> tuple[tuple[Gencode, ...], tuple[str, ...]]:
    """The meaning of ``-arch`` and ``-code``, of which nvcc takes the last."""
    if not archs:
        if codes:
            raise UsageError(f"-code={codes[-1]} in {where} has no -arch beside it.")
        return (), ()
    if archs[-1] in _WORDS:
        return (), (archs[-1],)
    try:
        arch = Arch.parse(archs[-1])
        if codes:
            names = codes[-1].strip("[]").split(",")
            return tuple(Gencode(arch.virtual, Arch.parse(n.strip())) for n in names), ()
    except ValueError as error:
        raise UsageError(f"{where}: {error}.") from None
    return _implied(arch), ()


def _implied(arch: Arch) -> tuple[Gencode, ...]:
    """What ``-arch=X`` alone leaves: nvcc 13.0 adds plain PTX beside a suffixed one."""
    if arch.stage is Stage.LTO:
        return (Gencode(arch.virtual, arch),)
    images = [arch] if arch.is_real else []
    images.append(arch.virtual)
    found = [Gencode(arch.virtual, image) for image in images]
    if arch.suffix is not Suffix.PLAIN:
        plain = Arch(Stage.VIRTUAL, arch.capability)
        found.append(Gencode(plain, plain))
    return tuple(found)
