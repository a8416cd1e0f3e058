"""What verify found, and the exit code that follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from archbuild.model.finding import Finding, has_errors
from archbuild.model.waiver import Waiver
from archbuild.rules.checking.codes import TEGRA, UNDECIDED, UNREADABLE
from archbuild.rules.checking.demand import Demand
from archbuild.rules.checking.judge import MANIFEST, FileVerdict
from archbuild.rules.checking.place_verdicts import PlaceVerdict, judge_places
from archbuild.rules.covering.devices import DeviceSummary, sum_devices
from archbuild.rules.selecting.expectation import Expectation

_UNDECIDED = frozenset({UNDECIDED.code, TEGRA.code})


@dataclass(frozen=True)
class SecondReader:
    """What came of asking cuobjdump as well.

    Args:
        reader: ``"cuobjdump 13.5.37"``; empty where it was not asked.
        agreed: Files with code in which both see the same, as far as it looks.
        images: How many images both see there.
        unread: Files with code that it can't read, each with the reason.
        partly: Files that it reads only in part, each with what it passes over.
        note: Why it was not asked, where it should have been.
    """

    reader: str = ""
    agreed: int = 0
    images: int = 0
    unread: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class VerifyReport:
    """What verify found.

    Args:
        paths: What was verified, as the person named it.
        demand: What every file was held against.
        files: Every file that could hold device code.
        findings: What is wrong or worth a note, and new where there is a baseline.
        waived: What the project lets pass.
        known: What the baseline had already.
        reader: Who read the files.
        second: What came of asking cuobjdump as well.
        shows_kernels: Whether people want to see the kernels one by one.
    """

    paths: tuple[str, ...]
    demand: Demand
    files: tuple[FileVerdict, ...]
    findings: tuple[Finding, ...]
    waived: tuple[tuple[Finding, Waiver], ...] = ()
    known: tuple[Finding, ...] = ()
    reader: str = "archbuild"
    second: SecondReader | None = None
    shows_kernels: bool = False

    @property
    def exit_code(self) -> int:
        """3 something can't be read, 1 something is wrong, 4 it can't be said, 0 all is well."""
        codes = {finding.code for finding in self.findings}
        if UNREADABLE.code in codes:
            return 3
        if has_errors(self.findings, strict=self.demand.strict):
            return 1
        return 4 if self.demand.is_empty or codes & _UNDECIDED else 0

    @property
    def ok(self) -> bool:
        """Whether everything was read, and nothing is wrong or undecided."""
        return self.exit_code == 0

    @property
    def devices(self) -> tuple[DeviceSummary, ...]:
        """All files on each device."""
        judged = [verdict for verdict in self.files if verdict.devices]
        counted = all(verdict.kernels is not None for verdict in judged)
        return sum_devices([verdict.devices for verdict in judged], counted=counted)

    @property
    def places(self) -> tuple[PlaceVerdict, ...]:
        """All files on the GPUs of recorded machines."""
        return judge_places(self.demand, self.files)


def note_unasked(verdicts: Sequence[FileVerdict]) -> tuple[FileVerdict, ...]:
    """Beside libraries with a manifest, tell of those that were held against nothing.

    Args:
        verdicts: Of all files.
    """
    if not any(verdict.expected.source == MANIFEST for verdict in verdicts):
        return tuple(verdicts)
    return tuple(_noted(v) if _is_unasked(v) else v for v in verdicts)


def _is_unasked(verdict: FileVerdict) -> bool:
    return verdict.judged and not verdict.expected.targets and not verdict.devices


def _noted(verdict: FileVerdict) -> FileVerdict:
    told = "; ".join(filter(None, (verdict.targets.note, "held against nothing: no manifest")))
    return replace(verdict, targets=replace(verdict.targets, note=told))


def with_manifests(demand: Demand, verdicts: Iterable[FileVerdict]) -> Demand:
    """What all files together were held against, those of the manifests included.

    Args:
        demand: What was asked, whatever lies beside the files.
        verdicts: Of all files.
    """
    judged = [verdict for verdict in verdicts if verdict.judged]
    if not any(verdict.expected.source == MANIFEST for verdict in judged):
        return demand
    targets = {target for verdict in judged for target in verdict.expected.targets}
    sources = dict.fromkeys(v.expected.source for v in judged if v.expected.source)
    return replace(demand, expected=Expectation(tuple(sorted(targets)), " and ".join(sources)))
