"""What changed between two builds: a page for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from archbuild.report.sizes import change_words, count_words, size_words
from archbuild.report.table import Column, render_table
from archbuild.report.text import Ink, fold, paint, wrap
from archbuild.rules.comparing.differences import Bytes, CoverageDifference, FileDifference
from archbuild.services.compare import CompareReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = "archbuild.compare/1"
#: How many kernels are told one by one of each list; JSON has all of them.
MOST_KERNELS = 10
_MIN_WIDTH = 40
_INDENT = "  "
_DEEPER = _INDENT * 2
_BYTES = (
    Column("arch"),
    Column("before", right=True),
    Column("after", right=True),
    Column("change", right=True, rank=1),
)
_DEVICES = (
    Column("GPU"),
    Column("native", right=True),
    Column("JIT", right=True),
    Column("none", right=True),
    Column("unknown", right=True, rank=1),
    Column("better", right=True, rank=2),
    Column("worse", right=True),
)


def render_compare(report: CompareReport, width: int = 80, *, color: bool = False) -> str:
    """The report for people, without a newline at the end.

    Args:
        report: What compare found.
        width: No line has more columns than this; at least 40 are taken.
        color: Whether to colour it for a terminal.
    """
    page = _Page(max(width, _MIN_WIDTH), color)
    blocks = [page.head(report)]
    blocks += [page.file(file) for file in report.differences.files if _is_told(file)]
    blocks += [page.coverage(report.differences.coverage), page.end(report)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _is_told(file: FileDifference) -> bool:
    return file.has_changed or any(size.change for _, size in file.stored)


class _Page:
    """How wide a page is, and what goes onto it."""

    def __init__(self, width: int, color: bool) -> None:
        self._width, self._color = width, color

    def head(self, report: CompareReport) -> list[str]:
        """What is compared."""
        lines = fold(f"before: {report.before}", self._width, _INDENT)
        lines += fold(f"after:  {report.after}", self._width, _INDENT)
        return lines + ([f"size:   {_bytes_words(report.size)}"] if report.size else [])

    def file(self, file: FileDifference) -> list[str]:
        """All that changed in one file."""
        head = fold(_name(file), self._width, _INDENT)
        lines = [paint(line, Ink.BOLD, color=self._color) for line in head]
        lines += self._note("lost", ", ".join(file.archs_lost), Ink.RED)
        lines += self._note("gained", ", ".join(file.archs_gained), Ink.GREEN)
        lines += self._kernels("lost", file.kernels_lost, Ink.RED)
        for arch, names in file.narrowed:
            lines += self._kernels(f"lost on {arch}", names, Ink.RED)
        lines += self._kernels("gained", file.kernels_gained, Ink.GREEN)
        rows = [_bytes_cells(arch, size) for arch, size in file.stored if size.change]
        return lines + (render_table(_BYTES, rows, self._width, _INDENT) if rows else [])

    def _note(self, word: str, text: str, ink: Ink) -> Iterator[str]:
        if text:
            for line in wrap(f"{_INDENT}{word}: {text}", self._width, _DEEPER):
                yield paint(line, ink, color=self._color)

    def _kernels(self, word: str, names: Sequence[str], ink: Ink) -> Iterator[str]:
        if names:
            yield from self._note(word, count_words(len(names), "kernel"), ink)
            for name in names[:MOST_KERNELS]:
                yield from fold(_DEEPER + name, self._width, _DEEPER + _INDENT)
            if len(names) > MOST_KERNELS:
                yield f"{_DEEPER}and {len(names) - MOST_KERNELS:,} more"

    def coverage(self, devices: Sequence[CoverageDifference]) -> list[str]:
        """The devices for which anything changed."""
        rows = list(_device_rows(devices))
        if not rows:
            return ["The same kernels are served on every GPU, in the same way."]
        lines = wrap("Kernels by GPU, before > after:", self._width)
        return lines + render_table(_DEVICES, rows, self._width, _INDENT)

    def end(self, report: CompareReport) -> list[str]:
        """Whether anything was lost, in a word."""
        lost = report.differences.has_lost
        told = "something was lost" if lost else "nothing was lost"
        text = f"compare: {told}; device code {_bytes_words(report.differences.stored)}"
        ink = Ink.RED if lost else Ink.GREEN
        return [paint(line, ink, color=self._color) for line in wrap(text, self._width, _INDENT)]


def _name(file: FileDifference) -> str:
    if file.before is None:
        return f"{file.after} (new)"
    if file.after is None:
        return f"{file.before} (gone)"
    return file.after if file.before == file.after else f"{file.before} > {file.after}"


def _bytes_words(size: Bytes) -> str:
    return f"{size_words(size.before)} > {size_words(size.after)} ({change_words(size.change)})"


def _bytes_cells(arch: str, size: Bytes) -> list[str]:
    return [arch, size_words(size.before), size_words(size.after), change_words(size.change)]


def _device_rows(devices: Sequence[CoverageDifference]) -> Iterator[list[str]]:
    """A row for each run of devices to which the same happens."""
    for cells, group in groupby(devices, key=_device_cells):
        alike = list(group)
        if _differs(alike[0]):
            first, last = alike[0].capability, alike[-1].capability
            yield [str(first) if first == last else f"{first} to {last}", *cells]


def _differs(device: CoverageDifference) -> bool:
    return device.before != device.after or bool(device.better or device.worse)


def _device_cells(device: CoverageDifference) -> list[str]:
    before, after = device.before, device.after
    pairs = (
        (before.native, after.native),
        (before.jit, after.jit),
        (before.none, after.none),
        (before.unknown, after.unknown),
    )
    counts = [f"{old:,}" if old == new else f"{old:,} > {new:,}" for old, new in pairs]
    return [*counts, f"{device.better:,}", f"{device.worse:,}"]


def compare_json(report: CompareReport) -> str:
    """The report for programs, by ``report/schemas/compare.json``."""
    return json.dumps(compare_document(report), indent=2, ensure_ascii=True)


def compare_document(report: CompareReport) -> dict[str, Any]:
    """What :func:`compare_json` writes, as data."""
    differences = report.differences
    return {
        "schema": SCHEMA,
        "before": report.before,
        "after": report.after,
        "size": asdict(report.size) if report.size is not None else None,
        "stored": asdict(differences.stored),
        "lost": differences.has_lost,
        "files": [_file(file) for file in differences.files],
        "coverage": [_device(device) for device in differences.coverage],
    }


def _file(file: FileDifference) -> dict[str, Any]:
    return {
        "before": file.before,
        "after": file.after,
        "architectures": {"gained": list(file.archs_gained), "lost": list(file.archs_lost)},
        "kernels": {
            "gained": list(file.kernels_gained),
            "lost": list(file.kernels_lost),
            "lost_on": {arch: list(names) for arch, names in file.narrowed},
        },
        "size": asdict(file.size),
        "stored": {arch: asdict(size) for arch, size in file.stored},
    }


def _device(device: CoverageDifference) -> dict[str, Any]:
    return {
        "capability": str(device.capability),
        "before": asdict(device.before),
        "after": asdict(device.after),
        "better": device.better,
        "worse": device.worse,
    }
