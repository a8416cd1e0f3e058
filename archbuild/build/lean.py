"""Lean headers: where they are, which flags bring them in, which sources can't do with them."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from archbuild.probe.writing import write_whole
from archbuild.rules.building.lean_failure import explain_lean_failure, needs_full

__all__ = [
    "LeanMemory",
    "explain_lean_failure",
    "has_lean_headers",
    "lean_flags",
    "lean_include_dir",
    "needs_full",
    "read_lean_memory",
    "write_lean_memory",
]

_FILE = "lean-headers.json"
_SCHEMA = "archbuild.lean-headers/1"


def lean_include_dir() -> Path:
    """The folder of the lean headers, which ship inside the package."""
    return Path(__file__).resolve().parents[1] / "lean"


def lean_flags() -> tuple[str, ...]:
    """What nvcc needs before every other ``-I``, for .cu sources alone.

    A binding keeps torch's own headers: a pybind11 caster that it misses would
    show only when the function is called.
    """
    return "-DARCHBUILD_LEAN_HEADERS=1", f"-I{lean_include_dir()}"


def has_lean_headers(platform: str = sys.platform) -> bool:
    """Whether they work with the host compilers of a platform; Microsoft's has no include_next.

    Args:
        platform: As ``sys.platform`` names it.
    """
    return platform != "win32"


@dataclass(frozen=True)
class LeanMemory:
    """Which sources did not compile with the lean headers, as they were then.

    A source that changes, and another torch, are tried with the lean headers again.

    Args:
        sources: A digest for each source that needs the full headers, by its path.
    """

    sources: Mapping[str, str] = field(default_factory=dict)

    def needs_full(self, source: str, torch: str) -> bool:
        """Whether the source, as it is now, is known to need the full headers.

        Args:
            source: Its path; one that can't be read is not known.
            torch: The version of torch.
        """
        digest = self.sources.get(source)
        return digest is not None and digest == _digest(source, torch)

    def with_full(self, source: str, torch: str) -> LeanMemory:
        """The same memory, and this source in it.

        Args:
            source: Its path, in the form in which it will be asked for.
            torch: The version of torch.
        """
        digest = _digest(source, torch)
        return self if digest is None else LeanMemory({**self.sources, source: digest})


def read_lean_memory(folder: Path) -> LeanMemory:
    """What :func:`write_lean_memory` left in the folder; empty if it is not there or damaged."""
    try:
        found = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return LeanMemory()
    if not isinstance(found, dict) or found.get("schema") != _SCHEMA:
        return LeanMemory()
    sources = found.get("sources")
    if not isinstance(sources, dict):
        return LeanMemory()
    return LeanMemory({name: text for name, text in sources.items() if isinstance(text, str)})


def write_lean_memory(folder: Path, memory: LeanMemory) -> None:
    """Keep it for the next build; where nothing can be written it is found out again.

    Args:
        folder: The build folder.
        memory: What to keep.
    """
    document = {"schema": _SCHEMA, "sources": dict(sorted(memory.sources.items()))}
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / _FILE, (json.dumps(document, indent=1) + "\n").encode())


def _digest(source: str, torch: str) -> str | None:
    try:
        content = Path(source).read_bytes()
    except (OSError, ValueError):  # a path with a zero byte is no file either
        return None
    return hashlib.sha256(f"{torch}\0".encode() + content).hexdigest()
