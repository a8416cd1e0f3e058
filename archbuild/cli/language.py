"""The language to speak, by the option or by the locale."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

LANGUAGES = ("en", "zh")


def add_language(parser: argparse.ArgumentParser) -> None:
    """Add ``--lang``."""
    parser.add_argument(
        "--lang", choices=LANGUAGES, help="the language of the text; default: by the locale"
    )


def language_of(environ: Mapping[str, str], encoding: str | None = None) -> str:
    """The language that the locale asks for, as far as the output can show it.

    Args:
        environ: The variables; of LC_ALL, LC_MESSAGES and LANG the first that is set.
        encoding: Of the output; None: any letter can be shown.

    Examples:
        >>> language_of({"LANG": "zh_CN.UTF-8"}), language_of({"LANG": "de_DE.UTF-8"})
        ('zh', 'en')
        >>> language_of({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"})
        'en'
    """
    names = (environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    locale = next(filter(None, names), "")
    return "zh" if locale.lower().startswith("zh") and can_show("中文", encoding) else "en"


def can_show(text: str, encoding: str | None) -> bool:
    """Whether an encoding has all letters of a text.

    Args:
        text: The text.
        encoding: Its name; None: it has all.
    """
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
