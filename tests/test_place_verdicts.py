"""Files on recorded machines: each with its own driver, its own system, or no driver at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import archbuild
from archbuild.cli.main import main
from archbuild.errors import NoGpuError
from archbuild.probe.machine import write_machine
from archbuild.report.verify import render_verify
from archbuild.report.verify_json import verify_document
from archbuild.report.verify_markdown import verify_markdown
from archbuild.rules.checking.place_verdicts import Hindrance
from archbuild.rules.checking.verify_outcome import VerifyReport
from archbuild.rules.covering.places import Member
from archbuild.services.verify import verify
from tests.doctors import GTX_1080, RTX_5090, bare, card, desk, gpu

DATA = Path(__file__).parent / "data"
#: SASS of 8.6 and 12.0 by CUDA 13.0, and PTX of 12.0.
CLASSIC = DATA / "classic.so"
SCHEMA = Path(archbuild.__file__).parent / "report" / "schemas" / "verify.json"
RTX_3090 = gpu("NVIDIA GeForce RTX 3090", "8.6")
NEW = Member("new", desk(RTX_5090, driver="580.65.06"))


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ARCHBUILD_ARCHS", "TORCH_CUDA_ARCH_LIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def look(*members: Member, path: Path = CLASSIC, **more: object) -> VerifyReport:
    return verify(path, machines=members, reader="native", **more)  # type: ignore[arg-type]


def rows(report: VerifyReport) -> list[tuple[str, str, tuple[int, ...]]]:
    from archbuild.report.fleet import fleet_row

    return [(v.place.machine, fleet_row(v).word, v.errors) for v in report.places]


def test_each_machine_is_held_to_its_own_driver() -> None:
    old = Member("old", desk(RTX_5090, driver="570.124.06"))
    report = look(NEW, old, Member("pascal", desk(GTX_1080, driver="580.65.06")))
    assert rows(report) == [
        ("new", "native", ()),
        ("old", "none", (35, 36)),
        ("pascal", "none", (209, 98)),
    ]
    assert [f.code for f in report.findings if f.severity.value == "error"] == ["V215", "V210"]
    assert report.exit_code == 1


def test_a_fleet_that_is_served() -> None:
    report = look(NEW, Member("ampere", desk(RTX_3090, driver="580.65.06")))
    assert (report.exit_code, report.ok) == (0, True)
    assert report.demand.expected.source == ""


def test_a_driver_that_is_named_goes_before_theirs() -> None:
    old = Member("old", desk(RTX_5090, driver="570.124.06"))
    assert rows(look(old, driver="580.65.06")) == [("old", "native", ())]
    assert rows(look(NEW, driver="570.124.06")) == [("new", "none", (35, 36))]


def test_devices_that_are_named_are_added() -> None:
    report = look(NEW, runs_on="8.6")
    assert [str(d.destination.capability) for d in report.devices] == ["8.6", "12.0"]
    assert rows(report) == [("new", "native", ())]


def test_what_two_drivers_have_in_common_is_said_once() -> None:
    members = [
        Member(release, desk(GTX_1080, driver=release)) for release in ("570.124.06", "580.65.06")
    ]
    report = look(*members)
    assert [finding.code for finding in report.findings] == ["V210"]
    assert "6.1 570.124.06" in render_verify(report, 100)


def test_no_driver_is_35_whatever_the_file_holds() -> None:
    report = look(NEW, Member("bare", bare(card("RTX 3090", "8.6"))))
    assert rows(report)[1] == ("bare", "no driver", (35,))
    (finding,) = report.findings
    assert (finding.code, finding.file) == ("V216", None)
    assert finding.message == "bare has no driver for its RTX 3090, as its record says."


def test_an_unknown_capability_is_undecided() -> None:
    report = look(NEW, Member("odd", desk(gpu("NVIDIA Thing", None))))
    assert report.places[1].hindrance is Hindrance.CAPABILITY
    assert rows(report)[1][1] == "?"
    assert report.exit_code == 4


def test_a_machine_without_a_gpu_is_only_told() -> None:
    report = look(NEW, Member("head", desk()))
    assert report.exit_code == 0
    assert "head     no GPU on record" in render_verify(report, 80)


def test_a_fleet_without_any_gpu_cannot_be_judged() -> None:
    with pytest.raises(NoGpuError, match="on record in head"):
        look(Member("head", desk()))


@pytest.mark.parametrize(
    ("path", "system", "word"),
    [
        (CLASSIC, "win32", "other system"),
        (CLASSIC, "linux", "native"),
        (DATA / "reader" / "windows.dll", "linux", "other system"),
    ],
)
def test_a_file_for_another_system(path: Path, system: str, word: str) -> None:
    member = Member("lab", replace(NEW.machine, system=system))
    report = look(member, path=path)
    assert rows(report)[0][1] == word
    assert ("V210" in {f.code for f in report.findings}) is (word == "other system")


@pytest.mark.parametrize(
    ("path", "processor", "word"),
    [
        (CLASSIC, "x86_64", "native"),
        (CLASSIC, "AMD64", "native"),
        (CLASSIC, "aarch64", "other processor"),
        (CLASSIC, "arm64", "other processor"),
        (CLASSIC, "", "native"),
        (DATA / "reader" / "windows.dll", "ARM64", "other processor"),
    ],
)
def test_a_file_for_another_processor(path: Path, processor: str, word: str) -> None:
    system = "win32" if path.suffix == ".dll" else "linux"
    member = Member("lab", replace(NEW.machine, system=system, processor=processor))
    report = look(member, path=path)
    assert rows(report)[0][1] == word
    assert ("V210" in {f.code for f in report.findings}) is (word == "other processor")
    if word != "native":
        assert report.exit_code == 1
        jsonschema.validate(verify_document(report), json.loads(SCHEMA.read_text("utf-8")))


def test_wsl_counts_as_windows_for_the_driver() -> None:
    """528.33 is the floor of CUDA 12 on Windows, 525.60.13 on Linux; the same holds for 13."""
    wsl = replace(NEW.machine, surroundings=replace(desk().surroundings, wsl=True))  # type: ignore[type-var]
    report = look(NEW, Member("wsl", wsl))
    assert [d.destination.windows for d in report.devices] == [False, True]
    assert "12.0 580.65.06 (Windows)" in render_verify(report, 120)


def test_json_by_its_schema() -> None:
    odd = Member("odd", desk(gpu("NVIDIA Thing", None)))
    document = verify_document(look(NEW, odd, Member("bare", bare(card("X", "8.6")))))
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert [(m["machine"], m["runs"], m["hindrance"]) for m in document["machines"]] == [
        ("new", "native", None),
        ("odd", "unknown", "capability not known"),
        ("bare", "native", "no driver"),
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_no_line_is_too_long(width: int) -> None:
    long = Member("a-machine-with-a-name-much-too-long", desk(RTX_3090, driver="550.54.14"))
    text = render_verify(look(NEW, long), width)
    assert max(map(len, text.splitlines())) <= width


def test_markdown_cannot_be_broken_by_a_name() -> None:
    text = verify_markdown(look(Member("a|b*", NEW.machine)))
    assert "| a\\|b\\* | RTX 5090 (12.0) | 580.65.06 | native |  |" in text


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, machine in (("new", NEW.machine), ("old", desk(RTX_5090, driver="550.54.14"))):
        write_machine(machine, tmp_path / f"{name}.json")
    assert main(["verify", str(CLASSIC), "--machines", str(tmp_path), "--reader", "native"]) == 1
    said = capsys.readouterr()
    assert "new      RTX 5090 (12.0)  580.65.06  native" in said.out
    assert "held against devices 12.0; 2 machines\n" in said.out
    assert "old      RTX 5090 (12.0)  550.54.14  none    100" in said.out
