"""Findings after what a project lets pass, and after what was there before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from archbuild.model.finding import Finding, Severity
from archbuild.model.waiver import Judged, Waiver
from archbuild.rules.checking.codes import WAIVER_UNUSED


def waives(waiver: Waiver, finding: Finding) -> bool:
    """Whether a waiver lets a finding pass: every one of its globs matches."""
    pairs = (
        (waiver.code, finding.code),
        (waiver.file, finding.file),
        (waiver.kernel, finding.kernel),
        (waiver.arch, finding.arch),
    )
    return all(glob == "*" or (v is not None and fnmatchcase(v, glob)) for glob, v in pairs)


def apply_waivers(findings: Iterable[Finding], waivers: Iterable[Waiver]) -> Judged:
    """Take out what is waived, and warn of waivers that match nothing.

    Args:
        findings: In their order.
        waivers: In their order; the first that matches counts, and every one
            that matches some finding is in use.
    """
    known, found = tuple(waivers), tuple(findings)
    used = {i for i, w in enumerate(known) if any(waives(w, finding) for finding in found)}
    first = {f: next((w for w in known if waives(w, f)), None) for f in found}
    kept = tuple(finding for finding in found if first[finding] is None)
    waived = tuple((f, waiver) for f in found if (waiver := first[f]) is not None)
    unused = tuple(_unused(w) for i, w in enumerate(known) if i not in used)
    return Judged((*kept, *unused), waived)


def _unused(waiver: Waiver) -> Finding:
    fields = ("code", "file", "kernel", "arch")
    told = ", ".join(f"{name}={v}" for name in fields if (v := getattr(waiver, name)) != "*")
    return Finding(
        WAIVER_UNUSED.code,
        WAIVER_UNUSED.severity,
        f"The waiver for {told or 'everything'} matches no finding.",
        evidence=(f"its reason: {waiver.reason}",),
        advice="Take it out of [[tool.archbuild.waivers]].",
    )


def _as_is(name: str) -> str:
    return name


def new_findings(
    findings: Iterable[Finding],
    baseline: Iterable[Finding],
    normalize: Callable[[str], str] = _as_is,
) -> tuple[Finding, ...]:
    """Those that the baseline doesn't have, or has with a lower severity.

    Args:
        findings: Of now, in their order.
        baseline: Of then.
        normalize: Makes the names of two builds comparable, for kernels whose
            names carry a hash of the build.
    """
    before: dict[tuple[str | None, ...], int] = {}
    for finding in baseline:
        key = _key(finding, normalize)
        before[key] = max(before.get(key, 0), _WEIGHTS[finding.severity])
    return tuple(f for f in findings if _WEIGHTS[f.severity] > before.get(_key(f, normalize), 0))


_WEIGHTS = {Severity.NOTE: 1, Severity.WARNING: 2, Severity.ERROR: 3}


def _key(finding: Finding, normalize: Callable[[str], str]) -> tuple[str | None, ...]:
    kernel = None if finding.kernel is None else normalize(finding.kernel)
    return finding.code, finding.file, finding.arch, kernel
