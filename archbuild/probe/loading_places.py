"""Where libraries lie: folders of packages, of conda, of variables, of the system."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from archbuild.probe.loading_plan import DRIVER, Step, rpath_of
from archbuild.probe.process import run_limited

_WSL = "/usr/lib/wsl/"
_LDCONFIG = ("/sbin/ldconfig", "/usr/sbin/ldconfig")
_CACHED = re.compile(r"^\s+(\S+) \(([^)]*)\) => (\S.*)$", re.MULTILINE)
_SECONDS = 5.0
# What glibc searches below each folder first.
_HWCAPS = "glibc-hwcaps"


@dataclass(frozen=True)
class Places:
    """The folders that matter, each list in the order in which it is searched.

    Args:
        packages: Folders of packages.
        nvidia: Folders of libraries in them, torch's own first.
        library_path: Of LD_LIBRARY_PATH.
        rpath: Of torch's libraries.
        conda: The folder of libraries of the conda environment.
        preload: Files that LD_PRELOAD names.
        system: What the loader's cache holds: name and file.
    """

    packages: tuple[str, ...] = ()
    nvidia: tuple[str, ...] = ()
    library_path: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    conda: str | None = None
    preload: tuple[str, ...] = ()
    system: tuple[tuple[str, str], ...] = ()

    def found_by(self, name: str, path: str) -> str:
        """What led the loader to a file.

        Args:
            name: The name under which the loader found it.
            path: The file itself.
        """
        folder = _without_hwcaps(Path(name).parent)
        if any(path == os.path.realpath(file) for file in self.preload):
            return "LD_PRELOAD"
        if path.startswith(_WSL) or name.startswith(_WSL):
            return "wsl"
        stands = f"{os.path.realpath(folder)}/"
        if any(_is_below(file, place) for place in self.packages for file in (stands, path)):
            return "package"
        if _is_one_of(folder, self.library_path):
            return "LD_LIBRARY_PATH"
        if self.conda is not None and _is_one_of(folder, [self.conda]):
            return "conda"
        return "RPATH" if _is_one_of(folder, self.rpath) else "ldconfig"

    def expected(self, soname: str, path: str | None) -> str | None:
        """The file that its package, or the driver, would have had loaded instead of this.

        Args:
            soname: The library.
            path: What was taken; None: nothing.
        """
        if path is not None and any(_is_below(path, place) for place in self.packages):
            return None
        first = next(self._own(soname), None)
        return None if first == path else first

    def _own(self, soname: str) -> Iterator[str]:
        if soname == DRIVER:
            yield from _files(soname, [f"{_WSL}lib"])
            yield from self._cached(soname)
        else:
            yield from _files(soname, [f for f in self.rpath if self._is_of_a_package(f)])
            yield from _files(soname, self.nvidia)

    def _is_of_a_package(self, folder: str) -> bool:
        return any(_is_below(os.path.realpath(folder), place) for place in self.packages)

    def all_of(self, soname: str) -> tuple[str, ...]:
        """Every file of that name, links followed, each once."""
        conda = () if self.conda is None else (self.conda,)
        folders = (*self.library_path, *self.rpath, *self.nvidia, *conda)
        return tuple(dict.fromkeys((*_files(soname, folders), *self._cached(soname))))

    def search(self, soname: str, step: Step) -> str | None:
        """The file that the loader would take, found without it.

        Args:
            soname: The library, or a file's path.
            step: Who asks for it.
        """
        if not step.needed and "/" in step.what:
            return step.what
        before, after = ((), step.runpath) if step.runpath else (step.rpath, ())
        folders = (*before, *self.library_path, *after)
        return next(chain(_files(soname, folders), self._cached(soname)), None)

    def _cached(self, soname: str) -> Iterator[str]:
        return (os.path.realpath(path) for name, path in self.system if name == soname)


def find_places(environ: Mapping[str, str], packages: Sequence[Path], torch: Path | None) -> Places:
    """The folders of this environment.

    Args:
        environ: Its variables.
        packages: Folders of packages.
        torch: The folder of torch.
    """
    return Places(
        packages=tuple(os.path.realpath(folder) for folder in packages if _is_packages(folder)),
        nvidia=tuple(_nvidia(packages, torch)),
        library_path=_library_path(environ),
        rpath=() if torch is None else rpath_of(torch),
        conda=_conda(environ, packages),
        preload=tuple(filter(None, re.split("[: ]", environ.get("LD_PRELOAD", "")))),
        system=tuple(_read_cache(environ)),
    )


def _library_path(environ: Mapping[str, str]) -> tuple[str, ...]:
    """An empty piece means the current folder, an empty variable nothing."""
    text = environ.get("LD_LIBRARY_PATH", "")
    return tuple(re.split("[:;]", text)) if text else ()


def _is_packages(folder: Path) -> bool:
    """Whether it is one of packages, and not the standard library or a person's own."""
    return folder.name in ("site-packages", "dist-packages") or any(
        (folder / name).is_dir() for name in ("torch", "nvidia")
    )


def _nvidia(packages: Iterable[Path], torch: Path | None) -> Iterator[str]:
    if torch is not None:
        yield str(torch / "lib")
    for folder in packages:
        yield from map(str, sorted((folder / "nvidia").glob("*/lib")))


def _conda(environ: Mapping[str, str], packages: Iterable[Path]) -> str | None:
    """The libraries of the conda environment in which these packages lie, or which is active."""
    prefixes = [above for folder in packages for above in folder.parents[:4]]
    active = environ.get("CONDA_PREFIX")
    prefixes += [Path(active)] if active else []
    found = (prefix for prefix in prefixes if (prefix / "conda-meta").is_dir())
    return next((str(prefix / "lib") for prefix in found), None)


def _read_cache(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The loader's cache, as ldconfig prints it; only a superuser has that on PATH."""
    program = next((path for path in _LDCONFIG if Path(path).is_file()), "ldconfig")
    outcome = run_limited([program, "-p"], timeout=_SECONDS, env={**environ, "LC_ALL": "C"})
    for name, kind, path in _CACHED.findall(outcome.stdout):
        if "64" in kind:  # x86-64, AArch64; stand-ins are of 64 bits alone
            yield name, path


def _files(soname: str, folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        path = Path(folder) / soname
        if path.is_file():
            yield os.path.realpath(path)


def _without_hwcaps(folder: Path) -> Path:
    return folder.parent.parent if folder.parent.name == _HWCAPS else folder


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _is_one_of(folder: Path, folders: Iterable[str]) -> bool:
    return os.path.realpath(folder) in {os.path.realpath(place or ".") for place in folders}
