"""verify from end to end with the real cuobjdump, on files, wheels and folders."""

from __future__ import annotations

import importlib.util
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from archbuild.errors import BinaryError, ToolError, UsageError
from archbuild.model.arch import Arch, ptx, sass
from archbuild.services.verify import VerifyReport, verify_targets

DATA = Path(__file__).parent / "data"
WHEEL = DATA / "fixture-1.0-py3-none-linux_x86_64.whl"
CLASSIC = (sass("86"), sass("120"), ptx("120"))

pytestmark = pytest.mark.toolkit


@pytest.fixture(scope="module")
def verify(packaged_tool: Callable[[str], Path]) -> Callable[..., VerifyReport]:
    tool = str(packaged_tool("cuobjdump"))

    def call(path: Path | list[Path], *targets: Arch, file_glob: str | None = None) -> VerifyReport:
        return verify_targets(path, targets, cuobjdump=tool, file_glob=file_glob)

    return call


Verify = Callable[..., VerifyReport]


def codes(report: VerifyReport) -> list[tuple[str, str | None, str | None]]:
    return [(f.code, f.file, f.arch) for f in report.findings]


def test_a_wheel_that_holds_everything(verify: Verify) -> None:
    report = verify(WHEEL, *CLASSIC)
    assert (report.ok, report.exit_code, report.findings) == (True, 0, ())
    assert [(f.path, f.judged, f.note) for f in report.files] == [
        ("fixture/_C.so", True, ""),
        ("fixture/_host.so", False, "no device code"),
    ]
    assert report.files[0].present == CLASSIC
    assert report.reader.startswith("cuobjdump ")


def test_a_wheel_that_lacks_one(verify: Verify) -> None:
    report = verify(WHEEL, sass("86"), sass("90"))
    assert (report.ok, report.exit_code) == (False, 1)
    assert ("V201", "fixture/_C.so", "sm_90") in codes(report)


@pytest.mark.parametrize(
    ("name", "targets", "expected"),
    [
        ("suffixed.o", (sass("90a"), sass("103f"), sass("120f"), ptx("90a")), []),
        ("suffixed.o", (sass("103"),), ["V201", "V203"]),
        ("empty_default.so", CLASSIC, ["V203"]),
        ("host_only.o", CLASSIC, []),
        ("rdc.so", (sass("86"), sass("120")), []),
        ("rdc.so", CLASSIC, ["V201"]),
        ("rdc_unlinked.so", (sass("86"),), ["V201", "V202"]),
        ("lto.o", (sass("90"),), ["V201", "V208"]),
        ("hip.so", CLASSIC, ["V205"]),
        ("plain.so", CLASSIC, ["V200"]),
        ("empty_only.so", CLASSIC, ["V200"]),
        ("rodata.so", CLASSIC, ["V206"]),
        ("family.cubin", (sass("120f"),), []),
        ("units.a", CLASSIC, []),
    ],
)
def test_every_fixture(
    verify: Verify, name: str, targets: tuple[Arch, ...], expected: list[str]
) -> None:
    report = verify(DATA / name, *targets)
    assert [finding.code for finding in report.findings] == expected
    assert report.ok == (set(expected) <= {"V203"})


def test_what_cannot_be_seen_is_exit_3(verify: Verify) -> None:
    assert verify(DATA / "rodata.so", *CLASSIC).exit_code == 3


def test_host_code_with_the_empty_image_of_nvcc_shared_is_not_judged(
    verify: Verify, tmp_path: Path
) -> None:
    shutil.copyfile(DATA / "classic.so", tmp_path / "_C.so")
    shutil.copyfile(DATA / "empty_only.so", tmp_path / "_host.so")
    report = verify(tmp_path, *CLASSIC)
    assert (report.ok, report.findings) == (True, ())
    assert [verdict.judged for verdict in report.files] == [True, False]


def test_the_glob_narrows(verify: Verify, tmp_path: Path) -> None:
    shutil.copyfile(DATA / "classic.so", tmp_path / "a.so")
    shutil.copyfile(DATA / "suffixed.o", tmp_path / "b.o")
    assert not verify(tmp_path, *CLASSIC).ok
    report = verify(tmp_path, *CLASSIC, file_glob="*.so")
    assert report.ok
    assert [Path(verdict.path).name for verdict in report.files] == ["a.so"]
    with pytest.raises(UsageError, match=r"No file in .* matches '\*\.dll'"):
        verify(tmp_path, *CLASSIC, file_glob="*.dll")


