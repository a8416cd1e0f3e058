"""The parser of cuobjdump's text, on recorded dumps of the fixtures and on anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.dump import parse_dump, parse_heads
from archbuild.model.arch import Arch
from archbuild.model.image import Compression, Image, ImageKind, Linkage

DUMPS = Path(__file__).parent / "data" / "dumps"
ENTRY = """
Fatbin elf code:
================
arch = sm_90
code version = [1,8]
host = linux
compile_size = 64bit
"""


def recorded(name: str) -> str:
    return (DUMPS / f"{name}.txt").read_text()


def targets(name: str) -> list[str]:
    return [str(image.arch) for image in parse_dump(recorded(name), "").images]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("suffixed.o", ["compute_90a", "sm_90a", "sm_103f", "sm_120f"]),
        ("classic.so", ["sm_86", "compute_120", "sm_120"]),
        ("empty_default.so", ["sm_75", "sm_86", "compute_120", "sm_120"]),
        ("host_only.o", ["sm_86", "compute_120", "sm_120"]),
        ("rdc.so", ["sm_86", "sm_120"]),
        ("rdc.so.all", ["sm_86", "sm_120", "sm_86", "compute_120", "sm_120"]),
        ("lto.o", ["lto_90"]),
        ("debug.o", ["sm_90"]),
    ],
)
def test_ptx_and_sass_are_told_apart_and_suffixes_stay(name: str, expected: list[str]) -> None:
    dump = parse_dump(recorded(name), "")
    assert [str(image.arch) for image in dump.images] == expected
    assert dump.unknown == ()


@pytest.mark.parametrize("path", sorted(DUMPS.iterdir()), ids=lambda path: path.name)
def test_every_recorded_line_is_understood(path: Path) -> None:
    text = path.read_text()
    dump = parse_dump(text, f"/fixtures/{path.name.split('.txt')[0]}")
    assert dump.unknown == ()
    assert len(dump.images) == text.count("Fatbin ")


def test_what_an_entry_says() -> None:
    sass, ptx, _ = parse_dump(recorded("classic.so"), "").images
    assert sass.kind is ImageKind.SASS
    assert (sass.isa, sass.compression, sass.linkage) == (None, Compression.NONE, Linkage.UNKNOWN)
    assert ptx.kind is ImageKind.PTX
    assert (ptx.isa, ptx.compression) == ((9, 0), Compression.UNKNOWN)


def test_ptx_for_a_device_link_is_relocatable() -> None:
    _, ptx, _ = parse_dump(recorded("rdc.o"), "").images
    assert (ptx.kind, ptx.linkage) == (ImageKind.PTX, Linkage.RELOCATABLE)


def test_members_of_an_archive() -> None:
    dump = parse_dump(recorded("units.a"), "/fixtures/units.a")
    assert [(m.name, len(m.images)) for m in dump.members] == [
        ("classic.o", 3),
        ("plain.o", 0),
        ("rdc.o", 3),
    ]


def test_kernels_of_each_image() -> None:
    images = parse_dump(recorded("empty_default.so.symbols"), "").images
    assert [image.kernels for image in images] == [(), ("scale",), None, ("scale",)]


def test_symbols_end_with_a_blank_line() -> None:
    text = ENTRY + "\nsymbols:\nFUNC GLOBAL DEFAULT ENTRY k\n\nstray words here and there\n"
    dump = parse_dump(text, "")
    assert dump.images[0].kernels == ("k",)
    assert dump.unknown == ("the line 'stray words here and there'",)


@pytest.mark.parametrize(
    "line",
    ["new key = 1", "sparse", "arch = mips", "code version = [1]", "Segmentation fault", "=x="],
)
def test_an_unknown_line_is_reported(line: str) -> None:
    dump = parse_dump(f"{ENTRY}{line}\n", "")
    assert len(dump.images) == 1
    assert repr(line) in dump.unknown[0]


def test_an_unknown_kind_is_an_image_and_a_note() -> None:
    dump = parse_dump(ENTRY.replace("elf", "<unknown kind>"), "")
    assert dump.images == (
        Image(
            ImageKind.UNKNOWN,
            Arch.parse("sm_90"),
            Linkage.UNKNOWN,
            compression=Compression.NONE,
        ),
    )
    assert "<unknown kind>" in dump.unknown[0]


@pytest.mark.parametrize(
    ("word", "kind", "arch"),
    [
        ("tile ir", ImageKind.TILEIR, "compute_90"),
        ("concatenated entry", ImageKind.CONCATENATED, "sm_90"),
        ("relocatable ptx", ImageKind.PTX, "compute_90"),
    ],
)
def test_kinds_that_no_fixture_has(word: str, kind: ImageKind, arch: str) -> None:
    (image,) = parse_dump(ENTRY.replace("elf", word), "").images
    assert (image.kind, str(image.arch)) == (kind, arch)
    assert not image.is_loadable


def test_an_entry_without_architecture_is_reported() -> None:
    dump = parse_dump("Fatbin elf code:\nhost = linux\n", "")
    assert dump.images[0].arch is None
    assert "no known architecture" in dump.unknown[0]


def test_attributes_before_any_entry_are_unknown() -> None:
    assert parse_dump("arch = sm_90\n", "").unknown == ("the line 'arch = sm_90'",)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("-arch sm_120f -m 64", "sm_120f"), ("-m 64", "sm_120"), ("-arch sm_90a", "sm_120")],
)
def test_heads_take_f_from_the_command_line(arguments: str, expected: str) -> None:
    lines = [
        "64-bit ELF: type=ET_EXEC, ABI=8, sm=120, toolkit=13.0, flags=0x6007802",
        "Sections:",
        f"\tTool Command Line Arguments: {arguments} ",
    ]
    (head,) = parse_heads(iter(lines))
    assert (str(head.arch), head.linkage) == (expected, Linkage.EXECUTABLE)


def test_heads_of_relocatable_cubins() -> None:
    line = "64-bit ELF: type=ET_REL, ABI=8, sm=86, toolkit=13.0, flags=0x0"
    assert parse_heads(iter([line]))[0].linkage is Linkage.RELOCATABLE


ENTRIES = st.builds(
    "Fatbin {} code:\n=====\narch = sm_{}{}\ncode version = [{},{}]\nhost = linux\n"
    "compile_size = 64bit\n{}".format,
    st.sampled_from(["elf", "ptx", "nvvm"]),
    st.integers(20, 130),
    st.sampled_from(["", "a", "f"]),
    st.integers(0, 99),
    st.integers(0, 99),
    st.sampled_from(["", "compressed\n", "has debug info\n", "ptxasOptions = -g \n"]),
)


@given(st.lists(ENTRIES, max_size=20))
def test_every_well_formed_entry_is_one_image(entries: list[str]) -> None:
    dump = parse_dump("\n".join(entries), "x")
    assert len(dump.images) == len(entries)
    assert dump.unknown == ()
    for entry, image in zip(entries, dump.images, strict=True):
        assert image.arch is not None
        assert f"sm_{image.arch.number}\n" in entry
        assert image.arch.is_virtual == ("Fatbin ptx" in entry)


WORDS = st.sampled_from(
    [*recorded("units.a.symbols").splitlines(), "symbols:", "", "====", "member :", "arch ="]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=40)), max_size=60))
def test_any_text_is_read_without_failing(lines: list[str]) -> None:
    dump = parse_dump("\n".join(lines), "/fixtures/units.a")
    headers = sum(1 for line in "\n".join(lines).splitlines() if _is_header(line))
    assert len(dump.images) == headers
    parse_heads(iter(lines))


def _is_header(line: str) -> bool:
    line = line.rstrip()
    return line.startswith("Fatbin ") and line.endswith(" code:") and len(line) > 13


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=5))
def test_no_line_goes_by_in_silence(lines: list[str]) -> None:
    text = "\n".join(lines)
    meaningful = [line for line in text.splitlines() if line.strip().strip("=")]
    dump = parse_dump(text, "")
    assert len(dump.unknown) + len(dump.images) + len(dump.members) >= bool(meaningful)


def test_what_lies_in_a_concatenated_entry_is_printed_further_right() -> None:
    text = """
Fatbin concatenated entry code:
===============================
code version = [0,1]
host = linux
	Fatbin elf code:
	================
	arch = sm_100a
	code version = [1,8]
	Fatbin elf code:
	================
	arch = sm_90
"""
    dump = parse_dump(text, "x")
    assert [(image.kind.value, str(image.arch)) for image in dump.images] == [
        ("concatenated", "None"),
        ("sass", "sm_100a"),
        ("sass", "sm_90"),
    ]
    assert dump.unknown == ()
