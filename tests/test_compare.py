"""``archbuild compare``: two builds side by side, for people and for programs."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import archbuild
from archbuild.binary.names import normalize
from archbuild.cli.main import main
from archbuild.model.image import DeviceFile, Image
from archbuild.report.compare import MOST_KERNELS, compare_document, render_compare
from archbuild.report.text import cells
from archbuild.rules.comparing.differences import Bytes, find_differences
from archbuild.services.compare import CompareReport, compare
from tests.fatbins import DATA
from tests.images import file, real, region, virtual

SCHEMA = json.loads(
    (Path(archbuild.__file__).parent / "report" / "schemas" / "compare.json").read_text()
)


def wheel(path: Path, **members: str) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, fixture in members.items():
            archive.write(DATA / fixture, f"pkg/{name.replace('__', '.')}")
    return str(path)


@pytest.fixture
def wheels(tmp_path: Path) -> tuple[str, str]:
    """Two wheels for two Pythons; the second has lost a unit of one of its libraries."""
    old = wheel(
        tmp_path / "pkg-1.0-cp310-cp310-linux_x86_64.whl",
        **{"_C__cpython-310-x86_64-linux-gnu__so": "two_units.so", "win__dll": "windows.dll"},
    )
    new = wheel(
        tmp_path / "pkg-1.1-cp311-cp311-linux_x86_64.whl",
        **{"_C__cpython-311-x86_64-linux-gnu__so": "fill.o", "win__dll": "windows.dll"},
    )
    return old, new


def test_two_wheels(wheels: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *wheels]) == 0
    text = capsys.readouterr().out
    assert "pkg/_C.cpython-310-x86_64-linux-gnu.so > " in text
    assert "lost: 1 kernel\n" in text
    assert "something was lost" in text
    assert "win.dll" not in text


@pytest.mark.parametrize(("turned", "code"), [(False, 1), (True, 0)])
def test_fail_on_lost(wheels: tuple[str, str], turned: bool, code: int) -> None:
    pair = wheels[::-1] if turned else wheels
    assert main(["compare", *pair, "--fail-on", "lost"]) == code
    assert main(["compare", *pair]) == 0


def test_json(wheels: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *wheels, "--json", "--fail-on", "lost"]) == 1
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    assert found["lost"] is True
    assert len(found["files"]) == 2
    assert [len(f["kernels"]["lost"]) for f in found["files"]] == [1, 0]
    hopper = next(d for d in found["coverage"] if d["capability"] == "9.0")
    assert hopper["before"]["native"] == hopper["after"]["native"] + 1


def test_the_schema_can_refuse(wheels: tuple[str, str]) -> None:
    document = compare_document(compare(*wheels))
    del document["files"][0]["kernels"]["lost_on"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_the_same_twice(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(DATA / "two_units.so")
    assert main(["compare", path, path, "--fail-on", "lost"]) == 0
    text = capsys.readouterr().out
    assert "nothing was lost" in text
    assert "The same kernels are served on every GPU" in text


def test_folders_are_compared_by_the_names_inside(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "pkg").mkdir(parents=True)
        shutil.copy(DATA / "fill.o", tmp_path / name / "pkg" / "k.so")
        shutil.copy(DATA / "windows.dll", tmp_path / name / "pkg" / "w.dll")
    report = compare(str(tmp_path / "a"), str(tmp_path / "b"))
    told = [(f.before, f.after) for f in report.differences.files]
    assert [one == two for one, two in told] == [True, True]
    assert report.size is None
    assert not report.differences.has_lost


def test_what_cannot_be_read_is_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes((DATA / "fill.o").read_bytes()[:3000])
    for pair in ((DATA / "fill.o", broken), (tmp_path / "none", DATA / "fill.o")):
        assert main(["compare", *map(str, pair)]) == 3
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1


def test_two_paths_are_needed() -> None:
    with pytest.raises(SystemExit) as stop:
        main(["compare", "one"])
    assert stop.value.code == 2


# --- the page ---------------------------------------------------------------------------------


def page(before: DeviceFile, after: DeviceFile, width: int = 80, color: bool = False) -> str:
    differences = find_differences([(before, after)], normalize)
    report = CompareReport(before.path, after.path, differences, Bytes(5000, 4000))
    jsonschema.validate(compare_document(report), SCHEMA)
    return render_compare(report, width, color=color)


def test_a_page() -> None:
    before = file(region(real("80", "a b", stored=100), real("90", "a b", stored=100)), path="x.so")
    after = file(region(real("90", "a c", stored=120)), path="x.so")
    assert page(before, after).splitlines() == [
        "before: x.so",
        "after:  x.so",
        "size:   5.0 kB > 4.0 kB (-1.0 kB)",
        "",
        "x.so",
        "  lost: sm_80",
        "  lost: 1 kernel",
        "    b",
        "  gained: 1 kernel",
        "    c",
        "  arch   before  after  change",
        "  sm_80   100 B    0 B  -100 B",
        "  sm_90   100 B  120 B   +20 B",
        "",
        "Kernels by GPU, before > after:",
        "  GPU         native  JIT   none  unknown  better  worse",
        "  8.0 to 8.6   2 > 0    0  0 > 2        0       0      1",
        "  8.7 to 8.8       0    0  0 > 2    2 > 0       0      1",
        "  8.9          2 > 0    0  0 > 2        0       0      1",
        "",
        "compare: something was lost; device code 200 B > 120 B (-80 B)",
    ]


LONG = "_ZN6nested" + "4name" * 58 + "EPf"
HOSTILE = "\x1b[31mred\r\n[bold]\u202e\x00" + "漢字" * 40


def holding(names: tuple[str, ...], number: str) -> Image:
    return replace(real(number, "", stored=10**9), kernels=names)


@pytest.mark.parametrize("width", [40, 80, 132])
@pytest.mark.parametrize("color", [False, True])
def test_no_line_is_too_long(width: int, color: bool) -> None:
    names = (LONG, HOSTILE, *(f"{LONG}{n}" for n in range(MOST_KERNELS)))
    images = [holding(names, number) for number in ("80", "90a", "103f")]
    before = file(region(*images), path=HOSTILE * 3)
    after = file(region(virtual("120", "k"), real("80", HOSTILE.split(maxsplit=1)[0])), path=LONG)
    text = page(before, after, width, color=color)
    lines = re.sub(r"\x1b\[\d+m", "", text).split("\n")
    assert max(map(cells, lines)) <= width
    assert ("\x1b[" in text) is color
    assert "and " in text


def test_hostile_names_do_no_harm() -> None:
    text = page(file(region(holding((HOSTILE,), "90"))), file(region(real("90", "k"))))
    assert not set("\x1b\r\x00\u202e") & set(text)
    assert "[bold]" in text
