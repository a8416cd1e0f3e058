"""A compiler launcher, what became of the search for one, and the store that it shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True)
class Launcher:
    """A program that stands in front of the compiler and answers what it compiled before.

    Args:
        name: ``ccache``, ``sccache``, or a stranger's file name.
        path: The program, absolute.
        version: ``(4, 14, 2)``; empty where it does not say.
        variables: What the build sets for it.
        removed: Variables that the build takes away, since they would undo what it sets.
        notes: Sentences for the log.
    """

    name: str
    path: str
    version: tuple[int, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def prefix(self) -> tuple[str, ...]:
        """The words in front of nvcc's, and of the host compiler's."""
        return (self.path,)

    @property
    def known(self) -> bool:
        """Whether archbuild knows what it can do, and can count its hits."""
        return self.name in ("ccache", "sccache")

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment that the build runs in, and that the launcher is asked in.

        Args:
            environ: The one that archbuild itself runs in.
        """
        kept = {name: value for name, value in environ.items() if name not in self.removed}
        return {**kept, **self.variables}


@dataclass(frozen=True)
class LauncherChoice:
    """What became of the search.

    Args:
        launcher: The one to use; None: the build goes without.
        notes: Why, as sentences for the log; those of the launcher are among them.
    """

    launcher: Launcher | None
    notes: tuple[str, ...] = ()


class StoreKind(Enum):
    """How a store that machines share answered."""

    ANSWERS = "answers"
    DEAD = "dead"
    SILENT = "silent"
    GARBAGE = "garbage"
    REFUSES = "refuses"
    NOT_ASKED = "not asked"


@dataclass(frozen=True)
class StoreState:
    """One store, asked before the build.

    Args:
        url: As the launcher's configuration has it. It may hold a password: never print it.
        kind: How it answered.
        sentence: The same for people, without the password.
    """

    url: str
    kind: StoreKind
    sentence: str

    @property
    def ok(self) -> bool:
        """Whether the build can count on it; one that was not asked is the launcher's affair."""
        return self.kind in (StoreKind.ANSWERS, StoreKind.NOT_ASKED)


@dataclass(frozen=True)
class CacheCounts:
    """What a launcher has answered and what it had to compile, up to now.

    sccache counts the passes of nvcc one by one, ccache whole compiles.

    Args:
        hits: Answered.
        misses: Compiled.
    """

    hits: int
    misses: int

    def __sub__(self, earlier: CacheCounts) -> CacheCounts:
        """What came in between; never less than nothing, as after somebody zeroed them."""
        hits, misses = self.hits - earlier.hits, self.misses - earlier.misses
        return CacheCounts(max(0, hits), max(0, misses))
