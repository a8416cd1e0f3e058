"""Bytes in words: decimal units, as sizes of wheels are told everywhere."""

from __future__ import annotations

_UNITS = ("kB", "MB", "GB", "TB")


def size_words(count: int) -> str:
    """A number of bytes with three digits or so.

    Examples:
        >>> size_words(999), size_words(1500), size_words(502_842_281)
        ('999 B', '1.5 kB', '502.8 MB')
    """
    if abs(count) < 1000:
        return f"{count} B"
    value = float(count)
    for unit in _UNITS:
        value /= 1000
        if abs(value) < 999.95 or unit == _UNITS[-1]:
            return f"{value:,.1f} {unit}"
    raise AssertionError


def exact_words(count: int) -> str:
    """A number of bytes to the last digit: ``1,234,567 B``."""
    return f"{count:,} B"


def change_words(change: int) -> str:
    """Bytes gained or lost, with their sign.

    Examples:
        >>> change_words(1500), change_words(-12), change_words(0)
        ('+1.5 kB', '-12 B', '0 B')
    """
    return f"+{size_words(change)}" if change > 0 else size_words(change)


def share_words(part: int, whole: int | None) -> str:
    """A part in per cent; ``-`` where the whole is not known.

    Examples:
        >>> share_words(1, 3), share_words(1, 10**6), share_words(0, 5)
        ('33.3 %', '<0.1 %', '0 %')
    """
    if not whole:
        return "-"
    if not part:
        return "0 %"
    percent = 100 * part / whole
    return f"{percent:.1f} %" if percent >= 0.05 else "<0.1 %"


def count_words(count: int, noun: str) -> str:
    """A number with its noun: ``1 region``, ``2,975 images``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
