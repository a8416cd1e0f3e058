"""Installed packages with device code: seen by their files, never by a list of names."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.outline import read_outline
from archbuild.model.arch import Arch
from archbuild.model.installed import CodePackage
from archbuild.probe import packages as probe
from archbuild.probe.installations import list_installations
from archbuild.probe.packages import find_package, read_packages, torch_in_version
from tests.sites import DATA, install


def packages(*folders: Path, **options: bool) -> dict[str, CodePackage]:
    found = read_packages(list_installations(folders), **options)
    return {package.name: package for package in found}


def archs(package: CodePackage) -> set[str]:
    return {
        str(image.arch) for file in package.files for group in file.groups for image in group.images
    }


def test_what_a_library_holds(tmp_path: Path) -> None:
    install(tmp_path, "kernels", "2.1", files={"kernels/_C.so": "classic.so"})
    package = packages(tmp_path)["kernels"]
    assert (package.version, package.installer, package.requires_torch) == ("2.1", "pip", False)
    (file,) = package.files
    assert file.path == "kernels/_C.so"
    assert file.size == (DATA / "classic.so").stat().st_size
    assert archs(package) == {"sm_86", "sm_120", "compute_120"}
    (group,) = file.groups
    ptx = next(image for image in group.images if image.isa is not None)
    assert (ptx.arch, group.regions, group.empty) == (Arch.parse("compute_120"), 1, False)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("tensorflow", "tensorflow/libtensorflow_cc.so.2"),
        ("jax-cuda13-plugin", "jax_plugins/xla_cuda13/xla_cuda_plugin.so"),
        ("cupy-cuda13x", "cupy/_core/core.cpython-311-x86_64-linux-gnu.so"),
        ("onnxruntime-gpu", "onnxruntime/capi/libonnxruntime_providers_cuda.so"),
        ("llama_cpp_python", "llama_cpp/lib/libggml-cuda.so"),
        ("bitsandbytes", "bitsandbytes/libbitsandbytes_cuda130.so"),
        ("Größer", "größer/_C.so"),
        ("of-windows", "of/_C.pyd"),
    ],
)
def test_any_package_is_seen_by_its_files(tmp_path: Path, name: str, path: str) -> None:
    install(tmp_path, name, files={path: "classic.so"})
    assert archs(packages(tmp_path)[name]) == {"sm_86", "sm_120", "compute_120"}


WITHOUT: list[Mapping[str, str | bytes]] = [
    {},
    {"p/_C.so": "plain.so"},
    {"p/_C.so": b""},
    {"p/_C.so": b"\x7fELF"},
    {"p/data.bin": "classic.so"},
]


@pytest.mark.parametrize("files", WITHOUT)
def test_packages_without_device_code(tmp_path: Path, files: Mapping[str, str | bytes]) -> None:
    install(tmp_path, "p", files=files)
    assert packages(tmp_path) == {}


def test_hip_is_told_as_such(tmp_path: Path) -> None:
    install(tmp_path, "amd", files={"amd/_C.so": "hip.so"})
    (file,) = packages(tmp_path)["amd"].files
    assert file.hip
    assert file.groups == ()


def test_a_damaged_library_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    whole = (DATA / "classic.so").read_bytes()
    at = whole.index(bytes.fromhex("50ed55ba"))
    broken = whole[: at + 8] + b"\xff" * 8 + whole[at + 16 :]
    files: dict[str, str | bytes] = {"p/a.so": broken, "p/b.so": "classic.so"}
    install(tmp_path, "p", files=files)
    by_path = {file.path: file for file in packages(tmp_path)["p"].files}
    assert by_path["p/a.so"].trouble
    assert by_path["p/b.so"].groups


@given(
    fixture=st.sampled_from(["classic.so", "hip.so", "mixed.so", "rdc.so"]),
    changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(max_size=8)), max_size=4),
    length=st.integers(0, 1 << 16) | st.none(),
)
def test_no_damage_ends_the_reading(
    fixture: str, changes: list[tuple[int, bytes]], length: int | None
) -> None:
    data = bytearray((DATA / fixture).read_bytes()[:length])
    for place, new in changes:
        start = place % (len(data) + 1)
        data[start : start + len(new)] = new
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder)
        install(site, "p", files={"p/_C.so": bytes(data), "p/_D.so": "classic.so"})
        by_path = {file.path: file for file in packages(site)["p"].files}
    assert by_path["p/_D.so"].groups
    assert all(file.groups or file.hip or file.trouble for file in by_path.values())


def test_empty_images_are_told_apart(tmp_path: Path) -> None:
    install(tmp_path, "p", files={"p/_C.so": "empty_default.so"})
    (file,) = packages(tmp_path)["p"].files
    assert sorted(str(group.empty) for group in file.groups) == ["False", "True"]


def test_a_large_library_tells_the_cuda_that_made_it(tmp_path: Path) -> None:
    install(tmp_path, "p", files={"p/_C.so": "classic.so"})
    (package,) = read_packages(list_installations([tmp_path]), trust=0)
    (group,) = package.files[0].groups
    assert group.empty is None
    assert {str(image.toolkit) for image in group.images} == {"13.0"}


def test_the_first_folder_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    install(first, "p", "1.0", files={"p/_C.so": "classic.so"})
    install(second, "P", "2.0", files={"p/_C.so": "upwards.so"})
    assert packages(first, second)["p"].version == "1.0"
    assert len(list_installations([first, second])) == 2


def test_a_first_without_device_code_hides_the_second(tmp_path: Path) -> None:
    install(tmp_path / "a", "torch", "2.0+cpu", files={"torch/_C.so": "plain.so"})
    install(tmp_path / "b", "torch", "2.0", files={"torch/_C.so": "classic.so"})
    assert packages(tmp_path / "a", tmp_path / "b") == {}


def test_a_source_tree_hides_nothing_until_it_is_built(tmp_path: Path) -> None:
    source, site = tmp_path / "source", tmp_path / "site"
    (source / "p.egg-info").mkdir(parents=True)
    (source / "setup.py").touch()
    install(site, "p", files={"p/_C.so": "classic.so"})
    assert not packages(source, site)["p"].editable
    (source / "p").mkdir()
    shutil.copyfile(DATA / "upwards.so", source / "p" / "_C.so")
    package = packages(source, site)["p"]
    assert (package.editable, package.version) == (True, "0")
    assert [file.path for file in package.files] == ["p/_C.so"]


def test_one_file_under_two_names_is_read_once(tmp_path: Path) -> None:
    install(tmp_path, "p", files={"p/_C.so": "classic.so"}, record="p/_C.so.1,,")
    (tmp_path / "p" / "_C.so.1").symlink_to("_C.so")
    assert len(packages(tmp_path)["p"].files) == 1


def test_a_record_that_points_outside(tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copyfile(DATA / "classic.so", tmp_path / "out.so")
    install(site, "p", record="../out.so,,\n/etc/x.so,,\np/missing.so,,")
    assert packages(site) == {}


def test_damaged_metadata_is_made_good_by_the_folders_name(tmp_path: Path) -> None:
    info = install(tmp_path, "flash-attn", "2.7+pt26", files={"f/_C.so": "classic.so"})
    (info / "METADATA").write_bytes(b"\xff\xfe\0")
    (package,) = packages(tmp_path).values()
    assert (package.name, package.version) == ("flash_attn", "2.7+pt26")
    assert package.built_for == "2.6"


def test_one_that_was_stripped_of_its_sections(tmp_path: Path) -> None:
    data = bytearray((DATA / "classic.so").read_bytes())
    data[0x28:0x30] = bytes(8)  # e_shoff
    data[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    install(tmp_path, "p", files={"p/_C.so": bytes(data)})
    assert read_outline(tmp_path / "p" / "_C.so").parts[0].sections == frozenset()
    assert archs(packages(tmp_path)["p"]) == {"sm_86", "sm_120", "compute_120"}


@pytest.mark.parametrize(("needed", "seen"), [("libcuda.so.1", True), ("libcudart.so.13", False)])
def test_fatbins_as_data_of_what_calls_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needed: str, seen: bool
) -> None:
    data = (DATA / "rodata.so").read_bytes()
    install(tmp_path, "p", files={"p/_C.so": data + bytes(1 << 16)})
    monkeypatch.setattr(probe, "_needed", lambda path: ("libc.so.6", needed))
    assert bool(packages(tmp_path)) is seen


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mknod")
def test_devices_and_pipes_are_not_opened(tmp_path: Path) -> None:
    install(tmp_path, "p", record="p/_C.so,,\np/_D.so,,")
    (tmp_path / "p").mkdir()
    os.mkfifo(tmp_path / "p" / "_C.so")
    try:
        os.mknod(tmp_path / "p" / "_D.so", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except OSError as error:
        pytest.skip(f"no device can be made here: {error.strerror}")
    assert packages(tmp_path) == {}


# Modules are loaded before the right to read them is given up.
_READ = """
import os, sys
from pathlib import Path
from archbuild.probe.installations import list_installations
from archbuild.probe.packages import read_packages
os.chdir(sys.argv[1])
read = lambda: read_packages(list_installations([Path(".")]))
read()
if os.geteuid() == 0:
    os.setuid(65534)
