"""The native reader and cuobjdump, image by image, on fixtures and on real libraries."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from archbuild.binary.reader import iter_files, read
from archbuild.binary.second import look_at
from archbuild.model.image import DeviceFile
from archbuild.rules.checking.agreement import Answer, check_readers, compare_readers
from archbuild.services.compare import compare as compare_builds
from tests.fatbins import DATA
from tests.witness import RefusedError, Seen, ask, compare

VARIABLE = "ARCHBUILD_TEST_WHEELS"
FIXTURES = sorted(path.name for path in DATA.iterdir() if path.is_file())

# Into these Linux's cuobjdump cannot see, or has nothing to see. Of none of them is its
# silence a verdict; of any other file it would be a failure of one of the readers.
BLIND = {"windows.dll", "windows.obj", "rodata.so", "plain.ptx"}
WITHOUT = {"hip.so"}
# cuobjdump 13.5 calls this library invalid in the middle of its images. readelf and the
# native reader find nothing wrong with it, nor does cuobjdump with the images themselves.
CALLED_INVALID = {"libbitsandbytes_cuda121.so"}
# It names the objects that a thin archive points to, which the native reader refuses.
REFUSED = {"thin.a"}


@pytest.fixture(scope="session")
def cuobjdump(packaged_tool: Callable[[str], Path]) -> Path:
    return packaged_tool("cuobjdump")


@pytest.mark.toolkit
@pytest.mark.parametrize("name", [n for n in FIXTURES if n not in REFUSED])
def test_both_readers_on_a_fixture(name: str, cuobjdump: Path, capsys) -> None:
    (file,) = read(str(DATA / name), details=True)
    seen = ask(cuobjdump, DATA / name)
    with capsys.disabled():
        theirs = "can't read it" if seen is None else f"{len(seen)} images"
        print(f"\n{name}: archbuild {len(file.images)} images, cuobjdump {theirs}", end="")
    if name in WITHOUT:
        assert not file.images
        assert not seen
    elif name in BLIND:
        assert seen is None
        assert file.images
    elif name.endswith(".cubin"):
        assert seen is not None
        (ours,), (theirs_too,) = file.images, seen
        assert (sorted(ours.kernels or ()), ours.variables) == (
            sorted(theirs_too.kernels),
            theirs_too.variables,
        )
    else:
        assert seen, f"cuobjdump sees nothing in {name}, though it can read such files"
        compare(file, seen)


def torch_library(name: str) -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("no torch in this environment")
    path = Path(spec.submodule_search_locations[0]) / "lib" / name
    if not path.exists():
        pytest.skip(f"torch has no {name} in this environment")
    return path


@pytest.mark.torch
@pytest.mark.toolkit
@pytest.mark.parametrize("name", ["libtorch_cuda.so", "libtorch_cuda_linalg.so"])
def test_both_readers_on_torch(name: str, cuobjdump: Path, capsys) -> None:
    path = torch_library(name)
    (file,) = read(str(path), kernels=True)
    seen = ask(cuobjdump, path)
    with capsys.disabled():
        count = sum(len(image.kernels or ()) for image in file.images)
        print(f"\n{name}: {len(file.images)} and {len(seen or ())} images, {count} kernels", end="")
    assert seen, f"cuobjdump sees nothing in {name}"
    compare(file, seen)


def cusparse() -> Path:
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec is not None else None
    found = [path for place in places or () for path in Path(place).rglob("libcusparse.so.12")]
    if not found:
        pytest.skip("no package with cuSPARSE 12 in this environment")
    return found[0]


@pytest.mark.torch
@pytest.mark.toolkit
def test_a_library_with_fatbins_where_cuobjdump_does_not_look(
    cuobjdump: Path, tmp_path: Path, capsys
) -> None:
    path = cusparse()
    (file,) = read(str(path))
    look = look_at(path, file.path, str(cuobjdump))
    agreement = compare_readers([Answer(file, look.file, look.reason, look.blind)], "cuobjdump")
    elsewhere = [region for region in file.regions if region.section != ".nv_fatbin"]
    with capsys.disabled():
        count = f"{len(file.images)} images, both {agreement.images}"
        print(f"\n{path.name}: archbuild {count}, {len(elsewhere)} fatbins elsewhere", end="")
    assert (agreement.findings, agreement.agreed, len(agreement.partly)) == ((), 1, 1)
    assert look.passed_over
    data = path.read_bytes()
    # Each of those alone, as a .fatbin file, cuobjdump reads, and sees what archbuild sees.
    for region in elsewhere:
        start = region.offset or 0
        size = 16 + int.from_bytes(data[start + 8 : start + 16], "little")
        (tmp_path / "x.fatbin").write_bytes(data[start : start + size])
        alone = look_at(tmp_path / "x.fatbin", file.path, str(cuobjdump)).file
        assert alone is not None
        assert list(check_readers(DeviceFile(file.path, (region,), "archbuild"), alone)) == []


def wheels() -> list[tuple[str, str]]:
    table = json.loads((Path(__file__).parent / "wheels.json").read_text())
    return [(name, platform) for name, platforms in table.items() for platform in platforms]


def wheel(requirement: str, platform: str) -> Path:
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} is not set; the nox session `tests` sets it")
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*{platform}*.whl"
    found = sorted(Path(folder).glob(pattern))
    assert found, f"no {pattern} in {folder}"
    return found[0]


def assert_names_alone_are_the_same(path: Path) -> None:
    """Names taken over from siblings are those that each image's own symbols tell."""
    quick = list(iter_files(str(path), kernels=True, notes=False))
    full = list(iter_files(str(path), kernels=True))
    assert [file.path for file in quick] == [file.path for file in full]
    for ours, theirs in zip(quick, full, strict=True):
        for one, other in zip(ours.images, theirs.images, strict=True):
            assert one.kernels == other.kernels, f"{ours.path} at {one.offset}"
            assert (one.variables, one.inner) == (other.variables, other.inner)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["libtorch_cuda.so", "libtorch_cuda_linalg.so"])
