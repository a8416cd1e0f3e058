"""What code does on a GPU, in a word or two, as every table of archbuild has it."""

from __future__ import annotations

from dataclasses import dataclass

from archbuild.model.coverage import DeviceCoverage, DriverFloor, Outcome
from archbuild.report.text import Ink


@dataclass(frozen=True)
class Cell:
    """What code does on a GPU.

    Args:
        word: ``native``, ``JIT``, ``part JIT``, ``part``, ``none`` or ``?``.
        since: The branch of the oldest driver that compiles its PTX; None: no need, or
            not known.
    """

    word: str
    since: int | None = None

    @property
    def ink(self) -> Ink:
        """Its colour."""
        return _INKS[self.word]

    def __str__(self) -> str:
        return self.word if self.since is None else f"{self.word} >={self.since}"


_INKS = {
    "native": Ink.GREEN,
    "JIT": Ink.YELLOW,
    "part JIT": Ink.YELLOW,
    "part": Ink.RED,
    "none": Ink.RED,
    "?": Ink.YELLOW,
}
#: Nothing can be said.
UNKNOWN = Cell("?")


def cell_of(coverage: DeviceCoverage) -> Cell:
    """What a file does on a device; regions made for others on purpose don't count.

    Args:
        coverage: Of all its regions.
    """
    found = [r.verdict.outcome for r in coverage.regions if not r.on_purpose or r.verdict.runs]
    outcomes = set(found)
    if not outcomes or outcomes == {Outcome.NO}:
        return Cell("none")
    if Outcome.NO in outcomes:
        return Cell("part")
    if Outcome.UNKNOWN in outcomes:
        return UNKNOWN
    if Outcome.JIT in outcomes:
        floor = coverage.jit_floor
        since = None if floor is None or floor.release is None else floor.release.branch
        return Cell("JIT" if outcomes == {Outcome.JIT} else "part JIT", since)
    return Cell("native")


def floor_cell(floor: DriverFloor | None) -> str:
    """A floor as a table has it; ``-`` where there is none or it is not known."""
    if floor is None:
        return "-"
    return str(floor.release) if floor.release is not None else f"CUDA {floor.cuda}"
