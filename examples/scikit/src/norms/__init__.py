"""The length of vectors on the GPU."""

from norms._C import norm

__all__ = ["norm"]
