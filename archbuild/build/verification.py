"""After a compile and after a link: is every target really in the file?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from archbuild.binary.cuobjdump import read_with_cuobjdump
from archbuild.errors import BuildError, UsageError
from archbuild.model.arch import Arch
from archbuild.model.image import DeviceFile


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


@dataclass(frozen=True)
class Lack:
    """A file and the targets that are not in it.

    Args:
        file: The object or library.
        source: What it was made from, for people.
        missing: Wanted and not there.
        present: What is there.
    """

    file: str
    source: str
    missing: tuple[Arch, ...]
    present: tuple[Arch, ...]

    def __str__(self) -> str:
        there = ", ".join(map(str, self.present)) or "no device code at all"
        return f"{self.source}: {', '.join(map(str, self.missing))} missing (there: {there})"


def find_lack(
    file: Path, source: str, targets: Sequence[Arch], cuobjdump: str, *, relocatable: bool = False
) -> Lack | None:
    """What a file should hold and doesn't, by cuobjdump.

    Args:
        file: An object or a library.
        source: What it was made from.
        targets: What it must hold.
        cuobjdump: The tool.
        relocatable: Whether images that still need a device link count: they
            do in an object, never in a library.

    Raises:
        BinaryError: If cuobjdump can't read the file.
    """
    seen = read_with_cuobjdump(str(file), cuobjdump, everything=relocatable)
    present = _relocatable_targets(seen) if relocatable else seen.targets
    missing = tuple(target for target in targets if target not in present)
    return Lack(str(file), source, missing, tuple(sorted(present))) if missing else None


def _relocatable_targets(seen: DeviceFile) -> frozenset[Arch]:
    return frozenset(image.arch for image in seen.images if image.arch is not None)


_REFUSED = (
    "Look for flags or variables that change the architectures (NVCC_PREPEND_FLAGS, a "
    "compiler wrapper, a stale cache), and build again."
)


def refuse(lacks: Sequence[Lack], what: str, advice: str = _REFUSED) -> None:
    """Fail a build whose files lack targets.

    Args:
        lacks: What was found; empty is well.
        what: ``"axpy._C, compiled"``, for the message.
        advice: Where the cause is known, the cure.

    Raises:
        BuildError: Naming each file and what is missing in it.
    """
    if lacks:
        raise BuildError(f"{what}: {'; '.join(map(str, lacks))}.", advice)
