"""What a list of nvcc flags says about architectures, and the flags without it."""

from __future__ import annotations

import re
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
_RDC = ("-rdc", "--relocatable-device-code")
_DEVICE_C = ("-dc", "--device-c")
_DLTO = ("-dlto", "--dlink-time-opt")
_WORDS = ("native", "all", "all-major")
_VALUED = (*_ARCH, *_CODE, *_GENCODE, *_CCBIN, *_THREADS, *_RDC)
_SHORT_THREADS = re.compile(r"-t=?(\d+)", re.ASCII)

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
        relocatable: Whether they ask for code that a device link completes
            (``-dc``, ``-rdc=true``, or ``-dlto``, which implies it).
        lto: Whether ``-dlto`` is among them.
    """

    gencodes: tuple[Gencode, ...] = ()
    words: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    ccbin: str | None = None
    threads: int | None = None
    relocatable: bool = False
    lto: bool = False

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
    pairs = list(_pairs(flags, where))
    gencodes = [g for o, v, _ in pairs if o in _GENCODE for g in _gencode(v, where)]
    archs = [value for option, value, _ in pairs if option in _ARCH]
    codes = [value for option, value, _ in pairs if option in _CODE]
    shorthand, named = _shorthand(archs, codes, where)
    about = _ARCH + _CODE + _GENCODE
    rest = [word for option, _, words in pairs if option not in about for word in words]
    ccbin = [value for option, value, _ in pairs if option in _CCBIN]
    threads = [int(v) for o, v, _ in pairs if o in _THREADS and v.isdecimal() and v.isascii()]
    rdc = [value for option, value, _ in pairs if option in _RDC]
    lto = any(option in _DLTO for option, _, _ in pairs)
    device_c = any(option in _DEVICE_C for option, _, _ in pairs)
    return NvccFlags(
        (*gencodes, *shorthand),
        named,
        tuple(rest),
        ccbin[-1] if ccbin else None,
        threads[-1] if threads else None,
        relocatable=lto or device_c or rdc[-1:] == ["true"],
        lto=lto,
    )


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


def _pairs(flags: Sequence[str], where: str) -> Iterator[tuple[str, str, list[str]]]:
    """Each option with its value, empty where it has none, and the words of both.

    The value of an option that is meant for another program is not looked at.
    """
    words = iter(flags)
    for word in words:
        option, equals, value = word.partition("=")
        short = _SHORT_THREADS.fullmatch(word)
        if short is not None:
            yield "-t", short[1], [word]
        elif equals or option not in (*_PASSED_ON, *_VALUED):
            yield option, value, [word]
        else:
            following = next(words, None)
            if following is None and option in _VALUED:
                raise UsageError(f"{word} in {where} has no value.", "Give it one, or drop it.")
            yield option, following or "", [word] if following is None else [word, following]


def _gencode(value: str, where: str) -> tuple[Gencode, ...]:
    try:
        return Gencode.parse(value)
    except ValueError as error:
        raise UsageError(f"{where}: {error}.") from None


def _shorthand(
    archs: list[str], codes: list[str], where: str
) -> tuple[tuple[Gencode, ...], tuple[str, ...]]:
    """The meaning of ``-arch``, of which the last counts, and ``-code``, which add up."""
    if not archs:
        if codes:
            raise UsageError(f"-code={codes[-1]} in {where} has no -arch beside it.")
        return (), ()
    if archs[-1] in _WORDS and not codes:
        return (), (archs[-1],)
    if codes and not archs[-1].startswith(("compute_", "lto_")):
        raise UsageError(
            f"-code={','.join(codes)} in {where} stands beside -arch={archs[-1]}.",
            "nvcc wants a virtual architecture there: -arch=compute_90 -code=sm_90",
        )
    try:
        arch = Arch.parse(archs[-1])
        names = [Arch.parse(name) for value in codes for name in value.split(",")]
    except ValueError as error:
        raise UsageError(f"{where}: {error}.") from None
    return (tuple(Gencode(arch, name) for name in names) if codes else _implied(arch)), ()


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


def without_threads(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags but for ``--threads``, of which several can't be given.

    Args:
        flags: nvcc's, each a word.
    """
    kept: list[str] = []
    words = iter(flags)
    for word in words:
        if word in _PASSED_ON:
            kept += [word, *([value] if (value := next(words, None)) is not None else [])]
        elif word in _THREADS:
            next(words, None)
        elif not word.startswith("--threads=") and _SHORT_THREADS.fullmatch(word) is None:
            kept.append(word)
    return tuple(kept)
