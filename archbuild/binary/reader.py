"""Read the device code of anything that can hold some, natively."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from archbuild.binary import folders
from archbuild.binary.contents import Depth
from archbuild.binary.manifests import Manifests, is_manifest
from archbuild.binary.recognize import find_container, read_source, recognize
from archbuild.binary.source import FileSource, Source, StreamSource, temporary_copy
from archbuild.errors import ArchbuildError, BinaryError
from archbuild.model.image import DeviceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from archbuild.binary.tars import TarMember
    from archbuild.binary.zips import ZipMember

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_INNER_TAR = (".tar.zst", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar")
# Archives that are looked into where they lie in a folder or in another archive: what
# a build leaves in dist/, and what a CI service packs again.
_INNER_ZIP = (".whl", ".zip", ".conda")
_INNER = (*_INNER_ZIP, *_INNER_TAR)
_DEEPEST = 2


def read(
    path: str | os.PathLike[str], *, kernels: bool = False, details: bool = False
) -> tuple[DeviceFile, ...]:
    """The device code of a file, folder, wheel, archive or installed package.

    Architectures, suffixes, PTX ISA and sizes are read without decompressing
    anything. Nothing is executed, imported or written.

    Args:
        path: A path, or the name of an installed package.
        kernels: Read the names of the kernels, too.
        details: Read all that is known of each kernel, which takes longer.

    Returns:
        One for each library, object, archive and the like, in order, also for those
        without device code; files that can hold none are left out.

    Raises:
        BinaryError: If anything in it is damaged or cannot be read.
        ToolError: If a package that inflates device code is not installed.

    Examples:
        >>> import archbuild
        >>> (library,) = archbuild.read("tests/data/classic.so", kernels=True)
        >>> for image in library.images:
        ...     print(image.kind.value, image.arch, image.stored, image.kernels)
        sass sm_86 3112 ('scale',)
        ptx compute_120 272 ('scale',)
        sass sm_120 5320 ('scale',)
    """
    return tuple(iter_files(os.fspath(path), kernels=kernels, details=details))


def read_digested(path: str | os.PathLike[str]) -> DeviceFile:
    """One library with its kernels, and a digest of each image.

    Args:
        path: The library.

    Raises:
        BinaryError: If it can't be read, or is no single file.
    """
    manifests = Manifests()
    manifests.may_follow = True
    files = list(iter_files(os.fspath(path), kernels=True, manifests=manifests))
    if len(files) != 1:
        raise BinaryError(f"{path} is no single library.", "Name the library itself.")
    return files[0]


def iter_files(
    path: str,
    *,
    kernels: bool = False,
    notes: bool = True,
    details: bool = False,
    errors: list[ArchbuildError] | None = None,
    small: int = 0,
    names: bool | None = False,
    wanted: Callable[[str], bool] | None = None,
    manifests: Manifests | None = None,
) -> Iterator[DeviceFile]:
    """The same as :func:`read`, file by file.

    Args:
        path: A path, or the name of an installed package.
        kernels: Read the names of the kernels, too.
        notes: And with them from which virtual architecture and with which CUDA each
            cubin was made. Without it most names are read in half the time.
        details: Read all that is known of each kernel, which takes longer.
        errors: Where to put what is wrong with single files, to go on with the
            others; without it the first one is raised.
        small: Read the names of the kernels of files of at most so many bytes,
            whatever ``kernels`` says.
        names: Whether to look for the names of the kernels that are read in the
            host's data: those that it lacks were never registered. A stream has to
            be inflated once more for it, as far as that data goes. None: where
            that is cheap, in files on the disk and in small members.
        wanted: Whether to read a file, by the name that it bears in the result.
        manifests: Where to keep the manifests that lie beside libraries, whose
            images are then digested. All are kept when the last file was given.

    Raises:
        BinaryError: If it cannot be read.
        ToolError: If a package that inflates device code is not installed.
    """
    named = Depth.KERNELS if notes else Depth.NAMES
    depth = Depth.DETAILS if details else named if kernels else Depth.HEADERS
    reader = _Reader(depth, errors, small, wanted, manifests, names=names)
    if os.path.isdir(path):  # noqa: PTH112 - pathlib is slow to import
        return reader.read_paths(folders.walk(path))
    if not os.path.lexists(path) and os.sep not in path:
        files = folders.find_package(path)
        if files is not None:
            return reader.read_paths(files)
    return reader.read_path(path)


class _Reader:
    """Reads one file after the other; knows how deep, and what to do about errors."""

    def __init__(
        self,
        depth: Depth,
        errors: list[ArchbuildError] | None,
        small: int,
        wanted: Callable[[str], bool] | None,
        manifests: Manifests | None,
        *,
        names: bool | None,
    ) -> None:
        self._depth, self._errors = depth, errors
        self._small, self._wanted, self._names = small, wanted, names
        self._manifests = manifests
        self._prefix = ""

    def _read(self, source: Source, name: str) -> DeviceFile | None:
        """One file; None if it is not wanted, or of a kind that holds no device code."""
        name = self._prefix + name
        if not self._is_wanted(name):
            return None
        is_small = source.size <= self._small
        depth = max(self._depth, Depth.KERNELS) if is_small else self._depth
        names = is_small or not source.is_forward if self._names is None else self._names
        names = names and depth is not Depth.HEADERS
        digests = self._manifests is not None and self._manifests.may_speak_for(name)
        result = read_source(source, name, depth, names=names, digests=digests)
        if result is None:
            folders.refuse_text(source.name, source.peek(0, 64))
        return result

    def _is_wanted(self, name: str) -> bool:
        return self._wanted is None or self._wanted(name)

    @contextmanager
    def _inside(self, path: str) -> Iterator[None]:
        """Names of files get the archive's before them."""
        before, self._prefix = self._prefix, f"{self._prefix}{path}/"
        try:
            yield
        finally:
            self._prefix = before

    def read_paths(self, paths: Iterator[str] | list[str]) -> Iterator[DeviceFile]:
        """Each of several files, also what lies in the wheels and archives among them."""
        for path in paths:
            files = self._within(path) if path.lower().endswith(_INNER) else self._plain(path)
            yield from self._guarded(files)

    def _within(self, path: str) -> Iterator[DeviceFile]:
        with self._inside(path):
            yield from self.read_path(path)

    def read_path(self, path: str) -> Iterator[DeviceFile]:
        """A file by itself: what it contains, if it is a container."""
        self._look_beside(path)
        with _open(path) as file:
            whole = FileSource(path, file, os.fstat(file.fileno()).st_size)
            container = find_container(whole)
            if container == "zip":
                yield from self._zip(file, whole, 1)
                return
            if container is not None:
                yield from self._tar(whole, container, path)
                return
            if not self._is_wanted(path):
                return
            result = self._read(whole, path)
        if result is None:
            if whole.size == 0:
                raise BinaryError(f"{path} is empty.", "Build, copy or download it again.")
            raise BinaryError(
                f"{path} is of no kind that can hold device code.",
                "Give a library, object, wheel, archive, cubin, fatbin, PTX file or folder.",
            )
        yield result

    def _plain(self, path: str) -> Iterator[DeviceFile]:
        self._look_beside(path)
        with _open(path) as file:
            whole = FileSource(path, file, os.fstat(file.fileno()).st_size)
            result = self._read(whole, path)
        if result is not None:
            yield result

    def _zip(self, file: IO[bytes], whole: FileSource, depth: int) -> Iterator[DeviceFile]:
        from archbuild.binary import zips  # noqa: PLC0415 - slow to import

        for member in zips.read_members(file, whole, is_manifest):
            if self._manifests is not None and is_manifest(member.name):
                self._keep(member.name, member.source)
            elif member.name.lower().endswith(_INNER_ZIP):
                yield from self._guarded(self._zip_in_zip(member, depth + 1))
            else:
                yield from self._guarded(self._zip_member(member))

    def _zip_in_zip(self, member: ZipMember, depth: int) -> Iterator[DeviceFile]:
        """An archive in an archive: its directory comes last, so that it is copied first."""
        if depth > _DEEPEST:
            message = f"{member.source.name} is an archive in an archive in an archive."
            raise BinaryError(message, "Unpack it first.")
        with temporary_copy(member.source) as file:
            whole = FileSource(member.source.name, file, member.source.size)
            with self._inside(member.name):
                yield from self._zip(file, whole, depth)

    def _zip_member(self, member: ZipMember) -> Iterator[DeviceFile]:
        if member.name.endswith(_INNER_TAR):
            # A conda package: a zip file with tar archives in it.
            container = find_container(member.source)
            if container is not None and container != "zip":
                yield from self._tar(member.source, container, member.name)
        elif not folders.is_text(member.name):
            result = self._read(member.source, member.name)
            if result is not None:
                member.source.finish()
                yield result

    def _tar(self, packed: Source, method: str, path: str) -> Iterator[DeviceFile]:
        from archbuild.binary import tars  # noqa: PLC0415 - slow to import

        source = tars.unpacked(packed, method)
        if not tars.is_tar(source):
            raise BinaryError(f"{path} is packed, and no tar archive is inside it.")
        if self._manifests is not None:
            self._manifests.may_follow = True
        for member in tars.read_members(source):
            yield from self._guarded(self._tar_member(source, member))
        if isinstance(source, StreamSource):
            source.drain()

    def _tar_member(self, source: Source, member: TarMember) -> Iterator[DeviceFile]:
        if self._manifests is not None and is_manifest(member.name):
            self._keep(member.name, source.view(member.offset, member.size, member.name))
        if folders.is_text(member.name):
            return
        own = source.view(member.offset, member.size, f"{source.name}: {member.name}")
        # A tar archive is passed through only once, so a library in it is kept.
        if recognize(own, member.name) is not None:
            result = self._read(own.hold(0, own.size), member.name)
            if result is not None:
                yield result

    def _look_beside(self, path: str) -> None:
        """Keep the manifest that lies on the disk beside a file, if one does."""
        if self._manifests is None:
            return
        try:
            self._manifests.look_beside(path)
        except BinaryError as error:
            self._note(error)

    def _keep(self, name: str, source: Source) -> None:
        assert self._manifests is not None
        try:
            self._manifests.keep(self._prefix + name, source)
        except BinaryError as error:
            self._note(error)

    def _note(self, error: ArchbuildError) -> None:
        if self._errors is None:
            raise error
        self._errors.append(error)

    def _guarded(self, files: Iterator[DeviceFile]) -> Iterator[DeviceFile]:
        try:
            yield from files
        except ArchbuildError as error:
            self._note(error)


def _open(path: str) -> io.FileIO:
    """A regular file, opened without waiting for a pipe's other end.

    Raises:
        BinaryError: If it is not there, may not be read, or is no regular file.
    """
    try:
        file = io.FileIO(os.open(path, _FLAGS), "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"{path} cannot be read: {reason}."
        raise BinaryError(message, "Give a path, or the name of an installed package.") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise BinaryError(f"{path} is no regular file.", "Give a file or a folder.")
    return file
