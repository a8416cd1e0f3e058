"""How many processors and how much memory a build may use, containers' limits included."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from archbuild.model.build import Resources
from archbuild.probe.cgroups import Group, find_groups, read_text, whole

# Version 1 writes "no limit" as the largest number of pages that it can count.
_NO_LIMIT = 1 << 60

_Answer = tuple[int, str]


def query_resources(root: str = "/", environ: Mapping[str, str] | None = None) -> Resources:
    """What this process may use now, by every limit that can be seen.

    Processors are the fewest that affinity, the quotas of all control groups
    and the machine leave; a part of one is none, but there is at least one.
    Memory is the least that the system has available and that any group has
    left, where a file cache not used of late counts as free.

    Args:
        root: The folder that holds ``proc`` and ``sys``.
        environ: The environment variables; None: this process's.

    Returns:
        Both, each with what set it.
    """
    env = os.environ if environ is None else environ
    place = Path(root)
    processors, why_processors = min(_processors(place, env), key=lambda answer: answer[0])
    memory, why_memory = min(
        _memory(place), key=lambda answer: answer[0], default=(None, "nobody says")
    )
    return Resources(max(1, processors), memory, why_processors, why_memory)


# --- processors -----------------------------------------------------------------------------


def _processors(root: Path, env: Mapping[str, str]) -> Iterator[_Answer]:
    yield os.cpu_count() or 1, "the machine's"
    affinity = getattr(os, "sched_getaffinity", None)  # macOS and Windows have none
    if affinity is not None:
        yield len(affinity(0)), "affinity"
    told = whole(env.get("PYTHON_CPU_COUNT"))
    if told is not None and told > 0:
        yield told, "PYTHON_CPU_COUNT"
    for group in find_groups("cpu", root):
        quota = _quota_v2(group) if group.version == 2 else _quota_v1(group)
        if quota is not None:
            yield quota


def _quota_v2(group: Group) -> _Answer | None:
    """``200000 100000`` is two processors, ``max 100000`` no limit."""
    words = (group.read("cpu.max") or "").split()
    period = words[1] if len(words) > 1 else "100000"
    return _share(whole(words[0]) if words else None, whole(period), f"cpu.max of {group.name}")


def _quota_v1(group: Group) -> _Answer | None:
    """A quota of -1 is no limit."""
    quota, period = group.number("cpu.cfs_quota_us"), group.number("cpu.cfs_period_us")
    return _share(quota, period, f"cpu.cfs_quota_us of {group.name}")


def _share(quota: int | None, period: int | None, why: str) -> _Answer | None:
    if not quota or not period or quota < 0 or period < 0:
        return None
    return max(1, quota // period), f"cgroup {why}"


# --- memory ---------------------------------------------------------------------------------


def _memory(root: Path) -> Iterator[_Answer]:
    available = _available(root)
    if available is not None:
        yield available
    for group in find_groups("memory", root):
        yield from _left_v2(group) if group.version == 2 else _left_v1(group)


def _left_v2(group: Group) -> Iterator[_Answer]:
    cache = group.entry("memory.stat", "inactive_file") or 0
    used = max(0, (group.number("memory.current") or 0) - cache)
    for file in ("memory.max", "memory.high"):
        limit = group.number(file)
        if limit is not None and limit >= 0:
            yield max(0, limit - used), f"cgroup {file} of {group.name}"


def _left_v1(group: Group) -> Iterator[_Answer]:
    cache = group.entry("memory.stat", "total_inactive_file") or 0
    used = max(0, (group.number("memory.usage_in_bytes") or 0) - cache)
    # The second is the tightest limit above, which a namespace may hide.
    limits = {
        "memory.limit_in_bytes": group.number("memory.limit_in_bytes"),
        "hierarchical_memory_limit": group.entry("memory.stat", "hierarchical_memory_limit"),
    }
    for file, limit in limits.items():
        if limit is not None and 0 <= limit < _NO_LIMIT:
            yield max(0, limit - used), f"cgroup {file} of {group.name}"


def _available(root: Path) -> _Answer | None:
    """What the system itself could give to a new program without swapping."""
    text = read_text(root / "proc/meminfo")
    sizes = dict(_meminfo(text)) if text else {}
    if "MemAvailable" in sizes:
        return sizes["MemAvailable"], "MemAvailable"
    if "MemFree" in sizes:  # before Linux 3.14
        cache = sizes.get("Buffers", 0) + sizes.get("Cached", 0)
        return sizes["MemFree"] + cache, "MemFree, Buffers and Cached"
    return _told_by_system() if root == Path("/") else None


def _meminfo(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        name, _, value = line.partition(":")
        number = whole(value.strip().removesuffix("kB"))
        if number is not None and number >= 0:
            yield name, number << 10


def _told_by_system() -> _Answer | None:
    """What the standard library can find out; macOS does not tell what is free."""
    if sys.platform == "win32":
        from archbuild.probe.windows_memory import query_available  # noqa: PLC0415 -- ctypes

        available = query_available()
        return None if available is None else (available, "GlobalMemoryStatusEx")
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "sysconf"
    except (AttributeError, OSError, ValueError):
        return None
