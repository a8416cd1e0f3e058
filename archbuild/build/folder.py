"""Where an extension's objects are kept from one build to the next."""

from __future__ import annotations

import hashlib
import os
import re
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from archbuild.build.platform import Platform, platform_of

_ODD = re.compile(r"[^\w.+-]")
#: Names another place than ``build/archbuild`` of the project.
VARIABLE = "ARCHBUILD_BUILD_DIR"


def module_tag(platform: Platform, variables: Mapping[str, Any]) -> str:
    """What a module's name says of its Python and system, ``cp311-win_amd64``.

    Args:
        platform: The system.
        variables: Python's own: ``sysconfig.get_config_vars()``. On Windows older ones have
            no SOABI.
    """
    suffix = str(variables.get("EXT_SUFFIX") or "").removesuffix(platform.library_suffix)
    return str(variables.get("SOABI") or suffix.strip(".") or sysconfig.get_platform())


def build_folder(name: str, root: Path, named: str | None, *, debug: bool = False) -> str:
    """The folder of one extension, one Python and one system.

    Args:
        name: The extension's full name.
        root: The project's root, absolute.
        named: ``ARCHBUILD_BUILD_DIR``.
        debug: A debug build has a folder of its own.

    Returns:
        Relative to the root where it lies below it: commands then name the same
        paths in every checkout.
    """
    suffix = module_tag(platform_of(os.name), sysconfig.get_config_vars())
    part = _ODD.sub("_", f"{name}-{suffix}{'-debug' if debug else ''}")
    place = root / (named or Path("build", "archbuild"))
    try:
        return (place / part).relative_to(root).as_posix()
    except ValueError:
        # Another checkout names its sources alike, and must not get this one's objects.
        mine = hashlib.sha256(os.fsencode(root)).hexdigest()[:8]
        return (place / f"{part}-{mine}").as_posix()


def can_be_written(folder: Path) -> bool:
    """Whether files can be made there, or it can be made itself."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK | os.X_OK)
