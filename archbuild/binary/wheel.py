"""Containers: which files in a folder, a wheel or a zip can hold device code.

Only the walk is here; what is in a file, a reader says. A member of an archive
is written to a temporary folder under a name of our own, one at a time, and is
gone when the next one is asked for.
"""

from __future__ import annotations

import errno
import lzma
import os
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from archbuild.binary.outline import Form, read_head, sniff, unreadable
from archbuild.errors import BinaryError, UnreadableError

#: Bytes of one member; the largest library in public wheels has about 2.5 GB.
MEMBER_LIMIT = 8 << 30
#: Bytes of all members of one archive which are written out, one after the other.
TOTAL_LIMIT = 64 << 30
#: Archives inside archives: the zip of a CI service holds wheels.
_DEPTH = 2
_CHUNK = 1 << 20
_BINARY = frozenset({".so", ".o", ".a", ".exe", ".cubin", ".fatbin", ".dll", ".pyd", ".lib"})
_ARCHIVES = frozenset({".whl", ".zip"})
#: Forms which show by the first bytes, whatever the name is.
_FORMS = frozenset({Form.ELF, Form.CUBIN, Form.FATBIN, Form.ARCHIVE})
#: Also the suffix of meshes, which are text.
_OBJECT = ".obj"
_SCRIPTS = (b"/* GNU ld script", b"INPUT", b"GROUP", b"OUTPUT_FORMAT")
#: What zipfile raises on damaged, hostile or unusual archives (Python 3.10-3.14).
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True)
class Candidate:
    """A file that can hold device code.

    Args:
        name: As a person would call it: the path, or the member's name.
        real: A real file with these bytes, until the next candidate is asked for.
    """

    name: str
    real: Path


@dataclass(frozen=True)
class Limits:
    """How much may be written out of one archive.

    Args:
        member: Bytes of one member.
        total: Bytes of all members together.
    """

    member: int = MEMBER_LIMIT
    total: int = TOTAL_LIMIT


def iter_candidates(path: str | Path, limits: Limits | None = None) -> Iterator[Candidate]:
    """Every file that can hold device code, each as a real file.

    Args:
        path: A library, an object, a wheel or other zip archive, or a folder.
        limits: How much may be written out.

    Yields:
        The file itself, whatever it is; or the binaries in the folder or archive.

    Raises:
        BinaryError: If something is missing, damaged, encrypted, too large or
            may not be read.
        UnreadableError: If there is no room for temporary files.
    """
    place = Path(path)
    limits = limits or Limits()
    if _is_folder(place):
        yield from _walk_folder(place, limits)
    elif _is_zip(place, str(path)):
        yield from _walk_zip(place, str(path), limits, _DEPTH)
    else:
        yield Candidate(str(path), place)


def describe_container(path: str | Path) -> str:
    """What is unusual about a container: one sentence, or nothing.

    Raises:
        BinaryError: If it cannot be opened.
    """
    place = Path(path)
    if _is_folder(place) or not _is_zip(place, str(path)):
        return ""
    with _open_zip(place, str(path)) as archive:
        names = archive.namelist()
    if any(PurePosixPath(name).match("*.dist-info/WHEEL") for name in names):
        return ""
    return (
        f"{path} is a zip archive but no wheel, it has no .dist-info/WHEEL; it was read as it is."
    )


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as error:
        raise unreadable(str(path), error) from None


def _is_zip(path: Path, name: str) -> bool:
    """A zip by its first bytes; by its name as well, so that damage is told."""
    if path.suffix.lower() in _ARCHIVES:
        return True
    return sniff(read_head(path, name)) is Form.ZIP


def _can_hold_code(name: str, head: bytes) -> bool:
    """Whether a file in a container is worth a reader's look."""
    if sniff(head) in _FORMS:
        return True
    pure = PurePosixPath(name.lower())
    if pure.suffix == _OBJECT:
        return sniff(head) is Form.COFF
    if not _BINARY & set(pure.suffixes[-1:]) and ".so." not in pure.name:
        return False
    return not head.lstrip().startswith(_SCRIPTS)


