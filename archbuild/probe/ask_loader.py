"""Run by its path in a child process: lets the loader load libraries, tells which files it took.

Constructors of libraries can hang or crash, so that only a child may load them. It
takes a plan as JSON and prints one JSON object a line: each step as it begins, and
what had been mapped when it ended; the versions that the libraries state themselves
come last.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

# A real driver library has tens of megabytes; one made for linking has less than this.
_SMALL = 1 << 20


def _emit(**record: Any) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


class _Info(ctypes.Structure):
    """The beginning of ``struct dl_phdr_info``."""

    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Info), ctypes.c_size_t, ctypes.c_void_p)


def mapped() -> list[str]:
    """The libraries of this process by the names under which the loader found them."""
    names: list[str] = []

    def note(info: Any, _size: int, _data: Any) -> int:
        names.append(os.fsdecode(info.contents.name or b""))
        return 0

    ctypes.CDLL(None).dl_iterate_phdr(_CALLBACK(note), None)
    return [name for name in names if "/" in name and not name.startswith("/proc/self/fd/")]


def _real(name: str) -> str:
    """The file of a name, links followed."""
    return os.path.realpath(name)


def _place(image: bytes) -> str:
    """A path under which the loader can open these bytes."""
    try:
        number = os.memfd_create("stand-in")
        os.write(number, image)
        path = f"/proc/self/fd/{number}"
        if Path(path).exists():
            return path
    except (OSError, AttributeError):
        pass
    file, path = tempfile.mkstemp(suffix=".so")
    os.write(file, image)
    os.close(file)
    return path


def _load(step: dict[str, Any]) -> str | None:
    """Load what a step names; the loader's words where it can't."""
    path = step["path"] if "path" in step else _place(base64.b64decode(step["image"]))
    try:
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL if step.get("global") else ctypes.RTLD_LOCAL)
    except OSError as error:
        return str(error)
    finally:
        if "path" not in step and not path.startswith("/proc/"):
            Path(path).unlink()
    return None


def _is_due(step: dict[str, Any], failed: bool) -> bool:
    if step.get("after_failure") and not failed:
        return False
    wanted = step.get("mapped", "")
    return not wanted or any(wanted in _real(name) for name in mapped())


def _take_steps(steps: list[dict[str, Any]]) -> None:
    failed = False
    for number, step in enumerate(steps):
        if not _is_due(step, failed):
            continue
        _emit(begin=number)
        error = _load(step)
        failed = failed or (error is not None and bool(step.get("global")))
        files = [[name, _real(name)] for name in mapped()]
        _emit(end=number, error=error, mapped=files)


# --- what the libraries say of themselves -----------------------------------------------------


def _encoded(thousand: int, name: str) -> Callable[[Any], str]:
    """A version that one call writes as one number: 13000 is 13.0."""

    def ask(library: Any) -> str:
        value = ctypes.c_int()
        getattr(library, name)(ctypes.byref(value))
        return f"{value.value // thousand}.{value.value % thousand // 10}"

    return ask


def _pair(name: str) -> Callable[[Any], str]:
    def ask(library: Any) -> str:
        one, two = ctypes.c_int(), ctypes.c_int()
        getattr(library, name)(ctypes.byref(one), ctypes.byref(two))
        return f"{one.value}.{two.value}"

    return ask


def _property(name: str) -> Callable[[Any], str]:
    """Major, minor and patch, each by a call."""

    def ask(library: Any) -> str:
        values = [ctypes.c_int() for _ in range(3)]
        for number, value in enumerate(values):
            getattr(library, name)(number, ctypes.byref(value))
        return ".".join(str(value.value) for value in values)

    return ask


def _number(name: str) -> Callable[[Any], str]:
    """A number of which the last four digits are minor and patch, in cuDNN 8 three."""

    def ask(library: Any) -> str:
        call = getattr(library, name)
        call.restype = ctypes.c_size_t
        value = call()
        major = 10000 if value >= 90000 else 1000
        return f"{value // major}.{value % major // 100}.{value % 100}"

    return ask


_VERSIONS: dict[str, Callable[[Any], str]] = {
    "libcudart": _encoded(1000, "cudaRuntimeGetVersion"),
    "libnvJitLink": _pair("nvJitLinkVersion"),
    "libnvrtc": _pair("nvrtcVersion"),
    "libcublas": _property("cublasGetProperty"),
    "libcublasLt": _number("cublasLtGetVersion"),
    "libcusparse": _property("cusparseGetProperty"),
    "libcusolver": _property("cusolverGetProperty"),
    "libcudnn": _number("cudnnGetVersion"),
}


def _tell_versions() -> None:
    for name in mapped():
        ask = _VERSIONS.get(Path(name).name.partition(".so")[0])
        if ask is None:
            continue
        _emit(asking=name)
        try:
            _emit(version=ask(ctypes.CDLL(name)), of=name)
        except (OSError, AttributeError):  # Old ones lack the function.
            continue


def _tell_driver() -> None:
    """Ask a driver library that is too small for one whether it is."""
    name = next((n for n in mapped() if Path(n).name.startswith("libcuda.so")), None)
    if name is None or Path(name).stat().st_size > _SMALL:
        return
    _emit(asking=name)
    try:
        _emit(init=ctypes.CDLL(name).cuInit(0), of=name)
    except (OSError, AttributeError):
        _emit(init=None, of=name)


def main(arguments: list[str]) -> None:
    """Take the plan: steps, and whether to ask for versions."""
    plan = json.loads(arguments[0])
    _take_steps(plan["steps"])
    if plan.get("ask", True):
        _tell_versions()
        _tell_driver()
    # cuDNN loads its parts when it is asked.
    _emit(done=True, mapped=[[name, _real(name)] for name in mapped()])
    # Destructors of libraries can hang as well.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
