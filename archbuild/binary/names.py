"""Names of kernels that compare equal between two builds of the same source."""

from __future__ import annotations

import re

# What is internal to a translation unit bears the unit's identity in its name:
#   33_GLOBAL__N__0c456945_4_k_cu_plain               a namespace without a name
#   53_INTERNAL_02c668e1_16_CumprodKernel_cu_a572bb77_9331   an inline namespace
#   __nv_static_22__0c456945_4_k_cu_plain__Z6hiddenPi  a static kernel, with -rdc
# The identity: a hash of the source's path, the length of its file name, the name, then
# a symbol that it defines or, if there is none, a checksum and the number of a process.
_UNIT = re.compile(
    r"(?:(?P<length>\d+)(?P<kind>_GLOBAL__N_|_INTERNAL)|__nv_static_(?P<static>\d+)_)"
    r"(?P<hash>_[0-9a-f]{8}_)(?P<file>\d{1,3})_"
)
_PER_BUILD = re.compile(r"[0-9a-f]{8}(_\d+)?")
_ZEROS = "00000000"


def normalize(name: str) -> str:
    """A mangled name without what changes from build to build.

    Lengths are mended, so that the name can still be demangled.

    Args:
        name: As it stands in the image.

    Examples:
        >>> normalize("_ZN33_GLOBAL__N__0c456945_4_k_cu_plain4anonEPf")
        '_ZN33_GLOBAL__N__00000000_4_k_cu_plain4anonEPf'
        >>> normalize("_Z5scaleIfEvPT_S0_")
        '_Z5scaleIfEvPT_S0_'
    """
    parts, place = [], 0
    while (match := _UNIT.search(name, place)) is not None:
        digits = match["length"] or match["static"]
        own = _component(name, match)
        if own is None:
            parts.append(name[place : match.end("hash")])
            place = match.end("hash")
            continue
        length, body, stop = own
        mended = _mended(match, body)
        start = match.start("length") if match["length"] else match.start("static")
        parts.append(name[place : start + len(digits) - length])
        kind = match["kind"] or ""
        parts.append(f"{len(kind) + len(mended)}{'' if kind else '_'}{kind}{mended}")
        place = stop
    return "".join(parts) + name[place:]


def _component(name: str, match: re.Match[str]) -> tuple[int, str, int] | None:
    """How many digits tell the length, what they measure from the hash on, its end."""
    digits = match["length"] or match["static"]
    start = match.start("kind") if match["kind"] else match.start("hash")
    least = match.end() + int(match["file"])
    # A name that ends in a digit may stand right before the length.
    for used in range(min(len(digits), 4), 0, -1):
        stop = start + int(digits[-used:])
        if least <= stop <= len(name):
            return used, name[match.start("hash") : stop], stop
    return None


def _mended(match: re.Match[str], body: str) -> str:
    cut = match.end() - match.start("hash") + int(match["file"])
    head, tail = body[len(match["hash"]) : cut], body[cut:]
    if tail.startswith("_") and _PER_BUILD.fullmatch(tail, 1):
        tail = f"_{_ZEROS}"
    return f"_{_ZEROS}_{head}{tail}"


# Digits in a mangled name that are no length of a name which follows: those of literals,
# substitutions, template parameters, arrays, vectors, function parameters and lambdas.
_DIGITS = re.compile(r"L[a-z]n?\d+E|(?:S[0-9A-Z]*|T\d*|A\d+|Dv\d+|fp\d*|E\d*)_|(\d+)")
_WIDE = str.maketrans("lm", "xy")


def widen(name: str) -> str:
    """A key which is the same whether 64 bits were spelt ``long`` or ``long long``.

    ``int64_t`` is the former on Linux and the latter on Windows, so that one source
    gives kernels of two names: ``l`` and ``x`` there, ``m`` and ``y`` if unsigned.
    The key is as long as the name and no name itself.

    Args:
        name: A mangled name.

    Examples:
        >>> widen("_Z4fillPlm") == widen("_Z4fillPxy")
        True
        >>> widen("_Z4lullPf")
        '_Z4lullPf'
    """
    place = name.find("_Z")
    if place < 0:
        return name
    parts = [name[:place]]
    while (match := _DIGITS.search(name, place)) is not None:
        start, stop = match.span()
        parts.append(name[place:start].translate(_WIDE))
        if match[1]:  # A name, as long as the digits say: its letters are no types.
            stop += int(match[1]) if len(match[1]) < 6 else len(name)
            parts.append(name[start:stop])
        else:
            parts.append(match[0].translate(_WIDE))
        place = min(stop, len(name))
    return "".join(parts) + name[place:].translate(_WIDE)
