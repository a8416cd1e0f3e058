"""The explanation of an error for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from archbuild.report.findings import is_for_a_shell, page_of, tell
from archbuild.report.text import Ink, escape, paint, shorten, wrap
from archbuild.rules.explaining.answer import Explained, Phrase
from archbuild.rules.explaining.phrases import ENGLISH, say
from archbuild.services.explain import ExplainReport

_MIN_WIDTH = 20
#: Kernels that are named; JSON has all.
_KERNELS = 10
_PAGE = "docs/explain.md"

WORDS: Mapping[str, str] = {
    "here": "Here",
    "kernels": "Kernels that fail",
    "more": "and {count} more",
    "machine": "This machine",
    "cure": "Cure",
    "wanted": "More can be said with",
    "others": "The text also says",
    "page": "More",
    "old": "{number} before CUDA 10.1",
}


def render_explain(
    report: ExplainReport, width: int, *, language: str = "en", color: bool = False
) -> str:
    """The answer for people, without a newline at the end.

    Args:
        report: The answer.
        width: No line has more columns but for commands, which have to stay whole; at
            least 20 are taken.
        language: ``en`` or ``zh``.
        color: Whether to colour it for a terminal.
    """
    page = _Page(max(width, _MIN_WIDTH), language, color)
    blocks = (
        page.head(report.answer),
        page.here(report),
        page.findings(report.answer),
        page.cure(report.answer),
        page.listed("wanted", report.answer.wanted),
        page.listed("others", report.answer.others),
        page.pages(report.answer),
    )
    return "\n\n".join("\n".join(lines) for block in blocks if (lines := list(block)))


class _Page:
    """How to write: how wide, in which language, in colours or not."""

    def __init__(self, width: int, language: str, color: bool) -> None:
        self._width, self._language, self._color = width, language, color
        self._words, self._templates = WORDS, ENGLISH
        self._colon, self._blank = ":", " "
        if language == "zh":
            from archbuild.report.chinese import explain as chinese  # noqa: PLC0415

            self._words, self._templates = chinese.WORDS, chinese.TEMPLATES
            self._colon, self._blank = "\uff1a", ""

    def head(self, answer: Explained) -> Iterator[str]:
        """The error, where it stands, and what it means anywhere."""
        title = self._title(answer)
        if title:
            first, *rest = wrap(title, self._width, "  ")
            yield paint(first, Ink.BOLD, color=self._color)
            yield from rest
        if answer.meaning is not None:
            yield from self._wrapped(self._say(answer.meaning))

    def _title(self, answer: Explained) -> str:
        named = answer.named
        if named is None:
            return answer.line or (answer.key or "")
        text = f"{named.number} {named.name}".rstrip()
        if named.text:
            text = f"{text}: {named.text}"
        if named.old_number is not None:
            old = self._words["old"].format(number=named.old_number)
            text = f"{text} ({old})"
        return text

    def here(self, report: ExplainReport) -> Iterator[str]:
        """What stands behind it here, and which kernels that concerns."""
        answer = report.answer
        if answer.here:
            yield self._label("here")
            for phrase in answer.here:
                yield from self._wrapped(self._say(phrase))
        if answer.kernels:
            yield f"  {self._words['kernels']} ({len(answer.kernels)}){self._colon}"
            yield from self._names(answer.kernels, report.names)

    def _names(self, kernels: tuple[str, ...], names: Mapping[str, str]) -> Iterator[str]:
        for kernel in kernels[:_KERNELS]:
            name = escape(names.get(kernel, kernel))
            yield f"    {shorten(name, self._width - 4)}"
        if len(kernels) > _KERNELS:
            yield f"    {self._words['more'].format(count=len(kernels) - _KERNELS)}"

    def findings(self, answer: Explained) -> Iterator[str]:
        """What is wrong with the machine and gives this very error."""
        if not answer.findings:
            return
        yield self._label("machine")
        for finding in answer.findings:
            told = tell(finding, self._language)
            yield from self._wrapped(f"{finding.code} {told.message}")
            if told.advice:
                yield from self._wrapped(told.advice)
            yield from self._commands(finding.commands)

    def cure(self, answer: Explained) -> Iterator[str]:
        """What to do, and the commands; a finding has a cure of its own, which fits better."""
        if answer.cure is None or (answer.findings and not answer.decided):
            return
        yield self._label("cure")
        yield from self._wrapped(self._say(answer.cure))
        yield from self._commands(answer.commands)

    def _commands(self, commands: Iterable[str]) -> Iterator[str]:
        # A command that is broken cannot be pasted.
        for command in commands:
            yield f"    {'$ ' if is_for_a_shell(command) else ''}{escape(command)}"

    def listed(self, word: str, phrases: tuple[Phrase, ...]) -> Iterator[str]:
        """Sentences below a word."""
        if phrases:
            yield self._label(word)
            for phrase in phrases:
                yield from self._wrapped(self._say(phrase))

    def pages(self, answer: Explained) -> Iterator[str]:
        """Where the documentation tells more."""
        found = [page_of(finding.code) for finding in answer.findings]
        told = ", ".join([answer.page or _PAGE, *found])
        yield f"{self._words['page']}{self._colon}{self._blank}{told}"

    def _label(self, word: str) -> str:
        return paint(f"{self._words[word]}{self._colon}", Ink.BOLD, color=self._color)

    def _wrapped(self, text: str) -> list[str]:
        return wrap(f"  {text}", self._width, "    ")

    def _say(self, phrase: Phrase) -> str:
        return say(phrase, self._templates)
