"""A finding about a machine in the words of a language, and findings folded under their cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archbuild.facts.cuda_errors import find_cuda_error
from archbuild.model.diagnosis import Diagnosis
from archbuild.rules.filling import fill


@dataclass(frozen=True)
class Told:
    """What a finding says, in one language.

    Args:
        message: What is wrong.
        advice: What cures it.
    """

    message: str
    advice: str


@dataclass(frozen=True)
class Case:
    """A finding that stands for itself, with those that follow from it.

    Args:
        finding: It.
        followers: What follows, in order.
    """

    finding: Diagnosis
    followers: tuple[Diagnosis, ...] = ()


def tell(finding: Diagnosis, language: str) -> Told:
    """The texts of a finding; English where the language has none for it.

    Args:
        finding: With the values that its texts were filled with.
        language: ``en`` or ``zh``.
    """
    if language == "zh":
        from archbuild.report.chinese.texts import TEXTS  # noqa: PLC0415 - asked for by few

        if finding.code in TEXTS:
            _, sentence, advice = TEXTS[finding.code]
            values = dict(finding.values)
            return Told(fill(sentence, values), fill(advice, values))
    return Told(finding.message, finding.advice)


def page_of(code: str) -> str:
    """The page of a finding in the documentation."""
    return f"docs/findings/{code.lower()}.md"


def error_words(number: int) -> str:
    """A CUDA error as programs print it: number, name and text.

    Examples:
        >>> error_words(209)[:36]
        '209 cudaErrorNoKernelImageForDevice:'
    """
    row = find_cuda_error(number)
    return str(number) if row is None else f'{number} {row.name}: "{row.text}"'


def is_for_a_shell(command: str) -> bool:
    """Whether a cure is a command; else it is a piece of a file, which it names first.

    Examples:
        >>> is_for_a_shell("docker run --gpus all IMAGE"), is_for_a_shell("compose.yaml: x: y")
        (True, False)
    """
    return not command.startswith(("compose.yaml: ", "pod: "))


def fold_findings(findings: Sequence[Diagnosis]) -> tuple[Case, ...]:
    """Each finding that stands for itself with what follows from it.

    Args:
        findings: In the order of the engine: what follows comes after its cause.
    """
    codes = {finding.code for finding in findings}
    cases: list[Case] = []
    for finding in findings:
        if not cases or finding.because is None or finding.because not in codes:
            cases.append(Case(finding))
        else:
            last = cases[-1]
            cases[-1] = Case(last.finding, (*last.followers, finding))
    return tuple(cases)