for package in read():
    for file in package.files:
        print(package.name, file.path, len(file.groups), file.trouble)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    files = {f"p/_{name}.so": "classic.so" for name in "CD"}
    install(tmp_path, "p", files=files)
    install(tmp_path, "q", files={"q/_C.so": "classic.so"})
    tmp_path.chmod(0o755)
    (tmp_path / "p" / "_D.so").chmod(0)
    (tmp_path / "q").chmod(0)
    words = [sys.executable, "-W", "error", "-c", _READ, str(tmp_path)]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    (tmp_path / "q").chmod(0o755)
    read, *refused = sorted(told.splitlines())
    assert read.startswith("p p/_C.so 1 ")
    assert [line.split(" 0 ")[0] for line in refused] == ["p p/_D.so", "q q/_C.so"]
    assert all("Permission denied" in line for line in refused)


def test_one_package_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "flash-attn", "2.7+pt26", files={"f/_C.so": "classic.so"})
    monkeypatch.syspath_prepend(str(tmp_path))
    package = find_package("Flash_Attn")
    assert package is not None
    assert (package.name, package.installer, package.files) == ("flash-attn", "pip", ())
    assert (package.built_for, package.requires_torch) == ("2.6", True)


@pytest.mark.parametrize("name", ["there-is-no-such-package", "", "\0"])
def test_a_package_that_is_not_installed(name: str) -> None:
    assert find_package(name) is None


