"""verify from end to end: files, wheels and folders, what is asked, and by which reader."""

from __future__ import annotations

import importlib.util
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from archbuild.errors import ConfigError, NotKnownError, RecordError, UnreadableError, UsageError
from archbuild.model.arch import Arch, ptx, sass
from archbuild.model.image import FileFormat
from archbuild.report.verify_json import verify_document, verify_json
from archbuild.rules.checking.verify_outcome import VerifyReport
from archbuild.services.verify import verify
from tests.fatbins import DATA as READER_DATA

DATA = Path(__file__).parent / "data"
WHEEL = DATA / "fixture-1.0-py3-none-linux_x86_64.whl"
CLASSIC = "8.6;12.0+PTX"
TARGETS = (sass("86"), sass("120"), ptx("120"))


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ARCHBUILD_ARCHS", "TORCH_CUDA_ARCH_LIST"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")


@pytest.fixture
def cuobjdump(packaged_tool: Callable[[str], Path]) -> Path:
    return packaged_tool("cuobjdump")


def look(path: object, targets: str | None = CLASSIC, **asked: object) -> VerifyReport:
    return verify(path, targets=targets, **{"reader": "native", **asked})  # type: ignore[arg-type]


def codes(report: VerifyReport) -> list[tuple[str, str | None, str | None]]:
    return [(f.code, f.file, f.arch) for f in report.findings]


# What is in it.


def test_a_wheel_that_holds_everything() -> None:
    report = look(WHEEL)
    assert (report.ok, report.exit_code, report.findings) == (True, 0, ())
    assert [(f.path, f.judged, f.targets.note) for f in report.files] == [
        ("fixture/_C.so", True, ""),
        ("fixture/_host.so", False, "no device code"),
    ]
    assert report.files[0].targets.present == TARGETS
    assert (report.reader, report.second) == ("archbuild", None)


def test_a_wheel_that_lacks_one() -> None:
    report = look(WHEEL, "8.6;9.0")
    assert (report.ok, report.exit_code) == (False, 1)
    assert ("V201", "fixture/_C.so", "sm_90") in codes(report)


@pytest.mark.parametrize(
    ("name", "targets", "errors", "others"),
    [
        ("suffixed.o", "9.0a 103f 12.0f compute_90a", [], ["V222"]),
        ("suffixed.o", "10.3", ["V201"], ["V203", "V222"]),
        ("empty_default.so", CLASSIC, [], []),
        ("host_only.o", CLASSIC, [], ["V226"]),
        ("rdc.so", "8.6 12.0", [], ["V220", "V227"]),
        ("rdc.so", CLASSIC, ["V201"], ["V220", "V227"]),
        ("rdc_unlinked.so", "8.6", ["V201", "V202"], ["V227"]),
        ("mixed.so", CLASSIC, ["V202"], []),
        ("lto.o", "9.0", ["V201", "V208"], []),
        ("hip.so", CLASSIC, ["V205"], []),
        ("plain.so", CLASSIC, ["V200"], []),
        ("empty_only.so", CLASSIC, [], ["V226"]),
        ("rodata.so", CLASSIC, [], []),
        ("family.cubin", "12.0f", [], []),
        ("units.a", CLASSIC, [], []),
        ("debug.o", "9.0", [], ["V220", "V230"]),
        ("reader/windows.dll", "9.0 compute_75", [], ["V223", "V224"]),
        ("reader/empty_image.so", "8.0 9.0+PTX", [], []),
        ("unregistered.so", "8.6 12.0", [], ["V220", "V223", "V224"]),
    ],
)
def test_every_fixture(name: str, targets: str, errors: list[str], others: list[str]) -> None:
    report = look(DATA / name, targets)
    found = {finding.code for finding in report.findings}
    assert found == {*errors, *others}
    assert {f.code for f in report.findings if f.severity.value == "error"} == set(errors)
    assert report.exit_code == bool(errors)
    assert look(DATA / name, targets, strict=True).ok is (found <= {"V203"})


def test_host_code_with_the_empty_image_of_nvcc_shared_only_warns(tmp_path: Path) -> None:
    shutil.copyfile(DATA / "classic.so", tmp_path / "_C.so")
    shutil.copyfile(DATA / "empty_only.so", tmp_path / "_host.so")
    report = look(tmp_path)
    assert (report.ok, [f.code for f in report.findings]) == (True, ["V226"])
    assert [(v.judged, v.targets.note) for v in report.files] == [(True, ""), (False, "no kernels")]


