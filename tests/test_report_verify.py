"""Reports of verify: never wider than asked, never fooled by names, JSON by its schema."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import Arch, ptx, sass
from archbuild.model.image import DeviceFile, Image, ImageKind, Region
from archbuild.report.text import cells, escape, shorten, wrap
from archbuild.report.verify import render_verify, verify_json
from archbuild.rules.checks import Seen, check_targets, judge_file
from archbuild.services.verify import VerifyReport

MANY = (
    *(sass(number) for number in ("75", "80", "86", "87", "88", "89", "90", "100", "110", "120")),
    *(sass(number) for number in ("90a", "100a", "103f", "120a", "121")),
)
SEQUENCE = re.compile(r"\x1b\[\d+m")


def seen(path: str, *held: Arch) -> Seen:
    kinds = {True: ImageKind.PTX, False: ImageKind.SASS}
    images = tuple(Image(kinds[arch.is_virtual], arch) for arch in held)
    regions = (Region(images),) if images else ()
    return Seen.of(DeviceFile(path, regions, "cuobjdump 13.5.37"), has_hip=False)


def report(targets: tuple[Arch, ...], *files: Seen, path: str = "x.whl") -> VerifyReport:
    findings = check_targets(files, targets, path)
    verdicts = tuple(judge_file(file, targets) for file in files)
    return VerifyReport((path,), targets, verdicts, findings, not findings, "cuobjdump 13.5.37")


def test_a_report_that_passes() -> None:
    text = render_verify(report((sass("86"), ptx("120")), seen("a.so", sass("86"), ptx("120"))), 80)
    assert text.splitlines() == [
        "file  sm_86  compute_120",
        "a.so  yes    yes",
        "",
        "yes: holds the image, ready to load; NO: does not. sm_: machine code (SASS),",
        "compute_: PTX.",
        "",
        "verify passed: x.whl: 1 file with device code held against sm_86, compute_120",
        "  (read by cuobjdump 13.5.37)",
    ]


def test_a_report_that_fails_names_file_and_target() -> None:
    text = render_verify(report((sass("86"), sass("90")), seen("a.so", sass("86"))), 80)
    assert "a.so  yes    NO" in text
    assert "error V201: a.so has no sm_90." in text
    assert "verify failed" in text


LONG = "package/with/a/very/long/path/" + "and_longer_" * 12 + "_C.cpython-311-x86_64-linux-gnu.so"


@pytest.mark.parametrize("width", [40, 80, 132])
@pytest.mark.parametrize("color", [False, True])
def test_no_line_is_too_long(width: int, color: bool) -> None:
    files = [
        seen(LONG, sass("86")),
        seen("b.so", *MANY),
        seen(LONG + "2"),
        seen("漢字" * 30, *MANY),
    ]
    text = render_verify(report(MANY, *files, path=LONG), width, color=color)
    lines = SEQUENCE.sub("", text).splitlines()
    assert max(map(cells, lines)) <= width
    heads = " ".join(line for line in lines if line.startswith("file"))
    assert all(re.search(rf"\b{target}\b", heads) for target in MANY)
    assert ("\x1b[" in text) is color


def test_names_in_a_folder_are_shown_without_it() -> None:
    folder = str(Path("some") / "folder")
    file = seen(str(Path(folder) / "in" / "a.so"), sass("86"))
    text = render_verify(report((sass("86"),), file, path=folder), 80)
    assert text.splitlines()[1].split()[0] == str(Path("in") / "a.so")


def test_files_that_are_not_judged_are_listed() -> None:
    blind = Seen.blind("x.dll", "x.dll is a Windows binary.", "Verify it on Windows.")
    outcome = report((sass("86"),), seen("host.so"), blind)
    text = render_verify(outcome, 80)
    assert "not judged: host.so (no device code)" in text
    assert "not judged: x.dll (cannot be seen by this reader)" in text
    assert "verify not fully readable" in text


@pytest.mark.parametrize("name", ["[red]x[/red].so", "[link=a]b.so", "{0}%s.so", "a\\[b].so"])
def test_names_are_no_markup(name: str) -> None:
    assert name in render_verify(report((sass("86"),), seen(name, sass("86"))), 80)


@pytest.mark.parametrize("char", ["\x1b", "\n", "\r", "\t", "\x9b", "\u202e", "\u2028", "\udc80"])
def test_what_a_terminal_would_obey_is_spelled_out(char: str) -> None:
    outcome = report((sass("86"),), seen(f"a{char}b.so"), seen(f"c{char}d.so", sass("90")))
    text = render_verify(outcome, 80)
    assert char == "\n" or char not in text
    assert f"c{escape(char)}d.so" in text
    assert "\nb.so" not in text
    text.encode("utf-8")


def schema() -> dict[str, object]:
    text = resources.files("archbuild.report").joinpath("schemas/verify.json").read_text()
    loaded = json.loads(text)
    assert isinstance(loaded, dict)
    return loaded


@pytest.mark.parametrize(
    "outcome",
    [
        report((sass("86"),), seen("a.so", sass("86"), ptx("90a"))),
        report(MANY, seen("a\udc80.so", sass("86")), seen("b.so")),
        report((sass("86"),)),
    ],
)
def test_json_is_by_its_schema(outcome: VerifyReport) -> None:
    document = json.loads(verify_json(outcome))
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(document, schema())
    assert document["schema"] == "archbuild.verify/1"
    assert document["ok"] is outcome.ok
    assert len(document["files"]) == len(outcome.files)
    assert len(document["findings"]) == len(outcome.findings)


def test_the_schema_refuses_what_is_wrong() -> None:
    document = json.loads(verify_json(report((sass("86"),))))
    document["targets"] = ["8.6"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema())


def test_reports_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    render_verify(report((sass("86"),), seen("a.so", sass("86"))), 80)
    assert capsys.readouterr() == ("", "")


@given(st.text(), st.integers(1, 60))
def test_shorten_keeps_to_the_width(text: str, width: int) -> None:
    short = shorten(escape(text), width)
    assert cells(short) <= width
    assert cells(escape(text)) > width or short == escape(text)


@given(st.text(), st.integers(10, 60))
def test_wrap_keeps_to_the_width_and_loses_nothing(text: str, width: int) -> None:
    lines = wrap(text, width, "  ")
    assert all(cells(line) <= width for line in lines)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", escape(text))


@given(st.lists(st.text(min_size=1, max_size=90), max_size=4), st.integers(20, 100))
def test_any_names_at_any_width(names: list[str], width: int) -> None:
    files = [seen(name, *MANY[:index]) for index, name in enumerate(names)]
    text = render_verify(report(MANY, *files, path="".join(names)), width)
    assert all(cells(line) <= width for line in text.split("\n"))


def test_the_schema_ships() -> None:
    root = Path(__file__).parents[1]
    assert "report/schemas/*.json" in (root / "pyproject.toml").read_text()
