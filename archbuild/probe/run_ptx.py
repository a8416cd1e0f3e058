"""Run by its path in a child process: runs a kernel of PTX text on one GPU by the driver.

A driver can hang or crash for good, so that only a child may call it. It prints one
JSON object: the words that the kernel wrote, or the call that failed, its number, and
the driver's own words.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER and its size in bytes
_LOG = 4096


class _CallError(Exception):
    """A call of the driver that gave an error."""

    def __init__(self, call: str, error: int, said: str) -> None:
        super().__init__(said)
        self.record = {"call": call, "error": error, "said": said}


def _library() -> Any:
    if sys.platform == "win32":
        return ctypes.WinDLL("nvcuda.dll")
    return ctypes.CDLL("libcuda.so.1")


class _Driver:
    """The driver's library, with its errors raised."""

    def __init__(self) -> None:
        self._library = _library()
        self.log = ctypes.create_string_buffer(_LOG)

    def __call__(self, name: str, *arguments: Any) -> None:
        error = getattr(self._library, name)(*arguments)
        if error:
            said = (self._words(error), self.log.value.decode("utf-8", "replace"))
            raise _CallError(name, error, ": ".join(filter(None, map(str.strip, said))))

    def _words(self, error: int) -> str:
        text = ctypes.c_char_p()
        try:
            self._library.cuGetErrorString(error, ctypes.byref(text))
        except AttributeError:
            return ""
        return (text.value or b"").decode("utf-8", "replace")


def run(ptx: str, entry: str, count: int, seed: int, block: int) -> list[int]:
    """Load the text, run the kernel, bring back what it wrote.

    Args:
        ptx: The text.
        entry: The kernel's name.
        count: Words.
        seed: 32 bits.
        block: Threads of a block.

    Returns:
        The words.
    """
    cuda = _Driver()
    cuda("cuInit", 0)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    cuda("cuDeviceGet", ctypes.byref(device), 0)
    cuda("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    cuda("cuCtxSetCurrent", context)
    function = _load(cuda, ptx, entry)
    words = (ctypes.c_uint32 * count)()
    place = ctypes.c_uint64()
    size = ctypes.c_size_t(ctypes.sizeof(words))
    cuda("cuMemAlloc_v2", ctypes.byref(place), size)
    # What is there before would hide a kernel that writes nothing.
    cuda("cuMemcpyHtoD_v2", place, words, size)
    _launch(cuda, function, (place, ctypes.c_uint32(count), ctypes.c_uint32(seed)), block)
    cuda("cuCtxSynchronize")
    cuda("cuMemcpyDtoH_v2", words, place, size)
    return list(words)


def _load(cuda: _Driver, ptx: str, entry: str) -> ctypes.c_void_p:
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(cuda.log), _LOG)
    text = ctypes.c_char_p(ptx.encode("ascii"))
    cuda("cuModuleLoadDataEx", ctypes.byref(module), text, 2, options, values)
    cuda("cuModuleGetFunction", ctypes.byref(function), module, entry.encode("ascii"))
    return function


def _launch(cuda: _Driver, function: ctypes.c_void_p, values: tuple[Any, ...], block: int) -> None:
    places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    blocks = -(-values[1].value // block)
    cuda("cuLaunchKernel", function, blocks, 1, 1, block, 1, 1, 0, None, places, None)


def main(arguments: list[str]) -> None:
    """Take the text, the kernel's name, the words, the seed and the threads of a block."""
    ptx, entry, *numbers = arguments
    count, seed, block = map(int, numbers)
    try:
        record: dict[str, Any] = {"words": run(ptx, entry, count, seed, block)}
    except _CallError as failure:
        record = failure.record
    except (OSError, AttributeError) as reason:
        record = {"call": "", "error": None, "said": str(reason)}
    sys.stdout.write("\n" + json.dumps(record) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
