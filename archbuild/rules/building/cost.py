"""What an edge will take: from the headers it includes, and from what it took before."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from archbuild.facts.headers import LIGHTEST, HeaderRow, find_header
from archbuild.model.build import Cost, EdgeRun, Step

#: What is planned for above what was measured, of memory: a pass varies with its
#: options and with the compilers' versions.
HEADROOM = 1.15

# For a project's own text, beside its headers: a rough allowance, which the first
# build replaces by what it measured.
_SECONDS_PER_BYTE = 20e-6
_MEMORY_PER_BYTE = 2000
_MOST_FOR_TEXT = 10**9

# ptxas, fatbinary and the preprocessor on the heaviest file of facts/headers.py took
# 44, 12 and 212 MB.
_SMALL = {
    Step.ASSEMBLE: Cost(0.1, 100 * 10**6),
    Step.ORDER: Cost(0.01, 10**6),
    Step.FATBIN: Cost(0.05, 20 * 10**6),
    Step.DEVICE_LINK: Cost(1.0, 300 * 10**6),
    Step.PREPROCESS: Cost(1.0, 250 * 10**6),
}


def heaviest_header(includes: Iterable[str]) -> HeaderRow:
    """The row that decides what a file's device pass takes.

    Args:
        includes: Headers as they stand in include lines.

    Returns:
        The lightest known where none of them is known.
    """
    rows = [row for name in includes if (row := find_header(name)) is not None]
    return max(rows, key=lambda row: (row.device_memory, row.device), default=LIGHTEST)


def estimate_device(includes: Iterable[str], text_bytes: int) -> Cost:
    """One pass of cicc, for one virtual architecture.

    Args:
        includes: Headers as they stand in include lines.
        text_bytes: The size of the source and of its own headers.
    """
    row = heaviest_header(includes)
    return _cost(row.device, row.device_memory, text_bytes)


def estimate_split(includes: Iterable[str], text_bytes: int) -> Cost:
    """The pass of cudafe++, which takes host and device code apart, once for a .cu."""
    row = heaviest_header(includes)
    return _cost(row.split, row.split_memory, text_bytes)


def estimate_host(includes: Iterable[str], text_bytes: int) -> Cost:
    """The host compiler on a .cpp, or on the host's part of a .cu."""
    row = heaviest_header(includes)
    return _cost(row.host, row.host_memory, text_bytes)


def estimate(step: Step, includes: Iterable[str], text_bytes: int, *, passes: int = 1) -> Cost:
    """What one edge takes, by what it does.

    Args:
        step: What it does.
        includes: Headers as they stand in include lines.
        text_bytes: The size of the source and of its own headers.
        passes: Of nvcc's whole call, for how many virtual architectures.

    Returns:
        For nvcc's whole call the seconds of all passes and the memory of the
        largest one, which :func:`archbuild.rules.building.schedule.plan_schedule` multiplies.
    """
    if step in _SMALL:
        return _SMALL[step]
    names = tuple(includes)
    device = estimate_device(names, text_bytes)
    split = estimate_split(names, text_bytes)
    host = estimate_host(names, text_bytes)
    single = {Step.DEVICE: device, Step.SPLIT: split, Step.HOST: host, Step.COMPILE: host}
    if step in single:
        return single[step]
    seconds = passes * device.seconds + split.seconds + host.seconds
    return Cost(seconds, max(device.memory, split.memory, host.memory))


def _cost(seconds: float, memory: int, text_bytes: int) -> Cost:
    own = min(_MEMORY_PER_BYTE * max(0, text_bytes), _MOST_FOR_TEXT)
    seconds += _SECONDS_PER_BYTE * max(0, text_bytes)
    return Cost(seconds, int((memory + own) * HEADROOM))


# --- what was measured -----------------------------------------------------------------------


def refine(estimate: Cost, measured: Cost | None) -> Cost:
    """What is planned for an edge that ran before.

    Args:
        estimate: From its headers.
        measured: What it took; None where it never ran.

    Returns:
        What it took, with headroom for memory; the estimate for what was not
        measured, or cannot be true.
    """
    if measured is None:
        return estimate
    known = math.isfinite(measured.seconds) and measured.seconds > 0
    memory = int(measured.memory * HEADROOM) if measured.memory > 0 else estimate.memory
    return Cost(measured.seconds if known else estimate.seconds, memory)


def learn(
    runs: Iterable[EdgeRun], known: Mapping[str, Cost], *, cached: bool = False
) -> dict[str, Cost]:
    """What is known after a build, by the edges' labels.

    Args:
        runs: What ran; what failed teaches nothing.
        known: What was known before.
        cached: Whether a compiler cache may have answered, whose few
            milliseconds must not be taken for what the compiler takes: then
            what is known only grows, and what isn't stays unknown; put the
            estimates among ``known``.

    Returns:
        The costs as measured, for :func:`refine`.
    """
    costs = dict(known)
    for run in runs:
        if run.status != 0:
            continue
        if not cached:
            costs[run.label] = Cost(run.seconds, run.memory)
        elif run.label in costs:
            before = costs[run.label]
            seconds, memory = max(run.seconds, before.seconds), max(run.memory, before.memory)
            costs[run.label] = Cost(seconds, memory)
    return costs
