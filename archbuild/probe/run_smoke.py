"""Run by its path in a child process: calls the smoke library on one GPU.

A driver can hang or crash for good, so that only a child may call it. What came
out goes to a file as JSON, whole or not at all.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any


def call(library: str, device: int, n: int, seed: int) -> dict[str, Any]:
    """Load the library, run the kernel.

    Args:
        library: Path of the shared library.
        device: CUDA's ordinal.
        n: Elements.
        seed: 32 bits.

    Returns:
        ``error``, a CUDA error number, and the numbers; or ``failure``, a text.
    """
    try:
        function = ctypes.CDLL(library).archbuild_smoke
    except (OSError, AttributeError) as reason:
        return {"failure": f"the library cannot be loaded: {reason}"}
    words = (ctypes.c_uint32 * n)()
    singles = (ctypes.c_float * n)()
    doubles = (ctypes.c_double * n)()
    arch = (ctypes.c_uint32 * 1)()
    function.restype = ctypes.c_int
    error = function(
        ctypes.c_int(device),
        ctypes.c_uint32(n),
        ctypes.c_uint32(seed),
        words,
        singles,
        doubles,
        arch,
    )
    numbers = {"words": list(words), "singles": list(singles), "doubles": list(doubles)}
    return {"error": error, "arch": arch[0], **numbers}


def main(arguments: list[str]) -> None:
    """Take library, device, n, seed and the file to write."""
    library, device, n, seed, target = arguments
    result = call(library, int(device), int(n), int(seed))
    draft = Path(f"{target}.part")
    draft.write_text(json.dumps(result))
    draft.replace(target)


if __name__ == "__main__":
    main(sys.argv[1:])
