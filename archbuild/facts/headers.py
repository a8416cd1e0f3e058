"""What a header costs every pass of a file that includes it, as measured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class HeaderRow:
    """What the passes took for a file with this header and one small kernel.

    Seconds are of one processor of a common cloud machine; memory is of one
    pass at its peak, in bytes, and is much the same on any machine.

    Args:
        header: As it stands in an include line; with a slash at its end, any
            header below that folder which has no row of its own.
        device: Seconds of cicc, once for every virtual architecture.
        device_memory: Its memory.
        split: Seconds of cudafe++, once for every file.
        split_memory: Its memory.
        host: Seconds of the host compiler, for a .cu or a .cpp, whichever takes longer.
        host_memory: Its memory.
        source: How it was measured.
        date: When.
    """

    header: str
    device: float
    device_memory: int
    split: float
    split_memory: int
    host: float
    host_memory: int
    source: str
    date: date


_TORCH = "torch 2.14.1, nvcc 13.0.88, g++ 12.2, -O3 -std=c++20, sm_90: rusage of each pass"
_CUDA = "CUDA 13.0 and its CCCL, nvcc 13.0.88, g++ 12.2, -O3 -std=c++20, sm_90: rusage of each pass"
_CUTLASS = "CUTLASS 4.2, nvcc 13.0.88, g++ 12.2, -O3 -std=c++20, sm_90: rusage of each pass"

# Header, then seconds and megabytes of the device pass, the split and the host pass.
_LIKE = "not measured: a header above in this table stands for what else that folder holds"
_INCLUDES = "not measured: taken as the row with the same figures, of which it is most"

# Header, then seconds and megabytes of the device pass, the split and the host pass.
_MEASURED = {
    _TORCH: """
        torch/extension.h            31.0 3137  30.9 2320  32.5 1604
        torch/all.h                  27.6 2777  28.8 2107  17.2 1318
        torch/types.h                 9.0 1582  14.3 1394  10.4  824
        torch/library.h               5.4 1075   6.4  992   6.1  487
        torch/csrc/stable/library.h   1.4  359   2.1  457   1.9  231
        ATen/ATen.h                   8.2 1307  11.9 1205   8.8  679
        ATen/cuda/CUDAContext.h       2.7  614   3.5  658   3.3  425
        ATen/core/Tensor.h            2.9  575   4.0  623   2.8  319
        ATen/Dispatch.h               1.8  341   3.0  446   2.3  220
        c10/cuda/CUDAGuard.h          2.8  507   4.7  573   3.1  352
        pybind11/pybind11.h           3.8  608   4.4  568   9.1  388
    """,
    _CUDA: """
        cub/cub.cuh                   2.0  551   3.7  663   2.7  331
        thrust/device_vector.h        2.2  531   3.6  653   3.3  328
        cuda_fp16.h                   0.3  101   0.4  206   0.4   74
        cuda_runtime.h                0.2   97   0.4  202   0.3   66
    """,
    _CUTLASS: """
        cutlass/gemm/collective/collective_builder.hpp 3.0 712 5.5 912 3.3 354
        cutlass/gemm/device/gemm.h    1.6  505   2.5  636   2.0  312
        cutlass/cutlass.h             0.2   97   0.3  202   0.2   66
        cute/tensor.hpp               2.1  520   3.9  667   2.0  316
    """,
    _INCLUDES: """
        torch/torch.h                27.6 2777  28.8 2107  17.2 1318
        torch/python.h               31.0 3137  30.9 2320  32.5 1604
    """,
    _LIKE: """
        torch/                        9.0 1582  14.3 1394  10.4  824
        torch/csrc/stable/            1.4  359   2.1  457   1.9  231
        ATen/                         2.9  575   4.0  623   3.3  425
        c10/                          2.8  507   4.7  573   3.1  352
        pybind11/                     3.8  608   4.4  568   9.1  388
        cub/                          2.0  551   3.7  663   2.7  331
        thrust/                       2.2  531   3.6  653   3.3  328
        cutlass/gemm/collective/      3.0  712   5.5  912   3.3  354
        cutlass/                      1.6  505   2.5  636   2.0  312
        cute/                         2.1  520   3.9  667   2.0  316
    """,
}


def _row(line: str, source: str) -> HeaderRow:
    header, *values = line.split()
    device, split, host = map(float, values[::2])
    sizes = [int(value) * 10**6 for value in values[1::2]]
    return HeaderRow(
        header, device, sizes[0], split, sizes[1], host, sizes[2], source, date(2026, 11, 30)
    )


HEADERS = tuple(
    _row(line, source) for source, text in _MEASURED.items() for line in text.strip().splitlines()
)

_BY_NAME = {row.header: row for row in HEADERS}

#: What any .cu includes, whether it says so or not.
LIGHTEST = _BY_NAME["cuda_runtime.h"]


def find_header(name: str) -> HeaderRow | None:
    """The row of a header, or of the nearest folder that has one.

    Args:
        name: As it stands in an include line.
    """
    name = name.replace("\\", "/")
    row = _BY_NAME.get(name)
    while row is None and "/" in name:
        name = name[: name.rstrip("/").rfind("/") + 1]
        row = _BY_NAME.get(name)
    return row
