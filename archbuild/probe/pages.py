"""The pages of the documentation, which come with the package."""

from __future__ import annotations

import re
from pathlib import Path

from archbuild.errors import UnreadableError

#: A finding of verify or doctor, or an error of a build.
CODE = re.compile(r"[ADV][0-9]{3}", re.IGNORECASE | re.ASCII)
_ANCHOR = '<a id="{}"></a>'
_ANY_ANCHOR = re.compile(r'^(?:<a id="a\d{3}"></a>|## .*)$', re.MULTILINE)


def find_page(code: str) -> str | None:
    """What the documentation says of a finding.

    Args:
        code: ``V221``, ``D340``, or ``A102``, which is a section of one page for all.

    Returns:
        Markdown; None where there is no such code.

    Raises:
        UnreadableError: If the pages are not there.
    """
    folder, name = _folder(), code.lower()
    if name.startswith("a"):
        return _section((folder / "build-errors.md").read_text(encoding="utf-8"), name)
    page = folder / "findings" / f"{name}.md"
    return page.read_text(encoding="utf-8") if page.is_file() else None


def _section(text: str, name: str) -> str | None:
    _, found, rest = text.partition(_ANCHOR.format(name))
    if not found:
        return None
    end = _ANY_ANCHOR.search(rest)
    return rest[: end.start() if end else len(rest)].strip() + "\n"


def _folder() -> Path:
    """Inside the installed package, or at the top of a checkout."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "docs", package.parent / "docs"):
        if (place / "build-errors.md").is_file():
            return place
    raise UnreadableError(f"The documentation is missing beside {package}.", "Install it again.")
