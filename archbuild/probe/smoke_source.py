"""Where the smoke kernel's source lies."""

from __future__ import annotations

from pathlib import Path

from archbuild.errors import UnreadableError


def find_source() -> Path:
    """The smoke kernel: inside the installed package, or at the top of a checkout.

    Raises:
        UnreadableError: If it is in neither place.
    """
    package = Path(__file__).resolve().parents[1]
    places = [package / "csrc"]
    if (package.parent / "pyproject.toml").is_file():  # else csrc/ belongs to somebody else
        places.append(package.parent / "csrc")
    for place in places:
        if (place / "smoke.cu").is_file():
            return place / "smoke.cu"
    raise UnreadableError(f"csrc/smoke.cu is missing beside {package}.", "Install archbuild again.")
