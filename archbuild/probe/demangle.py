"""Readable names of kernels, by a demangler of this machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping

from archbuild.probe.process import run_limited

#: The demanglers that are looked for: binutils' own, then the one of the CUDA Toolkit.
DEMANGLERS = ("c++filt", "cu++filt")

# Names by the Itanium rules; anything else would break the lines in two, or come back
# as it is.
_MANGLED = re.compile(r"_Z[A-Za-z0-9_.$]+")
# Bytes of names in one call: what comes back is some three times longer.
_BATCH = 2 << 20
_SECONDS = 60.0


def find_demangler() -> str | None:
    """The path of a demangler, None where there is none."""
    found = (shutil.which(name) for name in DEMANGLERS)
    return next((path for path in found if path is not None), None)


def demangle(names: Iterable[str], demangler: str) -> Mapping[str, str]:
    """Mangled names and what they say.

    Args:
        names: Names from an image, whatever is in them.
        demangler: As :func:`find_demangler` gave it.

    Returns:
        Only those names that the demangler could read.
    """
    readable: dict[str, str] = {}
    for batch in _batches(name for name in names if _MANGLED.fullmatch(name)):
        answer = run_limited([demangler], timeout=_SECONDS, stdin="\n".join([*batch, ""]))
        lines = answer.stdout.split("\n")[:-1]
        if answer.ok and len(lines) == len(batch):
            pairs = zip(batch, lines, strict=True)
            readable.update((name, line) for name, line in pairs if line != name)
    return readable


def _batches(names: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        batch.append(name)
        size += len(name)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
