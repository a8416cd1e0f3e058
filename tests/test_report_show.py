"""The page of ``archbuild show``: never wider than asked, never fooled by names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import archbuild
from archbuild.errors import BinaryError
from archbuild.model.arch import Arch, ptx, sass
from archbuild.model.image import (
    Compression,
    DeviceFile,
    FileFormat,
    Flag,
    Image,
    ImageKind,
    Kernel,
    Linkage,
    Region,
)
from archbuild.report.show import MOST_REGIONS, render_show
from archbuild.report.show_json import show_document, show_json
from archbuild.report.show_kernels import kernel_places
from archbuild.report.table import Column, render_table
from archbuild.report.text import cells, fold
from archbuild.rules.checking.oddities import oddities
from archbuild.rules.comparing.tally import tally
from archbuild.services.show import Kernels, ShowReport

SCHEMA = json.loads(
    (Path(archbuild.__file__).parent / "report" / "schemas" / "show.json").read_text()
)
LONG = "_ZN6nested" + "4name" * 58 + "EPf"
HOSTILE = "\x1b[31mred\r\n[bold]markup[/bold]\u202e\x00" + "漢字" * 40
ARCHS = [sass(n) for n in ("75", "80", "86", "89", "90", "90a", "100", "100f", "103f", "120a")]


def image(arch: Arch | None, *kernels: str, kind: ImageKind | None = None, **more) -> Image:
    own = ImageKind.PTX if arch is not None and arch.is_virtual else ImageKind.SASS
    details = tuple(Kernel(name, size=128, registers=40, shared=1024) for name in kernels)
    values = {"size": 1000, "stored": 400, "compression": Compression.ZSTD, "variables": 0}
    values |= {"kernels": kernels, "details": details, "flags": 0x11, **more}
    return Image(kind or own, arch, **values)


def file(*images: Image, path: str = "x.so", regions: int = 1, **more) -> DeviceFile:
    placed = tuple(
        Region(images, offset, section=".nv_fatbin") for offset in range(16, 16 + regions)
    )
    values = {"format": FileFormat.ELF, "size": 10_000, **more}
    return DeviceFile(path, placed if images else (), "archbuild", **values)


def report(*files: DeviceFile, names: dict[str, str] | None = None, **more) -> ShowReport:
    kernels = None if names is None else Kernels(names, **more)
    return ShowReport(tuple(f.path for f in files), files, (), kernels)


def all_names(*files: DeviceFile) -> dict[str, str]:
    return {name: name for f in files for i in f.images for name in i.kernels or ()}


def test_a_page() -> None:
    held = file(image(sass("90"), "k"), image(ptx("90"), "k", isa=(8, 7)), size=2000)
    assert render_show(report(held)).splitlines() == [
        "x.so: ELF, 2.0 kB, 1 region, 2 images",
        "  arch        code         images  stored  inflated  of file",
        "  sm_90       SASS              1   400 B    1.0 kB   20.0 %",
        "  compute_90  PTX ISA 8.7       1   400 B    1.0 kB   20.0 %",
    ]


MANY = [
    file(*(image(arch, LONG, HOSTILE) for arch in ARCHS), path=LONG),
    file(image(None, HOSTILE, kind=ImageKind.UNKNOWN, flags=0x80000000), path=HOSTILE, regions=30),
    file(image(sass("90"), flags=Flag.DEBUG.value), path="a.so", hip=True, notes=(HOSTILE,)),
    file(path=LONG),
    file(path=HOSTILE, format=None, size=None),
]


@pytest.mark.parametrize("width", [40, 80, 132])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("sizes", [False, True])
def test_no_line_is_too_long(width: int, color: bool, sizes: bool) -> None:
    told = report(*MANY, names=all_names(*MANY), pattern=HOSTILE, demangler="/x/" + LONG)
    text = render_show(told, width, sizes=sizes, color=color)
    lines = re.sub(r"\x1b\[\d+m", "", text).split("\n")
    assert max(map(cells, lines)) <= width
    assert ("\x1b[" in text) is color
    assert all(str(arch) in text for arch in ARCHS)


def test_names_are_shown_whole_and_harmless() -> None:
    held = file(image(sass("90"), LONG, HOSTILE))
    text = render_show(report(held, names=all_names(held)), 80)
    assert LONG in re.sub(r"\n +", "", text)
    assert "[bold]markup[/bold]" in text
    assert not set("\x1b\r\x00\u202e") & set(text)


@given(st.text(max_size=400), st.integers(40, 120))
def test_any_name_fits(name: str, width: int) -> None:
    held = file(image(sass("90"), name), path=name or "x")
    text = render_show(report(held, names={name: name}), width)
    assert max(map(cells, text.split("\n"))) <= width
    json.loads(show_json(report(held, names={name: name})))


@pytest.mark.parametrize("width", [40, 64, 80])
def test_columns_give_way_and_the_architecture_stays(width: int) -> None:
    held = file(image(ptx("120"), isa=(9, 0), linkage=Linkage.RELOCATABLE))
    lines = render_show(report(held), width).splitlines()
    row = next(line for line in lines if "compute_120" in line)
    assert "400 B" in row
    assert ("1.0 kB" in row) is (width == 80)


def test_kernels_are_grouped_by_where_they_are() -> None:
    held = file(image(sass("80"), "a", "b"), image(sass("90"), "a"), image(ptx("90"), "a"))
    text = render_show(report(held, names=all_names(held)))
    assert "  1 kernel in sm_80, sm_90, compute_90:\n    a\n" in text
    assert text.endswith("  1 kernel in sm_80:\n    b")


def test_only_the_chosen_kernels_are_placed() -> None:
    held = file(image(sass("80"), "a", "b"), image(None, "a", kind=ImageKind.UNKNOWN))
    assert kernel_places(held, {"a": "a()"}) == {"a": frozenset({sass("80")})}
    assert kernel_places(held, {}) == {}


def test_images_that_were_not_read_are_told() -> None:
    held = file(image(sass("80"), "a"), image(None, kind=ImageKind.LTOIR, kernels=None))
    assert "1 image not read" in render_show(report(held, names=all_names(held)))


def test_only_the_largest_regions_are_listed() -> None:
    held = file(image(sass("80")), regions=MOST_REGIONS + 5)
    text = render_show(report(held), sizes=True)
    assert text.count(".nv_fatbin") == MOST_REGIONS
    assert "and 5 smaller regions" in text


def test_images_compressed_together_are_counted_once() -> None:
    sizes = (("80", 200), ("90", 400))
    shared = [image(sass(n), size=size, stored=300, offset=16) for n, size in sizes]
    rows = tally(file(*shared).regions)
    assert [row.stored for row in rows] == [100, 200]
    alone = [image(sass(n), stored=300, offset=at) for n, at in (("80", 16), ("90", 32))]
    assert [row.stored for row in tally(file(*alone).regions)] == [300, 300]


def test_alike_images_are_tallied_together() -> None:
    rows = tally(file(image(Arch.parse("sm_90")), image(Arch.parse("sm_90")), regions=2).regions)
    assert [(str(row.arch), row.images, row.size) for row in rows] == [("sm_90", 4, 4000)]
    relocatable = image(sass("90"), linkage=Linkage.RELOCATABLE)
    assert len(tally(file(image(sass("90")), relocatable, image(None)).regions)) == 3


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (file(image(sass("90"), "k")), ""),
        (file(image(sass("90"), "k", flags=0x10013)), "debug code"),
        (file(image(sass("90"), "k", flags=0x10011)), "obfuscated, kernels not read: sm_90"),
        (file(image(sass("90"), "k"), image(sass("80"))), "1 empty image: sm_80"),
        (file(image(sass("80")), image(sass("90"))), "2 empty images, 1 region with nothing"),
        (file(image(sass("90"), variables=1)), ""),
        (file(image(sass("90"), "k", flags=0x80000000)), "1 entry that archbuild doesn't know"),
        (file(image(None, kind=ImageKind.UNKNOWN, kernels=None)), "1 entry that"),
        (file(image(sass("90"), "k", compression=Compression.OLD)), "old CUDA"),
        (file(hip=True), "HIP code, not CUDA"),
        (file(image(sass("90"), "k"), hip=True), "HIP code beside it"),
        (file(image(Arch.parse("lto_90"), kind=ImageKind.LTOIR, kernels=None)), "LTO-IR only"),
        (file(image(sass("90"), "k"), notes=("seen",)), "seen"),
    ],
)
def test_oddities(held: DeviceFile, words: str) -> None:
    told = "; ".join(oddities(held))
    assert words in told
    assert bool(told) is bool(words)


def test_an_index_is_nothing_odd() -> None:
    held = file(image(sass("90"), "k"), image(None, kind=ImageKind.INDEX, kernels=None))
    assert oddities(held) == ()


def test_json_of_anything_fits_its_schema() -> None:
    told = report(*MANY, names=all_names(*MANY))
    jsonschema.validate(json.loads(show_json(told)), SCHEMA)
    failed = ShowReport(("x",), (), (BinaryError("x is damaged."),))
    jsonschema.validate(show_document(failed), SCHEMA)
    assert failed.exit_code == 3


def test_the_schema_can_refuse() -> None:
    told = show_document(report(*MANY[:1]))
    told["files"][0]["regions"][0]["images"][0]["arch"] = "90"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, SCHEMA)


# --- tables and folds -------------------------------------------------------------------------


def test_a_table_leaves_out_by_rank_and_then_shortens() -> None:
    columns = [Column("name"), Column("a", right=True, rank=2), Column("b", right=True, rank=1)]
    rows = [["x" * 20, "1", "22"]]
    assert render_table(columns, rows, 40)[1] == f"{'x' * 20}  1  22"
    assert render_table(columns, rows, 25)[1] == f"{'x' * 20}  1"
    assert render_table(columns, rows, 20)[1] == "x" * 20
    assert render_table(columns, rows, 12)[1] == "xxxx...xxxxx"


@pytest.mark.parametrize("text", ["a" * 200, "漢" * 100, "", "\n" * 50])
def test_a_fold_loses_nothing(text: str) -> None:
    lines = fold(text, 40, "  ")
    assert max(map(cells, lines)) <= 40
    joined = "".join([lines[0], *(line[2:] for line in lines[1:])])
    assert joined == text.replace("\n", "\\x0a")
