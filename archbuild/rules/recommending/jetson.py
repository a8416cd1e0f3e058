"""Jetson modules: which of them the index's wheels for aarch64 are meant for."""

from __future__ import annotations

from archbuild.facts.architectures import is_tegra
from archbuild.model.arch import ComputeCapability
from archbuild.model.version import CudaVersion

#: Thor, from which on servers and modules of aarch64 share one CUDA.
_THOR = ComputeCapability(11, 0)
#: The CUDA from which on torch itself counts older modules among what its wheels may run on.
_SHARED = CudaVersion(13, 2)


def is_before_thor(capability: ComputeCapability) -> bool:
    """Whether it is a module for which NVIDIA makes wheels of its own."""
    return bool(is_tegra(capability)) and capability < _THOR


def needs_own_wheels(capability: ComputeCapability, cuda: CudaVersion) -> bool:
    """Whether wheels of this CUDA are none for a Jetson of this capability.

    From CUDA 13.2 on torch's own table (torch/cuda/__init__.py of 2.14.1) no longer
    leaves these modules out; NVIDIA documents nothing, so the rule of coverage decides.

    Args:
        capability: The GPU's.
        cuda: The wheel's.
    """
    return is_before_thor(capability) and cuda < _SHARED
