"""Which extension a Python error came from, by its traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType, ModuleType, TracebackType

_LIBRARIES = (".so", ".pyd")
#: How many libraries are named at most.
_MOST = 8


def libraries_of(error: BaseException) -> tuple[str, ...]:
    """The libraries that the code around an error had called, the innermost frame's first.

    Those are the extension modules that a frame of the traceback names, or that belong to
    the package of its module. Whose frame is in the way (this package's) is passed over.

    Args:
        error: With its traceback.
    """
    frames = list(_frames(error.__traceback__))
    for frame in reversed(frames):
        found = tuple(dict.fromkeys((*_named(frame), *_of_package(frame))))
        if found:
            return found[:_MOST]
    return ()


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        name = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in ("archbuild", "contextlib"):
            yield traceback.tb_frame
        traceback = traceback.tb_next


def _named(frame: FrameType) -> Iterator[str]:
    """Extension modules among a frame's names, and those whose functions are."""
    names = set(frame.f_code.co_names)
    for name, value in list(frame.f_globals.items()):
        if name in names:
            module = value if isinstance(value, ModuleType) else _module_of(value)
            yield from _library(module)
            # from package import _C, and a call of package._C.f
            inner = [getattr(module, other, None) for other in names] if module else []
            for candidate in inner:
                if isinstance(candidate, ModuleType):
                    yield from _library(candidate)


def _module_of(value: object) -> ModuleType | None:
    name = getattr(value, "__module__", None)
    return sys.modules.get(name) if isinstance(name, str) else None


def _of_package(frame: FrameType) -> Iterator[str]:
    top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    if top in ("", "__main__", "torch"):
        return
    for name, module in sorted(sys.modules.items()):
        if name == top or name.startswith(f"{top}."):
            yield from _library(module)


def _library(module: object) -> Iterator[str]:
    path = getattr(module, "__file__", None)
    if isinstance(path, str) and path.endswith(_LIBRARIES):
        yield path
