"""Development builds: one virtual architecture, assembled for every real one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archbuild.errors import UsageError
from archbuild.model.arch import Stage, Suffix
from archbuild.model.gencode import Gencode

#: The variable that asks for one.
DEV_VARIABLE = "ARCHBUILD_DEV"

_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")


def wants_development(asked: bool | None, variable: str | None) -> bool:
    """Whether a development build is wanted.

    Args:
        asked: The argument ``dev``; None where it isn't given. It wins.
        variable: The value of ``ARCHBUILD_DEV``; None where it isn't set.

    Raises:
        UsageError: If the variable is neither yes nor no.
    """
    if asked is not None:
        return asked
    value = (variable or "").strip().lower()
    if value not in (*_YES, *_NO):
        raise UsageError(
            f"{DEV_VARIABLE} is {variable!r}, which is neither yes nor no.",
            "Set it to 1 for a development build, to 0 or not at all for a whole one.",
        )
    return value in _YES


def develop(gencodes: Sequence[Gencode]) -> tuple[Gencode, ...]:
    """The same images from as few compiles as can be; the code in them is another.

    Every real architecture is assembled from the lowest plain virtual one, and
    PTX, if there was any, is of that one, so that no GPU is lost. What is made
    from an ``a`` or ``f`` architecture keeps it: nvcc 13.0 makes no ``f`` image
    from a plain one, and an ``a`` image from it would lack what it is made for.
    LTO-IR stays as well.

    Args:
        gencodes: What a whole build passes to nvcc.

    Returns:
        What a development build passes, without repetitions; equal to
        ``gencodes`` where nothing can be saved.
    """
    plain = [gencode for gencode in gencodes if _is_plain(gencode)]
    if not plain:
        return tuple(gencodes)
    lowest = min(gencode.virtual for gencode in plain)
    moved = (
        Gencode(lowest, gencode.code if gencode.code.is_real else lowest)
        if _is_plain(gencode)
        else gencode
        for gencode in gencodes
    )
    return tuple(dict.fromkeys(moved))


def describe_development(before: Sequence[Gencode], after: Sequence[Gencode]) -> tuple[str, ...]:
    """What a person should be told of a development build, one sentence each.

    Args:
        before: What a whole build would pass to nvcc.
        after: What :func:`develop` made of it.
    """
    if tuple(before) == tuple(after):
        return ("A development build has nothing to save here: no two images share a compile.",)
    return tuple(_sentences(before, after))


def _sentences(before: Sequence[Gencode], after: Sequence[Gencode]) -> Iterator[str]:
    plain = [gencode for gencode in after if _is_plain(gencode)]
    lowest = plain[0].virtual
    real = ", ".join(str(gencode.code) for gencode in plain if gencode.code.is_real)
    yield (
        f"Development build: {lowest} is compiled once and assembled for {real}. All of it is the "
        f"code of {lowest} (__CUDA_ARCH__ is {lowest.capability.number}0), not what those GPUs get "
        "from a whole build: don't measure it, don't ship it."
    )
    own = [str(gencode.target) for gencode in after if not _is_plain(gencode)]
    if own:
        yield f"Compiled as in a whole build: {', '.join(own)}."
    lost = sorted({g.code for g in before if g.code.is_virtual} - {g.code for g in after})
    if lost:
        names = ", ".join(map(str, lost))
        yield f"PTX is of {lowest} instead of {names}; it reaches every GPU that {names} reaches."


def _is_plain(gencode: Gencode) -> bool:
    return gencode.virtual.suffix is Suffix.PLAIN and gencode.code.stage is not Stage.LTO
