"""a * x + y on the GPU."""

import torch

from axpy._C import axpy as _axpy


def axpy(a: float, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return ``a * x + y`` for CUDA tensors of one shape: float, double or half."""
    return _axpy(a, x, y)


__all__ = ["axpy"]
