"""The files that are to be judged, read by whom the person wants, as deep as needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from archbuild.binary.manifests import Manifests
from archbuild.binary.reader import iter_files
from archbuild.errors import ArchbuildError, BinaryError
from archbuild.model.image import DeviceFile
from archbuild.probe.second_reader import OtherReader

#: Bytes of a file whose kernels are read in any case: a sixth of a second, at the most.
SMALL = 16 << 20


@dataclass(frozen=True)
class WantedFiles:
    """Which files to read, and how.

    Args:
        glob: Only files whose name, or whole path, matches; None: all.
        kernels: Whether to read the kernels; None: as ``deep`` says, and of small
            files always.
        deep: Whether the question needs them.
        other: The second reader, which is the only one with ``reader`` cuobjdump.
        reader: Who may read: ``auto``, ``native``, ``cuobjdump`` or ``both``.
    """

    glob: str | None
    kernels: bool | None
    deep: bool
    other: OtherReader
    reader: str

    def read(
        self, path: str, errors: list[ArchbuildError], manifests: Manifests
    ) -> Iterator[DeviceFile]:
        """Everything wanted in a path, as far as there is reading on.

        Args:
            path: A file, folder, archive or installed package.
            errors: Where to put what can't be read.
            manifests: Where to put the manifests beside the files.
        """
        yield from _until_damaged(self._read(path, errors, manifests), errors)

    def read_kernels(
        self,
        path: str,
        closer: Collection[str],
        errors: list[ArchbuildError],
        manifests: Manifests,
    ) -> Iterator[DeviceFile]:
        """Some of the files once more, with their kernels.

        Args:
            path: As before.
            closer: The paths of those files.
            errors: Where to put what can't be read.
            manifests: Where to put the manifests.
        """
        if closer:
            deep = iter_files(
                path,
                kernels=True,
                names=None,
                errors=errors,
                wanted=closer.__contains__,
                manifests=manifests,
            )
            yield from _until_damaged(deep, errors)

    def _read(
        self, path: str, errors: list[ArchbuildError], manifests: Manifests
    ) -> Iterator[DeviceFile]:
        if self.reader == "cuobjdump":
            yield from self._read_elsewhere(path, errors, manifests)
            return
        yield from iter_files(
            path,
            kernels=self.kernels if self.kernels is not None else self.deep,
            errors=errors,
            small=0 if self.kernels is False else SMALL,
            names=True if self.kernels else None,
            wanted=self.is_wanted,
            manifests=manifests,
        )

    def _read_elsewhere(
        self, path: str, errors: list[ArchbuildError], manifests: Manifests
    ) -> Iterator[DeviceFile]:
        """By cuobjdump alone; the manifests it can't find."""
        for look in self.other.ask(path, self.is_wanted, kernels=self.kernels is not False):
            if look.file is not None:
                yield look.file
            if look.file is None or look.passed_over:
                errors.append(BinaryError(look.reason or look.passed_over, look.advice))
        with suppress(ArchbuildError):
            list(iter_files(path, wanted=lambda _: False, errors=errors, manifests=manifests))

    def is_wanted(self, name: str) -> bool:
        """Whether a file of this name is to be read."""
        glob, base = self.glob, PurePath(name).name
        return glob is None or fnmatchcase(name, glob) or fnmatchcase(base, glob)


def _until_damaged(
    files: Iterator[DeviceFile], errors: list[ArchbuildError]
) -> Iterator[DeviceFile]:
    """The files as far as there is reading on; why there is none goes to the errors."""
    try:
        yield from files
    except ArchbuildError as error:
        errors.append(error)
