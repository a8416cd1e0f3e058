"""What verify found, and the exit code that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from archbuild.model.finding import Finding, has_errors
from archbuild.model.waiver import Waiver
from archbuild.rules.codes import TEGRA, UNDECIDED, UNREADABLE
from archbuild.rules.demand import Demand
from archbuild.rules.devices import DeviceSummary, sum_devices
from archbuild.rules.judge import FileVerdict

_UNDECIDED = frozenset({UNDECIDED.code, TEGRA.code})


@dataclass(frozen=True)
class SecondReader:
    """What came of asking cuobjdump as well.

    Args:
        reader: ``"cuobjdump 13.5.37"``; empty where it was not asked.
        agreed: Files with code in which both see the same.
        images: How many images those are.
        unread: Files with code that it can't read, each with the reason.
        note: Why it was not asked, where it should have been.
    """

    reader: str = ""
    agreed: int = 0
    images: int = 0
    unread: tuple[str, ...] = ()
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
