"""What lies inside an image, beyond what the header of its entry tells."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from archbuild.model.arch import Arch
from archbuild.model.image import Kernel
from archbuild.model.version import CudaVersion


class Depth(IntEnum):
    """How much is read of each image: names of kernels, what its notes tell, all of it."""

    HEADERS = 0
    NAMES = 1
    KERNELS = 2
    DETAILS = 3


@dataclass(frozen=True)
class Contents:
    """What was read of one image; None stands for what was not.

    Args:
        kernels: Names of its entry functions.
        details: All that is known of each.
        variables: How many device variables it has.
        relocatable: Whether a device link has to come first.
        arch: The architecture that it tells itself.
        isa: The PTX ISA that it tells itself.
        virtual: The virtual architecture that it was assembled from.
        toolkit: The CUDA of the tools that made it.
        digest: SHA-256 of its bytes as they are stored.
    """

    kernels: tuple[str, ...] | None = None
    details: tuple[Kernel, ...] | None = None
    variables: int | None = None
    relocatable: bool | None = None
    arch: Arch | None = None
    isa: tuple[int, int] | None = None
    virtual: Arch | None = None
    toolkit: CudaVersion | None = None
    digest: str | None = None


NOTHING = Contents()
