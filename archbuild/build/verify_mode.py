"""How much a build is checked: the variable ARCHBUILD_VERIFY."""

from __future__ import annotations

from enum import Enum

from archbuild.errors import UsageError


class VerifyMode(Enum):
    """How much ARCHBUILD_VERIFY asks for."""

    REQUIRE = "require"
    AUTO = "auto"
    OFF = "off"


def parse_verify_mode(text: str | None) -> VerifyMode:
    """Read ARCHBUILD_VERIFY; not set means ``auto``.

    Raises:
        UsageError: If it is none of the three words.
    """
    try:
        return VerifyMode((text or "").strip().lower() or "auto")
    except ValueError:
        raise UsageError(
            f"ARCHBUILD_VERIFY is {text!r:.40}.", "Set it to require, auto or off."
        ) from None
