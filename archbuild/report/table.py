"""Plain tables that fit the width: what matters least gives way first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from archbuild.report.text import cells, escape, pad, shorten

_GAP = "  "


@dataclass(frozen=True)
class Column:
    """One column.

    Args:
        head: Its title.
        right: Whether its cells stand to the right, as numbers do.
        rank: The order in which columns are left out where there is no room, the
            lowest first; 0: never.
    """

    head: str
    right: bool = False
    rank: int = 0


def render_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, indent: str = ""
) -> list[str]:
    """The head and the rows, each a line of at most ``width`` columns.

    Args:
        columns: What the columns are.
        rows: Cells, as many as there are columns; they and the heads are made safe here.
        width: Columns of the terminal, the indentation included.
        indent: What each line begins with.
    """
    heads = [column.head for column in columns]
    table = [[escape(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(cells, column)) for column in zip(*table, strict=True)]
    room = width - len(indent)
    kept = _kept(columns, widths, room)
    _shrink(widths, kept, room)
    return [(indent + _GAP.join(_cells(row, columns, widths, kept))).rstrip() for row in table]


def _needed(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[i] for i in kept) + len(_GAP) * (len(kept) - 1)


def _kept(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    kept = list(range(len(columns)))
    for index in sorted(kept, key=lambda i: columns[i].rank):
        if columns[index].rank and _needed(widths, kept) > room:
            kept.remove(index)
    return kept


def _shrink(widths: list[int], kept: Sequence[int], room: int) -> None:
    """Make the widest column narrower, again and again, while all is too wide."""
    while _needed(widths, kept) > room:
        widest = max(kept, key=lambda i: widths[i])
        if widths[widest] <= 1:
            return
        widths[widest] -= 1


def _cells(
    row: Sequence[str], columns: Sequence[Column], widths: Sequence[int], kept: Sequence[int]
) -> Iterator[str]:
    for index in kept:
        cell = shorten(row[index], widths[index])
        blank = " " * (widths[index] - cells(cell))
        yield blank + cell if columns[index].right else pad(cell, widths[index])
