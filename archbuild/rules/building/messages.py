"""What the passes of a build printed, each message once: one source is compiled many times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from archbuild.model.arch import Arch
from archbuild.model.build import EdgeRun
from archbuild.rules.building.build_failure import Explanation, explain_failure, plain_words


@dataclass(frozen=True)
class Diagnostic:
    """One message of a tool.

    Args:
        text: Whole, as the first pass printed it, without colours.
        passes: Labels of the passes that printed it.
        times: How often it stood in the pass that printed it most.
    """

    text: str
    passes: tuple[str, ...]
    times: int


@dataclass(frozen=True)
class Failure:
    """Why one source failed, in one or more of its passes.

    Args:
        source: The source; None for a device link.
        passes: Labels of those that failed so, in the order in which they ended.
        diagnostics: What they printed, each message once.
        status: Of the first.
        command: Of the first.
        retried: Whether one of them was run a second time.
        explanation: None where the cause is not known.
    """

    source: str | None
    passes: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    status: int
    command: tuple[str, ...]
    retried: bool
    explanation: Explanation | None


@dataclass(frozen=True)
class Notice:
    """What passes of one source that ended well printed, each message once."""

    source: str | None
    diagnostics: tuple[Diagnostic, ...]


def group_failures(
    runs: Iterable[EdgeRun], *, memory_free: int | None = None, archs: Iterable[Arch] = ()
) -> tuple[Failure, ...]:
    """The failures among these runs, the same one of several passes told once.

    Args:
        runs: Of one build; those that ended well are passed over.
        memory_free: Bytes that the build had, for cures that name them.
        archs: What the nvcc can build, for cures that name the nearest.
    """
    known = tuple(archs)
    groups: dict[tuple[str | None, str], list[tuple[EdgeRun, Explanation | None]]] = {}
    for run in runs:
        if run.status == 0:
            continue
        told = explain_failure(
            run.output, run.status, source=run.source, memory_free=memory_free, archs=known
        )
        groups.setdefault((run.source, told.code if told else ""), []).append((run, told))
    return tuple(_failure(group) for group in groups.values())


def _failure(group: Sequence[tuple[EdgeRun, Explanation | None]]) -> Failure:
    runs = [run for run, _ in group]
    first, explanation = group[0]
    return Failure(
        first.source,
        tuple(dict.fromkeys(run.label for run in runs)),
        diagnostics_of(runs),
        first.status,
        first.command,
        any(run.retried for run in runs),
        explanation,
    )


def group_notices(runs: Iterable[EdgeRun]) -> tuple[Notice, ...]:
    """Warnings and other words of the passes that ended well, by source, each once."""
    by_source: dict[str | None, list[EdgeRun]] = {}
    for run in runs:
        if run.status == 0 and run.output.strip():
            by_source.setdefault(run.source, []).append(run)
    notices = (Notice(source, diagnostics_of(group)) for source, group in by_source.items())
    return tuple(notice for notice in notices if notice.diagnostics)


def diagnostics_of(runs: Iterable[EdgeRun]) -> tuple[Diagnostic, ...]:
    """What these passes printed, each message once, in the order of the first that has it."""
    texts: dict[str, str] = {}
    passes: dict[str, list[str]] = {}
    times: Counter[str] = Counter()
    for run in runs:
        counted = Counter[str]()
        for text in split_messages(run.output):
            key = _same_for_all(text)
            texts.setdefault(key, text)
            counted[key] += 1
        for key, count in counted.items():
            passes.setdefault(key, []).append(run.label)
            times[key] = max(times[key], count)
    return tuple(
        Diagnostic(text, tuple(dict.fromkeys(passes[key])), times[key])
        for key, text in texts.items()
    )


# What differs between the passes of one source, and what stands for it.
_DIFFERENT: tuple[tuple[str, str], ...] = (
    (r"tmpxft_[0-9a-fA-F]+_[0-9a-fA-F]+-\d+_", "tmpxft_"),
    (r"\b(?:sm|compute|lto)_\d{2,3}[af]?\b", "ARCH"),
    (r"(?<=\.ptx), line \d+", ", line N"),
    (r"\.(?:ARCH\.)?(?:cpp\d\.ii|cudafe\d\.(?:cpp|c|gpu|stub\.c))", ".PASS"),
    # With bounds, since names of templates go on for thousands of letters.
    (r"(?<!\S)\S{0,500}[/\\](?=[^/\\\s]{1,250}\.(?:PASS|ptx)\b)", ""),
    (r"(?<=\S)[ \t]+", " "),
)
_SAME: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), name) for pattern, name in _DIFFERENT
)


def _same_for_all(text: str) -> str:
    for pattern, name in _SAME:
        text = pattern.sub(name, text)
    return text


# A line that only sums up, or says again what the exit status says.
_CLOSING = re.compile(
    r"\d+ (?:catastrophic )?errors? detected in the compilation|[Cc]ompilation terminated\.$"
    r"|ptxas fatal\s*: Ptx assembly aborted due to errors|Remark: The warnings can be suppressed"
    r"|collect2: error: ld returned|\d+ (?:warning|error)s?(?: and \d+ errors?)? generated\.$"
)
_LEVEL = r"(?:catastrophic |internal )?(?:fatal )?(?:error|warning|remark)"
_HEADS: tuple[re.Pattern[str], ...] = tuple(
    map(
        re.compile,
        (
            rf"\S.*?(?:\(\d+\)|:\d+(?::\d+)?) ?: {_LEVEL}\b",  # nvcc, cl.exe; gcc, clang
            rf"(?:nvcc|ptxas|nvlink|fatbinary|cicc|ninja)\b.*?\b(?:{_LEVEL}|fatal)\s*:",
            rf"(?:\S*/)?(?:ld|cc1plus|g\+\+|gcc|clang\+\+|c\+\+)(?:-\d+)?: (?:{_LEVEL}|cannot)",
        ),
    )
)
# Lines that lead up to a message: where it was included, in which function it stands.
_LEAD = re.compile(r"In file included from |\S+: In (?:\w+ )?\w+|\S+: At global scope")
# What -Xptxas -v asks for: several lines that belong together.
_INFO = re.compile(r"ptxas info\b")


def split_messages(output: str) -> Iterator[str]:
    """A tool's output as its messages, each with all of its lines; sums at the end are left out.

    Where no message is recognised the whole output is one.
    """
    lines = plain_words(output).expandtabs().split("\n")
    kept = [line.rstrip() for line in lines if not _CLOSING.match(line.lstrip())]
    found = False
    for block in _blocks(kept or lines):
        text = "\n".join(block).strip("\n")
        if text.strip():
            found = True
            yield text
    if not found and output.strip():
        yield "\n".join(line.rstrip() for line in lines).strip("\n")


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    block: list[str] = []
    state = "start"
    for line in lines:
        kind = _kind(line)
        if block and _begins(kind, state):
            yield block
            block = []
        block.append(line)
        state = kind if kind != "more" else state
    yield block


def _begins(kind: str, state: str) -> bool:
    """Whether a line of this kind begins a message, after one of the other kind."""
    if kind == "head":
        return state != "lead"
    if kind == "more":
        return state == "blank"
    return kind != state


#: Characters of a line that tell what it is.
_BEGINNING = 1000


def _kind(line: str) -> str:
    tests: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("blank", lambda text: not text.strip()),
        ("lead", _LEAD.match),
        ("info", _INFO.match),
        ("head", lambda text: any(head.match(text) for head in _HEADS)),
    )
    beginning = line[:_BEGINNING]
    return next((kind for kind, test in tests if test(beginning)), "more")
