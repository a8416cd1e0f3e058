"""The words of a language; one that nobody asks for is not loaded."""

from __future__ import annotations

from archbuild.report.doctor_labels import ENGLISH, Labels


def labels_of(language: str) -> Labels:
    """The words around findings in a language; English where there are none.

    Args:
        language: ``en`` or ``zh``.
    """
    if language == "zh":
        from archbuild.report.chinese.doctor import CHINESE  # noqa: PLC0415 - asked for by few

        return CHINESE
    return ENGLISH
