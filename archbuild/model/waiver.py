"""What a project says it knows about, and lets pass."""

from __future__ import annotations

from dataclasses import dataclass

from archbuild.model.finding import Finding


@dataclass(frozen=True)
class Waiver:
    """One entry of ``[[tool.archbuild.waivers]]``; all but the reason are globs.

    Args:
        reason: Why it is let pass.
        code: Of the finding, ``V221`` or ``V22?``.
        file: Of the finding.
        kernel: Of the finding, mangled.
        arch: Of the finding, ``sm_90*``.
    """

    reason: str
    code: str = "*"
    file: str = "*"
    kernel: str = "*"
    arch: str = "*"


@dataclass(frozen=True)
class Judged:
    """Findings after the waivers.

    Args:
        kept: Those that stay, and a warning for each waiver that matched nothing.
        waived: Those that were let pass, each with the waiver that did.
    """

    kept: tuple[Finding, ...]
    waived: tuple[tuple[Finding, Waiver], ...] = ()
