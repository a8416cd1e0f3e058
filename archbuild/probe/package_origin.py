"""How a binary can be built again: its package, and the folder of its source."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from archbuild.errors import UsageError
from archbuild.probe.source_tree import find_source_tree
from archbuild.rules.explaining.circumstances import Origin, origin_of_wheel, same_name


def find_origin(named: str, *, installed: bool = False) -> Origin:
    """How a binary can be built again, as far as its own name tells.

    Args:
        named: The wheel, library or package.
        installed: Whether it is meant as the name of an installed package, whatever lies
            in the current folder.
    """
    if os.path.lexists(named) and not installed:
        return origin_of_wheel(named)
    from importlib import metadata  # noqa: PLC0415 - slow to import

    try:
        found = metadata.distribution(named)
    except (metadata.PackageNotFoundError, ValueError, OSError):
        return Origin(named)
    return Origin(found.metadata["Name"] or named, found.version, installed=True)


def with_source(origin: Origin, source: str | Path | None) -> Origin:
    """An origin with the folder of its source: the one that was named, or the current one.

    Args:
        origin: With the package's name, where that is known.
        source: What a person named; None: the current folder is taken, where it is the
            source of a package of this name.

    Raises:
        UsageError: If what was named is no folder of a project.
    """
    folder = Path(source) if source is not None else Path()
    tree = find_source_tree(folder)
    if tree is None:
        if source is None:
            return origin
        raise UsageError(
            f"--source {source} is no source of a package: it has no pyproject.toml or setup.py.",
            "Name the folder in which pip would build it.",
        )
    if source is None and not (origin.name and tree.name and same_name(tree.name, origin.name)):
        return origin
    return replace(origin, name=origin.name or tree.name, source=str(folder), builder=tree.builder)


def find_distribution(module: str) -> str:
    """The package that brings a module, ``flash-attn`` of ``flash_attn_2_cuda``.

    Args:
        module: The name that is imported.

    Returns:
        The package; the module's own name where no installed package has it.
    """
    from importlib import metadata  # noqa: PLC0415 - slow to import

    try:
        found = metadata.packages_distributions().get(module)
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        # The metadata of any one package may be damaged.
        return module
    return found[0] if found else module
