"""What cuobjdump itself says of a file, read from its text by a few lines of our own."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from archbuild.model.image import DeviceFile, Flag, Image, ImageKind

_HEAD = re.compile(r"\t?Fatbin (.+) code:")
_KINDS = {
    "elf": ImageKind.SASS,
    "ptx": ImageKind.PTX,
    "relocatable ptx": ImageKind.PTX,
    "nvvm": ImageKind.LTOIR,
    "tile ir": ImageKind.TILEIR,
}
BLIND = "does not contain device code"
INVALID = "Invalid ELF"


class RefusedError(Exception):
    """A sound file that cuobjdump calls invalid."""


@dataclass
class Seen:
    """One image as cuobjdump tells it.

    Args:
        kind: ``elf``, ``ptx``, ...
        facts: The lines ``name = value``, and words that stand alone.
        kernels: Names of the entry functions.
        variables: How many objects are defined.
    """

    kind: str
    facts: dict[str, str] = field(default_factory=dict)
    kernels: list[str] = field(default_factory=list)
    variables: int = 0


def ask(cuobjdump: Path, path: Path) -> list[Seen] | None:
    """All images; None where cuobjdump says that there is no device code."""
    command = [cuobjdump, "-all", "-symbols", path.absolute()]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if BLIND in run.stdout + run.stderr:
        return None
    if INVALID in run.stderr:
        raise RefusedError(path.name)
    assert run.returncode == 0, run.stderr
    seen: list[Seen] = []
    for line in run.stdout.splitlines():
        if match := _HEAD.fullmatch(line):
            seen.append(Seen(match[1]))
        elif line == "symbols:" and not seen:
            # Of a bare cubin it prints no header.
            seen.append(Seen("elf"))
        elif seen:
            _note(seen[-1], line.strip())
    return [one for one in seen if one.kind != "concatenated entry"]


def _note(one: Seen, line: str) -> None:
    words = line.split()
    if len(words) >= 5 and words[0] == "FUNC" and words[3] == "ENTRY":
        one.kernels.append(words[-1])
    elif len(words) >= 5 and words[0].endswith("OBJECT") and words[4] != "U":
        one.variables += 1
    else:
        name, _, value = line.partition(" = ")
        one.facts[name.removesuffix(" =")] = value


def told(one: Seen) -> tuple[object, ...]:
    """What both readers tell of an image, by cuobjdump."""
    kind = _KINDS[one.kind]
    major, minor = one.facts["code version"].strip("[]").split(",")
    return (
        kind,
        one.facts["arch"].partition("_")[2],
        (int(major), int(minor)) if kind is ImageKind.PTX else None,
        one.facts["host"],
        one.facts.get("identifier"),
        (one.facts.get("ptxasOptions") or "").strip() if kind is ImageKind.PTX else None,
        tuple(sorted(one.kernels)) if kind is ImageKind.SASS else None,
    )


def read(image: Image) -> tuple[object, ...]:
    """The same by the native reader."""
    assert image.arch is not None
    host = "windows" if image.has(Flag.WINDOWS) else "linux"
    sass = image.kind is ImageKind.SASS
    return (
        image.kind,
        image.arch.number,
        image.isa,
        host,
        image.identifier,
        (image.options or "") if image.kind is ImageKind.PTX else None,
        tuple(sorted(image.kernels or ())) if sass else None,
    )


def compare(file: DeviceFile, seen: list[Seen]) -> None:
    """Fail unless both readers say the same of every image."""
    ours, theirs = Counter(map(read, file.images)), Counter(map(told, seen))
    assert ours == theirs
