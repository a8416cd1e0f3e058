"""Whether the cuDNN that comes with a torch still holds code for a GPU."""

from __future__ import annotations

from enum import Enum

from archbuild.facts.architectures import find_capability_row
from archbuild.facts.cudnn import CUDNN, cudnn_floor
from archbuild.model.arch import ComputeCapability


class CudnnFit(Enum):
    """Whether a cuDNN holds code for a GPU."""

    HOLDS = "holds"
    GONE = "gone"
    UNKNOWN = "unknown"


def cudnn_fit(cudnn: str | None, capability: ComputeCapability) -> CudnnFit:
    """Whether a cuDNN holds code for a GPU.

    Args:
        cudnn: Its version, ``9.10.2.21``; None: not known, which matters only to GPUs
            that some cuDNN leaves out.
        capability: The GPU's.
    """
    row = find_capability_row(capability)
    if row is None or not any(row.generation in left.generations for left in CUDNN):
        return CudnnFit.HOLDS
    if not cudnn or not cudnn[0].isdigit():
        return CudnnFit.UNKNOWN
    return CudnnFit.HOLDS if cudnn_floor(cudnn, row.generation) is None else CudnnFit.GONE
