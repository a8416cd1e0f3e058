"""Where a machine keeps programs; everything that differs between machines is a field here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from archbuild.model.machine import processor_name


@dataclass(frozen=True)
class Places:
    """The surroundings in which programs are looked for.

    Args:
        environ: The environment variables.
        sys_path: The folders of this environment's packages, as in ``sys.path``.
        system: As in ``sys.platform``.
        processor: ``x86_64``, ``aarch64``.
        local: Where a system's own toolkits lie, outside Windows.
    """

    environ: Mapping[str, str]
    sys_path: tuple[str, ...]
    system: str
    processor: str
    local: Path = Path("/usr/local")

    @classmethod
    def here(cls, environ: Mapping[str, str] | None = None) -> Places:
        """This process's own, perhaps with other environment variables."""
        env = os.environ if environ is None else environ
        return cls(env, tuple(sys.path), sys.platform, this_processor())

    @property
    def is_windows(self) -> bool:
        """Whether programs are named ``.exe``."""
        return self.system == "win32"

    def program(self, name: str) -> str:
        """The file name of a program."""
        return f"{name}.exe" if self.is_windows else name

    def variable(self, name: str) -> str | None:
        """An environment variable that is set and not blank, without blanks around it."""
        return self.environ.get(name, "").strip() or None

    def on_path(self, name: str) -> Iterator[Path]:
        """Every file of this name on PATH, in its order."""
        for folder in self.environ.get("PATH", "").split(os.pathsep):
            # An empty piece means the current folder, which never holds a toolkit.
            if folder and is_program(Path(folder, self.program(name))):
                yield Path(folder, self.program(name))

    def in_packages(self, name: str) -> Iterator[Path]:
        """Every file of this name in the packages' ``nvidia/cu*/bin``, the newest CUDA first."""
        for folder in self.sys_path:
            if folder:
                yield from below_packages(Path(folder), self.program(name))


def below_packages(folder: Path, program: str) -> Iterator[Path]:
    """A program in the layout that NVIDIA's packages have below a folder of packages."""
    for root in numbered(folder / "nvidia", r"cu(\d+)"):
        if is_program(root / "bin" / program):
            yield root / "bin" / program


def numbered(folder: Path, pattern: str) -> list[Path]:
    """The entries of a folder whose whole name matches, the highest numbers first."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return []
    found = [match for name in names if (match := re.fullmatch(pattern, name, re.ASCII))]
    found.sort(key=lambda match: [int(part) for part in match.groups("0")], reverse=True)
    return [folder / match[0] for match in found]


def is_program(path: Path) -> bool:
    """Whether there is a file, or a link whose file is gone: that is worth telling."""
    try:
        return path.is_file() or path.is_symlink()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether there is a file that this user can come at."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def this_processor() -> str:
    """This machine's processor as Linux names it: ``x86_64``, ``aarch64``."""
    if sys.platform == "win32":
        name = os.environ.get("PROCESSOR_ARCHITECTURE", "")
    else:
        name = os.uname().machine
    return processor_name(name)
