"""Run by its path in a child process: torch's operations on the one GPU that it sees.

Each is followed by a synchronize, without which an error of a kernel shows itself
later or never. After a failure the process is of no more use, so that it stops there.
It prints one JSON object a line.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any


def _emit(**record: Any) -> None:
    sys.stdout.write("\n" + json.dumps(record) + "\n")
    sys.stdout.flush()


def _elementwise(torch: Any) -> bool:
    """A kernel that torch itself holds."""
    values = torch.arange(1000, device="cuda", dtype=torch.float32) * 2 + 1
    torch.cuda.synchronize()
    return bool(values.cpu()[999].item() == 1999.0)


def _matmul(torch: Any) -> bool:
    """A product, by cuBLAS. The numbers are exact in every precision."""
    ones = torch.ones((64, 64), dtype=torch.float32).cuda()
    product = ones @ ones
    torch.cuda.synchronize()
    return bool((product.cpu() == 64.0).all().item())


def _linalg(torch: Any) -> bool:
    """A system of equations, by torch's own library for linear algebra."""
    matrix = torch.eye(32, dtype=torch.float32) * 4
    right = torch.ones((32, 1), dtype=torch.float32)
    found = torch.linalg.solve(matrix.cuda(), right.cuda())
    torch.cuda.synchronize()
    return bool((found.cpu() - 0.25).abs().max().item() < 1e-6)


_TRIALS: dict[str, Callable[[Any], bool]] = {
    "torch": _elementwise,
    "matmul": _matmul,
    "linalg": _linalg,
}


def _try(torch: Any, name: str) -> bool:
    try:
        good = _TRIALS[name](torch)
    # Whatever it is, it is the answer.
    except Exception as reason:
        code = getattr(reason, "error_code", None)
        _emit(name=name, error=code if isinstance(code, int) else None, said=str(reason))
        return False
    _emit(name=name, error=None, said="" if good else "the numbers are wrong")
    return good


def main(arguments: list[str]) -> None:
    """Take the search path and the names of the operations, both as JSON."""
    path, names = map(json.loads, arguments)
    sys.path[:] = path
    warnings.simplefilter("ignore")
    _emit(begin="import")
    try:
        import torch  # noqa: PLC0415
    except Exception as reason:
        _emit(name="import", error=None, said=f"import torch: {reason}")
        return
    for name in names:
        _emit(begin=name)
        if not _try(torch, name):
            return


if __name__ == "__main__":
    main(sys.argv[1:])
