"""The Chinese texts of every finding about machines, by their code."""

from __future__ import annotations

from archbuild.report.chinese import code, machine

#: Title, sentence and advice, with the same places for values as the English ones.
TEXTS: dict[str, tuple[str, str, str]] = {**machine.TEXTS, **code.TEXTS}
