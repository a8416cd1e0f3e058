"""A recorded machine, and what is expected of the doctor on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from archbuild.model.machine import Machine
from archbuild.model.record import MACHINE_SCHEMA
from tests.data.code_parts import slim


@dataclass(frozen=True)
class Case:
    """One record.

    Args:
        name: Of its file.
        source: The public case, ``repo#number``, or a page.
        kind: desktop, data centre, laptop, jetson, wsl, container, mig, mixed, none.
        machine: The machine.
        expected: The code of the root cause; None: nothing is wrong.
        also: Codes that must be there too.
        never: Codes that must not be there.
        errors: CUDA errors of the root cause.
        exit: Of the doctor.
        title: A sentence.
    """

    name: str
    source: str
    kind: str
    machine: Machine
    title: str
    expected: str | None = None
    also: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    exit: int = 0

    @property
    def document(self) -> dict[str, Any]:
        """What is written."""
        told = {
            "title": self.title,
            "source": self.source,
            "kind": self.kind,
            "expected": self.expected,
            "also": list(self.also),
            "never": list(self.never),
            "errors": list(self.errors),
            "exit": self.exit,
        }
        return {"schema": MACHINE_SCHEMA, "case": told, "machine": slim(self.machine)}

    @property
    def text(self) -> str:
        """The file."""
        return json.dumps(self.document, indent=1) + "\n"
