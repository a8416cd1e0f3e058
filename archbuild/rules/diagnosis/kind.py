"""A kind of finding about machines: its texts, its weight, what explains it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.finding import Severity
from archbuild.rules.filling import fill


@dataclass(frozen=True)
class Kind:
    """One kind of finding about machines.

    Args:
        code: Stable, ``D310``.
        severity: How much it weighs.
        title: A few words, for lists of codes.
        sentence: A template: what is wrong. ``{name}`` is a place for a value; what
            stands in brackets is left out where one of its values is missing.
        advice: A template: what cures it.
        commands: Templates of the cure's commands.
        errors: The CUDA errors that a person meets for it.
        rank: The lower, the nearer to the root: hardware and driver come before
            what is installed on them.
        either: Whether one of the commands will do; the others then stand behind a ``# or:``,
            so that whoever pastes them all runs the first alone.
        after: Codes of the findings that explain this one where they concern the same
            GPU, or the whole machine.
    """

    code: str
    severity: Severity
    title: str
    sentence: str
    advice: str
    commands: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    rank: int = 50
    after: tuple[str, ...] = ()
    either: bool = False


def diagnosis_of(
    kind: Kind,
    /,
    *,
    confidence: Confidence = Confidence.CERTAIN,
    evidence: Iterable[Evidence] = (),
    commands: Iterable[str] | None = None,
    errors: Iterable[int] | None = None,
    gpus: Iterable[str] = (),
    file: str | None = None,
    severity: Severity | None = None,
    more: Mapping[str, str | None] | None = None,
    **values: str,
) -> Diagnosis:
    """A finding of a kind, its templates filled.

    Args:
        kind: The kind.
        confidence: How sure it is.
        evidence: What was seen.
        commands: In place of the kind's own.
        errors: In place of the kind's own.
        gpus: The UUIDs of the GPUs that it concerns.
        file: The library or package that it concerns.
        severity: In place of the kind's own.
        more: Values that may be missing.
        values: For the templates.
    """
    known = {name: value for name, value in (more or {}).items() if value}
    values = {**values, **known}
    filled = kind.commands if commands is None else tuple(commands)
    return Diagnosis(
        kind.code,
        severity or kind.severity,
        confidence,
        fill(kind.sentence, values),
        fill(kind.advice, values),
        _alternatives(kind, filled, values if commands is None else None),
        tuple(evidence),
        tuple(kind.errors if errors is None else errors),
        tuple(gpus),
        file,
        tuple(values.items()),
    )


def _alternatives(
    kind: Kind, commands: tuple[str, ...], values: Mapping[str, str] | None
) -> tuple[str, ...]:
    filled = commands if values is None else tuple(fill(c, values) for c in commands)
    if not kind.either:
        return filled
    return (*filled[:1], *(f"# or: {command}" for command in filled[1:]))
