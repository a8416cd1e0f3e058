"""Numbers of the CUDA runtime's errors that say whether code can run.

Source: the enumeration cudaError in driver_types.h of CUDA 13.0 (names and
numbers; the meanings in our words). As of 2026-11.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CudaError:
    """One error of the runtime.

    Args:
        number: As the API returns it.
        name: As the header has it.
        meaning: A clause.
    """

    number: int
    name: str
    meaning: str


CUDA_ERRORS = (
    CudaError(1, "cudaErrorInvalidValue", "an argument is out of range"),
    CudaError(2, "cudaErrorMemoryAllocation", "the GPU's memory is used up"),
    CudaError(3, "cudaErrorInitializationError", "CUDA could not be started"),
    CudaError(34, "cudaErrorStubLibrary", "the CUDA driver that was loaded is a stub"),
    CudaError(35, "cudaErrorInsufficientDriver", "the driver is missing or older than the runtime"),
    CudaError(46, "cudaErrorDevicesUnavailable", "every GPU is busy or forbidden"),
    CudaError(98, "cudaErrorInvalidDeviceFunction", "the kernel is not in what was loaded"),
    CudaError(100, "cudaErrorNoDevice", "CUDA sees no GPU"),
    CudaError(101, "cudaErrorInvalidDevice", "there is no GPU of that number"),
    CudaError(200, "cudaErrorInvalidKernelImage", "the device code is damaged"),
    CudaError(209, "cudaErrorNoKernelImageForDevice", "no image in the binary suits this GPU"),
    CudaError(214, "cudaErrorECCUncorrectable", "the GPU's memory has a fault"),
    CudaError(218, "cudaErrorInvalidPtx", "the driver cannot compile the PTX"),
    CudaError(222, "cudaErrorUnsupportedPtxVersion", "the PTX is newer than the driver"),
    CudaError(700, "cudaErrorIllegalAddress", "the kernel left its memory"),
    CudaError(719, "cudaErrorLaunchFailure", "the kernel failed"),
    CudaError(802, "cudaErrorSystemNotReady", "the system is not ready: is the fabric manager up?"),
    CudaError(803, "cudaErrorSystemDriverMismatch", "driver and library are of two versions"),
    CudaError(
        804,
        "cudaErrorCompatNotSupportedOnDevice",
        "a compatibility package is used on a GPU that does not support it",
    ),
    CudaError(999, "cudaErrorUnknown", "something unknown in the driver"),
)

_BY_NUMBER = {error.number: error for error in CUDA_ERRORS}


def find_cuda_error(number: int) -> CudaError | None:
    """The error with this number; None where it is not in the table."""
    return _BY_NUMBER.get(number)
