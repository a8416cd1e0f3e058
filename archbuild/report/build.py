"""A build for people: what failed, each error once and whole, and where the time went."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from archbuild.model.arch import Arch
from archbuild.model.build import BuildRun, EdgeRun
from archbuild.report.sizes import count_words, share_words, size_words
from archbuild.report.table import Column, render_table
from archbuild.report.text import escape, fold, wrap
from archbuild.rules.building.build_times import BuildTimes, advise_build, measure
from archbuild.rules.building.messages import Diagnostic, Failure, group_failures, group_notices

_BAR = "  | "
#: Rows of each table of the summary.
_ROWS = 5
#: Columns that are taken at least.
_NARROWEST = 20


# How compilers begin a message: a path, and a line in brackets or after a colon.
_PLACE = re.compile(r"\s*((?:[A-Za-z]:)?[^:(\n]+)(?:\(\d+\)|:\d+)")


def render_failures(
    run: BuildRun, width: int, *, memory_free: int | None = None, archs: Iterable[Arch] = ()
) -> list[str]:
    """What failed, in lines of at most ``width`` columns; nothing where nothing did.

    Args:
        run: The build.
        width: Columns; at least 20 are taken.
        memory_free: Bytes that the build had, for cures that name them.
        archs: What the nvcc can build, for cures that name the nearest.
    """
    width = max(width, _NARROWEST)
    failures = group_failures(run.runs, memory_free=memory_free, archs=archs)
    return [line for failure in failures for line in _failure(failure, run, width)]


def _failure(failure: Failure, run: BuildRun, width: int) -> Iterator[str]:
    known = failure.explanation
    yield from wrap(_head(failure, run), width, "  ")
    for diagnostic in failure.diagnostics:
        yield from _diagnostic(diagnostic, failure.passes, failure.source, width)
    if known is not None:
        yield from wrap(f"  {known.code}: {known.sentence} {known.cure}", width, "  ")
        yield from wrap(f"  See {known.page}", width, "  ")
    elif failure.command:
        yield f"  $ {escape(shlex.join(failure.command))}"  # whole, so that it can be pasted


def _head(failure: Failure, run: BuildRun) -> str:
    """``hopper.cu failed in 2 of its 9 passes (sm_90, sm_120), exit status 1``."""
    planned = {edge.label for edge in run.plan.edges if edge.source == failure.source}
    total = len(planned | set(failure.passes))
    names = ", ".join(_short(label, failure.source) for label in failure.passes)
    where = f"in {len(failure.passes)} of its {total} passes ({names})" if total > 1 else ""
    again = "; it was tried twice" if failure.retried else ""
    words = (failure.source or "the device link", "failed", where)
    return f"{' '.join(filter(None, words))}, {_status_words(failure.status)}{again}"


def _status_words(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def _short(label: str, source: str | None) -> str:
    """A pass without the name of its source, whose label begins with it or its last part."""
    for name in (source, source.replace("\\", "/").rpartition("/")[2]) if source else ():
        if label.startswith(f"{name} "):
            return label[len(name) + 1 :]
    return label


def _diagnostic(
    told: Diagnostic, passes: Sequence[str], source: str | None, width: int
) -> Iterator[str]:
    for line in told.text.split("\n"):
        yield from fold(f"{_BAR}{line}", width, _BAR)
    notes = []
    if told.times > 1:
        notes.append(f"{told.times} times")
    if set(told.passes) != set(passes):
        notes.append("in " + ", ".join(_short(label, source) for label in told.passes))
    if notes:
        yield from wrap(f"{_BAR}({', '.join(notes)})", width, _BAR)


def render_warnings(run: BuildRun, width: int = 100) -> list[str]:
    """What the passes that ended well printed, each message once with the passes that did.

    Of messages about headers outside the project only the number is told.

    Args:
        run: The build.
        width: No line has more columns; at least 20 are taken.
    """
    width = max(width, _NARROWEST)
    lines = []
    foreign = 0
    for notice in group_notices(run.runs):
        own = [told for told in notice.diagnostics if not _is_foreign(told.text, run.plan.root)]
        foreign += len(notice.diagnostics) - len(own)
        lines += wrap(f"{notice.source or 'the device link'}:", width, "  ") if own else []
        for told in own:
            lines += _diagnostic(told, (), notice.source, width)
    if foreign:
        told_of = f"{count_words(foreign, 'warning')} about headers outside the project: "
        lines += wrap(f"{told_of}profile.json in the build folder has them.", width, "  ")
    return lines


def _is_foreign(text: str, root: str) -> bool:
    """Whether a message is about a file that lies outside the project, such as torch's."""
    match = _PLACE.match(text)
    if match is None or not PurePath(match[1]).is_absolute():
        return False
    return not PurePath(match[1]).is_relative_to(root)


