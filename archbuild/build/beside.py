"""What stands beside a library that was built: its manifest, and its package's guard."""

from __future__ import annotations

from pathlib import Path

from archbuild.model.manifest import manifest_name


def manifest_path(library: Path) -> Path:
    """Where the manifest of a library stands: beside it."""
    return library.with_name(manifest_name(library.name))


def guard_path(library: Path, name: str) -> Path:
    """Where the guard of a library stands: one for all libraries of a package.

    Args:
        library: The library.
        name: The full name of its extension, ``pkg._C``.
    """
    package, _, module = name.rpartition(".")
    own = "_archbuild_guard.py" if package else f"_{module}_archbuild_guard.py"
    return library.with_name(own)