def test_without_a_record_its_folder_is_searched(tmp_path: Path) -> None:
    install(tmp_path, "p", files={"p/deep/_C.so": "classic.so"}, record=None, installer=None)
    package = packages(tmp_path)["p"]
    assert package.installer is None
    assert package.files[0].path == "p/deep/_C.so"


def test_an_editable_install(tmp_path: Path) -> None:
    source = tmp_path / "my source" / "p"
    source.mkdir(parents=True)
    shutil.copyfile(DATA / "classic.so", source / "_C.so")
    direct = {"url": f"file://{tmp_path}/my%20source", "dir_info": {"editable": True}}
    install(tmp_path / "site", "p", direct=direct)
    package = packages(tmp_path / "site")["p"]
    assert package.editable
    assert package.files[0].path == str(source / "_C.so")


def test_links_in_a_circle(tmp_path: Path) -> None:
    install(tmp_path, "p", files={"p/_C.so": "classic.so"}, record=None)
    (tmp_path / "p" / "again").symlink_to(tmp_path / "p")
    (tmp_path / "p" / "self.so").symlink_to("self.so")
    assert len(packages(tmp_path)["p"].files) == 1


def test_nvidias_own_libraries_only_when_asked(tmp_path: Path) -> None:
    install(tmp_path, "nvidia-cublas", files={"nvidia/cu13/lib/libcublas.so.13": "classic.so"})
    assert packages(tmp_path) == {}
    assert set(packages(tmp_path, vendor=True)) == {"nvidia-cublas"}


@pytest.mark.parametrize(
    ("requirement", "needs"),
    [("torch>=2.1", True), ("torch", True), ("torch ; extra == 'x'", True), ("torchvision", False)],
)
def test_whether_it_needs_torch(tmp_path: Path, requirement: str, needs: bool) -> None:
    install(tmp_path, "p", files={"p/_C.so": "classic.so"}, requires=("numpy", requirement))
    assert packages(tmp_path)["p"].requires_torch is needs


@pytest.mark.parametrize(
    ("version", "torch"),
    [
        ("2.7.4.post1+cu12torch2.6cxx11abiFALSE", "2.6"),
        ("2.1.2+pt24cu121", "2.4"),
        ("0.1+pt210cu128", "2.10"),
        ("1.0", None),
        ("1.0+cu130", None),
    ],
)
def test_the_torch_in_a_version(tmp_path: Path, version: str, torch: str | None) -> None:
    assert torch_in_version(version) == torch
    install(tmp_path, "p", version, files={"p/_C.so": "classic.so"})
    package = packages(tmp_path)["p"]
    assert package.built_for == torch
    assert package.requires_torch is (torch is not None)
