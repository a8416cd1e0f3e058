"""Run by its path in a child process: prints what the CUDA driver says, one JSON object a line.

The driver's library can hang or crash for good, so that only a child may call
it. It prints each GPU as soon as it is read. This is CUDA's own view: after
CUDA_VISIBLE_DEVICES, in CUDA's order. It makes no context, so it costs no
memory on any GPU.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

# From cuda.h: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR, and _INTEGRATED.
_MAJOR, _MINOR, _INTEGRATED = 75, 76, 18


def _emit(**record: Any) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def _load() -> Any:
    if sys.platform == "win32":
        return ctypes.WinDLL("nvcuda.dll")
    return ctypes.CDLL("libcuda.so.1")


def _loaded_path() -> str:
    """The file that the loader took, where the system tells."""
    try:
        lines = Path("/proc/self/maps").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.split(None, 5)[5] for line in lines if "/libcuda.so" in line), "")


def _int(call: Any, *args: Any) -> int | None:
    value = ctypes.c_int()
    return None if call(ctypes.byref(value), *args) else value.value


def _string(call: Any, device: int) -> str | None:
    buffer = ctypes.create_string_buffer(256)
    if call(buffer, len(buffer), device):
        return None
    return buffer.value.decode("utf-8", "replace")


def _uuid(cuda: Any, version: str, device: int) -> str | None:
    try:
        call = getattr(cuda, f"cuDeviceGetUuid{version}")
    except AttributeError:  # Drivers before 11.4 have no _v2.
        return None
    buffer = ctypes.create_string_buffer(16)
    if call(buffer, device):
        return None
    digits = buffer.raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _memory(cuda: Any, device: int) -> int | None:
    size = ctypes.c_size_t()
    return None if cuda.cuDeviceTotalMem_v2(ctypes.byref(size), device) else size.value


def _read(cuda: Any, ordinal: int) -> dict[str, Any]:
    device = _int(cuda.cuDeviceGet, ordinal)
    if device is None:
        return {"index": ordinal, "errors": {"anything": [None, "cuDeviceGet failed"]}}
    # The first gives the whole GPU's, the second the MIG slice's, where it is one.
    whole, own = _uuid(cuda, "", device), _uuid(cuda, "_v2", device)
    is_slice = whole is not None and own is not None and whole != own
    integrated = _int(cuda.cuDeviceGetAttribute, _INTEGRATED, device)
    return {
        "index": ordinal,
        "uuid": own or whole,
        "parent": whole if is_slice else None,
        "mig": is_slice,
        "name": _string(cuda.cuDeviceGetName, device),
        "pci": _string(cuda.cuDeviceGetPCIBusId, device),
        "capability": [_int(cuda.cuDeviceGetAttribute, kind, device) for kind in (_MAJOR, _MINOR)],
        "memory": _memory(cuda, device),
        "integrated": None if integrated is None else bool(integrated),
        "errors": {},
    }


def _answer(cuda: Any) -> None:
    _emit(driver={"release": None, "cuda": _int(cuda.cuDriverGetVersion)})
    code = cuda.cuInit(0)
    count = _int(cuda.cuDeviceGetCount) if code == 0 else None
    if count is None:
        text = "" if code else "cuDeviceGetCount failed"
        _emit(failed={"code": code or None, "text": text, "detail": _loaded_path()})
        return
    for ordinal in range(count):
        _emit(device=_read(cuda, ordinal))
    _emit(end=True)


def main() -> None:
    """Print the answer."""
    try:
        _answer(_load())
    except (OSError, AttributeError) as error:  # No library, or one without these functions.
        _emit(failed={"code": None, "text": str(error), "detail": ""})


if __name__ == "__main__":
    main()
