"""Which cuDNN comes with which wheel of torch; which GPUs a cuDNN serves is another table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from archbuild.facts.torch_releases import TorchRelease
from archbuild.model.version import CudaVersion


@dataclass(frozen=True)
class TorchCudnnRow:
    """The cuDNN of one torch and CUDA.

    Args:
        torch: The release.
        cuda: The CUDA of its wheel.
        cudnn: ``9.10.2.21``.
        source: Where it is written.
        date: When it was read there.
    """

    torch: TorchRelease
    cuda: CudaVersion
    cudnn: str
    source: str
    date: date


_READ = date(2026, 12, 1)
_MATRIX = "PyTorch's release compatibility matrix"
_METADATA = "the metadata of the index's wheel"


def _rows(cudnn: str, cuda: str, torches: str, source: str = _MATRIX) -> tuple[TorchCudnnRow, ...]:
    return tuple(
        TorchCudnnRow(TorchRelease.parse(torch), CudaVersion.parse(cuda), cudnn, source, _READ)
        for torch in torches.split()
    )


# What 2.15 brings besides its own index's wheel nobody here has seen: no row. The matrix
# gives 9.17.1.4 for 2.11 with CUDA 13.0; the wheel's own metadata says otherwise.
TORCH_CUDNN = (
    *_rows("8.3.2.44", "11.6", "1.13"),
    *_rows("8.5.0.96", "11.7", "1.13 2.0"),
    *_rows("8.7.0.84", "11.8", "2.0 2.1 2.2 2.3"),
    *_rows("8.9.2.26", "12.1", "2.1 2.2 2.3"),
    *_rows("9.1.0.70", "11.8", "2.4 2.5 2.6 2.7"),
    *_rows("9.1.0.70", "12.1", "2.4 2.5"),
    *_rows("9.1.0.70", "12.4", "2.4 2.5 2.6"),
    *_rows("9.5.1.17", "12.6", "2.6 2.7"),
    *_rows("9.7.1.26", "12.8", "2.7"),
    *_rows("9.10.2.21", "12.6", "2.8 2.9 2.10 2.11 2.12 2.13 2.14"),
    *_rows("9.10.2.21", "12.8", "2.8 2.9 2.10", _METADATA),
    *_rows("9.10.2.21", "12.9", "2.8"),
    *_rows("9.17.1.4", "12.8", "2.11"),
    *_rows("9.13.0.50", "13.0", "2.9"),
    *_rows("9.15.1.9", "13.0", "2.10"),
    *_rows("9.19.0.56", "13.0", "2.11", _METADATA),
    *_rows("9.20.0.48", "13.0", "2.12 2.13", _METADATA),
    *_rows("9.24.0.43", "13.0", "2.14", _METADATA),
    *_rows("9.20.0.48", "13.2", "2.12 2.13"),
    *_rows("9.24.0.43", "13.2", "2.14"),
)

_BY_WHEEL = {(row.torch, row.cuda): row.cudnn for row in TORCH_CUDNN}


def cudnn_of(torch: TorchRelease, cuda: CudaVersion) -> str | None:
    """The cuDNN that comes with this torch of this CUDA; None where it is not known."""
    return _BY_WHEEL.get((torch, cuda))
