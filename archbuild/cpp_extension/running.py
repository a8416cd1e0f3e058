"""How builds are run: what the machine has, what the variables allow, and who is told."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence

from archbuild.build.engine import Running
from archbuild.probe.resources import query_resources
from archbuild.report.progress import progress_line
from archbuild.rules.building.schedule import parse_limit
from archbuild.rules.selecting.nvcc_flags import parse_nvcc_flags

_log = logging.getLogger(__name__)


def make_running(
    flags: Iterable[Sequence[str]],
    *,
    jobs: int | None = None,
    environ: Mapping[str, str] | None = None,
) -> Running:
    """How the builds of one project are run.

    Args:
        flags: nvcc's flags of each extension: ``--threads`` among them is a limit.
        jobs: A limit of the project's own, which MAX_JOBS goes before.
        environ: The variables of the commands; None: this process's.

    Raises:
        UsageError: If MAX_JOBS or NVCC_THREADS is no number.
    """
    threads = [parse_limit("NVCC_THREADS", os.environ.get("NVCC_THREADS"))]
    threads += [parse_nvcc_flags(words).threads for words in flags]
    return Running(
        query_resources(),
        max_jobs=parse_limit("MAX_JOBS", os.environ.get("MAX_JOBS")) or jobs,
        nvcc_threads=min((number for number in threads if number), default=None),
        environ=dict(os.environ if environ is None else environ),
        on_progress=say_progress,
        on_say=say,
    )


def say_progress(done: int, total: int, label: str) -> None:
    """Log that an edge has ended."""
    _log.info("%s", progress_line(done, total, label))


def say(sentence: str) -> None:
    """Log what a person may want to know."""
    _log.info("archbuild: %s", sentence)
