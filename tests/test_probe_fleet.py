"""Records of a fleet: files, folders and patterns; one that cannot be read is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.cli.main import main
from archbuild.errors import RecordError
from archbuild.probe.fleet import read_fleet
from archbuild.probe.machine import write_machine
from tests.doctors import RTX_5090, desk


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    folder = tmp_path / "lab"
    folder.mkdir()
    for name in ("b", "a"):
        write_machine(desk(RTX_5090), folder / f"{name}.json")
    (folder / "notes.txt").write_text("no record")
    return folder


def test_files_keep_their_order_and_folders_are_sorted(lab: Path) -> None:
    files = [str(lab / "b.json"), str(lab / "a.json")]
    assert [member.name for member in read_fleet(files)] == ["b", "a"]
    assert [member.name for member in read_fleet([str(lab)])] == ["a", "b"]
    assert read_fleet([str(lab)])[0].machine == desk(RTX_5090)


def test_a_pattern_that_the_shell_left_alone(lab: Path) -> None:
    assert [member.name for member in read_fleet([str(lab / "*.json")])] == ["a", "b"]
    odd = lab / "odd[1].json"
    write_machine(desk(), odd)
    assert [member.name for member in read_fleet([str(odd)])] == ["odd[1]"]


def test_two_of_one_name_are_told_apart(lab: Path, tmp_path: Path) -> None:
    write_machine(desk(), tmp_path / "a.json")
    names = [member.name for member in read_fleet([str(lab), str(tmp_path / "a.json")])]
    assert names == [str(lab / "a.json"), "b", str(tmp_path / "a.json")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "is no machine record"),
        (b'{"schema": "archbuild.machine/2"}', "reads archbuild.machine/1"),
        (b'{"schema": "archbuild.machine/1", "machine": {"system": 1}}', "does not belong there"),
        (b'{"schema": "archbuild.machine/1", "machine": {"system": "linux"}}', "lacks 'processor'"),
        (b"\xff\xfe", "it is no text"),
        (b"[]", "is no machine record of archbuild"),
        (b"", "is no machine record"),
        (None, "cannot be read"),
    ],
)
@pytest.mark.parametrize("command", [["flags", "--cuda", "13.0"], ["verify", "x.so"]])
def test_one_unreadable_record_is_one_sentence(
    content: bytes | None,
    words: str,
    command: list[str],
    lab: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = lab / "c.json"
    if content is None:
        broken.mkdir()
        (broken / "x").touch()
    else:
        broken.write_bytes(content)
    arguments = [str(lab / "a.json"), str(broken)]
    expected = "holds no record" if content is None else words
    assert main([*command, "--machines", *arguments]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert "c.json" in said.err
    assert expected in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "words"), [("", "is empty"), ("no/*.json", "No file matches"), ("no.json", "No such")]
)
def test_what_is_not_there(path: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=words):
        read_fleet([path])


def test_a_folder_in_which_nothing_is_a_record(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"holds no record of a machine \(\*\.json\)"):
        read_fleet([str(tmp_path)])


def test_flags_for_a_fleet(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["flags", "--machines", str(lab), "--cuda", "12.8", "--format", "torch"]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert said.out == "12.0+PTX\n"
    assert "a        RTX 5090 (12.0)  570.124.06  native  sm_120" in said.err
