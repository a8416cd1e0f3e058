"""Why a compiler, linker or ninja failed, from what it printed: a sentence and a cure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from archbuild.model.arch import Arch, Suffix
from archbuild.rules.building.build_error import BuildError, page_of_error
from archbuild.rules.building.source_errors import SOURCE_ERRORS
from archbuild.rules.building.tool_errors import TOOL_ERRORS
from archbuild.rules.filling import fill

# The tables of architectures and drivers are loaded where they are used: few failures need them.
# ruff: noqa: PLC0415

#: Every text that is known.
BUILD_ERRORS = (*TOOL_ERRORS, *SOURCE_ERRORS)

_BY_CODE = {row.code: row for row in BUILD_ERRORS}
#: As a shell and as Python tell of a process that a signal ended.
_BY_SIGNAL = {9: "A101", 6: "A118", 7: "A118", 11: "A118"}


@dataclass(frozen=True)
class Explanation:
    """What stands behind a failure.

    Args:
        code: Stable, ``A101``.
        sentence: What is wrong.
        cure: What to do about it.
    """

    code: str
    sentence: str
    cure: str

    @property
    def clause(self) -> str:
        """The sentence as a part of another one, which ends elsewhere."""
        first = re.match(r"(?:A|An|Code|Device|Relocatable|The|There|This|Two)\b", self.sentence)
        begin = self.sentence[0].lower() if first else self.sentence[0]
        return (begin + self.sentence[1:]).removesuffix(".")

    @property
    def page(self) -> str:
        """Where the documentation tells of it."""
        return page_of_error(self.code)


@dataclass(frozen=True)
class _Context:
    source: str | None
    memory_free: int | None
    archs: tuple[Arch, ...]


def explain_failure(
    output: str,
    status: int,
    *,
    source: str | None = None,
    memory_free: int | None = None,
    archs: Iterable[Arch] = (),
) -> Explanation | None:
    """What stands behind a failure; None where that is not known, or where nothing failed.

    Args:
        output: What the tool printed.
        status: 0; an exit status; or minus a signal's number.
        source: The source that was compiled, for cures that name it.
        memory_free: Bytes that the build had, for cures that name them.
        archs: What the nvcc can build, to name the nearest where it can't build one.
    """
    if status == 0:
        return None
    context = _Context(source, memory_free, tuple(archs))
    found = _cause(_spoken(output))
    if found is not None:
        row, match = found
        return _explain(row, _values(match), context)
    code = _BY_SIGNAL.get(-status if status < 0 else status - 128)
    return _explain(_BY_CODE[code], {}, context) if code else None


_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# Lines of the source that compilers quote: gcc with a bar, nvcc above a lone caret.
_QUOTED = re.compile(r"^ *(?:\d+ *)?\| .*$|^.*\n(?= *\^[ ~^]*$)", re.MULTILINE)


def _spoken(output: str) -> str:
    """The compiler's own words, without the lines of source that it quotes."""
    return _QUOTED.sub("", plain_words(output))


def plain_words(output: str) -> str:
    """What a tool printed, without colours, in lines that end as everywhere."""
    return _COLOURS.sub("", output).replace("\r\n", "\n")


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Compiled when something fails, which is seldom."""
    return tuple(re.compile(row.pattern, re.MULTILINE) for row in BUILD_ERRORS)


def _cause(text: str) -> tuple[BuildError, re.Match[str]] | None:
    found = [
        (row.rank, match.start(), index, match)
        for index, (row, pattern) in enumerate(zip(BUILD_ERRORS, _patterns(), strict=True))
        if (match := pattern.search(text))
    ]
    if not found:
        return None
    *_, index, match = min(found, key=lambda each: each[:3])
    return BUILD_ERRORS[index], match


def _values(match: re.Match[str]) -> dict[str, str]:
    """The named groups; the first name stands for whichever alternative matched."""
    groups = match.groupdict()
    values = {name: value.strip() for name, value in groups.items() if value}
    if values and (first := next(iter(groups))) not in values:
        values[first] = next(iter(values.values()))
    return values


def _explain(row: BuildError, values: dict[str, str], context: _Context) -> Explanation:
    values["source"] = context.source or "x.cu"
    if row.code in _MORE:
        values |= _MORE[row.code](values, context)
    return Explanation(row.code, fill(row.sentence, values), fill(row.cure, values))


def _memory(_values: Mapping[str, str], context: _Context) -> dict[str, str]:
    if context.memory_free is None:
        return {}
    return {"free": f"{context.memory_free / 1e9:.1f} GB"}


def _limit(values: Mapping[str, str], _context: _Context) -> dict[str, str]:
    return {"limit": values.get("most", "12")}


def _glibc(values: Mapping[str, str], _context: _Context) -> dict[str, str]:
    # cospi and sinpi came with glibc 2.41, rsqrt with 2.42; the headers of CUDA 13.0 know the
    # first two, those of 13.2 all (read in 13.0 and 13.5; llvm-project PR#185701 for 13.2).
    if values["function"] == "rsqrt":
        return {"fixed": "13.2", "older": "2.41"}
    return {"fixed": "13.0", "older": "2.40"}


def _isa(values: Mapping[str, str], _context: _Context) -> dict[str, str]:
    from archbuild.facts.drivers import CUDA_VERSIONS

    known = values["known"]
    told = [str(row.cuda) for row in CUDA_VERSIONS if f"{row.isa[0]}.{row.isa[1]}" == known]
    return {"cuda": told[-1]} if told else {}


def _unknown_arch(values: Mapping[str, str], context: _Context) -> dict[str, str]:
    from archbuild.rules.covering.reach import nearest_real
    from archbuild.rules.selecting.buildable import toolkit_cure

    try:
        target = Arch.parse(values["arch"]).real
    except ValueError:
        return {}
    near = nearest_real(context.archs, target.capability)
    told = {"toolkits": toolkit_cure(target)}
    if near is not None:
        runs = f"{near} runs on {target.capability} devices"
        told["nearest"] = f"{near.dotted} is the nearest that would serve: {runs}."
    return told


# Which architectures have what, by the ptxas of CUDA 13.0, tried one by one.
_SUFFIXED = (
    (r"wgmma\b", "9.0a"),
    (r"tcgen05\b|\.cta_group\b", "10.0f"),
    (r"redux\.f32|redux.*NaN", "10.0f"),
    (r"\.block_scale|\.kind::|\.scale_vec|block scale", "12.0f"),
)


def _suffix(values: Mapping[str, str], context: _Context) -> dict[str, str]:
    """Architectures that have an instruction: those known for it, or the target with an ``a``."""
    for pattern, archs in _SUFFIXED:
        if re.search(pattern, values["what"]):
            # Families came with CUDA 12.9; before, the chip itself has to do.
            old = context.archs and not any(a.suffix is Suffix.FAMILY for a in context.archs)
            return {"archs": archs.replace("f", "a") if old else archs}
    target = Arch.parse(values["target"])
    return {"archs": f"{target.capability}a"} if target.suffix is Suffix.PLAIN else {}


def _least(values: Mapping[str, str], _context: _Context) -> dict[str, str]:
    least = Arch.parse(values["least"]).capability
    return {"dotted": str(least), "number": str(least.number * 10)}


_MORE: dict[str, Callable[[Mapping[str, str], _Context], dict[str, str]]] = {
    "A101": _memory,
    "A110": _limit,
    "A114": _glibc,
    "A116": _isa,
    "A120": _unknown_arch,
    "A121": _suffix,
    "A122": _least,
}
