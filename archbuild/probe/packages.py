"""Every installed package that holds device code, and what its libraries hold.

Nothing of a package is imported or executed: its metadata is read, and its libraries by
the native reader, by architecture.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from archbuild.binary.dynamic import read_dynamic
from archbuild.binary.outline import Form, read_outline
from archbuild.binary.reader import iter_files
from archbuild.binary.source import FileSource
from archbuild.errors import ArchbuildError
from archbuild.model.installed import CodeFile, CodePackage
from archbuild.model.manifest_record import parse_manifest
from archbuild.probe.code_groups import dated_groups, group_regions
from archbuild.probe.conda import (
    CondaPackage,
    conda_libraries,
    conda_owner,
    conda_prefix,
    has_conda_record,
)
from archbuild.probe.installations import (
    Installation,
    list_libraries,
    normal_name,
)
from archbuild.probe.provenance import describe_distribution

_CODE_SECTIONS = {".nv_fatbin", "__nv_relfatbin", ".hip_fatbin"}
_OUTSIDE = (Form.PE, Form.CUBIN, Form.FATBIN)

# Bytes below which kernels are read, to tell empty images from others: it costs milliseconds.
_SMALL = 1 << 20
# Smaller than this no library with device code is.
_TINY = 512
# Smaller than this nobody is asked whether it needs the driver: it costs 0.1 ms for each.
_DATA = 1 << 16


def read_packages(
    installations: Sequence[Installation], *, vendor: bool = False, trust: int = _SMALL
) -> tuple[CodePackage, ...]:
    """The packages among these that hold device code, and those of conda beside them.

    Args:
        installations: In the order of the search path: of two of one name the first counts.
        vendor: Whether to read NVIDIA's own libraries (``nvidia-*``), which takes two seconds.
        trust: Bytes up to which a library's kernels are read.
    """
    look = _Look(trust)
    seen: set[str] = set()
    found: dict[str, CodePackage] = {}
    for one in installations:
        key = normal_name(one.name)
        if key in seen or (not vendor and _is_vendors(key)):
            continue
        package = _read_package(one, look)
        if package is not None:
            found[key] = package
        # A source tree in which nothing was built hides no package that is installed.
        if package is not None or one.lists_files:
            seen.add(key)
    return tuple({**found, **_read_conda(installations, found, look)}.values())


def find_package(name: str) -> CodePackage | None:
    """How one package of this environment was installed; what its libraries hold is not read.

    Args:
        name: In any spelling.

    Returns:
        None where it is not installed.
    """
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError):
        return None
    one = Installation(name, found, Path(str(found.locate_file(""))))
    return _described(one, list(list_libraries(one)))


def _is_vendors(name: str) -> bool:
    return name.startswith("nvidia-") or name in ("cuda-toolkit", "cuda-bindings", "triton")


def _read_package(one: Installation, look: _Look) -> CodePackage | None:
    paths = [path for path in list_libraries(one) if _may_hold_code(path)]
    return _with_files(_described(one, paths), paths, one.folder, look) if paths else None


def _with_files(
    package: CodePackage, paths: Iterable[Path], folder: Path, look: _Look
) -> CodePackage | None:
    """The package and what these libraries hold, besides what it has; None: it has nothing."""
    read = (file for path in paths for file in look.at(path, folder, package.requires_torch))
    files = (*package.files, *read)
    return replace(package, files=files) if files else None


def _read_conda(
    installations: Sequence[Installation], found: Mapping[str, CodePackage], look: _Look
) -> dict[str, CodePackage]:
    """Packages whose libraries conda keeps outside the folder of packages."""
    read: dict[str, CodePackage] = {}
    for folder in dict.fromkeys(one.folder for one in installations):
        prefix = conda_prefix(folder)
        for owner, paths in _conda_files(prefix, look).items() if prefix else ():
            key = normal_name(owner.name)
            own = next((i for i in installations if normal_name(i.name) == key), None)
            links = any(map(_links_torch, paths))
            bare = CodePackage(owner.name, owner.version, (), None, "conda", requires_torch=links)
            package = found.get(key) or (_described(own, paths) if own else bare)
            whole = _with_files(package, paths, folder, look)
            read.update({key: whole} if whole else {})
    return read


def _conda_files(prefix: Path, look: _Look) -> dict[CondaPackage, list[Path]]:
    by_owner: dict[CondaPackage, list[Path]] = {}
    for path in conda_libraries(prefix):
        if look.is_new(path) and _may_hold_code(path):
            owner = conda_owner(prefix, path)
            if owner is not None:
                by_owner.setdefault(owner, []).append(path)
    return by_owner


def _described(one: Installation, paths: Sequence[Path]) -> CodePackage:
    """By its metadata; whether it needs torch its libraries say best."""
    folder = None if one.lists_files else one.folder
    package = describe_distribution(one.distribution, folder=folder)
    name = one.name if package.name == "unknown" else package.name
    version = (one.version or "0") if package.version == "0" else package.version
    built_for = _manifests_torch(paths) or torch_in_version(version)
    links = package.requires_torch or built_for is not None or any(map(_links_torch, paths))
    return replace(
        package,
        name=name,
        version=version,
        built_for=built_for,
        installer=package.installer or _conda(one, name, version),
        requires_torch=links,
    )


def _conda(one: Installation, name: str, version: str) -> str | None:
    prefix = conda_prefix(one.folder)
    if prefix is not None and has_conda_record(prefix, normal_name(name), version):
        return "conda"
    return None


def _links_torch(path: Path) -> bool:
    return any(name.startswith(("libtorch", "libc10")) for name in _needed(path))


def _needed(path: Path) -> tuple[str, ...]:
    """The libraries that a library asks the loader for; none where that can't be read."""
    try:
        with path.open("rb") as file:
            return read_dynamic(FileSource(path.name, file, path.stat().st_size)).needed
    except (ArchbuildError, OSError, ValueError):
        return ()


