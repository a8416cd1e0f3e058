"""All that is installed, asked side by side; the cuDNN and the host compiler that count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from archbuild.errors import BinaryError
from archbuild.model.host import HostCompiler, HostLimits
from archbuild.model.installed import LoadedLibrary
from archbuild.model.machine import Toolkit
from archbuild.model.version import CudaVersion
from archbuild.probe import installed
from archbuild.probe.installed import query_installed
from tests.sites import install

TOOLKIT = Toolkit("/cuda", "/cuda/bin/nvcc", CudaVersion(13, 0), "13.0.88", (), ("PATH",))


def cudnn(version: str | None) -> LoadedLibrary:
    return LoadedLibrary("libcudnn.so.9", None if version is None else "/x", version)


def loading(monkeypatch: pytest.MonkeyPatch, *rows: LoadedLibrary) -> None:
    monkeypatch.setattr(installed, "query_loaded", lambda **_: rows)


def test_all_of_it_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loading(monkeypatch, LoadedLibrary("libcuda.so.1", None))
    install(tmp_path, "kernels", files={"kernels/_C.so": "classic.so"})
    install(tmp_path, "nvidia-cudnn-cu13", "9.24.0.43")
    found = query_installed(search_path=[str(tmp_path)])
    assert [package.name for package in found.packages] == ["kernels"]
    assert [one.name for one in found.distributions] == ["nvidia-cudnn-cu13"]
    assert [row.soname for row in found.loaded] == ["libcuda.so.1"]
    assert (found.cudnn, found.host, found.trials) == ("9.24.0.43", None, ())


def test_nothing_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loading(monkeypatch)
    found = query_installed(search_path=[str(tmp_path), "", "/there is no such folder"])
    assert (found.packages, found.distributions, found.loaded, found.cudnn) == ((), (), (), None)


@pytest.mark.parametrize("error", [BinaryError("damaged"), OSError("no"), ValueError("no")])
def test_the_question_of_loading_fails(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
) -> None:
    def fail(**_: object) -> tuple[LoadedLibrary, ...]:
        raise error

    monkeypatch.setattr(installed, "query_loaded", fail)
    install(tmp_path, "kernels", files={"kernels/_C.so": "classic.so"})
    found = query_installed(search_path=[str(tmp_path)])
    assert (len(found.packages), found.loaded) == (1, ())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("packaged", "loaded", "counts"),
    [
        ("9.24.0.43", "9.24.0", "9.24.0.43"),
        ("9.24.0.43", "9.2.0", "9.2.0"),
        ("9.24.0.43", "8.9.7", "8.9.7"),
        ("9.24.0.43", "9", "9.24.0.43"),
        ("9.24.0.43", None, "9.24.0.43"),
        (None, "9.10.1", "9.10.1"),
        (None, "9", None),
        (None, None, None),
    ],
)
def test_the_cudnn_that_is_loaded_counts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    packaged: str | None,
    loaded: str | None,
    counts: str | None,
) -> None:
    graph = LoadedLibrary("libcudnn_graph.so.9", "/x", "1.2.3")
    loading(monkeypatch, graph, cudnn(loaded))
    if packaged is not None:
        install(tmp_path, "nvidia-cudnn-cu13", packaged)
    assert query_installed(search_path=[str(tmp_path)]).cudnn == counts


def gcc(major: int | None) -> HostCompiler:
    return HostCompiler(f"g++-{major}", "gcc" if major else "unknown", major, major is not None)


@pytest.mark.parametrize(
    ("compilers", "path", "misfits"),
    [
        ([13], "g++-13", ()),
        ([16], None, ("g++-16 (gcc 16)",)),
        ([16, 12, 15, 14], "g++-15", ("g++-16 (gcc 16)",)),
        ([16, 17, 16], None, ("g++-16 (gcc 16)", "g++-17 (gcc 17)")),
        ([None], None, ()),
        ([None, 11], "g++-11", ()),
    ],
)
def test_the_host_compiler_that_fits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    compilers: Sequence[int | None],
    path: str | None,
    misfits: tuple[str, ...],
) -> None:
    default, *others = map(gcc, compilers)
    loading(monkeypatch)
    monkeypatch.setattr(
        installed, "read_host_limits", lambda _: HostLimits(15, None, "host_config.h")
    )
    monkeypatch.setattr(installed, "query_default_host", lambda: default)
    monkeypatch.setattr(installed, "find_host_compilers", lambda *_: others)
    host = query_installed(toolkits=[TOOLKIT], search_path=[str(tmp_path)]).host
    assert host is not None
    assert (host.path, host.most, host.others) == (path, "gcc 15", misfits)
