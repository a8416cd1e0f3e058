"""The loader's list of libraries, ``/etc/ld.so.cache``, read without its program.

``ldconfig -p`` prints the same, but lies outside of many a user's PATH, is missing
from small images, and takes longer than all the rest of a machine's files.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_MAGIC = b"glibc-ld.so.cache1.1"
# After the magic: how many rows, bytes of strings, byte order, and fields without use here.
_HEADER = struct.Struct("<20sII20x")
# Flags, then where name and path begin, counted from the magic; versions and capabilities.
_ROW = struct.Struct("<iIIIQ")
# Of the flags: which kind of processor the library is for. From glibc's ldconfig.
_KIND = 0xFF00
_KINDS = {"x86_64": 0x0300, "aarch64": 0x0A00, "ppc64le": 0x0500}


def parse_ldcache(data: bytes, soname: str, processor: str) -> tuple[str, ...]:
    """The paths under which the loader knows a library, its first choice first.

    Args:
        data: The file's bytes; anything may be in them.
        soname: ``libcuda.so.1``.
        processor: As in :class:`archbuild.model.machine.Machine`; of one that is
            not known here every library counts.
    """
    # In a file of older versions the new list follows the old.
    start = data.find(_MAGIC)
    if start < 0 or len(data) - start < _HEADER.size:
        return ()
    return tuple(dict.fromkeys(_paths(data[start:], soname.encode(), _KINDS.get(processor))))


def _paths(data: bytes, soname: bytes, kind: int | None) -> Iterator[str]:
    _, count, _ = _HEADER.unpack_from(data)
    stop = min(len(data), _HEADER.size + count * _ROW.size)
    rows = data[_HEADER.size : stop - (stop - _HEADER.size) % _ROW.size]
    wanted = soname + b"\0"
    for flags, name, path, _, _ in _ROW.iter_unpack(rows):
        if data.startswith(wanted, name) and kind in (None, flags & _KIND):
            end = data.find(b"\0", path)
            if end > path and data[path : path + 1] == b"/":
                yield data[path:end].decode("utf-8", "surrogateescape")