def render_summary(
    run: BuildRun,
    width: int,
    headers: Mapping[str, str] | None = None,
    *,
    processors: int | None = None,
) -> list[str]:
    """Where time and memory went, and what would help, in lines of at most ``width`` columns.

    Args:
        run: The build.
        width: Columns; at least 20 are taken.
        headers: The heaviest header that a source includes, as it is written there.
        processors: Those that the build was allowed; None: as many as it used at once.
    """
    width = max(width, _NARROWEST)
    times = measure(run, processors)
    lines = [line for text in _facts(run, times) for line in wrap(text, width, "  ")]
    lines += _slowest(times, width)
    for advice in advise_build(run, headers or {}):
        lines += wrap(f"- {advice}", width, "  ")
    return lines


def _facts(run: BuildRun, times: BuildTimes) -> Iterator[str]:
    passes = "1 pass" if len(run.runs) == 1 else f"{len(run.runs)} passes"
    yield f"{run.plan.name}: {passes} in {seconds_words(run.seconds)}"
    if times.processors > 1 and run.runs:
        yield (
            f"{_all_words(times.processors)} busy for {times.busy:.0%} of the time, "
            f"{times.load:.1f} on average"
        )
    if times.largest is not None:
        largest = f"{times.largest.label} {size_words(times.largest.memory)}"
        yield f"peak memory: at most {size_words(times.memory)} together; the largest, {largest}"
    yield from _cache(run)


def _all_words(processors: int) -> str:
    return "both processors" if processors == 2 else f"all {processors} processors"


def _cache(run: BuildRun) -> Iterator[str]:
    if run.launcher is None or run.cache_hits is None:
        return
    total = run.cache_hits + (run.cache_misses or 0)
    share = f" ({share_words(run.cache_hits, total)})" if total else ""
    yield f"cache: {run.launcher} had {run.cache_hits} of {total} compiles{share}"


def seconds_words(seconds: float) -> str:
    """A duration.

    Examples:
        >>> seconds_words(0.04), seconds_words(12.34), seconds_words(181.2), seconds_words(7265)
        ('0.0 s', '12.3 s', '3 min 1 s', '2 h 1 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _slowest(times: BuildTimes, width: int) -> Iterator[str]:
    """Two short tables, of sources and of passes; with one source the first says nothing."""
    if len(times.sources) > 1:
        rows = [(name, f"{seconds:.1f}") for name, seconds in times.sources[:_ROWS]]
        yield from _table([Column("slowest files"), Column("s", right=True)], rows, width)
    if times.passes:
        columns = [
            Column("slowest passes"),
            Column("step", rank=1),
            Column("s", right=True),
            Column("memory", right=True, rank=2),
        ]
        yield from _table(columns, [_row(each) for each in times.passes[:_ROWS]], width)


def _row(run: EdgeRun) -> tuple[str, str, str, str]:
    memory = size_words(run.memory) if run.memory else "-"
    return run.label, run.step.value, f"{run.seconds:.1f}", memory


def _table(columns: list[Column], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    return render_table(columns, rows, width, "  ")
