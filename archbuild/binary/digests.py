"""Digests of device images as they are stored."""

from __future__ import annotations

import hashlib

from archbuild.binary import limits
from archbuild.binary.source import Source


def digest_of(source: Source, offset: int, size: int) -> str:
    """The SHA-256 of a part of a source, in hexadecimal; it is read once, forwards.

    Args:
        source: What holds it.
        offset: Where it begins.
        size: Its bytes.

    Raises:
        BinaryError: If the bytes end before that.
    """
    digest = hashlib.sha256()
    for place in range(offset, offset + size, limits.CHUNK):
        digest.update(source.read(place, min(limits.CHUNK, offset + size - place)))
    return digest.hexdigest()