def _walk_folder(folder: Path, limits: Limits) -> Iterator[Candidate]:
    seen: set[tuple[int, int]] = set()
    for path, status in _files(folder):
        key = (status.st_dev, status.st_ino)
        if key in seen:
            continue
        seen.add(key)
        name = str(path)
        if path.suffix.lower() in _ARCHIVES:
            prefixed = _walk_zip(path, name, limits, _DEPTH - 1)
            yield from (Candidate(f"{name}/{c.name}", c.real) for c in prefixed)
        elif _can_hold_code(name, read_head(path, name) if status.st_size else b""):
            yield Candidate(name, path)


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Regular files in a stable order."""

    def stop(error: OSError) -> None:
        raise unreadable(str(error.filename or folder), error) from None

    root = folder.resolve()
    for place, folders, names in os.walk(folder, onerror=stop):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            try:
                status = _status(path, root)
            except OSError as error:
                raise unreadable(str(path), error) from None
            if status is not None and stat.S_ISREG(status.st_mode):
                yield path, status


def _status(path: Path, root: Path) -> os.stat_result | None:
    """What a name stands for; None for a link into the folder, or to nowhere."""
    if path.is_symlink() and (not path.exists() or root in path.resolve().parents):
        return None
    return path.stat()


def _open_zip(path: Path, name: str) -> zipfile.ZipFile:
    head = read_head(path, name)
    try:
        return zipfile.ZipFile(path)
    except NotImplementedError as error:
        raise BinaryError(f"{name} cannot be read: {error}.") from None
    except OSError as error:
        raise unreadable(name, error) from None
    except _DAMAGE:
        known = sniff(head) is Form.ZIP
        what = "a truncated or damaged zip archive" if known else "no zip archive"
        raise BinaryError(f"{name} is {what}.", "Build or download it again.") from None


def _walk_zip(path: Path, name: str, limits: Limits, depth: int) -> Iterator[Candidate]:
    with _open_zip(path, name) as archive, _scratch() as scratch:
        members = [member for member in archive.infolist() if not member.filename.endswith("/")]
        chosen = [m for m in members if _is_wanted(archive, m, name)]
        _refuse_twins(chosen, name)
        total = 0
        for member in chosen:
            total += member.file_size
            _refuse_size(member, total, limits, name)
            real = Path(scratch) / f"member{_own_suffix(member.filename)}"
            _extract(archive, member, real, name)
            yield from _open_member(member.filename, real, limits, depth)
            real.unlink(missing_ok=True)


def _open_member(name: str, real: Path, limits: Limits, depth: int) -> Iterator[Candidate]:
    if real.suffix not in _ARCHIVES:
        yield Candidate(name, real)
    elif depth > 0:
        for inner in _walk_zip(real, name, limits, depth - 1):
            yield Candidate(f"{name}/{inner.name}", inner.real)
    else:
        raise BinaryError(f"{name} is an archive in an archive in an archive.", "Unpack it first.")


def _scratch() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="archbuild-")
    except OSError as error:
        raise UnreadableError(
            f"No temporary folder can be made: {error.strerror or error}.", "Set TMPDIR."
        ) from None


def _own_suffix(name: str) -> str:
    """The suffix, where it is one we know; nothing else of a member's name is used."""
    suffix = PurePosixPath(name.lower()).suffix
    return suffix if suffix in _BINARY | _ARCHIVES else ".bin"


def _is_wanted(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bool:
    if PurePosixPath(member.filename).suffix.lower() in _ARCHIVES:
        return True
    if stat.S_ISLNK(member.external_attr >> 16):
        return False  # its bytes are the name of another file
    head = b""
    if member.file_size:
        with _open_stream(archive, member, name) as stream:
            head = _read(stream, 64, member, name)
    return _can_hold_code(member.filename, head)


def _refuse_twins(members: Iterable[zipfile.ZipInfo], name: str) -> None:
    seen: set[str] = set()
    for member in members:
        if member.filename in seen:
            raise BinaryError(
                f"{name} holds {member.filename} twice; which one is installed, the tool decides.",
                "Build it again.",
            )
        seen.add(member.filename)


def _refuse_size(member: zipfile.ZipInfo, total: int, limits: Limits, name: str) -> None:
    if member.file_size > limits.member:
        raise BinaryError(
            f"{member.filename} in {name} unpacks to {member.file_size} bytes, "
            f"more than the limit of {limits.member}."
        )
    if total > limits.total:
        raise BinaryError(f"{name} unpacks to more than the limit of {limits.total} bytes.")


def _open_stream(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> IO[bytes]:
    if member.flag_bits & 1:
        raise BinaryError(
            f"{member.filename} in {name} is encrypted.", "Decrypt the archive first."
        )
    try:
        return archive.open(member)
    except NotImplementedError:
        raise BinaryError(
            f"{member.filename} in {name} is compressed by method {member.compress_type}, "
            "which Python cannot read."
        ) from None
    except RuntimeError as error:
        raise BinaryError(f"{member.filename} in {name} cannot be read: {error}.") from None
    except (*_DAMAGE, OSError):
        raise _damaged(member, name) from None


def _read(stream: IO[bytes], count: int, member: zipfile.ZipInfo, name: str) -> bytes:
    try:
        return stream.read(count)
    except (*_DAMAGE, OSError):
        raise _damaged(member, name) from None


def _damaged(member: zipfile.ZipInfo, name: str) -> BinaryError:
    message = f"{member.filename} in {name} is damaged: its bytes do not unpack to what was packed."
    return BinaryError(message, "Build or download it again.")


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, real: Path, name: str) -> None:
    """Write a member out, never more than it declares; its checksum is tested on the way."""
    left = member.file_size
    with _open_stream(archive, member, name) as stream:
        try:
            with real.open("wb") as out:
                while chunk := _read(stream, min(_CHUNK, left + 1), member, name):
                    left -= len(chunk)
                    if left < 0:
                        raise _damaged(member, name)
                    out.write(chunk)
        except OSError as error:
            raise _no_room(member, name, error) from None
    if left:
        raise _damaged(member, name)


def _no_room(member: zipfile.ZipInfo, name: str, error: OSError) -> UnreadableError:
    reason = "no room" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror)
    return UnreadableError(
        f"{member.filename} of {name} cannot be unpacked to {tempfile.gettempdir()}: {reason}.",
        "Set TMPDIR to a folder with more room.",
    )
