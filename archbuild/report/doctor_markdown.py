"""The judgement on a machine for an issue report: nobody's name, path or serial number is in it."""

from __future__ import annotations

from collections.abc import Iterator

from archbuild.model.diagnosis import Diagnosis
from archbuild.model.machine import Machine
from archbuild.probe.person import Person
from archbuild.report.doctor import summary_of
from archbuild.report.doctor_labels import Labels
from archbuild.report.doctor_machine import facts_of, kind_words, served_words
from archbuild.report.findings import (
    Case,
    error_words,
    fold_findings,
    is_for_a_shell,
    page_of,
    tell,
)
from archbuild.report.languages import labels_of
from archbuild.report.markdown import code, plain, row
from archbuild.report.scrub import Scrubber
from archbuild.report.text import escape
from archbuild.rules.diagnosis.serving import serve
from archbuild.services.doctor import Examination


def doctor_markdown(
    examination: Examination, person: Person | None = None, *, language: str = "en"
) -> str:
    """The judgement as Markdown to paste into an issue.

    Args:
        examination: The judgement and the machine.
        person: Who must not be named; what looks like a name, a home or a serial
            number is left out besides.
        language: ``en`` or ``zh``.
    """
    page = _Page(labels_of(language), _scrubber(examination, person or Person()))
    lines = [f"### {plain(summary_of(examination, page.labels))}", ""]
    for case in fold_findings(examination.report.findings):
        lines += page.case(case)
    lines += page.unknown(examination)
    lines += page.machine(examination.machine)
    lines += ["", f"<sub>{plain(page.labels.left_out)}</sub>"]
    return "\n".join(lines).strip()


def _scrubber(examination: Examination, person: Person) -> Scrubber:
    """What is known to be a path or a UUID is left out whole, blanks and all."""
    machine = examination.machine
    return Scrubber(
        person.user,
        person.home,
        person.host,
        tuple(gpu.uuid for gpu in machine.gpus),
        tuple(dict.fromkeys((*_paths(machine), *_named(examination.report.findings)))),
    )


def _paths(machine: Machine) -> Iterator[str]:
    for kit in machine.toolkits:
        yield from (kit.root, kit.nvcc, *kit.include, *kit.lib)
    if machine.torch is not None:
        yield machine.torch.root
    for _, value in machine.variables:
        yield value
        yield from value.split(";" if machine.system == "win32" else ":")
    if machine.installed is not None:
        yield from (file.path for one in machine.installed.packages for file in one.files)
        yield from (one.folder for one in machine.installed.distributions)
        for library in machine.installed.loaded:
            yield from filter(None, (library.path, library.expected))


def _named(findings: tuple[Diagnosis, ...]) -> Iterator[str]:
    for finding in findings:
        yield from filter(None, (finding.file, *(e.source for e in finding.evidence)))
        yield from (value for _, value in finding.values)


class _Page:
    """How to write: in which words, and what to leave out."""

    def __init__(self, labels: Labels, scrubber: Scrubber) -> None:
        self.labels = labels
        self.scrubber = scrubber

    def plain(self, text: str) -> str:
        return plain(self.scrubber.scrub(text))

    def case(self, case: Case) -> Iterator[str]:
        finding, labels = case.finding, self.labels
        told = tell(finding, labels.language)
        severity = labels.severities[finding.severity.value]
        confidence = labels.confidences[finding.confidence.value]
        yield f"**{severity} {finding.code}** ({confidence}): {self.plain(told.message)}"
        yield ""
        for one in finding.evidence:
            yield f"- {labels.seen}{labels.colon}{self.plain(f'{one.source}: {one.said}')}"
        for number in finding.errors[:1]:
            yield f"- {labels.met}{labels.colon}{plain(error_words(number))}"
        if told.advice:
            yield f"- {self.plain(told.advice)}"
        yield f"- {labels.page}{labels.colon}{code(page_of(finding.code))}"
        for follower in case.followers:
            message = self.plain(tell(follower, labels.language).message)
            yield f"- {labels.follows}{labels.colon}{follower.code}: {message}"
        yield from self.commands(finding)
        yield ""

    def commands(self, finding: Diagnosis) -> Iterator[str]:
        if not finding.commands:
            return
        yield ""
        # A command with a run of backquotes of its own would end the block.
        fence = "`" * max(3, 1 + max(map(_longest_run, finding.commands)))
        yield f"{fence}console"
        for command in finding.commands:
            prompt = "$ " if is_for_a_shell(command) else ""
            yield f"{prompt}{escape(self.scrubber.scrub(command))}"
        yield fence

    def unknown(self, examination: Examination) -> Iterator[str]:
        for what, why in examination.report.unknown:
            yield f"- {self.labels.not_known}{self.labels.colon}{self.plain(f'{what}: {why}')}"
        if examination.report.unknown:
            yield ""

    def machine(self, machine: Machine) -> Iterator[str]:
        yield f"**{self.labels.machine}**"
        yield ""
        yield from (f"- {self.plain(text)}" for text in facts_of(machine, self.labels))
        for gpu in machine.gpus:
            seen = "?" if gpu.cuda_index is None else str(gpu.cuda_index)
            index = self.labels.hidden if gpu.visible is False else seen
            words = f"{gpu.name} ({gpu.capability or '?'}), {self.labels.in_cuda}: {index}"
            yield f"- GPU: {self.plain(words)}"
        for name, value in machine.variables:
            yield f"- {code(f'{name}={self.scrubber.scrub(value)}')}"
        yield ""
        yield from self.served(machine)

    def served(self, machine: Machine) -> Iterator[str]:
        service = serve(machine)
        if not service.packages:
            return
        kinds = [self.plain(kind_words(kind)) for kind in service.kinds]
        yield from row([self.labels.package, *kinds], head=True)
        for one in service.packages:
            words = [served_words(stood, self.labels) for stood in one.standings]
            yield from row([self.plain(f"{one.name} {one.version}"), *words])


def _longest_run(text: str) -> int:
    """The length of the longest run of backquotes."""
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
