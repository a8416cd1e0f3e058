"""Run by its path in a child process: prints what NVML says, one JSON object a line.

A call of NVML can hang or crash for good, so that only a child may make it. It
prints each GPU as soon as it is read; what was printed before a crash counts.
Its only argument is the folder of the module ``pynvml``.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

_NOT_SUPPORTED = 3
_NOT_FOUND = 6
_LIBRARY_NOT_FOUND = 12
_FUNCTION_NOT_FOUND = 13
# From nvml.h: NVML_GPU_VIRTUALIZATION_MODE_VGPU, what a guest with a share of a GPU sees.
_VGPU = 2


def _emit(**record: Any) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _ask(nvml: Any, call: str, *args: Any) -> tuple[Any, int | None, str]:
    """The result of one call; or None, NVML's error code and its text."""
    try:
        return _text(getattr(nvml, call)(*args)), None, ""
    except nvml.NVMLError as error:
        return None, int(error.value), str(error)
    except AttributeError:
        return None, _FUNCTION_NOT_FOUND, f"this pynvml has no {call}"


def _read(nvml: Any, handle: Any, calls: dict[str, str]) -> dict[str, Any]:
    device: dict[str, Any] = {"errors": {}}
    for field, call in calls.items():
        device[field], code, text = _ask(nvml, call, handle)
        if code is not None and code not in (_NOT_SUPPORTED, _FUNCTION_NOT_FOUND):
            device["errors"][field] = [code, text]
    return device


_SLICE = {"uuid": "nvmlDeviceGetUUID", "name": "nvmlDeviceGetName"}
_MEMORY = {"memory": "nvmlDeviceGetMemoryInfo"}
_GPU = {
    **_SLICE,
    **_MEMORY,
    "capability": "nvmlDeviceGetCudaComputeCapability",
    "pci": "nvmlDeviceGetPciInfo",
    "mig": "nvmlDeviceGetMigMode",
}


def _flatten(device: dict[str, Any]) -> dict[str, Any]:
    """Structures of ctypes as what JSON can hold."""
    if device.get("memory") is not None:
        device["memory"] = int(device["memory"].total)
    if device.get("pci") is not None:
        device["pci"] = _text(device["pci"].busId)
    device["mig"] = bool(device["mig"] and device["mig"][0])
    return device


def _emit_slices(nvml: Any, handle: Any, gpu: dict[str, Any]) -> None:
    count, _, _ = _ask(nvml, "nvmlDeviceGetMaxMigDeviceCount", handle)
    for number in range(count or 0):
        mig, code, text = _ask(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
        if code == _NOT_FOUND:
            continue  # Slices need not be numbered without gaps.
        if code is not None:
            _emit(device={"index": gpu["index"], "errors": {f"slice {number}": [code, text]}})
            continue
        read = _read(nvml, mig, {**_SLICE, **_MEMORY}) | {"mig": [1]}
        _emit(device=_flatten(read) | {"index": gpu["index"], "parent": gpu["uuid"]})


def _emit_gpu(nvml: Any, index: int) -> None:
    handle, code, text = _ask(nvml, "nvmlDeviceGetHandleByIndex", index)
    if code is not None:
        _emit(device={"index": index, "errors": {"anything": [code, text]}})
        return
    # Few drivers need to answer this, so that an error of it tells nothing.
    mode, _, _ = _ask(nvml, "nvmlDeviceGetVirtualizationMode", handle)
    gpu = _flatten(_read(nvml, handle, _GPU)) | {"index": index, "vgpu": mode == _VGPU}
    _emit(device=gpu)
    if gpu["mig"]:
        _emit_slices(nvml, handle, gpu)


def _why_not_loaded() -> str:
    """What the system's loader says, which pynvml keeps to itself."""
    if sys.platform == "win32":
        return ""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        return str(error)
    return ""


def _answer(nvml: Any) -> None:
    _, code, text = _ask(nvml, "nvmlInit")
    if code is not None:
        detail = _why_not_loaded() if code == _LIBRARY_NOT_FOUND else ""
        _emit(failed={"code": code, "text": text, "detail": detail})
        return
    release, _, _ = _ask(nvml, "nvmlSystemGetDriverVersion")
    cuda, _, _ = _ask(nvml, "nvmlSystemGetCudaDriverVersion_v2")
    _emit(driver={"release": release, "cuda": cuda})
    count, code, text = _ask(nvml, "nvmlDeviceGetCount")
    if code is not None:
        _emit(failed={"code": code, "text": text, "detail": ""})
        return
    for index in range(count):
        _emit_gpu(nvml, index)
    _emit(end=True)


def main(folder: str) -> None:
    """Print the answer, with ``pynvml`` from this folder."""
    sys.path.append(folder)
    try:
        import pynvml  # noqa: PLC0415 -- only here is its folder known
    except ImportError as error:
        _emit(failed={"code": None, "text": str(error), "detail": ""})
        return
    _answer(pynvml)


if __name__ == "__main__":
    main(sys.argv[1])
