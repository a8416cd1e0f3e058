"""Says in plain words why the device code of this package does not run here.

A copy of this file, with TABLE filled in, lies in packages whose setup.py asks for it:
``BuildExtension.with_options(guard=True)``. It needs nothing but Python. A package calls
``check()`` when a launch has failed; with ARCHBUILD_GUARD=1 in the environment it is
called on import; ``python -m package._archbuild_guard`` calls it from a shell.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# For each library: its name, what it was built for, what becomes of it on each capability
# with the oldest CUDA of the driver that will do, and the same for GPUs newer than those.
TABLE: tuple[tuple[str, tuple[str, ...], dict[str, tuple[str, int]], tuple[str, int]], ...] = ()
# The command that builds the package again; {archs} is the list for this machine.
REBUILD = ""

_PLACES = ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "nvcuda.dll")
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*, cuda.h


class GuardError(RuntimeError):
    """Device code of this package does not run on a GPU of this machine."""


def check() -> None:
    """Raise if a GPU that CUDA sees is not served by a library of this package.

    Raises:
        GuardError: With what it was built for, which GPU is here, and the cure.
    """
    found = explain()
    if found:
        raise GuardError(found)


def explain() -> str:
    """What is wrong, as one text; empty where nothing is known to be."""
    if not TABLE:
        return ""
    try:
        driver, gpus = _gpus()
    except (OSError, AttributeError) as error:
        cure = "Install the driver; start a container with --gpus all."
        return f"{TABLE[0][0]} holds device code, and no GPU can be used: {error}. {cure}"
    found = [said for row in TABLE for gpu in gpus for said in _judge(row, gpu, driver)]
    if found and REBUILD:
        archs = ";".join(sorted({capability for _, capability in gpus}, key=_number))
        found.append("Rebuild with: " + REBUILD.replace("{archs}", archs))
    return "\n".join(found)


def _number(capability: str) -> tuple[int, ...]:
    return tuple(int(part) for part in capability.split("."))


def _judge(row: Any, gpu: tuple[str, str], driver: int) -> Iterator[str]:
    name, targets, served, newer = row
    product, capability = gpu
    beyond = _number(capability) > max(map(_number, served), default=(0, 0))
    outcome, floor = served.get(capability, newer if beyond else ("unknown", 0))
    here = f"{name} was built for {', '.join(targets)}; this GPU is {capability} ({product})"
    if outcome in ("no", "part"):
        what = "it holds nothing" if outcome == "no" else "a part of it holds nothing"
        yield f"{here}: {what} that runs there (error 209)."
    elif outcome in ("native", "jit") and driver < floor:
        error = 35 if outcome == "native" else 222
        needs = f"a driver of CUDA {_version(floor)}, and this one is of {_version(driver)}"
        yield f"{here}: it needs {needs} (error {error}). Update the driver."


def _version(encoded: int) -> str:
    return f"{encoded // 1000}.{encoded % 1000 // 10}"


def _gpus() -> tuple[int, list[tuple[str, str]]]:
    """The driver's CUDA version, and name and capability of each GPU that CUDA sees."""
    import ctypes  # noqa: PLC0415 -- an import of this file has to cost nothing

    driver = _load(ctypes)
    version, count = ctypes.c_int(), ctypes.c_int()
    _call(driver, "cuInit", 0)
    _call(driver, "cuDriverGetVersion", ctypes.byref(version))
    _call(driver, "cuDeviceGetCount", ctypes.byref(count))
    return version.value, [_gpu(ctypes, driver, index) for index in range(count.value)]


def _gpu(ctypes: Any, driver: Any, index: int) -> tuple[str, str]:
    device, value, numbers = ctypes.c_int(), ctypes.c_int(), []
    name = ctypes.create_string_buffer(256)
    _call(driver, "cuDeviceGet", ctypes.byref(device), index)
    _call(driver, "cuDeviceGetName", name, len(name), device)
    for attribute in (_MAJOR, _MINOR):
        _call(driver, "cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        numbers.append(str(value.value))
    return name.value.decode("utf-8", "replace"), ".".join(numbers)


def _load(ctypes: Any) -> Any:
    for place in _PLACES:
        try:
            return getattr(ctypes, "WinDLL", ctypes.CDLL)(place)
        except OSError:
            continue
    raise OSError(f"there is no NVIDIA driver, {_PLACES[0]} was not found")


def _call(driver: Any, name: str, *arguments: Any) -> None:
    code = getattr(driver, name)(*arguments)
    if code:
        raise OSError(f"{name} of the NVIDIA driver gives error {code}")


if os.environ.get("ARCHBUILD_GUARD") == "1":
    check()
if __name__ == "__main__":
    _wrong = explain()
    print(_wrong or "Nothing is known to be wrong.")  # noqa: T201 -- it is a program here
    raise SystemExit(1 if _wrong else 0)
