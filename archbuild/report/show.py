"""What device code there is, as a page for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from archbuild.model.image import DeviceFile, FileFormat, ImageKind, Linkage, Region
from archbuild.report.sizes import count_words, exact_words, share_words, size_words
from archbuild.report.table import Column, render_table
from archbuild.report.text import Ink, cells, escape, fold, paint, wrap
from archbuild.rules.checking.oddities import oddities
from archbuild.rules.comparing.tally import Tally, stored_shares, tally
from archbuild.services.show import Kernels, ShowReport

_MIN_WIDTH = 40
_INDENT = "  "
#: How many regions ``--sizes`` lists of a file; JSON has all of them.
MOST_REGIONS = 20

FORMATS = {
    FileFormat.ELF: "ELF",
    FileFormat.PE: "Windows PE",
    FileFormat.COFF: "Windows object",
    FileFormat.ARCHIVE: "static archive",
    FileFormat.CUBIN: "cubin",
    FileFormat.FATBIN: "fatbin",
    FileFormat.PTX: "PTX text",
}
_KINDS = {
    ImageKind.SASS: "SASS",
    ImageKind.PTX: "PTX",
    ImageKind.LTOIR: "LTO-IR",
    ImageKind.TILEIR: "Tile IR",
    ImageKind.INDEX: "index",
    ImageKind.CONCATENATED: "concatenated",
    ImageKind.UNFINISHED: "unfinished",
    ImageKind.UNKNOWN: "unknown kind",
}
_ARCHS = (
    Column("arch"),
    Column("code"),
    Column("images", right=True, rank=2),
    Column("stored", right=True),
    Column("inflated", right=True, rank=1),
    Column("of file", right=True, rank=3),
)
_REGIONS = (
    Column("region at"),
    Column("in", rank=3),
    Column("images", right=True, rank=2),
    Column("stored", right=True),
    Column("inflated", right=True, rank=1),
    Column("of file", right=True, rank=4),
)


def render_show(
    report: ShowReport, width: int = 80, *, sizes: bool = False, color: bool = False
) -> str:
    """The report for people, without a newline at the end.

    Args:
        report: What show found.
        width: No line has more columns than this; at least 40 are taken.
        sizes: Bytes to the last digit, and the largest regions of each file.
        color: Whether to colour it for a terminal.
    """
    page = _Page(max(width, _MIN_WIDTH), exact=sizes, color=color)
    blocks = ["\n".join(block) for block in page.blocks(report)]
    if not report.files and not report.errors:
        blocks.append("There is no file in it that could hold device code.")
    return "\n\n".join(blocks)


def _is_told(file: DeviceFile) -> bool:
    """Whether there is more to say of a file than that it holds nothing."""
    return bool(file.regions or file.hip or file.notes)


class _Page:
    """How wide a page is, and what goes onto it."""

    def __init__(self, width: int, *, exact: bool, color: bool) -> None:
        self._width, self._exact, self._color = width, exact, color
        self._amount: _Amount = exact_words if exact else size_words

    def blocks(self, report: ShowReport) -> Iterator[list[str]]:
        """A block for each file with device code, one for the others, and a last line."""
        for file in report.files:
            if _is_told(file):
                yield self._file(file, report.kernels)
        bare = [file for file in report.files if not _is_told(file)]
        if bare:
            yield [line for file in bare for line in self._bare(file)]
        if len(report.files) > 1:
            yield wrap(_summary(report.files, self._amount), self._width, _INDENT)

    def _file(self, file: DeviceFile, kernels: Kernels | None) -> list[str]:
        head = self._titled(file.path, _head(file, self._amount))
        lines = [paint(line, Ink.BOLD, color=self._color) for line in head]
        if rows := tally(file.regions):
            table = [_arch_cells(row, file.size, self._amount) for row in rows]
            lines += render_table(_ARCHS, table, self._width, _INDENT)
        if self._exact and file.regions:
            lines += ["", *self._regions(file)]
        for text in oddities(file):
            odd = wrap(f"{_INDENT}odd: {text}", self._width, _INDENT * 2)
            lines += [paint(line, Ink.YELLOW, color=self._color) for line in odd]
        if kernels is not None and file.regions:
            from archbuild.report.show_kernels import render_kernels  # noqa: PLC0415

            lines += ["", *render_kernels(file, kernels, self._width, details=self._exact)]
        return lines

    def _regions(self, file: DeviceFile) -> list[str]:
        measured = sorted(file.regions, key=_stored, reverse=True)
        shown = measured[:MOST_REGIONS]
        rows = [_region_cells(region, file.size, self._amount) for region in shown]
        lines = render_table(_REGIONS, rows, self._width, _INDENT)
        if left := len(measured) - len(shown):
            lines.append(f"{_INDENT}and {count_words(left, 'smaller region')}")
        return lines

    def _bare(self, file: DeviceFile) -> list[str]:
        kind = f" ({FORMATS[file.format]})" if file.format is not None else ""
        return self._titled(file.path, f"no device code{kind}")

    def _titled(self, title: str, text: str) -> list[str]:
        line = f"{escape(title)}: {text}"
        if cells(line) <= self._width:
            return [line]
        return [*fold(f"{title}:", self._width, _INDENT), *fold(_INDENT + text, self._width)]


_Amount = Callable[[int], str]


def _head(file: DeviceFile, amount: _Amount) -> str:
    told = [FORMATS[file.format]] if file.format is not None else []
    if file.size is not None:
        told.append(amount(file.size))
    told.append(count_words(len(file.regions), "region"))
    told.append(count_words(sum(len(region.images) for region in file.regions), "image"))
    return ", ".join(told)


def _arch_cells(row: Tally, whole: int | None, amount: _Amount) -> list[str]:
    code = _KINDS[row.kind]
    if row.isa is not None:
        code += f" ISA {row.isa[0]}.{row.isa[1]}"
    if row.linkage is Linkage.RELOCATABLE and row.kind is not ImageKind.LTOIR:
        code += ", relocatable"
    arch = str(row.arch) if row.arch is not None else "unknown"
    if row.kind is ImageKind.INDEX:
        arch = "-"
    sizes = (amount(row.stored), amount(row.size), share_words(row.stored, whole))
    return [arch, code, f"{row.images:,}", *sizes]


def _stored(region: Region) -> int:
    return sum(stored for _, stored in stored_shares(region))


def _region_cells(region: Region, whole: int | None, amount: _Amount) -> list[str]:
    place = "-" if region.offset is None else f"{region.offset:#x}"
    stored = _stored(region)
    size = sum(image.size or 0 for image in region.images)
    sizes = (amount(stored), amount(size), share_words(stored, whole))
    return [place, region.member or region.section or "-", f"{len(region.images):,}", *sizes]


def _summary(files: Sequence[DeviceFile], amount: _Amount) -> str:
    holding = [file for file in files if file.regions]
    stored = sum(row.stored for file in holding for row in tally(file.regions))
    whole = sum(file.size or 0 for file in files)
    told = f"{count_words(len(files), 'file')}, {len(holding)} with device code"
    if not holding:
        return told
    archs = sorted({arch for file in holding for arch in file.targets})
    held = ", ".join(map(str, archs)) or "nothing that a driver can load"
    return f"{told}: {amount(stored)} of {amount(whole)}; {held}"
