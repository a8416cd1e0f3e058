"""The manifests beside libraries: kept as the files of a path go by."""

from __future__ import annotations

import os
import stat

from archbuild.binary import limits
from archbuild.binary.source import Source
from archbuild.errors import BinaryError
from archbuild.model.manifest import MANIFEST_SUFFIX, manifest_name

_CURE = "Take it out, or build the library again."


def is_manifest(name: str) -> bool:
    """Whether a file is one, by its name."""
    return name.endswith(MANIFEST_SUFFIX)


def beside(library: str) -> str:
    """The manifest of a library, in the same folder.

    Args:
        library: A path, or the name of an archive's member.
    """
    start = max(library.rfind("/"), library.rfind("\\")) + 1
    return library[:start] + manifest_name(library[start:])


class Manifests:
    """What was found, by the names that the files bear in the result.

    Attributes:
        may_follow: Whether a library can come before its manifest, as in an archive
            that is passed through only once: then every library is digested.
    """

    def __init__(self) -> None:
        self.may_follow = False
        self._texts: dict[str, bytes] = {}
        self._on_disk: set[str] = set()
        self._seen: set[str] = set()
        self._total = 0

    def text_for(self, library: str) -> tuple[str, bytes] | None:
        """The manifest of a library, name and bytes; None where it has none."""
        name = beside(library)
        text = self._texts.get(name)
        return None if text is None else (name, text)

    def may_speak_for(self, library: str) -> bool:
        """Whether there is a manifest for this library, or may still come."""
        return self.may_follow or beside(library) in self._texts

    def is_on_disk(self, library: str) -> bool:
        """Whether a library lies on the disk itself, with its manifest: it can be loaded."""
        return beside(library) in self._on_disk

    def keep(self, name: str, source: Source) -> None:
        """Take one in; the second of a name is passed over.

        Raises:
            BinaryError: If it is damaged, or too large to be one.
        """
        if name in self._seen:
            return
        self._seen.add(name)
        if source.size > limits.MANIFEST or self._total + source.size > limits.MANIFESTS:
            raise _too_large(name)
        text = source.read(0, source.size)
        self._put(name, text)

    def look_beside(self, path: str) -> None:
        """Take in the one that lies on the disk beside a file, if one does.

        Raises:
            BinaryError: If it can't be read, or is too large to be one.
        """
        name = beside(path)
        if name in self._seen:
            return
        self._seen.add(name)
        try:
            # Anything else, such as a pipe, could be waited for without end.
            if not stat.S_ISREG(os.stat(name).st_mode):  # noqa: PTH116 - pathlib is slow to import
                return
            with open(name, "rb") as file:  # noqa: PTH123
                text = file.read(limits.MANIFEST + 1)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return
        except OSError as error:
            raise BinaryError(f"{name} cannot be read: {error.strerror}.", _CURE) from None
        if len(text) > limits.MANIFEST or self._total + len(text) > limits.MANIFESTS:
            raise _too_large(name)
        self._on_disk.add(name)
        self._put(name, text)

    def _put(self, name: str, text: bytes) -> None:
        self._texts[name] = text
        self._total += len(text)


def _too_large(name: str) -> BinaryError:
    message = f"{name} is too large for a manifest, or there are too many of them."
    return BinaryError(message, _CURE)
