"""The installed torch, read as text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import Arch
from archbuild.model.machine import TorchBuild
from archbuild.model.version import CudaVersion
from archbuild.probe.torch_build import (
    find_torch,
    query_torch_archs,
    read_cxx11_abi,
    read_torch,
)

TYPED = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']
__version__ = '{version}'
debug = False
cuda: Optional[str] = {cuda}
git_version = '0123'
hip: Optional[str] = {hip}
"""


def write_torch(folder: Path, text: str) -> Path:
    root = folder / "torch"
    root.mkdir(parents=True)
    (root / "__init__.py").write_text("raise SystemExit('torch was imported')\n")
    (root / "version.py").write_text(text)
    return root


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            TYPED.format(version="2.14.1+cu130", cuda="'13.0'", hip=None),
            ("2.14.1+cu130", "13.0", None),
        ),
        (TYPED.format(version="2.14.1+cpu", cuda=None, hip=None), ("2.14.1+cpu", "None", None)),
        (TYPED.format(version="2.9.0", cuda=None, hip="'6.4.1'"), ("2.9.0", "None", "6.4.1")),
        ('__version__ = "1.0"\ncuda = "9.2.148"\n', ("1.0", "9.2", None)),
        ("__version__='1.0'  # why not\ncuda='odd'\n", ("1.0", "None", None)),
        ("  __version__ = '9'\n__version__ = '1.0'\nx = '''\n", ("1.0", "None", None)),
    ],
)
def test_what_version_py_states(
    tmp_path: Path, text: str, expected: tuple[str, str, str | None]
) -> None:
    root = write_torch(tmp_path, text)
    build, absences = read_torch(root)
    assert build is not None
    assert (build.version, str(build.cuda), build.hip) == expected
    assert build.root == str(root)
    assert absences == ()


def test_nothing_of_it_is_run(tmp_path: Path) -> None:
    text = f"open({str(tmp_path / 'trace')!r}, 'w')\n__version__ = '1.0'\n"
    assert read_torch(write_torch(tmp_path, text))[0] is not None
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "states no version"), ("__version__ = 1\n", "states no version")],
)
def test_a_version_py_without_a_version(tmp_path: Path, text: str, reason: str) -> None:
    build, (absence,) = read_torch(write_torch(tmp_path, text))
    assert build is None
    assert absence.what == "torch"
    assert reason in absence.reason


def test_folders_that_are_no_torch(tmp_path: Path) -> None:
    assert "no version.py" in read_torch(tmp_path)[1][0].reason
    (tmp_path / "version.py").mkdir()
    assert "cannot be read" in read_torch(tmp_path)[1][0].reason


@given(st.binary())
def test_no_version_py_is_too_odd(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("torch")
    (root / "version.py").write_bytes(data)
    read_torch(root)


def test_the_first_on_the_search_path_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    write_torch(tmp_path / "b", "__version__ = '2'\n")
    root = write_torch(tmp_path / "a", "__version__ = '1'\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "b")])
    build, _ = find_torch()
    assert build == TorchBuild("1", str(root), None)
    assert "torch" not in sys.modules


def test_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    build, (absence,) = find_torch()
    assert build is None
    assert absence.reason == "torch is not installed in this environment"


def fake_torch(folder: Path, body: str) -> TorchBuild:
    root = write_torch(folder, "__version__ = '1'\n")
    (root / "__init__.py").write_text(body)
    return TorchBuild("1", str(root), CudaVersion(13, 0))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("sm_120 sm_75 compute_120 gfx90a sm_90a", ("sm_75", "sm_90a", "sm_120", "compute_120")),
        ("", ()),
    ],
)
def test_the_architectures_of_a_torch(
    tmp_path: Path, flags: str, expected: tuple[str, ...]
) -> None:
    body = f"class _C:\n    def _cuda_getArchFlags(): return {flags!r}\nprint('a greeting')\n"
    archs = query_torch_archs(fake_torch(tmp_path, body), timeout=60)
    assert archs == tuple(map(Arch.parse, expected))


@pytest.mark.parametrize("body", ["raise ImportError('no such library')", "", "_C = None"])
def test_a_torch_that_cannot_be_asked(tmp_path: Path, body: str) -> None:
    assert query_torch_archs(fake_torch(tmp_path, body), timeout=60) is None


def test_a_torch_that_hangs(tmp_path: Path) -> None:
    torch = fake_torch(tmp_path, "import time; time.sleep(300)")
    assert query_torch_archs(torch, timeout=1) is None


def test_a_torch_without_cuda_is_not_asked(tmp_path: Path) -> None:
    torch = TorchBuild("1", str(tmp_path), None)
    assert query_torch_archs(torch, timeout=0) is None


@pytest.mark.torch
def test_the_real_torch_says_of_itself_what_its_text_says() -> None:
    torch, _ = find_torch()
    if torch is None or torch.cuda is None:
        pytest.skip("no torch built with CUDA in this environment")
    archs = query_torch_archs(torch, timeout=300)
    assert archs
    assert list(archs) == sorted(archs)


@pytest.mark.parametrize(
    ("text", "abi"),
    [
        ('  set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=1")\n', True),
        ('  set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")\n', False),
        ("set(OTHER 1)\n", None),
        (None, None),
    ],
)
def test_the_abi_that_its_cmake_file_states(
    text: str | None, abi: bool | None, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "share" / "cmake" / "Torch").mkdir(parents=True)
        (tmp_path / "share" / "cmake" / "Torch" / "TorchConfig.cmake").write_text(text)
    assert read_cxx11_abi(TorchBuild("2.6.0", str(tmp_path), CudaVersion(12, 4))) is abi
