"""Packages that have to do with CUDA, and those that own the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from archbuild.model.installed import Distribution
from archbuild.probe.distributions import cudnn_version, list_distributions
from archbuild.probe.installations import list_installations
from tests.sites import install


def listed(*folders: Path) -> dict[str, Distribution]:
    return {one.name: one for one in list_distributions(list_installations(folders))}


def test_only_what_has_to_do_with_cuda(tmp_path: Path) -> None:
    for name in ("torch", "nvidia-cublas-cu12", "flash-attn", "numpy", "torchic", "tensorflow"):
        install(tmp_path, name)
    assert set(listed(tmp_path)) == {"torch", "nvidia-cublas-cu12", "flash-attn", "tensorflow"}


def test_damaged_metadata_is_made_good_by_the_folders_name(tmp_path: Path) -> None:
    (install(tmp_path, "torch", "2.6") / "METADATA").write_bytes(b"\xff")
    assert listed(tmp_path)["torch"].version == "2.6"


def test_two_that_own_the_same_file(tmp_path: Path) -> None:
    shared = {"onnxruntime/capi/core.so": b"x", "onnxruntime/__init__.py": b""}
    install(tmp_path, "onnxruntime", files=shared)
    install(tmp_path, "onnxruntime-gpu", files=shared)
    install(tmp_path, "torch", files={"torch/__init__.py": b""})
    found = listed(tmp_path)
    assert found["onnxruntime"].same_files == ("onnxruntime-gpu",)
    assert found["onnxruntime-gpu"].same_files == ("onnxruntime",)
    assert found["torch"].same_files == ()


def test_a_namespace_is_no_conflict(tmp_path: Path) -> None:
    for name in ("nvidia-cublas", "nvidia-cufft"):
        own = f"nvidia/{name}.so"
        install(tmp_path, name, files={"nvidia/__init__.py": b"", own: b"x"})
    assert all(one.same_files == () for one in listed(tmp_path).values())


def test_the_same_package_in_two_folders_is_told_twice(tmp_path: Path) -> None:
    for folder, version in (("a", "2.5"), ("b", "2.14.1")):
        install(tmp_path / folder, "torch", version, files={"torch/version.py": b""})
    found = list_distributions(list_installations([tmp_path / "a", tmp_path / "b"]))
    assert [(one.version, Path(one.folder).name) for one in found] == [
        ("2.5", "a"),
        ("2.14.1", "b"),
    ]
    assert all(one.same_files == () for one in found)


@pytest.mark.parametrize(
    ("names", "major", "version"),
    [
        ((), 13, None),
        (("nvidia-cudnn-cu12",), 12, "1"),
        (("nvidia-cudnn-cu12", "nvidia-cudnn-cu13"), 13, "2"),
        (("nvidia-cudnn-cu12", "nvidia-cudnn-cu13"), 12, "1"),
        (("nvidia-cudnn-cu13",), None, "1"),
    ],
)
def test_the_cudnn_of_torch(names: tuple[str, ...], major: int | None, version: str | None) -> None:
    found = [Distribution(name, str(i + 1)) for i, name in enumerate(names)]
    assert cudnn_version(found, major) == version
