"""All rules over a machine, then one order: the root cause first, what follows folded under it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from archbuild.model.diagnosis import Diagnosis, Report
from archbuild.model.finding import Severity
from archbuild.model.machine import Machine
from archbuild.rules.diagnosis.kind import Kind

#: A rule looks at a machine and says what is wrong.
Rule = Callable[[Machine], Iterable[Diagnosis]]

_WEIGHT = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def judge(
    machine: Machine,
    rules: Iterable[Rule],
    kinds: Iterable[Kind],
    unknown: Iterable[tuple[str, str]] = (),
) -> Report:
    """Apply rules to a machine.

    Args:
        machine: The machine.
        rules: The rules.
        kinds: Every kind that they make.
        unknown: What could not be asked.

    Returns:
        The findings in order. The root cause is the first that follows from no other
        and is no note.
    """
    known = {kind.code: kind for kind in kinds}
    found = [finding for rule in rules for finding in rule(machine)]
    explained = [_explained(finding, found, known) for finding in found]
    ordered = tuple(_in_order(explained, known))
    roots = (f for f in ordered if f.because is None and f.severity is not Severity.NOTE)
    return Report(next(roots, None), ordered, tuple(unknown))


def _explained(finding: Diagnosis, all_: list[Diagnosis], known: dict[str, Kind]) -> Diagnosis:
    """The finding with the one that it follows from."""
    if finding.because is not None:
        return finding
    causes = known[finding.code].after
    near = [other for other in all_ if other.code in causes and _touch(finding, other)]
    if not near:
        return finding
    cause = min(near, key=lambda other: causes.index(other.code))
    return replace(finding, because=cause.code)


def _touch(finding: Diagnosis, other: Diagnosis) -> bool:
    """Whether another finding concerns every GPU that this one does."""
    return not other.gpus or (bool(finding.gpus) and set(finding.gpus) <= set(other.gpus))


def _in_order(found: list[Diagnosis], known: dict[str, Kind]) -> Iterator[Diagnosis]:
    def weight(finding: Diagnosis) -> tuple[int, int, str]:
        return _WEIGHT[finding.severity], known[finding.code].rank, finding.code

    codes = {finding.code for finding in found}
    roots = sorted((f for f in found if f.because not in codes), key=weight)
    waiting = [f for f in found if f.because in codes]
    for root in roots:
        yield root
        if root.code in {later.code for later in roots[roots.index(root) + 1 :]}:
            continue
        yield from _following(root.code, waiting, weight)
    yield from waiting


def _following(
    code: str,
    waiting: list[Diagnosis],
    weight: Callable[[Diagnosis], tuple[int, int, str]],
) -> Iterator[Diagnosis]:
    for finding in sorted((f for f in waiting if f.because == code), key=weight):
        if finding in waiting:
            waiting.remove(finding)
            yield finding
            yield from _following(finding.code, waiting, weight)
