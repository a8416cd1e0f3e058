"""Huge pages for nvcc's two parsers, which spend a tenth of their time without them.

cicc and cudafe++ take 2 to 3 GB to parse ``torch/extension.h``, and walk long lists in
it. In pages of 4 KiB most steps miss the processor's table of addresses. Where Linux
gives huge pages to those who ask (``madvise``, which is Ubuntu's setting; with ``always``
there is nothing to ask for), glibc asks for programs that use its allocator, as cudafe++
does, when GLIBC_TUNABLES says so. cicc brings an allocator of its own that never asks:
a library of ours, loaded into it alone, asks for each large piece that it takes.

What is made is the same. It takes some 8 % more memory, so it is for builds that have
plenty; and it is left out wherever anything of it isn't as expected, and in virtual
machines whose host takes free memory back ("free page reporting", as Firecracker and
QEMU can): each huge page is then fetched from the host anew in 512 pieces, and a build
takes 5 to 13 % longer instead.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from archbuild.model.build import Edge, Step
from archbuild.probe.cgroups import read_text
from archbuild.probe.process import run_limited
from archbuild.probe.writing import write_whole

#: ``0`` turns them off; ``1`` asks for them where they are thought to cost more, too.
VARIABLE = "ARCHBUILD_HUGE_PAGES"
_SETTING = "sys/kernel/mm/transparent_hugepage/enabled"
_DEVICES = "sys/bus/virtio/devices/*/device"
_BALLOON = "0x0005"
_LIBRARY = "huge_pages.so"
_TUNABLE = "glibc.malloc.hugetlb"
# Seconds; it takes a tenth of one.
_PATIENCE = 30.0
# Larger base pages have huge ones of 32 MB and more, which nobody has measured.
_BASE_PAGE = 4096

_SOURCE = """\
/* Asks for huge pages for each large piece of memory that a program takes. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  void *piece = (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
  if (piece != MAP_FAILED && (flags & MAP_ANONYMOUS) && length >= ((size_t)2 << 20))
    syscall(SYS_madvise, piece, length, MADV_HUGEPAGE);
  return piece;
}

void *mmap64(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  return mmap(address, length, protection, flags, file, offset);
}
"""


def must_ask(environ: Mapping[str, str], root: str = "/") -> bool:
    """Whether huge pages are given here to those who ask, and a build may.

    Args:
        environ: The variables of the build.
        root: The folder that holds ``sys``.
    """
    said = environ.get(VARIABLE, "").strip()
    if said == "0" or platform.machine() not in _MACHINES:
        return False
    if "[madvise]" not in (read_text(Path(root) / _SETTING) or ""):
        return False
    if os.sysconf("SC_PAGE_SIZE") != _BASE_PAGE:
        return False
    return said == "1" or not _gives_back(Path(root))


def _gives_back(root: Path) -> bool:
    """Whether this is a virtual machine that tells its host which memory is free.

    From the virtio specification 1.3: device 5 is the memory balloon, bit 5 of its
    features VIRTIO_BALLOON_F_REPORTING; sysfs writes the bits from the lowest on.
    """
    for device in root.glob(_DEVICES):
        features = (read_text(device.with_name("features")) or "").strip()
        if (read_text(device) or "").strip() == _BALLOON and features[5:6] == "1":
            return True
    return False


_MACHINES = ("x86_64", "aarch64")


def with_huge_pages(
    edges: Iterable[Edge], environ: Mapping[str, str], library: Path | None
) -> tuple[Edge, ...]:
    """The edges, with the variables by which their programs ask for huge pages.

    Args:
        edges: Those of a plan.
        environ: The variables of the build: what they say already stays.
        library: What :func:`make_library` made; None: cicc goes without.
    """
    variables: dict[Step, Mapping[str, str]] = {Step.SPLIT: _tunables(environ)}
    if library is not None:
        variables[Step.DEVICE] = _preload(environ, library)
    return tuple(
        replace(edge, environ=tuple(variables[edge.step].items()))
        if edge.step in variables
        else edge
        for edge in edges
    )


def _tunables(environ: Mapping[str, str]) -> Mapping[str, str]:
    said = environ.get("GLIBC_TUNABLES", "")
    if _TUNABLE in said:
        return {}
    return {"GLIBC_TUNABLES": ":".join(filter(None, [said, f"{_TUNABLE}=1"]))}


def _preload(environ: Mapping[str, str], library: Path) -> Mapping[str, str]:
    return {"LD_PRELOAD": " ".join(filter(None, [environ.get("LD_PRELOAD", ""), str(library)]))}


def make_library(folder: Path, compiler: str) -> Path | None:
    """Make the library for cicc; one that is right already stays.

    Args:
        folder: The build's own, absolute.
        compiler: The host compiler.

    Returns:
        None where it can't be made or loaded; nothing is lost but time.
    """
    source, library = folder / "huge_pages.c", folder / _LIBRARY
    if any(letter in str(library) for letter in " :;\t\n"):  # the loader divides the list there
        return None
    try:
        if not (library.exists() and read_text(source) == _SOURCE):
            write_whole(source, _SOURCE.encode())
            if not _compile(source, library, compiler):
                source.unlink(missing_ok=True)
                return None
    except OSError:
        return None
    return library if _loads(library) else None


def _compile(source: Path, library: Path, compiler: str) -> bool:
    made = library.with_name(f".{_LIBRARY}.{os.getpid()}")
    words = ["-shared", "-fPIC", "-O2", "-x", "c", str(source), "-o", str(made)]
    if not run_limited([compiler, *words], timeout=_PATIENCE).ok:
        made.unlink(missing_ok=True)
        return False
    made.replace(library)
    return True


def _loads(library: Path) -> bool:
    """Whether the loader takes it without a word: every pass would repeat that word."""
    environ = {**os.environ, "LD_PRELOAD": str(library)}
    outcome = run_limited(["/bin/true"], timeout=_PATIENCE, env=environ)
    return outcome.ok and not outcome.stderr
