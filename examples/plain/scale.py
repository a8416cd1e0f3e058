"""Load libscale.so with ctypes and scale a list of numbers on the GPU."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

_library = ctypes.CDLL(str(Path(__file__).with_name("libscale.so").resolve()))
_library.scale.argtypes = [ctypes.c_int, ctypes.c_float, ctypes.POINTER(ctypes.c_float)]
_library.scale_error.restype = ctypes.c_char_p


def scale(factor: float, values: Sequence[float]) -> list[float]:
    """Return ``factor * x`` for each value; RuntimeError with CUDA's own words on failure."""
    array = (ctypes.c_float * len(values))(*values)
    error = _library.scale(len(values), factor, array)
    if error:
        raise RuntimeError(f"CUDA error {error}: {_library.scale_error(error).decode()}")
    return list(array)


if __name__ == "__main__":
    print(scale(2.0, [1.0, 2.0, 3.0]))
