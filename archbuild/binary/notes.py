"""The notes of a cubin: which CUDA made it, and from which virtual architecture.

``.note.nv.cuinfo`` (CUDA 13) holds the virtual architecture and the CUDA of the
tools; ``.note.nv.tkinfo`` (from 12.9 on) names each tool with its release. Older
cubins tell neither. Layouts were verified with ptxas 12.9, 13.0 and 13.5.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from archbuild.model.arch import Arch, ComputeCapability, Stage
from archbuild.model.version import CudaVersion

# A note: bytes of its name, bytes of its text, type, the name.
_OWNER = b"NVIDIA Corp\0"
_CUINFO = struct.pack("<III", 12, 8, 1000) + _OWNER
# Version 2 of the text: the virtual architecture, and ten times the CUDA version.
_TEXT = struct.Struct("<HHI")
_VERSION = 2
_RELEASE = re.compile(rb", release (\d{1,3})\.(\d{1,2}), V")

#: Bytes after the symbols among which the notes begin in cubins of a usual size.
NEAR = 1 << 15


@dataclass(frozen=True)
class Notes:
    """What the notes of a cubin tell; None where they don't.

    Args:
        virtual: The virtual architecture, without its suffix.
        toolkit: The CUDA of the tools that made it.
    """

    virtual: Arch | None = None
    toolkit: CudaVersion | None = None


def read_notes(data: bytes) -> Notes:
    """What the notes among some bytes of a cubin tell.

    Args:
        data: The bytes of the sections, or those that lie around them.

    Examples:
        >>> read_notes(_CUINFO + bytes([2, 0, 80, 0, 130, 0, 0, 0]))
        Notes(virtual=Arch(stage=<Stage.VIRTUAL: 'compute'>, \
capability=ComputeCapability(major=8, minor=0), suffix=<Suffix.PLAIN: ''>), \
toolkit=CudaVersion(major=13, minor=0))
    """
    place = data.find(_CUINFO)
    if place >= 0 and len(data) >= place + len(_CUINFO) + _TEXT.size:
        version, number, cuda = _TEXT.unpack_from(data, place + len(_CUINFO))
        if version == _VERSION and 10 <= number <= 999 and 100 <= cuda <= 999:
            capability = ComputeCapability.from_number(number)
            return Notes(Arch(Stage.VIRTUAL, capability), CudaVersion(*divmod(cuda, 10)))
    match = _RELEASE.search(data)
    return Notes(None, CudaVersion(int(match[1]), int(match[2])) if match else None)
