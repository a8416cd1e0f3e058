"""What ``import torch`` loads by hand before its own libraries, read from its source.

torch has done so in four ways: not at all (before 2.1), only where its libraries
can't be loaded otherwise, nvJitLink and nvrtc besides (2.5.1 to 2.9), and all of
them (newer ones). Its text says which; nothing of it is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_CALL = re.compile(r"_preload_cuda_\w+\(([^()]*)\)")
_PAIR = re.compile(r"\"(\w+)\"\s*[,:]\s*\"(lib[^\"]+)\"")
_MAPPED = re.compile(r"if \"([^\"\n]+)\" not in \w*maps")
_CUDAS = re.compile(r"cuda not in \[([^\]]*)\]")
# Its __init__.py has 120 kilobytes.
_LIMIT = 4 << 20


@dataclass(frozen=True)
class Preload:
    """What torch loads from the folders of packages, in its order.

    Args:
        always: Patterns of files, ``nvjitlink`` and ``libnvJitLink.so.*[0-9]``, which it
            loads after its first library, that of the global dependencies.
        mapped: What must be in the path of a library by then for it to do so.
        after_failure: What it loads where that first library can't be loaded.
    """

    always: tuple[tuple[str, str], ...] = ()
    mapped: str = ""
    after_failure: tuple[tuple[str, str], ...] = ()


def read_preload(root: Path, cuda: str | None) -> Preload:
    """What the torch in a folder loads by hand.

    Args:
        root: The folder of the package.
        cuda: The CUDA it was built with, ``12.4``.
    """
    try:
        with (root / "__init__.py").open("rb") as file:
            text = file.read(_LIMIT).decode("utf-8", "replace")
    except OSError:
        return Preload()
    return parse_preload(text, cuda)


def parse_preload(text: str, cuda: str | None) -> Preload:
    """The same from the text of its ``__init__.py``."""
    listed = tuple(_PAIR.findall(_body(text, "_preload_cuda_deps")))
    main, _, failed = _body(text, "_load_global_deps").partition("except OSError")
    mapped = _MAPPED.search(main)
    only_for = _CUDAS.search(main)
    wanted = only_for is None or (cuda is not None and f'"{cuda}"' in only_for[1])
    return Preload(
        always=tuple(_called(main, listed)) if wanted else (),
        mapped=mapped[1] if mapped else "",
        after_failure=tuple(_called(failed, listed)),
    )


def _body(text: str, name: str) -> str:
    match = re.search(rf"^def {name}\(.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    if match is None:
        return ""
    # What stands in a comment is no call.
    return re.sub(r"^\s*#.*$", "", match[0], flags=re.MULTILINE)


def _called(code: str, listed: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    """Pairs that calls name themselves; of a call that names none, all that are listed."""
    for arguments in _CALL.findall(code):
        pair = re.findall(r"\"([^\"]+)\"", arguments)
        if len(pair) == 2:
            yield pair[0], pair[1]
        else:
            yield from listed


def find_preloaded(
    patterns: Sequence[tuple[str, str]], folders: Sequence[Path], cuda: str | None
) -> tuple[Path, ...]:
    """The files that torch takes for such patterns: of each the first folder that has one.

    Args:
        patterns: As :func:`parse_preload` gave them.
        folders: Of packages, as they stand on ``sys.path``.
        cuda: The CUDA it was built with.
    """
    found = (_first(part, pattern, folders, cuda) for part, pattern in patterns)
    return tuple(path for path in found if path is not None)


def _first(part: str, pattern: str, folders: Sequence[Path], cuda: str | None) -> Path | None:
    major = cuda.partition(".")[0] if cuda else "0"
    places = (f"nvidia/{part}/lib", f"nvidia/cu{major}/lib", f"{part}/lib")
    return next(
        (
            path
            for folder in folders
            for place in places
            for path in sorted((folder / place).glob(pattern))
        ),
        None,
    )
