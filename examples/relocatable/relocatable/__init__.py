"""A polynomial, on the GPU."""