def _may_hold_code(path: Path) -> bool:
    """Whether a look at the tables of the file leaves it possible."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size < _TINY:
            return False
        outline = read_outline(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (ArchbuildError, OSError, ValueError):
        return not _is_loop(path)  # What can't be read is told.
    if outline.form in _OUTSIDE:
        return True
    # One that was stripped of its table of sections has to be read to be known.
    if any(not part.sections or part.sections & _CODE_SECTIONS for part in outline.parts):
        return True
    # What speaks to the driver itself may hold fatbins as plain data.
    return outline.size >= _DATA and any(n.startswith("libcuda.so") for n in _needed(path))


def _is_loop(path: Path) -> bool:
    """Whether it is a link that leads nowhere but to itself."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


class _Look:
    """How libraries are read, each once under whatever name.

    Args:
        trust: Bytes up to which kernels are read.
    """

    def __init__(self, trust: int) -> None:
        self._trust = trust
        self._real: set[str] = set()

    def is_new(self, path: Path) -> bool:
        """Whether the file has not been read yet."""
        return os.path.realpath(path) not in self._real

    def at(self, path: Path, folder: Path, of_torch: bool) -> Iterator[CodeFile]:
        """What one library holds; nothing where it was read under another name.

        Args:
            path: The library.
            folder: From which its name is told.
            of_torch: Whether its CUDA is that of torch, and need not be looked for.
        """
        if not self.is_new(path):
            return
        self._real.add(os.path.realpath(path))
        inside = path.is_relative_to(folder)
        name = path.relative_to(folder).as_posix() if inside else str(path)
        size = 0
        with suppress(OSError):
            size = path.stat().st_size
        try:
            for file in iter_files(str(path), small=self._trust):
                groups = group_regions(file) if of_torch else dated_groups(path, file)
                if groups or file.hip:
                    yield CodeFile(name, size, groups, hip=file.hip)
        except ArchbuildError as error:
            yield CodeFile(name, size, trouble=error.message)


def _manifests_torch(paths: Iterable[Path]) -> str | None:
    """The torch that a manifest beside these libraries says they were built for."""
    for folder in dict.fromkeys(path.parent for path in paths):
        for manifest in sorted(folder.glob("*.archbuild.json")):
            with suppress(ArchbuildError, OSError, ValueError):
                told = parse_manifest(manifest.read_text(encoding="ascii"), str(manifest))
                if told.torch is not None:
                    return told.torch
    return None


def torch_in_version(version: str) -> str | None:
    """The torch that a version's local part names.

    Examples:
        >>> torch_in_version("2.7.4.post1+cu12torch2.6cxx11abiFALSE")
        '2.6'
        >>> torch_in_version("0.6.1+pt24cu121"), torch_in_version("2.1.2+pt2.6.0cu124")
        ('2.4', '2.6.0')
        >>> torch_in_version("2.14.1+cu130") is None
        True
    """
    local = version.partition("+")[2]
    match = re.search(r"(?:torch|pt)\.?(\d+(?:\.\d+)*)", local, re.ASCII)
    if match is None:
        return None
    told = match[1]
    return told if "." in told else f"{told[0]}.{told[1:]}"
