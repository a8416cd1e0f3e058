"""x * sigmoid(x), as one wheel for every Python from 3.10 and every torch from 2.10."""

import torch

from swish import _C  # noqa: F401  (it registers the operator)


def swish(x: torch.Tensor) -> torch.Tensor:
    """Return ``x * sigmoid(x)`` for a float tensor on the CPU or on a GPU."""
    return torch.ops.swish.swish(x)


__all__ = ["swish"]
