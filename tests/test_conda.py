"""What conda keeps outside the folder of packages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from archbuild.model.installed import CodePackage
from archbuild.probe.conda import (
    CondaPackage,
    conda_libraries,
    conda_owner,
    conda_prefix,
    has_conda_record,
)
from archbuild.probe.installations import list_installations
from archbuild.probe.packages import read_packages
from tests.sites import DATA, conda_record, install

SITE = "lib/python3.12/site-packages"


def packages(site: Path) -> dict[str, CodePackage]:
    return {package.name: package for package in read_packages(list_installations([site]))}


def put(path: Path, fixture: str = "classic.so") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(DATA / fixture, path)
    return path


@pytest.mark.parametrize("site", [SITE, "Lib/site-packages"])
def test_the_environment_of_a_folder(tmp_path: Path, site: str) -> None:
    assert conda_prefix(tmp_path / site) is None
    conda_record(tmp_path, "python", "3.12")
    assert conda_prefix(tmp_path / site) == tmp_path
    assert conda_prefix(tmp_path / "a" / "b" / site) is None


@pytest.mark.parametrize(
    ("name", "version", "owned"),
    [
        ("torch", "2.6.0", True),
        ("torch", "2.6", False),
        ("tor", "2.6.0", False),
        ("../x", "2.6.0", False),
        ("*", "*", False),
    ],
)
def test_whether_conda_installed_it(tmp_path: Path, name: str, version: str, owned: bool) -> None:
    assert not has_conda_record(tmp_path, name, version)
    conda_record(tmp_path, "pytorch", "2.6.0")
    assert has_conda_record(tmp_path, name, version) is owned


@pytest.mark.parametrize("installer", [None, "conda"])
def test_the_installer_without_its_word(tmp_path: Path, installer: str | None) -> None:
    conda_record(tmp_path, "flash-attn", "1.0")
    files = {"flash_attn/_C.so": "classic.so"}
    install(tmp_path / SITE, "flash_attn", files=files, installer=installer)
    assert packages(tmp_path / SITE)["flash_attn"].installer == "conda"


def test_pip_in_an_environment_of_conda(tmp_path: Path) -> None:
    conda_record(tmp_path, "python", "3.12")
    install(tmp_path / SITE, "p", files={"p/_C.so": "classic.so"})
    install(tmp_path / SITE, "q", files={"q/_C.so": "classic.so"}, installer=None)
    found = packages(tmp_path / SITE)
    assert (found["p"].installer, found["q"].installer) == ("pip", None)


def test_the_libraries_of_torch_lie_beside_it(tmp_path: Path) -> None:
    library = put(tmp_path / "lib" / "libtorch_cuda.so")
    conda_record(tmp_path, "libtorch", "2.6.0", ("lib/libtorch_cuda.so",))
    conda_record(tmp_path, "pytorch", "2.6.0")
    record = "torch/lib/libtorch_cuda.so,,"
    install(tmp_path / SITE, "torch", "2.6.0", record=record, installer="conda")
    torch = packages(tmp_path / SITE)["torch"]
    assert [file.path for file in torch.files] == [str(library)]
    assert (torch.version, torch.installer) == ("2.6.0", "conda")


def test_a_link_to_it_is_read_once(tmp_path: Path) -> None:
    put(tmp_path / "lib" / "libtorch_cuda.so")
    conda_record(tmp_path, "libtorch", "2.6.0", ("lib/libtorch_cuda.so",))
    install(tmp_path / SITE, "torch", "2.6.0", record="torch/lib/libtorch_cuda.so,,")
    folder = tmp_path / SITE / "torch" / "lib"
    folder.mkdir(parents=True)
    (folder / "libtorch_cuda.so").symlink_to("../../../../libtorch_cuda.so")
    files = packages(tmp_path / SITE)["torch"].files
    assert [file.path for file in files] == ["torch/lib/libtorch_cuda.so"]


def test_what_python_knows_nothing_of(tmp_path: Path) -> None:
    put(tmp_path / "lib" / "libmagma.so")
    put(tmp_path / "lib" / "libown.so")
    conda_record(tmp_path, "libmagma", "2.8.0", ("lib/libmagma.so",))
    install(tmp_path / SITE, "numpy")
    found = packages(tmp_path / SITE)
    assert set(found) == {"libmagma"}
    assert (found["libmagma"].version, found["libmagma"].installer) == ("2.8.0", "conda")


def test_nvidias_own_and_links_are_passed_over(tmp_path: Path) -> None:
    library = put(tmp_path / "lib" / "libx.so.1")
    for name in ("libcublas.so.12", "libcudnn_ops.so.9", "libnccl.so.2", "libnvjpeg.so.12"):
        put(tmp_path / "lib" / name)
    (tmp_path / "lib" / "libx.so").symlink_to("libx.so.1")
    put(tmp_path / "Library" / "bin" / "torch_cuda.dll")
    assert list(conda_libraries(tmp_path)) == [
        library,
        tmp_path / "Library" / "bin" / "torch_cuda.dll",
    ]


@pytest.mark.parametrize("damage", [b"", b"[", b'["lib/a.so"]', b'{"name": 1, "x": "lib/a.so"}'])
def test_a_damaged_record_names_nobody(tmp_path: Path, damage: bytes) -> None:
    path = put(tmp_path / "lib" / "a.so")
    conda_record(tmp_path, "a", "1", ("lib/a.so.1",))
    (tmp_path / "conda-meta" / "b.json").write_bytes(damage)
    assert conda_owner(tmp_path, path) is None


def test_the_owner_by_the_whole_path(tmp_path: Path) -> None:
    conda_record(tmp_path, "other", "1", ("other/lib/ä.so",))
    conda_record(tmp_path, "own", "2", ("lib/ä.so",))
    assert conda_owner(tmp_path, tmp_path / "lib" / "ä.so") == CondaPackage("own", "2")
