"""What the smoke kernel must compute, by an independent implementation.

``csrc/smoke.cu`` holds the other one. Single precision is computed in double
precision and rounded after each operation, which gives the same as rounding
once: 53 bits are more than twice 24 plus 2 (Figueroa, 1995, for + - * / and
the square root).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from archbuild.model.arch import Arch, ComputeCapability, Stage, Suffix

_BLOCK = 128
_WARP = 32
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Numbers:
    """The results of one run.

    Args:
        words: 32-bit integers.
        singles: Values of single precision.
        doubles: Values of double precision.
    """

    words: tuple[int, ...]
    singles: tuple[float, ...]
    doubles: tuple[float, ...]


def compute_numbers(n: int, seed: int) -> Numbers:
    """What the kernel must give for ``n`` elements.

    Args:
        n: How many elements, at least 1.
        seed: 32 bits.
    """
    padded = -(-n // _BLOCK) * _BLOCK
    words = [_scramble((seed + i * 2654435761 + 1) & _MASK) for i in range(padded)]
    dots = [_dot_bytes(word, word >> 3) for word in words]
    near = [dots[i - i % _BLOCK + (i + 1) % _BLOCK] for i in range(padded)]
    sums = [sum(near[i : i + _WARP]) & _MASK for i in range(0, padded, _WARP)]
    return Numbers(
        tuple(sums[i // _WARP] ^ words[i] for i in range(n)),
        tuple(_single(words[i], near[i]) for i in range(n)),
        tuple(_double(words[i], near[i]) for i in range(n)),
    )


def _scramble(x: int) -> int:
    x ^= x << 13 & _MASK
    x ^= x >> 17
    return x ^ (x << 5 & _MASK)


def _dot_bytes(a: int, b: int) -> int:
    return sum((a >> shift & 0xFF) * (b >> shift & 0xFF) for shift in (0, 8, 16, 24))


def _single(word: int, near: int) -> float:
    x, y = float(word >> 8), float((near & 0xFFFF) + 1)
    return _round(math.sqrt(_round(_round(x * y) + _round(x / y))))


def _round(value: float) -> float:
    """The nearest value of single precision."""
    (rounded,) = struct.unpack("f", struct.pack("f", value))
    assert isinstance(rounded, float)
    return rounded


def _double(word: int, near: int) -> float:
    u, v = float(word), float(near + 1)
    return u / v * 0.1 + math.sqrt(u)


def find_difference(expected: Numbers, actual: Numbers) -> str:
    """The first number that is wrong and how many are; empty where none is.

    Every bit counts: the kernel uses only operations whose rounding IEEE 754
    fixes.
    """
    wrong: list[str] = []
    for name in ("words", "singles", "doubles"):
        wrong += _differences(name, getattr(expected, name), getattr(actual, name))
    if not wrong:
        return ""
    total = len(expected.words) + len(expected.singles) + len(expected.doubles)
    return f"{len(wrong)} of {total} numbers are wrong, first {wrong[0]}"


def _differences(name: str, expected: Sequence[float], actual: Sequence[float]) -> list[str]:
    if len(expected) != len(actual):
        return [f"{name}: {len(actual)} values instead of {len(expected)}"]
    pairs = enumerate(zip(expected, actual, strict=True))
    return [f"{name}[{i}] is {a!r} and should be {e!r}" for i, (e, a) in pairs if e != a]


def decode_arch(word: int) -> Arch | None:
    """The virtual architecture whose code ran, from the word that the kernel wrote.

    Args:
        word: ``__CUDA_ARCH__`` times 4, plus 1 for code specific to an
            architecture, plus 2 for code specific to a family.

    Returns:
        None where the word is no such thing.
    """
    number, mark = divmod(word, 4)
    suffix = {0: Suffix.PLAIN, 1: Suffix.ARCH, 2: Suffix.FAMILY}.get(mark)
    if suffix is None or number % 10 or not 100 <= number < 10000:
        return None
    return Arch(Stage.VIRTUAL, ComputeCapability.from_number(number // 10), suffix)
