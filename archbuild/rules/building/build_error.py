"""The type of a known text: what tools say when a build fails, with its code and cure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Rank(IntEnum):
    """Which of several texts in one output is the cause: the lowest, then the first in it."""

    RESOURCE = 0
    CAUSE = 1
    SYMPTOM = 2


@dataclass(frozen=True)
class BuildError:
    """One way in which a build fails.

    Args:
        code: ``A101``.
        title: A few words, for lists.
        pattern: A regular expression for the tools' text, lines apart; its named
            groups fill the sentence and the cure.
        sentence: What is wrong.
        cure: What to do about it.
        source: Which tool said so, or the public report that quotes it.
        rank: How deep a cause it is.
    """

    code: str
    title: str
    pattern: str
    sentence: str
    cure: str
    source: str
    rank: Rank = Rank.CAUSE


def page_of_error(code: str) -> str:
    """Where the documentation tells of a code: ``docs/build-errors.md#a101``."""
    return f"docs/build-errors.md#{code.lower()}"
