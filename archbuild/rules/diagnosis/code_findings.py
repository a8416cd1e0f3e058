"""Findings about a package, made of how its libraries stand on the GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from archbuild.model.coverage import Verdict
from archbuild.model.diagnosis import Confidence, Diagnosis
from archbuild.model.installed import CodePackage, TrialOutcome
from archbuild.model.machine import Machine
from archbuild.rules.covering.code import FileStanding, GpuKind, Standing
from archbuild.rules.diagnosis.code_packages import (
    PackageStanding,
    evidence_of,
    gpu_words,
    held_words,
    uuids_of,
)
from archbuild.rules.diagnosis.cures import driver_of, floor_of, last_branch_of
from archbuild.rules.diagnosis.kind import Kind, diagnosis_of


def code_finding(
    kind: Kind,
    package: CodePackage,
    concerned: Sequence[FileStanding],
    machine: Machine,
    *,
    commands: Iterable[str] = (),
    shown: Iterable[FileStanding] = (),
    confidence: Confidence = Confidence.CERTAIN,
    **values: str,
) -> Diagnosis:
    """A finding about libraries of a package.

    Args:
        kind: The kind.
        package: The package.
        concerned: How the libraries stand that it is about, at least one.
        machine: With the driver.
        commands: The cure.
        shown: What the evidence tells besides.
        confidence: How sure it is.
        values: For the templates, beside ``name``, ``version``, ``library``, ``devices``,
            ``holds``, ``share``, ``floor``, ``driver`` and ``last``.
    """
    verdict = _telling(concerned)
    places = _kinds_of(concerned)
    lines = dict.fromkeys((*concerned, *shown))
    filled = {
        "name": package.name,
        "version": package.version,
        "library": ", ".join(dict.fromkeys(stood.file.path for stood in concerned)),
        "devices": gpu_words(places),
        "holds": held_words([concerned[0].file]),
        "share": _share(concerned),
        "floor": floor_of(verdict.floor) if verdict is not None else "",
        "driver": driver_of(machine),
        "last": last_branch_of(places),
        **values,
    }
    return diagnosis_of(
        kind,
        confidence=confidence,
        evidence=evidence_of(lines),
        commands=commands,
        errors=verdict.errors if verdict is not None else (),
        gpus=uuids_of(places),
        file=concerned[0].file.path,
        more=filled,
    )


def _telling(concerned: Sequence[FileStanding]) -> Verdict | None:
    """Of those that fail, the one that asks for most of the driver."""
    verdicts = [stood.verdict for stood in concerned if stood.verdict is not None]
    floors = [(v.floor.cuda, v) for v in verdicts if v.floor is not None]
    if floors:
        return max(floors, key=lambda pair: pair[0])[1]
    return next(iter(verdicts), None)


def _kinds_of(concerned: Iterable[FileStanding]) -> tuple[GpuKind, ...]:
    return tuple(dict.fromkeys(stood.kind for stood in concerned))


def _share(concerned: Iterable[FileStanding]) -> str:
    """``48/130`` of the first library that is concerned in a part of its regions alone."""
    partly = (stood for stood in concerned if stood.regions != stood.of)
    return next((f"{stood.regions}/{stood.of}" for stood in partly), "")


def main_files(stood: Iterable[PackageStanding], *standings: Standing) -> list[FileStanding]:
    """The main libraries that stand so."""
    return [s.main for s in stood if s.main is not None and s.main.standing in standings]


def other_files(stood: Iterable[PackageStanding], *standings: Standing) -> list[FileStanding]:
    """The other libraries that stand so."""
    return [file for s in stood for file in s.others if file.standing in standings]


def by_cause(files: Iterable[FileStanding]) -> Iterator[tuple[FileStanding, ...]]:
    """Libraries that the driver refuses, apart by the reason it has."""
    causes: dict[object, list[FileStanding]] = {}
    for stood in files:
        causes.setdefault(stood.verdict.cause if stood.verdict else None, []).append(stood)
    yield from map(tuple, causes.values())


def split_ran(
    files: Iterable[FileStanding], machine: Machine
) -> tuple[list[FileStanding], list[FileStanding]]:
    """Those on whose GPUs a torch operation was really run, and the others."""
    trials = machine.installed.trials if machine.installed is not None else ()
    passed = {t.gpu for t in trials if t.name == "torch" and t.outcome is TrialOutcome.PASSED}
    known = list(files)
    ran = [stood for stood in known if set(stood.kind.uuids) <= passed]
    return ran, [stood for stood in known if stood not in ran]
