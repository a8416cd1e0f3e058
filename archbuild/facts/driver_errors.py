"""The errors of the CUDA driver API, by number and name.

Read in ``cuda.h`` of CUDA 13.0 on 2026-12-01. An error of one number has one and the
same text in the runtime and in the driver, so that only the names differ: 209 is
``CUDA_ERROR_NO_BINARY_FOR_GPU`` here and ``cudaErrorNoKernelImageForDevice`` there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class DriverErrorRow:
    """One error of the driver API.

    Args:
        number: The same as that of the runtime's error since CUDA 10.1.
        name: ``CUDA_ERROR_NO_BINARY_FOR_GPU``.
        source: Where it is written.
        date: When it was read there.
    """

    number: int
    name: str
    source: str
    date: date


_PREFIX = "CUDA_ERROR_"
_READ = date(2026, 12, 1)


def _rows(text: str) -> tuple[DriverErrorRow, ...]:
    """One row for each ``number NAME``; they stand between commas."""
    pairs = (piece.split() for piece in text.split(","))
    return tuple(
        DriverErrorRow(int(number), f"{_PREFIX}{name}", "cuda.h of CUDA 13.0", _READ)
        for number, name in pairs
    )


#: Every error, upwards by number.
DRIVER_ERRORS = (
    # Starting and stopping.
    *_rows("1 INVALID_VALUE, 2 OUT_OF_MEMORY, 3 NOT_INITIALIZED, 4 DEINITIALIZED"),
    *_rows("5 PROFILER_DISABLED, 6 PROFILER_NOT_INITIALIZED, 7 PROFILER_ALREADY_STARTED"),
    *_rows("8 PROFILER_ALREADY_STOPPED, 34 STUB_LIBRARY, 36 CALL_REQUIRES_NEWER_DRIVER"),
    *_rows("46 DEVICE_UNAVAILABLE, 100 NO_DEVICE, 101 INVALID_DEVICE, 102 DEVICE_NOT_LICENSED"),
    # Code and contexts.
    *_rows("200 INVALID_IMAGE, 201 INVALID_CONTEXT, 202 CONTEXT_ALREADY_CURRENT"),
    *_rows("205 MAP_FAILED, 206 UNMAP_FAILED, 207 ARRAY_IS_MAPPED, 208 ALREADY_MAPPED"),
    *_rows("209 NO_BINARY_FOR_GPU, 210 ALREADY_ACQUIRED, 211 NOT_MAPPED, 212 NOT_MAPPED_AS_ARRAY"),
    *_rows("213 NOT_MAPPED_AS_POINTER, 214 ECC_UNCORRECTABLE, 215 UNSUPPORTED_LIMIT"),
    *_rows("216 CONTEXT_ALREADY_IN_USE, 217 PEER_ACCESS_UNSUPPORTED, 218 INVALID_PTX"),
    *_rows("219 INVALID_GRAPHICS_CONTEXT, 220 NVLINK_UNCORRECTABLE, 221 JIT_COMPILER_NOT_FOUND"),
    *_rows("222 UNSUPPORTED_PTX_VERSION, 223 JIT_COMPILATION_DISABLED"),
    *_rows("224 UNSUPPORTED_EXEC_AFFINITY, 225 UNSUPPORTED_DEVSIDE_SYNC, 226 CONTAINED"),
    *_rows("300 INVALID_SOURCE, 301 FILE_NOT_FOUND, 302 SHARED_OBJECT_SYMBOL_NOT_FOUND"),
    *_rows("303 SHARED_OBJECT_INIT_FAILED, 304 OPERATING_SYSTEM, 400 INVALID_HANDLE"),
    *_rows("401 ILLEGAL_STATE, 402 LOSSY_QUERY, 500 NOT_FOUND, 600 NOT_READY"),
    # Kernels that run.
    *_rows("700 ILLEGAL_ADDRESS, 701 LAUNCH_OUT_OF_RESOURCES, 702 LAUNCH_TIMEOUT"),
    *_rows("703 LAUNCH_INCOMPATIBLE_TEXTURING, 704 PEER_ACCESS_ALREADY_ENABLED"),
    *_rows("705 PEER_ACCESS_NOT_ENABLED, 708 PRIMARY_CONTEXT_ACTIVE, 709 CONTEXT_IS_DESTROYED"),
    *_rows("710 ASSERT, 711 TOO_MANY_PEERS, 712 HOST_MEMORY_ALREADY_REGISTERED"),
    *_rows("713 HOST_MEMORY_NOT_REGISTERED, 714 HARDWARE_STACK_ERROR, 715 ILLEGAL_INSTRUCTION"),
    *_rows("716 MISALIGNED_ADDRESS, 717 INVALID_ADDRESS_SPACE, 718 INVALID_PC, 719 LAUNCH_FAILED"),
    *_rows("720 COOPERATIVE_LAUNCH_TOO_LARGE, 721 TENSOR_MEMORY_LEAK"),
    # The system around the driver.
    *_rows("800 NOT_PERMITTED, 801 NOT_SUPPORTED, 802 SYSTEM_NOT_READY"),
    *_rows("803 SYSTEM_DRIVER_MISMATCH, 804 COMPAT_NOT_SUPPORTED_ON_DEVICE"),
    *_rows("805 MPS_CONNECTION_FAILED, 806 MPS_RPC_FAILURE, 807 MPS_SERVER_NOT_READY"),
    *_rows("808 MPS_MAX_CLIENTS_REACHED, 809 MPS_MAX_CONNECTIONS_REACHED"),
    *_rows("810 MPS_CLIENT_TERMINATED, 811 CDP_NOT_SUPPORTED, 812 CDP_VERSION_MISMATCH"),
    # Streams, graphs, clusters.
    *_rows("900 STREAM_CAPTURE_UNSUPPORTED, 901 STREAM_CAPTURE_INVALIDATED"),
    *_rows("902 STREAM_CAPTURE_MERGE, 903 STREAM_CAPTURE_UNMATCHED, 904 STREAM_CAPTURE_UNJOINED"),
    *_rows("905 STREAM_CAPTURE_ISOLATION, 906 STREAM_CAPTURE_IMPLICIT, 907 CAPTURED_EVENT"),
    *_rows("908 STREAM_CAPTURE_WRONG_THREAD, 909 TIMEOUT, 910 GRAPH_EXEC_UPDATE_FAILURE"),
    *_rows("911 EXTERNAL_DEVICE, 912 INVALID_CLUSTER_SIZE, 913 FUNCTION_NOT_LOADED"),
    *_rows("914 INVALID_RESOURCE_TYPE, 915 INVALID_RESOURCE_CONFIGURATION, 916 KEY_ROTATION"),
    *_rows("999 UNKNOWN"),
)

_BY_NAME = {row.name: row for row in DRIVER_ERRORS}
_NAME = re.compile(r"\bCUDA_ERROR_[A-Z_]+\b")


def find_driver_error(number: int) -> DriverErrorRow | None:
    """The driver's error of this number; None where none is known."""
    return next((row for row in DRIVER_ERRORS if row.number == number), None)


def driver_errors_in_text(text: str) -> tuple[DriverErrorRow, ...]:
    """The errors whose names stand in a text, each once, in the order of the text.

    Args:
        text: What a person pasted.

    Examples:
        >>> [row.number for row in driver_errors_in_text("failed: CUDA_ERROR_INVALID_PTX (x)")]
        [218]
    """
    names = dict.fromkeys(match[0] for match in _NAME.finditer(text))
    return tuple(_BY_NAME[name] for name in names if name in _BY_NAME)