def test_names_alone_are_those_of_the_full_reading(name: str) -> None:
    assert_names_alone_are_the_same(torch_library(name))


@pytest.mark.wheels
@pytest.mark.parametrize(("requirement", "platform"), wheels())
def test_names_alone_are_those_of_the_full_reading_of_a_wheel(
    requirement: str, platform: str
) -> None:
    assert_names_alone_are_the_same(wheel(requirement, platform))


@pytest.mark.torch
def test_what_torch_2_14_1_holds() -> None:
    version = importlib.metadata.version("torch").partition("+")[0]
    if version != "2.14.1":
        pytest.skip(f"these are the numbers of torch 2.14.1, and here is {version}")
    (file,) = read(str(torch_library("libtorch_cuda.so")), kernels=True)
    assert len(file.regions) == 475
    assert len(file.images) == 2975
    assert {image.kind.value for image in file.images} == {"sass"}
    assert sum(len(image.kernels or ()) for image in file.images) == 144_640
    assert sum(not any(i.kernels for i in region.images) for region in file.regions) == 42
    (linalg,) = read(str(torch_library("libtorch_cuda_linalg.so")))
    assert "sm_75" not in map(str, linalg.targets)
    assert "sm_80" in map(str, linalg.targets)


def files(path: Path) -> Iterator[DeviceFile]:
    return (file for file in iter_files(str(path), kernels=True) if file.images)


def ask_or_refused(cuobjdump: Path, member: Path) -> list[Seen] | None:
    try:
        return ask(cuobjdump, member)
    except RefusedError:
        assert member.name in CALLED_INVALID
        return None


@pytest.mark.wheels
@pytest.mark.toolkit
@pytest.mark.parametrize(("requirement", "platform"), wheels())
def test_both_readers_on_a_published_wheel(
    requirement: str, platform: str, cuobjdump: Path, tmp_path: Path, capsys
) -> None:
    path = wheel(requirement, platform)
    for file in files(path):
        with zipfile.ZipFile(path) as archive, capsys.disabled():
            member = Path(archive.extract(file.path, tmp_path))
            seen = ask_or_refused(cuobjdump, member)
            theirs = "can't read it" if seen is None else f"{len(seen)} images"
            print(f"\n{member.name}: archbuild {len(file.images)}, cuobjdump {theirs}", end="")
            (alone,) = read(str(member), kernels=True)
            member.unlink()
        assert alone.regions == file.regions, "the stream and the file differ"
        if platform == "win_amd64" or member.name in CALLED_INVALID:
            assert seen is None
        else:
            assert seen, f"cuobjdump sees nothing in {member.name}"
            compare(file, seen)


@pytest.mark.wheels
@pytest.mark.parametrize("requirement", ["bitsandbytes==0.50.2", "ctranslate2==4.8.5"])
def test_a_wheel_for_windows_holds_what_the_one_for_linux_holds(requirement: str) -> None:
    linux, windows = (
        {
            Path(file.path).stem.removeprefix("lib").partition("-")[0]: sorted(
                str(image.arch) for image in file.images
            )
            for file in files(wheel(requirement, platform))
        }
        for platform in dict(wheels_by_name())[requirement]
    )
    assert windows == linux
    assert windows


@pytest.mark.wheels
@pytest.mark.parametrize("requirement", ["bitsandbytes==0.50.2", "ctranslate2==4.8.5"])
def test_the_kernels_of_a_wheel_for_windows_are_those_of_the_one_for_linux(
    requirement: str,
) -> None:
    linux, windows = (str(wheel(requirement, name)) for name in dict(wheels_by_name())[requirement])
    for report in (compare_builds(linux, windows), compare_builds(windows, linux)):
        differences = report.differences
        assert differences.files
        assert not any(file.has_changed for file in differences.files)
        assert not any(device.better or device.worse for device in differences.coverage)


def wheels_by_name() -> list[tuple[str, list[str]]]:
    return list(json.loads((Path(__file__).parent / "wheels.json").read_text()).items())