@pytest.mark.parametrize("kernels", [None, True, False])
def test_a_region_without_kernels_is_read_again_where_it_decides(
    kernels: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archbuild.probe.wanted_files.SMALL", 0)
    report = look(DATA / "empty_default.so", kernels=kernels)
    assert report.ok is (kernels is not False)
    assert report.files[0].kernels == (None if kernels is False else 1)
    # Where nothing is missing, nobody looks at the kernels.
    assert look(DATA / "classic.so", kernels=kernels).files[0].kernels == (1 if kernels else None)


def test_a_wheel_for_windows_gives_what_the_library_gives(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.write(READER_DATA / "windows.dll", "pkg/_C.pyd")
    (verdict,) = look(tmp_path / "x.whl", "9.0 compute_75").files
    (alone,) = look(READER_DATA / "windows.dll", "9.0 compute_75").files
    assert (verdict.archs, verdict.targets) == (alone.archs, alone.targets)
    assert verdict.format is FileFormat.PE


# What is asked.


def test_targets_may_be_values() -> None:
    report = verify(WHEEL, targets=[sass("86"), "12.0+PTX"], reader="native")
    assert report.demand.targets == TARGETS


def test_exact() -> None:
    assert look(WHEEL, "8.6;12.0").ok
    report = look(WHEEL, "8.6;12.0", exact=True)
    assert (codes(report), report.exit_code) == ([("V203", "fixture/_C.so", "compute_120")], 1)


@pytest.mark.parametrize(
    ("devices", "driver", "outcome", "code"),
    [
        ("RTX 3090", None, [1, 0, 0, 0], 0),
        ("13.0", None, [0, 1, 0, 0], 0),
        ("9.0", None, [0, 0, 1, 0], 1),
        ("8.7", None, [0, 0, 0, 1], 4),
        ("8.6", "535.54.03", [0, 0, 1, 0], 1),
        ("8.6", "580.65.06", [1, 0, 0, 0], 0),
        ("12.0", "550.54.14", [0, 0, 1, 0], 1),
    ],
)
def test_devices_and_drivers(
    devices: str, driver: str | None, outcome: list[int], code: int
) -> None:
    report = look(DATA / "classic.so", None, runs_on=devices, driver=driver)
    (device,) = verify_document(report)["devices"]
    assert [device[word] for word in ("native", "jit", "none", "unknown")] == outcome
    assert report.exit_code == code


def test_a_switch_for_tegra() -> None:
    asked = {"runs_on": "8.7"}
    assert look(DATA / "classic.so", None, tegra="yes", **asked).exit_code == 0
    assert look(DATA / "classic.so", None, tegra="no", **asked).exit_code == 1
    with pytest.raises(UsageError, match="tegra is 'maybe'"):
        look(DATA / "classic.so", None, tegra="maybe", **asked)


def test_with_no_expectation_the_structural_checks_run_and_it_is_exit_4() -> None:
    assert look(DATA / "classic.so", None).exit_code == 4
    report = look(DATA / "rdc_unlinked.so", None)
    assert ({f.code for f in report.findings}, report.exit_code) == ({"V202", "V227"}, 1)
    assert look(DATA / "plain.so", None).exit_code == 1


def test_the_first_source_that_says_something_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text("[tool.archbuild]\narchs = '9.0'\n")
    assert look(WHEEL, None).demand.targets == (sass("90"),)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.6")
    assert look(WHEEL, None).demand.expected.source == "TORCH_CUDA_ARCH_LIST"
    monkeypatch.setenv("ARCHBUILD_ARCHS", "12.0")
    assert look(WHEEL, None).demand.expected.source == "ARCHBUILD_ARCHS"
    assert look(WHEEL, CLASSIC).demand.expected.source == "--targets"
    assert look(WHEEL, None, runs_on="8.6").demand.targets == ()


def test_the_policy_is_checked_besides() -> None:
    Path("pyproject.toml").write_text("[tool.archbuild.verify]\nruns-on = ['9.0']\n")
    report = look(WHEEL)
    assert codes(report) == [("V210", "fixture/_C.so", "sm_90")]
    assert look(WHEEL, None, runs_on="8.6").exit_code == 1
    other = Path("other.toml")
    other.write_text("[tool.archbuild.verify]\nsize-budget = '1kB'\n")
    assert [f.code for f in look(WHEEL, config=other).findings] == ["V240"]
    with pytest.raises(UnreadableError, match=r"absent\.toml does not exist"):
        look(WHEEL, config="absent.toml")


def test_waivers_let_pass_and_those_without_use_are_told() -> None:
    Path("pyproject.toml").write_text(
        "[[tool.archbuild.waivers]]\ncode = 'V201'\narch = 'sm_90'\nreason = 'not yet'\n"
        "[[tool.archbuild.waivers]]\ncode = 'V230'\nreason = 'long ago'\n"
    )
    report = look(WHEEL, f"{CLASSIC};9.0")
    assert (report.ok, [f.code for f in report.findings]) == (True, ["V260"])
    assert [(f.arch, w.reason) for f, w in report.waived] == [("sm_90", "not yet")]


def test_a_baseline_lets_pass_what_is_not_new(tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    before.write_text(verify_json(look(WHEEL, "8.6;9.0")))
    report = look(WHEEL, "8.6;9.0", baseline=before)
    assert (report.exit_code, report.findings) == (0, ())
    assert {f.code for f in report.known} == {"V201", "V203"}
    report = look(WHEEL, "8.6;9.0;10.0", baseline=before)
    assert codes(report) == [("V201", "fixture/_C.so", "sm_100")]


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "archbuild.verify/2"}', '{"schema": 1'])
def test_a_baseline_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(RecordError, match=r"x\.json is no report of archbuild verify"):
        look(WHEEL, baseline=tmp_path / "x.json")
    with pytest.raises(UnreadableError, match="cannot be read"):
        look(WHEEL, baseline=tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"targets": "ninety"}, "ninety"),
        ({"runs_on": "9.0a"}, "9.0a in --runs-on names code, not a device"),
        ({"runs_on": "9.0", "driver": "13.0"}, "'13.0' is no driver release"),
        ({"runs_on": "9.0", "driver_cuda": "x"}, "'x' is no CUDA version"),
        ({"size_budget": "big"}, "--size-budget is 'big'"),
        ({"reader": "mine"}, "reader is 'mine'"),
    ],
)
def test_wrong_usage(asked: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        verify(WHEEL, **{"reader": "native", **asked})  # type: ignore[arg-type]


def test_a_wrong_policy_is_wrong_usage() -> None:
    Path("pyproject.toml").write_text("[[tool.archbuild.waivers]]\ncode = 'V201'\n")
    with pytest.raises(ConfigError, match="has no reason"):
        look(WHEEL)


# Which files.


def test_the_glob_narrows(tmp_path: Path) -> None:
    shutil.copyfile(DATA / "classic.so", tmp_path / "a.so")
    shutil.copyfile(DATA / "suffixed.o", tmp_path / "b.o")
    assert not look(tmp_path).ok
    report = look(tmp_path, file="*.so")
    assert report.ok
    assert [Path(verdict.path).name for verdict in report.files] == ["a.so"]
    with pytest.raises(UsageError, match=r"No file in .* matches '\*\.dll'"):
        look(tmp_path, file="*.dll")


def test_several_paths_are_each_held_against_the_targets() -> None:
    library = DATA / "classic.so"
    report = look([WHEEL, library])
    assert report.ok
    assert report.paths == (str(WHEEL), str(library))
    names = [verdict.path for verdict in report.files]
    assert names == [f"{WHEEL}/fixture/_C.so", f"{WHEEL}/fixture/_host.so", str(library)]
    report = look([WHEEL, DATA / "plain.so"])
    assert codes(report) == [("V200", str(DATA / "plain.so"), None)]
    assert look([WHEEL, DATA / "plain.so"], file="_C.so").ok


def test_wheels_in_a_folder(tmp_path: Path) -> None:
    shutil.copyfile(WHEEL, tmp_path / WHEEL.name)
    report = look(tmp_path)
    assert report.ok
    assert [v.path for v in report.files if v.judged] == [f"{tmp_path}/{WHEEL.name}/fixture/_C.so"]


def test_a_library_of_the_driver_must_not_ship(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.write(DATA / "classic.so", "_C.so")
        archive.write(DATA / "plain.so", "x.libs/libcuda-0a1b2c3d.so.1")
    report = look(tmp_path / "x.whl")
    assert ("V241", "x.libs/libcuda-0a1b2c3d.so.1", None) in codes(report)


def test_nothing_to_verify() -> None:
    with pytest.raises(UsageError, match="nothing to verify"):
        look([])
    with pytest.raises(UsageError, match="A path is empty"):
        look("")


def test_a_wheel_without_a_single_kernel(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.write(DATA / "empty_only.so", "_C.so")
    report = look(tmp_path / "x.whl")
    assert {f.code for f in report.findings} == {"V200", "V207", "V226"}
    assert "not one kernel" in report.findings[1].message


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert [finding.code for finding in look(tmp_path / "empty").findings] == ["V200"]


def test_a_zip_that_is_no_wheel(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(DATA / "classic.so", "_C.so")
    report = look(tmp_path / "x.zip")
    assert (report.ok, [finding.code for finding in report.findings]) == (True, ["V207"])


# What can't be read.


def unread(report: VerifyReport) -> list[str]:
    return [finding.message for finding in report.findings if finding.code == "V206"]


def test_a_text_in_a_wheel_is_never_ok_and_the_rest_is_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.write(DATA / "classic.so", "a.so")
        archive.writestr("b.so", "not a library")
    report = look(tmp_path / "x.whl", "9.0")
    assert report.exit_code == 3
    assert "b.so is no library" in unread(report)[0]
    assert ("V201", "a.so", "sm_90") in codes(report)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.6, 0.99])
def test_a_truncated_wheel_is_never_ok(tmp_path: Path, share: float) -> None:
    data = WHEEL.read_bytes()
    (tmp_path / "x.whl").write_bytes(data[: int(len(data) * share)])
    report = look([tmp_path / "x.whl", WHEEL])
    assert (report.ok, report.exit_code, len(unread(report))) == (False, 3, 1)


@pytest.mark.parametrize("reader", ["native", "auto"])
def test_a_flipped_bit_in_a_wheel_is_never_ok(tmp_path: Path, reader: str) -> None:
    data = bytearray(WHEEL.read_bytes())
    data[len(data) // 3] ^= 1
    (tmp_path / "x.whl").write_bytes(data)
    assert look(tmp_path / "x.whl", reader=reader).exit_code == 3


def test_neither_waivers_nor_a_baseline_hide_what_cannot_be_read(tmp_path: Path) -> None:
    Path("pyproject.toml").write_text("[[tool.archbuild.waivers]]\nreason = 'all is well'\n")
    absent = tmp_path / "absent.whl"
    (tmp_path / "before.json").write_text(verify_json(look(absent)))
    report = look(absent, baseline=tmp_path / "before.json")
    assert report.exit_code == 3
    assert "absent.whl cannot be read" in unread(report)[0]


# By two readers.


@pytest.mark.toolkit
def test_both_readers_agree(cuobjdump: Path) -> None:
    report = look(
        [WHEEL, DATA / "rdc.so", READER_DATA / "concatenated.fatbin"], None, reader="both"
    )
    assert report.second is not None
    assert report.second.reader.startswith("cuobjdump ")
    assert (report.second.agreed, report.second.images) == (3, 3 + 5 + 9)
    assert report.second.unread == ()
    assert "V250" not in {finding.code for finding in report.findings}


@pytest.mark.toolkit
@pytest.mark.parametrize("name", ["rodata.so", "reader/windows.dll", "reader/plain.ptx"])
def test_what_cuobjdump_cannot_read_is_no_disagreement(cuobjdump: Path, name: str) -> None:
    report = look(DATA / name, None, runs_on="12.0", reader="both")
    assert report.second is not None
    assert (report.second.agreed, len(report.second.unread)) == (0, 1)
    assert {"V206", "V250"}.isdisjoint(finding.code for finding in report.findings)


@pytest.mark.toolkit
def test_what_cuobjdump_reads_in_part_is_neither_disagreement_nor_agreement(
    cuobjdump: Path,
) -> None:
    both = look(DATA / "carrier.so", CLASSIC, reader="both")
    assert (both.exit_code, both.second.agreed, both.second.images) == (0, 1, 3)
    assert both.second.partly[0].endswith("3 of its 6 images lie elsewhere (.rodata).")
    alone = look(DATA / "carrier.so", CLASSIC, reader="cuobjdump")
    assert (alone.exit_code, unread(alone)) == (
        3,
        [
            f"{DATA / 'carrier.so'} holds a fatbin outside .nv_fatbin and __nv_relfatbin,"
            " the only sections that cuobjdump reads."
        ],
    )


@pytest.mark.toolkit
def test_cuobjdump_alone(cuobjdump: Path) -> None:
    report = look(WHEEL, reader="cuobjdump")
    assert (report.ok, report.second) == (True, None)
    assert report.reader.startswith("cuobjdump ")
    assert look(WHEEL, "9.0", reader="cuobjdump").exit_code == 1
    assert look(DATA / "rodata.so", reader="cuobjdump").exit_code == 3


@pytest.mark.toolkit
def test_an_image_that_only_one_reader_sees(cuobjdump: Path, monkeypatch, tmp_path: Path) -> None:
    from archbuild.binary import second

    real = second.read_with_cuobjdump

    def loses(path: Path, *args: object, **more: object) -> object:
        return real(DATA / "upwards.so", *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(second, "read_with_cuobjdump", loses)
    report = look(WHEEL, reader="both")
    assert ("V250", "fixture/_C.so", None) in codes(report)
    assert report.exit_code == 1


def test_a_reader_that_was_asked_for_and_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from archbuild.probe.machine import query_machine

    here = replace(query_machine(gpus=False, toolkits=False, torch=False), cuobjdump=None)
    monkeypatch.setattr("archbuild.services.verify.query_machine", lambda **_: here)
    for reader in ("both", "cuobjdump"):
        with pytest.raises(NotKnownError, match="There is no cuobjdump here"):
            look(WHEEL, reader=reader)
    report = look(WHEEL, reader="auto")
    assert report.ok
    assert report.second is not None
    assert (report.second.reader, report.second.note) == ("", "there is no cuobjdump here")


# Real libraries.


@pytest.mark.torch
def test_turing_is_not_served_by_a_library_of_torch() -> None:
    spec = importlib.util.find_spec("torch")
    places = list(spec.submodule_search_locations or ()) if spec else []
    library = Path(*places[:1], "lib", "libtorch_cuda_linalg.so")
    version = Path(*places[:1], "version.py")
    if not library.is_file():
        pytest.skip("no torch built with CUDA in this environment")
    if "2.14.1" not in version.read_text():
        pytest.skip("what is in this library is known of torch 2.14.1")
    report = look(library, None, runs_on="7.5, 8.0, 8.6")
    assert {(f.code, f.arch) for f in report.findings if f.severity.value == "error"} == {
        ("V210", "sm_75")
    }
    turing, ampere, _ = verify_document(report)["devices"]
    assert (turing["native"], turing["jit"], turing["errors"]) == (0, 0, [98, 209])
    assert ampere["none"] == 0
    exact = look(library, "7.5 8.0 12.0")
    assert [f.arch for f in exact.findings if f.code == "V201"] == ["sm_75"]
    assert Arch.parse("sm_80") in exact.files[0].targets.present


@pytest.mark.wheels
@pytest.mark.parametrize("requirement", ["bitsandbytes==0.50.2", "ctranslate2==4.8.5"])
def test_a_published_wheel_for_windows_gives_what_the_one_for_linux_gives(
    requirement: str,
) -> None:
    from tests.test_reader_agreement import wheel, wheels

    asked = {"runs_on": "5.0, 6.1, 7.5, 8.6, 9.0, 12.0"}
    answers = []
    for platform in (p for name, p in wheels() if name == requirement):
        report = look(wheel(requirement, platform), None, **asked)
        judged = {
            Path(v.path).stem.removeprefix("lib").partition("-")[0]: (
                v.archs,
                v.targets.note,
                [sorted(o.value for o in coverage.outcomes) for coverage in v.devices],
            )
            for v in report.files
            if v.judged
        }
        # A kernel more or less: templates over size_t are others on Windows.
        errors = [d.errors for d in report.devices]
        answers.append((judged, errors, report.exit_code))
    linux, windows = answers
    assert linux[0]
    assert linux == windows


@pytest.mark.wheels
def test_every_published_wheel_is_read_to_its_end() -> None:
    from tests.test_reader_agreement import wheel, wheels

    for requirement, platform in wheels():
        report = look(wheel(requirement, platform), None, runs_on="8.0")
        assert report.exit_code != 3
        assert any(verdict.judged for verdict in report.files)


def test_the_report_is_json(tmp_path: Path) -> None:
    document = json.loads(verify_json(look(WHEEL, "8.6", runs_on="9.0")))
    assert document["schema"] == "archbuild.verify/1"
    assert (document["ok"], document["exit_code"]) == (False, 1)
