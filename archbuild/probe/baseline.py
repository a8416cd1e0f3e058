"""An earlier report of verify, against which only what is new counts."""

from __future__ import annotations

import json
from pathlib import Path

from archbuild.errors import RecordError, UnreadableError
from archbuild.model.finding import Finding
from archbuild.model.record import decode

#: What a report calls itself.
SCHEMA = "archbuild.verify/1"
_ADVICE = "Write one with: archbuild verify X --json > FILE"


def read_baseline(path: str | Path) -> tuple[Finding, ...]:
    """The findings of an earlier report.

    Args:
        path: What ``archbuild verify --json`` wrote.

    Raises:
        UnreadableError: If the file cannot be read.
        RecordError: If it is no report of verify, or damaged.
    """
    try:
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}.", _ADVICE) from None
    except (ValueError, RecursionError):
        document = None
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(document, dict) or schema != SCHEMA:
        raise RecordError(f"{path} is no report of archbuild verify.", _ADVICE)
    findings = decode(tuple[Finding, ...], document.get("findings"), f"{path}: findings")
    assert isinstance(findings, tuple)
    return findings
