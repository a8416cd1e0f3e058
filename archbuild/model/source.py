"""A source of an extension, with architectures of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One source, or those that a pattern matches.

    Args:
        path: A path, or a pattern as ``glob`` has it: ``moe/*.cu``, ``**`` too.
        archs: For which architectures it is meant: an architecture list, in
            which ``8.0+`` means 8.0 and newer. None: for all that are wanted.
        define: A macro that all sources of the extension get if this one is built.
        required: Whether it is an error if it serves nothing that is wanted.

    Examples:
        >>> Source("hopper.cu", archs="9.0a", define="WITH_HOPPER").archs
        '9.0a'
    """

    path: str
    archs: str | None = None
    define: str | None = None
    required: bool = False

    def __fspath__(self) -> str:
        """The path: where setuptools wants one, as in a list of sources, a Source will do."""
        return self.path
