"""What one nvcc says of itself: its version, its true root, what it can build."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from archbuild.model.arch import Arch
from archbuild.model.version import CudaVersion
from archbuild.probe.places import is_file
from archbuild.probe.process import Outcome, first_line

# They reach every nvcc and change what it answers; builds still see them.
_NOT_HANDED_ON = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")

_SASS_OR_PTX = re.compile(r"(?:sm|compute)_[1-9]\d{1,2}[af]?", re.ASCII)

_MAGIC = (b"\x7fELF", b"MZ")


@dataclass(frozen=True)
class Location:
    """Where an nvcc truly lies.

    Args:
        root: The root of its toolkit, links followed.
        nvcc: The program itself, behind wrapper scripts.
    """

    root: str
    nvcc: str


def locate_by_files(nvcc: Path) -> Location | None:
    """The location where the files alone tell it, which saves a call.

    They do where the program itself, no script, lies beside its profile: nvcc
    takes its root from the place of that file. A link without a profile beside
    it is followed, since nvcc does not follow it and would find nothing.
    """
    for _ in range(40):
        if is_file(nvcc.parent / "nvcc.profile"):
            return _at(nvcc.parent, nvcc.name) if _is_binary(nvcc) else None
        if not nvcc.is_symlink():
            return None
        nvcc = nvcc.parent / nvcc.readlink()
    return None


def _at(folder: Path, name: str) -> Location:
    folder = folder.resolve()
    return Location(str(folder.parent), str(folder / name))


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4).startswith(_MAGIC)
    except OSError:
        return False


def dryrun_command(nvcc: str, *, windows: bool = False) -> list[str]:
    """The call in which nvcc tells its root; it compiles nothing."""
    return [nvcc, "--dryrun", "-x", "cu", "-c", "NUL" if windows else "/dev/null"]


def question_env(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which an nvcc is asked about itself."""
    return {name: value for name, value in environ.items() if name not in _NOT_HANDED_ON}


def parse_dryrun(nvcc: str, text: str) -> Location | None:
    """The location from what ``--dryrun`` prints.

    ``TOP`` is the root. Debian's nvcc states none and keeps headers and
    libraries where every compiler looks; its root is the folder above the
    program's.
    """
    found = dict(re.findall(r"^#\$ (TOP|_HERE_)=(.*\S)", text, re.MULTILINE))
    here, top = found.get("_HERE_"), found.get("TOP")
    if here is None:
        return None
    program = Path(here, Path(nvcc).name)
    root = Path(top) if top is not None else Path(here).parent
    return Location(str(root.resolve()), str(program if is_file(program) else nvcc))


def parse_version(text: str) -> tuple[CudaVersion, str] | None:
    """The version and the release from what ``--version`` prints.

    Examples:
        >>> parse_version("Cuda compilation tools, release 13.0, V13.0.88")
        (CudaVersion(major=13, minor=0), '13.0.88')
    """
    match = re.search(r"\brelease (\d{1,3}\.\d{1,3}), V(\d+(?:\.\d+)+)", text, re.ASCII)
    return (CudaVersion.parse(match[1]), match[2]) if match else None


def parse_archs(text: str) -> tuple[Arch, ...]:
    """What nvcc can build, from the allowed values of two options in ``--help``."""
    options = ("gpu-architecture", "gpu-code")
    return sass_and_ptx(name for option in options for name in _allowed_values(text, option))


def sass_and_ptx(names: Iterable[str]) -> tuple[Arch, ...]:
    """The architectures among these names, each once and in order.

    Shorthands such as ``all``, LTO-IR and names of a kind yet to come are passed by.
    """
    return tuple(sorted(map(Arch.parse, filter(_SASS_OR_PTX.fullmatch, set(names)))))


def _allowed_values(text: str, option: str) -> Iterator[str]:
    section = re.search(rf"^--{option}\b.*?(?=^--|\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        return
    _, _, values = section[0].partition("Allowed values for this option:")
    yield from re.findall(r"'([^'\s]+)'", values)


def broken(outcome: Outcome, lacks: str) -> str:
    """Why an nvcc does not count, as the end of a sentence that begins with its path."""
    if outcome.reason:
        return outcome.reason
    said = first_line(outcome.stdout + outcome.stderr)
    return f"is no working nvcc: it says {f'{said!r:.80}' if said else 'nothing'}, and {lacks}"
