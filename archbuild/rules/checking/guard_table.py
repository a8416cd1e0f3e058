"""What the guard of a package has to know of a library: what becomes of it on every GPU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from archbuild.facts.architectures import CAPABILITIES
from archbuild.model.arch import Arch, ComputeCapability
from archbuild.model.coverage import Destination, DeviceCoverage, Outcome, RegionCoverage
from archbuild.model.image import DeviceFile
from archbuild.model.manifest import Manifest
from archbuild.rules.checking.intent import Intent, find_intent, with_purpose
from archbuild.rules.covering.coverage import cover_file

# Stands for every GPU that the tables don't know yet.
_NEWER = ComputeCapability(99, 0)


@dataclass(frozen=True)
class GuardRow:
    """One library, as its guard knows it.

    Args:
        library: The file's name.
        targets: What it was built for.
        served: Capability, outcome (``native``, ``jit``, ``part``, ``no``, ``unknown``) and
            the oldest CUDA of the driver that will do, as cuDriverGetVersion writes it.
        newer: The same for GPUs newer than all of these.
    """

    library: str
    targets: tuple[Arch, ...]
    served: tuple[tuple[ComputeCapability, str, int], ...]
    newer: tuple[str, int]


def guard_row(
    library: str,
    targets: Sequence[Arch],
    file: DeviceFile,
    manifest: Manifest | None = None,
) -> GuardRow:
    """What a guard has to know of one library.

    Args:
        library: The file's name.
        targets: What it was built for.
        file: The library, with its kernels.
        manifest: Of the library: which source was meant for which architectures.
    """
    intent = find_intent(file, manifest)
    known = [row.capability for row in CAPABILITIES]
    served = tuple((capability, *_judge(file, capability, intent)) for capability in known)
    return GuardRow(library, tuple(targets), served, _judge(file, _NEWER, intent))


def _judge(
    file: DeviceFile, capability: ComputeCapability, intent: Intent | None
) -> tuple[str, int]:
    coverage = with_purpose(cover_file(file, Destination(capability)), intent)
    return _outcome(coverage), _floor(coverage)


def _outcome(coverage: DeviceCoverage) -> str:
    """Of the whole library: one region that fails, not meant for others, fails a part."""
    regions = coverage.regions
    meant = [region for region in regions if not _is_for_others(region)] or list(regions)
    found = {region.verdict.outcome for region in meant}
    if Outcome.NO in found and len(found) > 1:
        return "part"
    order = (Outcome.NO, Outcome.UNKNOWN, Outcome.JIT, Outcome.NATIVE)
    return next((outcome for outcome in order if outcome in found), Outcome.UNKNOWN).value


def _is_for_others(region: RegionCoverage) -> bool:
    return region.on_purpose and not region.verdict.runs


def _floor(coverage: DeviceCoverage) -> int:
    floors = [region.verdict.floor for region in coverage.regions if region.verdict.runs]
    return max((floor.cuda.encoded for floor in floors if floor is not None), default=0)


def render_guard(template: str, rows: Iterable[GuardRow], rebuild: str) -> str:
    """The text of a guard with its table.

    Args:
        template: The text of ``archbuild/guard.py``.
        rows: The libraries beside it.
        rebuild: The command that builds the package again, with ``{archs}`` in it.
    """
    lines = []
    for line in template.splitlines():
        name = line.partition(":")[0].partition(" ")[0]
        if name == "TABLE":
            line = f"TABLE = {_spell(rows)}"  # noqa: PLW2901
        elif name == "REBUILD":
            line = f"REBUILD = {rebuild!r}"  # noqa: PLW2901
        lines.append(line)
    return "\n".join(lines) + "\n"


def _spell(rows: Iterable[GuardRow]) -> str:
    return repr(
        tuple(
            (
                row.library,
                tuple(map(str, row.targets)),
                {str(capability): (outcome, floor) for capability, outcome, floor in row.served},
                row.newer,
            )
            for row in rows
        )
    )
