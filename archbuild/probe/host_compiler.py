"""Ask a host compiler for its version, and a toolkit for what it takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from archbuild.model.host import HostCompiler, HostLimits
from archbuild.model.machine import Toolkit, TorchBuild
from archbuild.probe.places import is_file, numbered
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

# With a prefix it compiles for the processor named there: that must be this one.
_PROGRAM = re.compile(
    r"(?:(?P<processor>\w+)-(?:\w+-)?linux-gnu-)?(?:g\+\+|c\+\+|clang\+\+)(?:-\d+)?", re.ASCII
)

# Links to these bear a compiler's name and call whichever comes later on PATH.
_WRAPPERS = ("ccache", "sccache", "distcc", "icecc")

_CPLUSPLUS = re.compile(r"__cplusplus\s*<\s*(\d{6})L")


def find_host_compilers(
    folders: Iterable[str | Path], processor: str, *, toolsets: Path = Path("/opt/rh")
) -> tuple[HostCompiler, ...]:
    """Every C++ compiler in some folders, each asked once for its version.

    Args:
        folders: Those of PATH, in its order.
        processor: This machine's, ``x86_64``: compilers for others are left out.
        toolsets: Where Red Hat's newer compilers lie, which are not on PATH.

    Returns:
        They, by their full paths; one that has several names is there by its first.
    """
    roots = numbered(toolsets, r"gcc-toolset-(\d+)")
    places = [*map(Path, folders), *(root / "root/usr/bin" for root in roots)]
    found: dict[Path, Path] = {}
    for path in (path for folder in places for path in _compilers(folder, processor)):
        real = path.resolve()
        if real.name not in _WRAPPERS:
            found.setdefault(real, path)
    return tuple(query_host_compiler(str(path)) for path in found.values())


def _compilers(folder: Path, processor: str) -> Iterator[Path]:
    try:
        # An empty piece of PATH means the current folder, which is no place for compilers.
        paths = sorted(folder.iterdir()) if folder.is_absolute() else []
    except OSError:
        return
    for path in paths:
        match = _PROGRAM.fullmatch(path.name)
        if match and match["processor"] in (None, processor) and is_file(path):
            yield path


def query_default_host() -> HostCompiler:
    """What nvcc calls by itself: the ``gcc`` on PATH, which needs g++'s parts for C++."""
    for command in ("g++", "gcc"):
        compiler = query_host_compiler(command)
        if not compiler.found:
            return compiler
    return compiler


def read_torch_standard(torch: TorchBuild) -> int | None:
    """The least ``__cplusplus`` that torch's headers take; None where they don't say."""
    try:
        with Path(torch.root, "include", "ATen", "ATen.h").open("rb") as file:
            found = _CPLUSPLUS.search(file.read(4096).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return None
    return int(found[1]) if found else None


def read_distribution(root: str = "/") -> tuple[str, ...]:
    """ID and ID_LIKE of the distribution, ``("ubuntu", "debian")``.

    Args:
        root: The folder that holds ``etc`` and ``usr``.
    """
    for place in ("etc/os-release", "usr/lib/os-release"):
        try:
            text = Path(root, place).read_text("utf-8", "replace")
        except OSError:
            continue
        lines = [line.strip().partition("=") for line in text.splitlines()]
        stated = {name: _unquoted(value) for name, _, value in lines}
        return (*stated.get("ID", ()), *stated.get("ID_LIKE", ()))
    return ()


def _unquoted(value: str) -> tuple[str, ...]:
    try:
        return tuple(" ".join(shlex.split(value)).split())
    except ValueError:
        return ()


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
