"""What a project says in ``[tool.archbuild]`` of its pyproject.toml."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """The table as a value.

    Args:
        archs: The architecture list, its pieces joined with ``;``; None where
            the project names none.
        path: The pyproject.toml that was read; None where there is none.
    """

    archs: str | None = None
    path: str | None = None
