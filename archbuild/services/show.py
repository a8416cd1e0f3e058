"""What device code is in it? Read it, and look for the kernels that were asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from archbuild.binary.reader import iter_files
from archbuild.errors import ArchbuildError
from archbuild.model.image import DeviceFile

#: A longer list of kernels is for programs, and shows the names as the file has them.
MOST_READABLE = 5000


@dataclass(frozen=True)
class Kernels:
    """The kernels that were asked for.

    Args:
        names: Mangled names that match, each with what is shown of it.
        pattern: What they had to match; None: all were asked for.
        demangler: What made the names readable; None where nothing did.
        why_mangled: Why nothing did.
    """

    names: Mapping[str, str]
    pattern: str | None = None
    demangler: str | None = None
    why_mangled: str = ""


@dataclass(frozen=True)
class ShowReport:
    """What show found.

    Args:
        paths: What was looked at, as the person named it.
        files: Every file that can hold device code, in order.
        errors: What could not be read.
        kernels: None where they were not asked for.
    """

    paths: tuple[str, ...]
    files: tuple[DeviceFile, ...]
    errors: tuple[ArchbuildError, ...] = ()
    kernels: Kernels | None = None

    @property
    def exit_code(self) -> int:
        """0, or that of the first error."""
        return self.errors[0].exit_code if self.errors else 0


def show(
    paths: Sequence[str],
    *,
    kernels: bool = False,
    pattern: str | None = None,
    details: bool = False,
) -> ShowReport:
    """The device code of files, folders, wheels, archives or installed packages.

    Nothing is decompressed unless kernels are asked for.

    Args:
        paths: Paths, or names of installed packages.
        kernels: Whether to list the kernels.
        pattern: Only kernels whose mangled or readable name matches; a pattern
            without ``*``, ``?`` or ``[`` may stand anywhere in the name.
        details: Also the size, registers and shared memory of each kernel.
    """
    errors: list[ArchbuildError] = []
    files = tuple(_files(paths, errors, kernels=kernels, details=details))
    asked = _kernels(files, pattern) if kernels else None
    return ShowReport(tuple(paths), files, tuple(errors), asked)


def _files(
    paths: Sequence[str], errors: list[ArchbuildError], *, kernels: bool, details: bool
) -> Iterator[DeviceFile]:
    for path in paths:
        try:
            yield from iter_files(
                path, kernels=kernels, notes=False, details=details, errors=errors
            )
        except ArchbuildError as error:
            errors.append(error)


def _kernels(files: Iterable[DeviceFile], pattern: str | None) -> Kernels:
    # Many images share one list.
    lists = {id(i.kernels): i.kernels for file in files for i in file.images if i.kernels}
    names = {name: name for held in lists.values() for name in held}
    if pattern is None and len(names) > MOST_READABLE:
        return Kernels(names, why_mangled=f"more than {MOST_READABLE:,}; give a PATTERN")
    from archbuild.probe.demangle import DEMANGLERS, demangle, find_demangler  # noqa: PLC0415

    demangler = find_demangler()
    if demangler is None:
        reason = f"there is no {' or '.join(DEMANGLERS)}"
        return Kernels(_matching(names, pattern), pattern, why_mangled=reason)
    names.update(demangle(names, demangler))
    return Kernels(_matching(names, pattern), pattern, demangler)


def _matching(names: Mapping[str, str], pattern: str | None) -> Mapping[str, str]:
    if pattern is None:
        return names
    import re  # noqa: PLC0415
    from fnmatch import translate  # noqa: PLC0415

    whole = pattern if set("*?[") & set(pattern) else f"*{pattern}*"
    matches = re.compile(translate(whole)).match
    return {name: told for name, told in names.items() if matches(told) or matches(name)}
