"""The tables of torch's wheels, releases and cuDNNs: complete, in order, and not contradicting."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from archbuild.facts.drivers import find_cuda_row
from archbuild.facts.toolkits import find_toolkit_row
from archbuild.facts.torch_cudnn import TORCH_CUDNN, cudnn_of
from archbuild.facts.torch_releases import (
    RELEASES,
    TorchRelease,
    find_release,
    parse_python,
)
from archbuild.facts.torch_wheels import Standing, WheelRow, torch_wheels, wheels_for
from archbuild.model.version import CudaVersion


def _row(torch: str, cuda: str, system: str = "linux", processor: str = "x86_64") -> WheelRow:
    wanted = TorchRelease.parse(torch), CudaVersion.parse(cuda)
    (row,) = (r for r in wheels_for(system, processor) if (r.torch, r.cuda) == wanted)
    return row


def _held(row: WheelRow, library: int = 0) -> str:
    return " ".join(arch.dotted for arch in row.libraries[library].archs)


@pytest.mark.parametrize(
    ("torch", "cuda", "system", "processor", "held"),
    [
        ("2.14", "13.0", "linux", "x86_64", "7.5 8.0 8.6 9.0 10.0 12.0"),
        ("2.14", "12.6", "linux", "x86_64", "5.0 6.0 7.0 7.5 8.0 8.6 9.0"),
        ("2.10", "12.8", "linux", "x86_64", "7.0 7.5 8.0 8.6 9.0 10.0 12.0"),
        ("2.11", "12.8", "linux", "x86_64", "7.5 8.0 8.6 9.0 10.0 12.0"),
        ("2.7", "11.8", "linux", "x86_64", "3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0"),
        ("2.15", "13.0", "linux", "aarch64", "8.0 9.0 10.0 11.0 12.0"),
        ("2.6", "12.6", "linux", "aarch64", "9.0"),
        ("2.14", "12.6", "windows", "x86_64", "5.0 6.0 6.1 7.0 7.5 8.0 8.6 9.0"),
    ],
)
def test_what_a_wheel_holds(torch: str, cuda: str, system: str, processor: str, held: str) -> None:
    assert _held(_row(torch, cuda, system, processor)) == held


def test_linalg_of_cuda_13_has_nothing_for_turing() -> None:
    read = [r for r in torch_wheels() if r.standing is Standing.READ and r.cuda.major == 13]
    assert read
    for row in read:
        assert row.libraries[1].name == "libtorch_cuda_linalg"
        assert not row.libraries[1].inferred
        assert "7.5" in _held(row)
        assert "7.5" not in _held(row, 1)


def test_a_wheel_that_was_read_promises_nothing() -> None:
    assert all(not row.promised for row in torch_wheels() if row.standing is Standing.READ)


def test_no_wheel_stands_twice() -> None:
    keys = Counter((r.torch, r.cuda, r.system, r.processor) for r in torch_wheels())
    assert [key for key, count in keys.items() if count > 1] == []


def test_every_wheel_is_of_a_known_release_and_cuda() -> None:
    for row in torch_wheels():
        assert find_release(row.torch) is not None
        assert find_cuda_row(row.cuda) is not None
        assert row.source
        assert row.date >= date(2026, 11, 30)


def test_a_wheel_holds_only_what_its_nvcc_builds() -> None:
    """But for MAGMA, which comes ready-made and may be older than the wheel."""
    for row in torch_wheels():
        toolkit = find_toolkit_row(row.cuda)
        assert toolkit is not None
        assert set(row.libraries[0].archs) <= set(toolkit.archs), row
        assert {arch.real for arch in row.promised} <= set(toolkit.archs), row


def test_the_plain_wheel_of_each_release_is_in_the_table() -> None:
    here = {(row.torch, row.cuda) for row in wheels_for("linux", "x86_64")}
    assert {(row.torch, row.plain) for row in RELEASES} <= here


def test_no_wheel_certainly_serves_pascal_and_blackwell() -> None:
    for row in torch_wheels():
        majors = {arch.capability.major for arch in row.libraries[0].archs}
        assert not {6, 12} <= majors, row


def test_systems_that_the_table_lacks_have_no_rows() -> None:
    assert wheels_for("darwin", "aarch64") == ()
    assert wheels_for("windows", "aarch64") == ()


def test_releases_go_downwards_and_their_pythons_upwards() -> None:
    torches = [row.torch for row in RELEASES]
    assert torches == sorted(torches, reverse=True)
    for row in RELEASES:
        first, last = row.pythons
        assert first < last
        assert all(first <= python <= last for python in row.tried)
        assert row.released is None or row.released.isoformat().startswith(row.month)


def test_2_10_is_newer_than_2_9() -> None:
    assert TorchRelease.parse("2.10") > TorchRelease.parse("2.9")


@pytest.mark.parametrize("text", ["2.14", "2.14.1", "2.14.1+cu130", "2.14.0a0", "2.14.0.dev2026"])
def test_versions_of_torch_that_can_be_read(text: str) -> None:
    assert TorchRelease.parse(text) == TorchRelease(2, 14)


@pytest.mark.parametrize("text", ["", "2", "torch", "2.x", "2.14 1", "\uff12.14", "2..1", "v2.14"])
def test_versions_of_torch_that_cannot(text: str) -> None:
    with pytest.raises(ValueError, match="no release of torch"):
        TorchRelease.parse(text)


@pytest.mark.parametrize(("text", "python"), [("3.9", (3, 9)), ("3.13.0rc1", (3, 13))])
def test_versions_of_python(text: str, python: tuple[int, int]) -> None:
    assert parse_python(text) == python


@pytest.mark.parametrize("text", ["", "3", "cp312", "3.x", "312"])
def test_versions_of_python_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="no version of Python"):
        parse_python(text)


def test_every_cudnn_belongs_to_a_wheel() -> None:
    wheels = {(row.torch, row.cuda) for row in torch_wheels()}
    assert {(row.torch, row.cuda) for row in TORCH_CUDNN} <= wheels
    assert len(TORCH_CUDNN) == len({(row.torch, row.cuda) for row in TORCH_CUDNN})


def test_a_cudnn_that_nobody_saw_is_unknown() -> None:
    assert cudnn_of(TorchRelease(2, 15), CudaVersion(12, 6)) is None
    assert cudnn_of(TorchRelease(2, 14), CudaVersion(12, 6)) == "9.10.2.21"


@pytest.mark.torch
def test_the_installed_torch_brings_the_cudnn_of_the_table() -> None:
    from importlib.metadata import requires, version

    torch = TorchRelease.parse(version("torch"))
    pins = [r for r in requires("torch") or () if r.startswith("nvidia-cudnn-cu")]
    if not pins:
        pytest.skip("this torch names no cuDNN")
    name, _, rest = pins[0].partition("==")
    known = {
        row.cudnn
        for row in TORCH_CUDNN
        if row.torch == torch and row.cuda.major == int(name.removeprefix("nvidia-cudnn-cu"))
    }
    if not known:
        pytest.skip(f"the table has no cuDNN for torch {torch}")
    assert rest.partition(";")[0].strip() in known


@pytest.mark.torch
def test_the_installed_torch_names_the_wheels_of_the_table() -> None:
    """Torch tells people which of its wheels hold what; the table should not say otherwise."""
    import ast
    from importlib.metadata import distribution

    source = distribution("torch").locate_file("torch/cuda/__init__.py").read_text()
    assigned = [
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.AnnAssign)
        and getattr(node.target, "id", "") == "PYTORCH_RELEASES_CODE_CC"
    ]
    torch = TorchRelease.parse(distribution("torch").version)
    if not assigned or assigned[0] is None or find_release(torch) is None:
        pytest.skip("this torch has no such list, or is not in the table")
    for cuda, processors in ast.literal_eval(assigned[0]).items():
        for processor, numbers in processors.items():
            row = _row(str(torch), cuda, "linux", processor)
            assert {arch.capability.number for arch in row.libraries[0].archs} == set(numbers)
