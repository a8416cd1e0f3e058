"""The errors of the CUDA runtime: number, name, text, and the number before 10.1.

``cuda_errors.tsv`` beside this module holds what ``cudaGetErrorName`` and
``cudaGetErrorString`` of libcudart 11.8, 12.9 and 13.5 returned for every
number, read on 2026-11-30, and the numbers of ``driver_types.h`` of CUDA 9.0,
which CUDA 10.1 changed to those of the driver API. The meanings are our words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from archbuild.model.version import CudaVersion


@dataclass(frozen=True)
class CudaErrorRow:
    """One error of the CUDA runtime.

    Args:
        number: Since CUDA 10.1.
        old_number: Before CUDA 10.1; None where that one had no such error.
        first_seen: The oldest of the three runtimes asked that knows it.
        name: ``cudaErrorNoKernelImageForDevice``.
        text: What programs print.
        meaning: A clause that says what it means for whoever wants to run code;
            the text where we have none.
    """

    number: int
    old_number: int | None
    first_seen: CudaVersion
    name: str
    text: str
    meaning: str


def _parse_row(line: str) -> CudaErrorRow:
    number, old, seen, name, text, meaning = line.split("\t")
    numbers = int(number), int(old) if old else None
    return CudaErrorRow(*numbers, CudaVersion.parse(seen), name, text, meaning or text)


@cache
def cuda_errors() -> tuple[CudaErrorRow, ...]:
    """Every row, upwards by number."""
    table = files(__package__).joinpath("cuda_errors.tsv").read_text(encoding="utf-8")
    return tuple(_parse_row(line) for line in table.splitlines()[1:])


def find_cuda_error(number: int) -> CudaErrorRow | None:
    """The error with this number since CUDA 10.1; None where none is known."""
    return next((row for row in cuda_errors() if row.number == number), None)


def find_cuda_error_by_name(name: str) -> CudaErrorRow | None:
    """The error with this name, ``cudaErrorNoDevice``; None where none is known."""
    return next((row for row in cuda_errors() if row.name == name), None)


def errors_with_old_number(number: int) -> tuple[CudaErrorRow, ...]:
    """What a number meant before CUDA 10.1, where it now means another error.

    Args:
        number: Such as the 8 of "invalid device function (8)".
    """
    return tuple(r for r in cuda_errors() if r.old_number == number and r.number != number)


def errors_in_text(text: str) -> tuple[CudaErrorRow, ...]:
    """The errors whose text or name stands in a message, the longest first.

    Numbers are left out of it: those before CUDA 10.1 mean other errors, the
    text means the same in both.

    Args:
        text: What a person pasted, in any case, broken over lines as it may be.

    Returns:
        Rows without those whose text lies inside a longer one that stands
        there as well; two errors with one and the same text both.
    """
    plain = " ".join(text.casefold().split())
    hits = {row: mark for row in cuda_errors() if row.number and (mark := _mark(row, plain))}
    best = [r for r, m in hits.items() if not any(m != o and m in o for o in hits.values())]
    return tuple(sorted(best, key=lambda row: (-len(hits[row]), row.number)))


def _mark(row: CudaErrorRow, plain: str) -> str | None:
    """What of an error stands in a folded text: its name or its text."""
    words = row.name.casefold(), row.text.casefold().rstrip(".")
    return next((word for word in words if word in plain), None)
