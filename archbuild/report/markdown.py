"""Pieces of Markdown in which nothing that comes from outside is markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archbuild.report.text import escape


def plain(text: str) -> str:
    """Text in which nothing is markup; names from a file could hold some."""
    text = escape(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in "\\`*_[]|#@" else char for char in text)


def code(text: str) -> str:
    """A name in a fixed font, also inside a table."""
    return f"`{escape(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def row(cells: Sequence[str], *, head: bool = False) -> Iterator[str]:
    """A row of a table; with ``head`` the line below the head as well."""
    yield f"| {' | '.join(cells)} |"
    if head:
        yield f"|{'---|' * len(cells)}"
