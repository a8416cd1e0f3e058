"""Ask a host compiler for its version, and a toolkit for what it takes."""

from __future__ import annotations

import re
from pathlib import Path

from archbuild.model.host import HostCompiler, HostLimits
from archbuild.model.machine import Toolkit
from archbuild.probe.process import Failure, run_limited

_LIMITS = {
    "gcc": re.compile(r"__GNUC__\s*>\s*(\d+)"),
    "clang": re.compile(r"__clang_major__\s*(>=|>)\s*(\d+)"),
}

# gcc's stands behind what the distribution wrote in brackets, clang's behind its
# name: "g++ (GCC) 8.5.0 20210514 (Red Hat 8.5.0-18)",
# "Apple clang version 15.0.0 (clang-1500.3.9.4)".
_VERSIONS = {
    "gcc": re.compile(r"\) (\d+)\.\d"),
    "clang": re.compile(r"\bclang version (\d+)\."),
}


def query_host_compiler(command: str, *, timeout: float = 5.0) -> HostCompiler:
    """Ask a compiler what it is.

    Args:
        command: ``g++``, a path, or a folder that holds a ``g++`` (``-ccbin``
            takes that as well).
        timeout: Seconds.
    """
    path = Path(command)
    asked = str(path / "g++") if path.is_dir() else command
    answer = run_limited([asked, "--version"], timeout=timeout)
    if answer.failure is Failure.NOT_FOUND:
        return HostCompiler(command, "unknown", None, found=False)
    first = answer.stdout.partition("\n")[0]
    if "clang" in first:
        family = "clang"
    elif re.search(r"\b(g\+\+|gcc|c\+\+)", first) or "Free Software Foundation" in answer.stdout:
        family = "gcc"
    else:
        return HostCompiler(command, "unknown", None)
    version = _VERSIONS[family].search(first)
    return HostCompiler(command, family, int(version[1]) if version else None)


def read_host_limits(toolkit: Toolkit) -> HostLimits:
    """Read the newest gcc and clang out of the toolkit's ``crt/host_config.h``.

    Args:
        toolkit: Its include folders are searched.
    """
    for folder in toolkit.include:
        header = Path(folder) / "crt" / "host_config.h"
        try:
            text = header.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        return HostLimits(_gcc_limit(text), _clang_limit(text), str(header))
    return HostLimits(None, None, "no crt/host_config.h found")


def _gcc_limit(text: str) -> int | None:
    found = [int(number) for number in _LIMITS["gcc"].findall(text)]
    return max(found, default=None)


def _clang_limit(text: str) -> int | None:
    # "> 20" and ">= 21" say the same; the header holds both, and one for other compilers.
    found = [int(n) - (1 if sign == ">=" else 0) for sign, n in _LIMITS["clang"].findall(text)]
    return max(found, default=None)
