"""Sentences with places for values."""

from __future__ import annotations

import re
from collections.abc import Mapping

_OPTIONAL = re.compile(r"\[([^][]*\{\w+\}[^][]*)\]")


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with its values; what stands in brackets goes where one of its values is missing.

    Examples:
        >>> fill("a word[: {word}].", {"word": "-O2"}), fill("a word[: {word}].", {})
        ('a word: -O2.', 'a word.')
        >>> fill("pip install toolkit[cccl]", {})
        'pip install toolkit[cccl]'
    """

    def keep(match: re.Match[str]) -> str:
        names = re.findall(r"\{(\w+)\}", match[1])
        return match[1] if all(values.get(name) for name in names) else ""

    return re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], "?"), _OPTIONAL.sub(keep, template))
