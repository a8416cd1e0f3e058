"""Reports of verify: never wider than asked, never fooled by names, JSON by its schema."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import Arch, ptx, sass
from archbuild.model.coverage import Destination
from archbuild.model.finding import Finding, Severity
from archbuild.model.image import DeviceFile, Image, ImageKind, Region
from archbuild.model.waiver import Waiver
from archbuild.report.text import cells, escape
from archbuild.report.verify import group_findings, render_verify
from archbuild.report.verify_json import verify_json
from archbuild.report.verify_markdown import verify_github, verify_markdown
from archbuild.rules.checking.demand import Demand
from archbuild.rules.checking.judge import judge_file
from archbuild.rules.checking.targets import check_any_code
from archbuild.rules.checking.verify_outcome import SecondReader, VerifyReport
from archbuild.rules.selecting.expectation import Expectation
from tests.images import cap, file, real, region, virtual

MANY = (
    *(sass(number) for number in ("75", "80", "86", "87", "88", "89", "90", "100", "110", "120")),
    *(sass(number) for number in ("90a", "100a", "103f", "120a", "121")),
)
DEVICES = ("7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")
SEQUENCE = re.compile(r"\x1b\[\d+m")


def seen(path: str, *held: Arch) -> DeviceFile:
    kinds = {True: ImageKind.PTX, False: ImageKind.SASS}
    images = tuple(
        Image(kinds[a.is_virtual], a, isa=(8, 7) if a.is_virtual else None, kernels=("k",))
        for a in held
    )
    return DeviceFile(path, (Region(images),) if images else (), "archbuild")


def report(
    targets: tuple[Arch, ...],
    *files: DeviceFile,
    path: str = "x.whl",
    devices: tuple[str, ...] = (),
) -> VerifyReport:
    demand = Demand(
        Expectation(targets, "--targets" if targets else ""),
        tuple(Destination(cap(device)) for device in devices),
    )
    verdicts = tuple(judge_file(one, demand) for one in files)
    findings = tuple(finding for verdict in verdicts for finding in verdict.findings)
    return VerifyReport(
        (path,),
        demand,
        verdicts,
        (*check_any_code(files, path), *findings),
        second=SecondReader("cuobjdump 13.5.37", len(files), 3),
    )


def test_a_report_that_passes() -> None:
    text = render_verify(report((sass("86"), ptx("120")), seen("a.so", sass("86"), ptx("120"))), 80)
    assert text.splitlines() == [
        "file  sm_86  compute_120",
        "a.so  yes    yes",
        "",
        "yes: every region with kernels holds it, ready to load; NO: not. sm_: machine",
        "code (SASS), compute_: PTX.",
        "",
        "verify passed: x.whl: 1 file with device code held against sm_86, compute_120",
        "read by archbuild and cuobjdump 13.5.37: they agree on 3 images in 1 file",
    ]


def test_a_report_that_fails_names_file_target_evidence_and_cure() -> None:
    text = render_verify(report((sass("86"), sass("90")), seen("a.so", sass("86"))), 80)
    assert "a.so  yes    NO" in text
    assert "error V201: a.so has no sm_90.\n  holds: sm_86\n  Build it again" in text
    assert "verify failed" in text


def test_devices_with_kernels_and_the_three_floors() -> None:
    good = file(region(real("90", "a b", "13.0"), virtual("90", "a b", isa=(9, 0))), path="a.so")
    other = file(region(real("90", "c", "13.0")), path="b.so")
    text = render_verify(report((), good, other, devices=("8.0", "9.0", "12.0")), 80)
    lines = text.splitlines()
    assert lines[:3] == [
        "file  8.0   9.0     12.0",
        "a.so  none  native  JIT >=580",
        "b.so  none  native  none",
    ]
    assert "device  native  JIT  none  ?  SASS from  PTX from   GPU from   errors" in lines
    assert "9.0     3       0    0     0  580.0      580.65.06  520.61.05" in text
    assert "12.0    0       2    1     0  -          580.65.06  570.26" in text
    assert "held against devices 8.0, 9.0, 12.0" in text.replace("\n  ", " ")


def test_kernels_down_where_they_are_asked_for() -> None:
    two = file(
        region(real("80", "both late"), real("90", "both")),
        region(virtual("80", "jit")),
        path="a.so",
    )
    outcome = report((), two, devices=("7.5", "8.6", "9.0"))
    assert "kernel  " not in render_verify(outcome, 80)
    lines = render_verify(replace(outcome, shows_kernels=True), 80).splitlines()
    start = lines.index("kernel  7.5   8.6     9.0")
    assert lines[start + 1 : start + 4] == [
        "both    none  native  native",
        "late    none  native  none",
        "jit     none  JIT     JIT",
    ]
    many = file(region(real("80", " ".join(f"k{i}" for i in range(250)))), path="a.so")
    text = render_verify(replace(report((), many, devices=("8.6",)), shows_kernels=True), 40)
    assert "and 50 more kernels" in text
    assert max(map(len, text.splitlines())) <= 40


def test_part_of_the_regions_and_what_is_not_known() -> None:
    part = file(region(real("80", "a")), region(real("90", "b")), path="p.so")
    text = render_verify(report((), part, devices=("8.6", "8.7")), 80)
    assert text.splitlines()[1].split() == ["p.so", "part", "part"]
    tegra = file(region(real("80", "a")), path="t.so")
    outcome = report((), tegra, devices=("8.7",))
    assert render_verify(outcome, 80).splitlines()[1].split() == ["t.so", "?"]
    assert (outcome.exit_code, "verify undecided" in render_verify(outcome, 80)) == (4, True)


def test_a_region_made_for_one_architecture_on_purpose_is_no_part() -> None:
    both = file(region(real("80", "a")), region(real("90a", "b")), path="p.so")
    text = render_verify(report((), both, devices=("8.6", "9.0")), 80)
    assert text.splitlines()[1].split() == ["p.so", "native", "part"]


LONG = "package/with/a/very/long/path/" + "and_longer_" * 12 + "_C.cpython-311-x86_64-linux-gnu.so"


@pytest.mark.parametrize("width", [20, 40, 80, 132])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("devices", [(), DEVICES])
def test_no_line_is_too_long(width: int, color: bool, devices: tuple[str, ...]) -> None:
    files = [
        seen(LONG, sass("86")),
        seen("b.so", *MANY),
        seen(LONG + "2"),
        seen("漢字" * 30, *MANY, ptx("121")),
    ]
    text = render_verify(report(MANY, *files, path=LONG, devices=devices), width, color=color)
    lines = SEQUENCE.sub("", text).splitlines()
    assert max(map(cells, lines)) <= width
    heads = " ".join(line for line in lines if line.startswith("file"))
    if width > 20:
        assert all(re.search(rf"\b{target}\b", heads) for target in (*MANY, *devices))
    assert ("\x1b[" in text) is color
    assert "\n\n\n" not in text


def many_findings(count: int) -> tuple[Finding, ...]:
    return tuple(
        Finding("V224", Severity.WARNING, f"a.so: _Z{i}", "a.so", kernel=f"_Z{i}", advice="Look.")
        for i in range(count)
    )


def test_findings_of_one_kind_are_told_together() -> None:
    outcome = replace(report((sass("86"),), seen("a.so", sass("86"))), findings=many_findings(14))
    text = render_verify(outcome, 80)
    assert "warning V224: kernel not registered by the host, 14 times in a.so" in text
    assert text.count("\n  _Z") == 10
    assert "  and 4 more; --json has them all" in text
    assert text.count("Look.") == 1
    assert [len(group) for group in group_findings(outcome.findings)] == [14]
    assert len(json.loads(verify_json(outcome))["findings"]) == 14


def test_a_long_name_of_a_kernel_takes_one_line_in_a_group() -> None:
    found = [
        Finding("V223", Severity.WARNING, "m", "a.so", arch=f"sm_{i}", kernel=f"_Z{i}" + "x" * 300)
        for i in (75, 80)
    ]
    outcome = replace(report((sass("86"),), seen("a.so", sass("86"))), findings=tuple(found))
    lines = render_verify(outcome, 80).splitlines()
    (first, second) = (line for line in lines if "_Z" in line)
    assert first.startswith("  sm_75: _Z75xxx")
    assert (len(first), len(second)) == (80, 80)


def test_names_in_a_folder_are_shown_without_it() -> None:
    folder = str(Path("some") / "folder")
    one = seen(str(Path(folder) / "in" / "a.so"), sass("86"))
    text = render_verify(report((sass("86"),), one, path=folder), 80)
    assert text.splitlines()[1].split()[0] == str(Path("in") / "a.so")


def test_files_that_are_not_judged_are_listed_or_counted() -> None:
    host = [seen(f"host{i}.so") for i in range(5)]
    good = seen("a.so", sass("86"))
    text = render_verify(report((sass("86"),), good, *host[:2]), 80)
    assert "not judged: host0.so (no device code)" in text
    text = render_verify(report((sass("86"),), good, *host), 80)
    assert "not judged: 5 files without device code" in text
    assert "host0" not in text


def test_what_was_let_pass_and_who_asked_is_told() -> None:
    outcome = report((sass("86"),), seen("a.so", sass("86")))
    waived = tuple((finding, Waiver("so be it")) for finding in many_findings(2))
    outcome = replace(
        outcome,
        waived=waived,
        known=many_findings(1),
        second=SecondReader(note="there is no cuobjdump here"),
        demand=replace(outcome.demand, expected=Expectation((sass("86"),), "ARCHBUILD_ARCHS")),
    )
    text = render_verify(outcome, 80)
    assert "findings let pass: 2 waived, 1 known by the baseline" in text
    assert "(asked for by ARCHBUILD_ARCHS)" in text.replace("\n  ", " ")
    assert "read by archbuild alone: there is no cuobjdump here" in text


def test_what_cuobjdump_cannot_read_is_told() -> None:
    outcome = report((sass("86"),), seen("a.so", sass("86")))
    outcome = replace(outcome, second=SecondReader("cuobjdump 13.5", 0, 0, ("x is a DLL.",)))
    assert "they agree on 0 images in 0 files; 1 file it can't read" in " ".join(
        render_verify(outcome, 80).split()
    )
    part = SecondReader("cuobjdump 13.5", 1, 3, partly=("It looks only into one section.",))
    assert "they agree on 3 images in 1 file; 1 file it reads in part" in " ".join(
        render_verify(replace(outcome, second=part), 80).split()
    )


@pytest.mark.parametrize("name", ["[red]x[/red].so", "[link=a]b.so", "{0}%s.so", "a\\[b].so"])
def test_names_are_no_markup(name: str) -> None:
    assert name in render_verify(report((sass("86"),), seen(name, sass("86"))), 80)


@pytest.mark.parametrize("char", ["\x1b", "\n", "\r", "\t", "\x9b", "\u202e", "\u2028", "\udc80"])
def test_what_a_terminal_would_obey_is_spelled_out(char: str) -> None:
    outcome = report((sass("86"),), seen(f"a{char}b.so"), seen(f"c{char}d.so", sass("90")))
    for text in (render_verify(outcome, 80), verify_markdown(outcome), verify_github(outcome)):
        assert char == "\n" or char not in text
        assert "\nb.so" not in text
        text.encode("utf-8")
    assert f"c{escape(char)}d.so" in render_verify(outcome, 80)


def test_markdown() -> None:
    outcome = report((sass("86"),), seen("a|b`_C_.so", sass("90")), devices=("8.6",))
    lines = verify_markdown(outcome).splitlines()
    assert lines[0].startswith("### verify failed: x.whl: 1 file with device code")
    heads = "device | native | JIT | none | unknown | SASS from | PTX from | GPU from | errors"
    assert f"| {heads} |" in lines
    assert "| 8.6 | 0 | 0 | 1 | 0 | - | - | 455.23 | 98, 209 |" in lines
    both = file(region(real("80", "k", "12.0"), virtual("80", "k", isa=(8, 8))), path="b.so")
    told = report((), both, devices=("8.6",))
    row = "| 8.6 | 1 | 0 | 0 | 0 | 525.60.13 | 575.51.03 | 455.23 |  |"
    assert row in verify_markdown(told).splitlines()
    assert json.loads(verify_json(told))["devices"][0]["min_driver"] == {
        "sass": "525.60.13",
        "ptx": "575.51.03",
        "device": "455.23",
    }
    assert "| `a\\|b'_C_.so` | **no** |" in lines
    assert "- **error V201** (target missing)" in lines
    assert any("a\\|b\\`\\_C\\_.so has no sm\\_86." in line for line in lines)


def test_annotations_of_github() -> None:
    outcome = report((sass("86"),), seen("a,b:100%.so", sass("90")))
    first = verify_github(outcome).splitlines()[0]
    assert first == (
        "::error file=a%2Cb%3A100%25.so,title=V201%3A target missing::"
        "a,b:100%25.so has no sm_86. "
        "Build it again for this target, or take the target from the list."
    )
    several = replace(outcome, findings=many_findings(3))
    head = "::warning file=a.so,title=V224%3A kernel not registered by the host::"
    assert verify_github(several).startswith(f"{head}a.so: _Z0 (and 2 more) Look.")


def schema() -> dict[str, object]:
    text = resources.files("archbuild.report").joinpath("schemas/verify.json").read_text()
    loaded = json.loads(text)
    assert isinstance(loaded, dict)
    return loaded


UNREAD = file(region(real("90"), virtual("90")))


@pytest.mark.parametrize(
    "outcome",
    [
        report((sass("86"),), seen("a.so", sass("86"), ptx("90a"))),
        report(MANY, seen("a\udc80.so", sass("86")), seen("b.so")),
        report((sass("86"),)),
        report((), seen("a.so", *MANY, ptx("90")), devices=DEVICES),
        report((), UNREAD, devices=("9.0", "12.0")),
        replace(
            report(()),
            second=None,
            known=many_findings(1),
            waived=((many_findings(1)[0], Waiver("so be it")),),
        ),
    ],
)
def test_json_is_by_its_schema(outcome: VerifyReport) -> None:
    document = json.loads(verify_json(outcome))
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(document, schema())
    assert document["schema"] == "archbuild.verify/1"
    assert (document["ok"], document["exit_code"]) == (outcome.ok, outcome.exit_code)
    assert len(document["files"]) == len(outcome.files)
    assert len(document["findings"]) == len(outcome.findings)


def test_the_four_counts_are_kernels_and_null_where_they_were_not_read() -> None:
    two = file(region(real("90", "a b")), region(virtual("90", "c")), path="a.so")
    (device,) = json.loads(verify_json(report((), two, devices=("9.0",))))["devices"]
    assert [device[word] for word in ("native", "jit", "none", "unknown")] == [2, 1, 0, 0]
    assert device["regions"] == {"native": 1, "jit": 1, "none": 0, "unknown": 0}
    assert set(device["min_driver"]) == {"sass", "ptx", "device"}
    (device,) = json.loads(verify_json(report((), UNREAD, devices=("9.0",))))["devices"]
    assert [device[word] for word in ("native", "jit", "none", "unknown")] == [None] * 4


def test_the_schema_refuses_what_is_wrong() -> None:
    document = json.loads(verify_json(report((sass("86"),))))
    document["targets"] = ["8.6"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema())


def test_reports_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    render_verify(report((sass("86"),), seen("a.so", sass("86"))), 80)
    assert capsys.readouterr() == ("", "")


@given(st.lists(st.text(min_size=1, max_size=90), max_size=4), st.integers(20, 100))
def test_any_names_at_any_width(names: list[str], width: int) -> None:
    files = [seen(name, *MANY[:index]) for index, name in enumerate(names)]
    path = "".join(names) or "x"
    text = render_verify(report(MANY, *files, path=path, devices=DEVICES[:4]), width)
    assert all(cells(line) <= width for line in text.split("\n"))


def test_the_schema_ships() -> None:
    root = Path(__file__).parents[1]
    assert "report/schemas/*.json" in (root / "pyproject.toml").read_text()
