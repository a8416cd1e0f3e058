"""What an nvcc cannot build: the nearest that serves, and the toolkit that could."""

from __future__ import annotations

import pytest

from archbuild.errors import UnsupportedTargetError
from archbuild.model.arch import Arch
from archbuild.model.machine import Machine
from archbuild.rules.selecting.buildable import current_name, require_buildable, toolkit_cure
from archbuild.rules.selecting.request import Compiler, choose_compiler
from tests.machines import RELEASES, machine


def _compiler(version: str) -> Compiler:
    subject: Machine = machine(version)
    return choose_compiler(subject)


@pytest.mark.parametrize(
    ("target", "version", "expected"),
    [
        ("sm_101", "13.0", "sm_110"),
        ("compute_101", "13.0", "compute_110"),
        ("sm_101a", "13.5", "sm_110a"),
        ("sm_101f", "13.0", "sm_110f"),
        ("lto_101", "13.0", "lto_101"),
        ("sm_101", "12.9", "sm_101"),
        ("sm_101", "12.4", "sm_101"),
        ("sm_110", "12.9", "sm_110"),
        ("sm_100", "13.0", "sm_100"),
    ],
)
def test_the_current_name(target: str, version: str, expected: str) -> None:
    assert str(current_name(Arch.parse(target), _compiler(version))) == expected


@pytest.mark.parametrize("version", RELEASES)
def test_what_the_table_holds_can_be_built(version: str) -> None:
    compiler = _compiler(version)
    for arch in compiler.archs:
        require_buildable(arch, "x", compiler)


@pytest.mark.parametrize(
    ("target", "version", "near", "cure"),
    [
        (
            "sm_89",
            "11.7",
            "8.6 is the nearest that would serve: sm_86 runs on 8.9",
            "11.8 or newer",
        ),
        ("sm_61", "13.0", None, "6.1 needs CUDA 12.9 or older."),
        ("sm_35", "12.4", None, "3.5 needs CUDA 11.8 or older."),
        ("sm_101", "12.4", "with 9.0+PTX the driver compiles it", "10.1 needs CUDA 12.8 to 12.9."),
        ("sm_120", "12.4", "with 9.0+PTX the driver compiles it", "12.8 or newer"),
        ("sm_107", "13.0", "10.3 is the nearest", "10.7 needs CUDA 13.4 or newer."),
        # Nothing is documented between Ampere and Orin, but PTX is.
        ("sm_87", "11.2", "with 8.6+PTX the driver", "8.7 needs CUDA 11.4 or newer."),
        ("compute_89", "11.7", "with 8.7+PTX", "8.9 needs CUDA 11.8 or newer."),
        (
            "sm_90a",
            "11.8",
            "sm_90 runs on 9.0 devices, without what only 9.0a has",
            "12.0 or newer",
        ),
        (
            "sm_120f",
            "12.8",
            "sm_120 runs on 12.0 devices, without what only 12.0f",
            "12.9 or newer",
        ),
        ("sm_95", "13.0", "with 9.0+PTX", "No CUDA release known to archbuild builds sm_95."),
        ("compute_95", "13.0", "with 9.0+PTX", "builds compute_95."),
        ("lto_61", "13.0", None, "6.1 needs CUDA 12.9 or older."),
    ],
)
def test_what_cannot_be_built(target: str, version: str, near: str | None, cure: str) -> None:
    with pytest.raises(UnsupportedTargetError) as caught:
        require_buildable(Arch.parse(target), "X in --arch", _compiler(version))
    said = str(caught.value)
    assert f"nvcc {version}" in said
    assert f"cannot build {target} (X in --arch)" in said
    assert near is None or near in said
    assert cure in said
    assert caught.value.exit_code == 2
    assert near is not None or "serve" not in said


def test_lto_is_built_where_its_ptx_is() -> None:
    require_buildable(Arch.parse("lto_90a"), "x", _compiler("13.0"))


def test_thor_is_named_by_both_numbers() -> None:
    with pytest.raises(UnsupportedTargetError) as caught:
        require_buildable(Arch.parse("sm_110a"), "11.0a in --arch", _compiler("12.9"))
    assert "this chip (Thor) is called 10.1: ask for 10.1a, or use CUDA 13.0" in str(caught.value)


@pytest.mark.parametrize(
    ("target", "cure"),
    [
        ("sm_75", "7.5 needs CUDA 10.0 or newer."),
        ("compute_90a", "9.0a needs CUDA 12.0 or newer."),
        ("sm_37", "3.7 needs CUDA 11.8 or older."),
        ("sm_101f", "10.1f needs CUDA 12.9."),
    ],
)
def test_the_toolkit_that_could(target: str, cure: str) -> None:
    assert toolkit_cure(Arch.parse(target)) == cure