def test_strict(packaged_tool: Callable[[str], Path], tmp_path: Path) -> None:
    data = bytearray((DATA / "classic.so").read_bytes())
    region = data.find(b"\x50\xed\x55\xba\x01\0\x10\0")
    data[region + 16 : region + 18] = b"\x77\x07"  # the kind of the first entry, sm_86
    (tmp_path / "x.so").write_bytes(data)
    tool = str(packaged_tool("cuobjdump"))
    for strict in (False, True):
        report = verify_targets(tmp_path / "x.so", CLASSIC[1:], cuobjdump=tool, strict=strict)
        assert [finding.code for finding in report.findings] == ["V204"]
        assert report.ok is not strict


def test_no_target_is_wrong_usage(verify: Verify) -> None:
    with pytest.raises(UsageError, match="no target"):
        verify(WHEEL)


def test_a_zip_that_is_no_wheel(verify: Verify, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(DATA / "classic.so", "_C.so")
    report = verify(tmp_path / "x.zip", *CLASSIC)
    assert report.ok
    assert [finding.code for finding in report.findings] == ["V207"]


def test_a_wheel_without_binaries(verify: Verify, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.writestr("x-1.dist-info/WHEEL", "")
    report = verify(tmp_path / "x.whl", *CLASSIC)
    assert [finding.code for finding in report.findings] == ["V200"]
    assert report.exit_code == 1


def test_several_paths_are_each_held_against_the_targets(verify: Verify) -> None:
    library = DATA / "classic.so"
    report = verify([WHEEL, library], *CLASSIC)
    assert report.ok
    assert report.paths == (str(WHEEL), str(library))
    names = [verdict.path for verdict in report.files]
    assert names == [f"{WHEEL}/fixture/_C.so", f"{WHEEL}/fixture/_host.so", str(library)]
    report = verify([WHEEL, DATA / "plain.so"], *CLASSIC)
    assert codes(report) == [("V200", str(DATA / "plain.so"), None)]
    assert report.exit_code == 1


def test_the_glob_may_match_in_one_of_several_paths(verify: Verify) -> None:
    report = verify([WHEEL, DATA / "plain.so"], *CLASSIC, file_glob="_C.so")
    assert (report.ok, len(report.files)) == (True, 1)


def test_nothing_to_verify(verify: Verify) -> None:
    with pytest.raises(UsageError, match="nothing to verify"):
        verify([], *CLASSIC)


def test_an_empty_folder(verify: Verify, tmp_path: Path) -> None:
    assert [finding.code for finding in verify(tmp_path, *CLASSIC).findings] == ["V200"]


def test_a_text_in_a_wheel_is_never_ok(verify: Verify, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.write(DATA / "classic.so", "a.so")
        archive.writestr("b.so", "not a library")
    with pytest.raises(BinaryError, match=r"b\.so is no library"):
        verify(tmp_path / "x.whl", *CLASSIC)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.99])
def test_a_truncated_wheel_is_never_ok(verify: Verify, tmp_path: Path, share: float) -> None:
    data = WHEEL.read_bytes()
    (tmp_path / "x.whl").write_bytes(data[: int(len(data) * share)])
    with pytest.raises(BinaryError, match="truncated or damaged"):
        verify(tmp_path / "x.whl", *CLASSIC)


def test_a_missing_tool(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be run"):
        verify_targets(WHEEL, CLASSIC, cuobjdump=str(tmp_path / "cuobjdump"))


@pytest.mark.torch
def test_a_library_of_torch(verify: Verify) -> None:
    spec = importlib.util.find_spec("torch")
    places = list(spec.submodule_search_locations or ()) if spec else []
    library = Path(*places[:1], "lib", "libtorch_cuda_linalg.so")
    version = Path(*places[:1], "version.py")
    if not library.is_file():
        pytest.skip("no torch built with CUDA in this environment")
    if "2.14.1" not in version.read_text():
        pytest.skip("what is in this library is known of torch 2.14.1")
    report = verify(library, sass("75"), sass("80"), sass("120"))
    assert codes(report)[0] == ("V201", str(library), "sm_75")
    assert report.files[0].present == (sass("80"), sass("120"))
