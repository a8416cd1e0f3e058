"""Why an nvcc failed, from what it printed: a clause and a cure."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class NvccFailure:
    """A failure that is recognised.

    Args:
        reason: A clause that names the cause.
        advice: What cures it.
    """

    reason: str
    advice: str


@dataclass(frozen=True)
class _Row:
    """One text of the tools, and what it means; seen with nvcc 13.0 and gcc 12."""

    pattern: str
    reason: str
    advice: str


# The first that fits wins: a full disk and an old gcc, too, end in nvcc's
# "Failed to preprocess host compiler properties".
_ROWS = (
    _Row(
        r"No space left on device|Disk quota exceeded",
        "there is no room left for temporary files",
        "Make room, or set TMPDIR to a folder that has some.",
    ),
    _Row(
        r"unsupported GNU version|unsupported clang version|unsupported Microsoft Visual Studio",
        "the host compiler is too new for this nvcc",
        "Install an older one and name it: NVCC_PREPEND_FLAGS='-ccbin g++-13'",
    ),
    _Row(
        r"Cannot find compiler '?cl\.exe'?",
        "nvcc finds no cl.exe",
        "Use the x64 Native Tools prompt of Visual Studio.",
    ),
    _Row(
        r"(?:gcc|g\+\+|cc1plus|clang\+?\+?)\W{0,3}.{0,40}(?:No such file|not found)"
        r"|No such file or directory.*(?:gcc|g\+\+|cc1plus)|host compiler .*not found",
        "nvcc finds no host compiler, g++",
        "Install one, such as: apt-get install g++",
    ),
    _Row(
        r"Failed to preprocess host compiler properties",
        "nvcc cannot use its host compiler",
        "Try it by itself: echo 'int x;' | g++ -x c++ -c - -o /dev/null",
    ),
    _Row(
        r"Unsupported gpu architecture '([\w]+)'",
        "this nvcc cannot build {0}",
        "Ask what it can: nvcc --list-gpu-arch",
    ),
    _Row(
        r"cannot find -l(cudart\w*|cudadevrt)",
        "the linker does not find {0}",
        "Install the CUDA runtime of this toolkit: pip install nvidia-cuda-runtime",
    ),
    _Row(
        r"[Kk]illed|signal 9|out of memory allocating|Cannot allocate memory",
        "there was not enough memory",
        "Build fewer targets at a time, or on a machine with more.",
    ),
)


def explain_nvcc(text: str) -> NvccFailure | None:
    """What stands behind the messages of a failed nvcc; None where that is not known.

    Args:
        text: Its standard error and output.
    """
    for row in _ROWS:
        if match := re.search(row.pattern, text):
            groups = [group or "" for group in match.groups()]
            return NvccFailure(row.reason.format(*groups), row.advice)
    return None
