"""``archbuild show`` and ``archbuild.read``: what is told of each kind of file."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest

import archbuild
from archbuild.binary import compression
from archbuild.cli.main import main
from archbuild.probe import demangle as demangling
from archbuild.probe.demangle import demangle, find_demangler
from archbuild.report.show_json import show_document
from archbuild.services.show import show
from tests.fatbins import DATA

OLD = DATA.parent
SCHEMA = Path(archbuild.__file__).parent / "report" / "schemas" / "show.json"


def make_wheel(folder: Path, *names: str) -> Path:
    """A wheel of fixtures."""
    path = folder / "pkg-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.write(DATA / name, f"pkg/{name}")
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    """What the command prints to standard output."""
    assert main(["show", *map(str, arguments)]) == code
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> dict:
    found = json.loads(shown(capsys, "--json", *arguments, code=code))
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    return found


def test_a_wheel_with_several_libraries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("two_units.so", "windows.dll", "static.a", "hip.so", "rdc_unlinked.so")
    found = document(capsys, make_wheel(tmp_path, *names))
    assert [file["path"] for file in found["files"]] == [f"pkg/{name}" for name in names]
    assert [file["format"] for file in found["files"]] == ["elf", "pe", "archive", "elf", "elf"]
    tallies = [file["architectures"] for file in found["files"]]
    held = [[(row["kind"], row["arch"]) for row in rows] for rows in tallies]
    assert held[0] == [("sass", "sm_80"), ("sass", "sm_90"), ("ptx", "compute_90")]
    assert held[1] == [("ptx", "compute_75"), ("sass", "sm_90")]
    assert held[3] == []
    assert [file["hip"] for file in found["files"]] == [False, False, False, True, False]
    members = {region["member"] for region in found["files"][2]["regions"]}
    assert "fill.o" in members
    linkages = {region["linkage"] for region in found["files"][4]["regions"]}
    assert linkages == {"relocatable"}


def test_the_shape_that_programs_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = document(capsys, DATA / "mode_speed.fatbin", "--kernels")["files"]
    (region,) = file["regions"]
    ptx, sass = region["images"]
    assert (ptx["kind"], ptx["arch"], ptx["isa"], ptx["compression"]) == (
        "ptx",
        "compute_90",
        "9.0",
        "lz4",
    )
    assert (sass["kind"], sass["arch"], sass["isa"]) == ("sass", "sm_90", None)
    assert region["offset"] == 0
    assert 0 < ptx["stored"] < ptx["size"]
    assert len(sass["kernels"]) == 2
    assert sass["empty"] is False


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../lto.o", ["LTO-IR only", "lto_90"]),
        ("rdc_unlinked.so", ["relocatable only", "SASS, relocatable", "PTX ISA 9.0, relocatable"]),
        ("relocatable_ptx.fatbin", ["relocatable only"]),
        ("hip.so", ["HIP code, not CUDA"]),
        ("debug.fatbin", ["debug code (-G)", "sm_90"]),
        ("tile.fatbin", ["Tile IR", "nothing that a driver can load"]),
        ("windows.dll", ["Windows PE", "sm_90", "compute_75"]),
        ("static.a", ["static archive", "sm_80"]),
        ("cuda13_sm_90a.cubin", ["cubin", "sm_90a"]),
        ("plain.ptx", ["PTX text", "compute_75"]),
        ("old.fatbin", ["sm_52", "sm_90a"]),
        ("../plain.so", ["no device code (ELF)"]),
    ],
)
def test_what_is_told_of_a_file(
    name: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, DATA / name)
    assert [word for word in words if word not in text] == []
    assert ("no device code" in text) is (name == "../plain.so")


@pytest.mark.parametrize("name", ["two_units.so", "suffixes.fatbin", "concatenated.fatbin"])
def test_nothing_odd_is_said_of_a_sound_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "odd:" not in shown(capsys, DATA / name, "--kernels")


def test_empty_images_are_told_where_kernels_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    told = "odd: 1 empty image, 1 region with nothing else: sm_75"
    assert told in shown(capsys, DATA / "empty_image.so", "--kernels")
    assert "empty image" not in shown(capsys, DATA / "empty_image.so")


def test_the_plain_list_decompresses_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something was decompressed")

    for name in ("inflate", "read_zstd"):
        monkeypatch.setattr(compression, name, refuse)
    monkeypatch.setattr("archbuild.binary.inside.inflate", refuse)
    # Of a bare fatbin the images' own headers are read, since no section tells the linkage.
    text = shown(capsys, DATA / "two_units.so", DATA / "windows.dll", "--sizes")
    assert "sm_80" in text
    with pytest.raises(AssertionError):
        main(["show", str(DATA / "mode_size.fatbin"), "--kernels"])


# --- kernels ----------------------------------------------------------------------------------


@pytest.fixture
def no_demangler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demangling.shutil, "which", lambda _: None)


@pytest.mark.usefixtures("no_demangler")
def test_kernels_by_their_mangled_names(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, DATA / "two_units.so", "--kernels")
    assert "mangled names (there is no c++filt or cu++filt)" in text
    assert "kernels in sm_80, sm_90, compute_90:" in text
    assert "    _Z4fillIfEvPT_S0_\n" in text


@pytest.mark.usefixtures("no_demangler")
@pytest.mark.parametrize(
    ("pattern", "count"), [("fill", 1), ("_Z4*", 1), ("*hidden*", 1), ("FILL", 0), ("_Z4", 1)]
)
def test_a_pattern_chooses(pattern: str, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = document(capsys, DATA / "fill.o", f"--kernels={pattern}")["files"]
    names = {name for r in file["regions"] for i in r["images"] for name in i["kernels"]}
    assert len(names) == count
    text = shown(capsys, DATA / "fill.o", "--kernels", pattern)
    assert f"{count} kernel{'s' * (count != 1)} matching {pattern}" in text


def test_a_long_list_has_the_names_of_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("archbuild.services.show.MOST_READABLE", 1)
    text = shown(capsys, DATA / "fill.o", "--kernels")
    assert "2 kernels; mangled names (more than 1; give a PATTERN)" in text
    assert "_Z4fillIfEvPT_S0_" in text
    assert "more than" not in shown(capsys, DATA / "fill.o", "--kernels", "*")


def test_a_file_after_kernels_is_no_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    assert "2 kernels" in shown(capsys, "--kernels", DATA / "fill.o")


def test_sizes_of_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = document(capsys, DATA / "two_units.so", "--kernels=reverse", "--sizes")["files"]
    details = [k for r in file["regions"] for i in r["images"] for k in i["details"]]
    real = [kernel for kernel in details if kernel["size"]]
    assert len(real) == 2
    assert [kernel["shared"] >= 256 for kernel in real] == [True, True]
    assert all(0 < kernel["registers"] < 256 for kernel in real)
    text = shown(capsys, DATA / "two_units.so", "--kernels=reverse", "--sizes")
    assert "256 B shared" in text
    assert "registers" in text


def test_sizes_without_kernels_list_regions(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, DATA / "two_units.so", "--sizes")
    assert "region at" in text
    assert ".nv_fatbin" in text
    assert f"{(DATA / 'two_units.so').stat().st_size:,} B" in text


# --- a demangler ------------------------------------------------------------------------------


def write_tool(folder: Path, body: str) -> str:
    path = folder / "c++filt"
    path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs programs that are scripts")
def test_a_demangler_reads_names(tmp_path: Path) -> None:
    body = "for line in sys.stdin: print(line.strip().replace('_Z3foov', 'foo()'))"
    tool = write_tool(tmp_path, body)
    names = ["_Z3foov", "_Z3\nfoov", "plain", "_Z3bar", "--help", "_Z\x1b[31m"]
    assert demangle(names, tool) == {"_Z3foov": "foo()"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs programs that are scripts")
@pytest.mark.parametrize(
    "body", ["sys.exit(1)", "print('one line too many\\n')", "", "raise SystemExit"]
)
def test_a_demangler_that_fails_leaves_names_as_they_are(tmp_path: Path, body: str) -> None:
    assert demangle(["_Z3foov"], write_tool(tmp_path, body)) == {}


def test_a_demangler_that_is_not_there(tmp_path: Path) -> None:
    assert demangle(["_Z3foov"], str(tmp_path / "none")) == {}


def test_the_machines_own_demangler(capsys: pytest.CaptureFixture[str]) -> None:
    if find_demangler() is None:
        pytest.skip("neither c++filt nor cu++filt is installed")
    text = shown(capsys, DATA / "fill.o", "--kernels", "fill<float>")
    assert "    void fill<float>(float*, float)\n" in text
    assert "names by c" in text


# --- what cannot be read ----------------------------------------------------------------------


def test_what_cannot_be_read_is_told_and_the_rest_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.so").write_bytes((DATA / "fill.o").read_bytes()[:3000])
    (tmp_path / "b.so").write_bytes((DATA / "two_units.so").read_bytes())
    assert main(["show", str(tmp_path), str(tmp_path / "none")]) == 3
    out, err = capsys.readouterr()
    assert "b.so" in out
    assert "sm_80" in out
    assert err.count("archbuild: error: ") == 2
    assert "a.so" in err
    assert "none" in err
    found = document(capsys, tmp_path, code=3)
    assert len(found["errors"]) == 1


@pytest.mark.parametrize("content", [b"", b"just text", b"\x7fELF"])
def test_what_is_no_library(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(content)
    assert main(["show", str(path)]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert str(path) in err


def test_nothing_to_show_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show"]) == 2
    assert main(["show", "--kernels", "no such file"]) == 2
    assert "Name a library" in capsys.readouterr().err


def test_a_folder_without_libraries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no file in it" in shown(capsys, tmp_path)


def test_two_files_end_with_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, DATA / "fill.o", DATA / "hip.so")
    assert "2 files, 1 with device code" in text
    assert "sm_80, sm_90, compute_90" in text


# --- the library ------------------------------------------------------------------------------


def test_read_from_the_package() -> None:
    (file,) = archbuild.read(DATA / "fill.o", kernels=True)
    assert [str(image.arch) for image in file.images] == ["sm_80", "compute_90", "sm_90"]
    assert all(len(image.kernels) == 2 for image in file.images)
    assert all(image.kernels is None for image in archbuild.read(str(DATA / "fill.o"))[0].images)


def test_the_service_gives_what_was_read() -> None:
    report = show([str(DATA / "fill.o")], kernels=True, pattern="hidden")
    assert report.exit_code == 0
    assert list(report.kernels.names) == [n for n in report.kernels.names if "hidden" in n] != []
    assert show_document(report)["pattern"] == "hidden"


def test_show_of_a_file_imports_little() -> None:
    """The list has to be there at once: none of these is needed for it."""
    heavy = {"rich", "json", "pathlib", "shutil", "subprocess", "textwrap", "zipfile", "pynvml"}
    code = (
        "import sys; from archbuild.cli.main import main; "
        f"main(['show', {str(DATA / 'two_units.so')!r}]); "
        "print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=Path(archbuild.__file__).parents[1],
    )
    assert "sm_80" in done.stdout
    assert [name for name in heavy if f"'{name}'" in done.stderr] == []
