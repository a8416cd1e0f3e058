"""Capabilities, families and generations, held against ptxas and torch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from archbuild.facts.architectures import (
    CAPABILITIES,
    FAMILIES,
    GENERATIONS,
    RENAMED,
    family_members,
    find_capability_row,
    generation_expansion,
    is_tegra,
)
from archbuild.facts.toolkits import TOOLKITS, find_toolkit_row
from archbuild.model.arch import Arch, ComputeCapability, Suffix
from archbuild.model.gencode import Gencode
from archbuild.model.version import CudaVersion


def _cc(*texts: str) -> tuple[ComputeCapability, ...]:
    return tuple(ComputeCapability.parse(text) for text in texts)


@pytest.mark.parametrize(
    ("head", "members"),
    [
        ("10.0", ("10.0", "10.3", "10.7")),
        ("10.3", ("10.3", "10.7")),
        ("11.0", ("11.0",)),
        ("12.0", ("12.0", "12.1")),
        ("12.1", ("12.1",)),
        ("9.0", ()),
        ("15.3", ()),
    ],
)
def test_a_family_is_a_table(head: str, members: tuple[str, ...]) -> None:
    assert family_members(_cc(head)[0]) == _cc(*members)


def test_every_family_holds_its_head_and_nothing_older() -> None:
    for row in FAMILIES:
        assert row.members[0] == row.head
        assert list(row.members) == sorted(set(row.members))


def test_tegra_is_yes_no_or_unknown() -> None:
    tegra = {str(row.capability) for row in CAPABILITIES if is_tegra(row.capability)}
    assert tegra == {"3.2", "5.3", "6.2", "7.2", "8.7", "10.1", "11.0"}
    assert is_tegra(_cc("8.6")[0]) is False
    assert is_tegra(_cc("8.8")[0]) is None
    assert is_tegra(_cc("15.3")[0]) is None


def test_each_capability_has_one_row_in_order() -> None:
    numbers = [row.capability for row in CAPABILITIES]
    assert numbers == sorted(set(numbers))
    assert find_capability_row(_cc("15.3")[0]) is None
    row = find_capability_row(_cc("9.0")[0])
    assert row is not None
    assert (row.generation, row.chips) == ("Hopper", ("GH100",))


def test_every_architecture_that_a_toolkit_builds_has_a_row() -> None:
    built = {arch.capability for row in TOOLKITS for arch in row.archs}
    assert built <= {row.capability for row in CAPABILITIES}


def test_every_number_with_f_is_a_family() -> None:
    with_f = {a.capability for row in TOOLKITS for a in row.archs if a.suffix is Suffix.FAMILY}
    assert with_f == {row.head for row in FAMILIES}


def test_only_a_renamed_chip_stands_under_two_numbers() -> None:
    chips = [chip for row in CAPABILITIES for chip in row.chips]
    twice = {chip for chip in chips if chips.count(chip) > 1}
    renamed = {chip for row in RENAMED for chip in _chips(row.old) & _chips(row.new)}
    assert twice == renamed == {"GB10B"}


def _chips(capability: ComputeCapability) -> set[str]:
    row = find_capability_row(capability)
    assert row is not None
    return set(row.chips)


def test_a_renamed_chip_changes_its_number_with_its_toolkit() -> None:
    for row in RENAMED:
        for toolkit in TOOLKITS:
            numbers = {arch.capability for arch in toolkit.archs}
            assert (row.new in numbers) == (toolkit.version >= row.since)
            assert row.old not in numbers or toolkit.version < row.since


def test_a_generation_is_found_in_any_case_and_whole() -> None:
    assert generation_expansion("AMPERE") == generation_expansion("Ampere")
    assert generation_expansion("Amp") is None
    assert generation_expansion("Ampere+PTX") is None
    assert generation_expansion("Turing+Tegra") is None


def test_a_generation_has_the_numbers_of_its_name() -> None:
    for row in GENERATIONS:
        name, _, kind = row.name.partition("+")
        capabilities = [find_capability_row(arch.capability) for arch in row.expansion]
        assert {c.generation for c in capabilities if c} == {name}
        assert {bool(c.tegra) for c in capabilities if c} == {kind == "Tegra"}


def _torch_expansions() -> dict[str, list[str]]:
    """What the installed torch makes of each name, asked in a process of its own."""
    code = """
import json, re, inspect, os
from torch.utils import cpp_extension as torch_side
source = inspect.getsource(torch_side._get_cuda_arch_flags)
names = re.findall(r"\\('([A-Z][A-Za-z+]+)', *'[0-9.;+PTX]+'\\)", source)
answers = {}
for name in names:
    os.environ["TORCH_CUDA_ARCH_LIST"] = name
    answers[name] = torch_side._get_cuda_arch_flags()
print("ANSWER" + json.dumps(answers))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, list[str]] = json.loads(done.stdout.partition("ANSWER")[2])
    return answer


@pytest.mark.torch
def test_the_generations_are_those_of_the_installed_torch() -> None:
    pytest.importorskip("torch", reason="no torch in this environment")
    asked = {
        name: {gencode.code for flag in flags for gencode in Gencode.parse(flag[9:])}
        for name, flags in _torch_expansions().items()
    }
    assert asked == {row.name: set(row.expansion) for row in GENERATIONS}


def _assembles(ptxas: Path, isa: str, virtual: Arch, real: Arch, folder: Path) -> bool:
    source = folder / "k.ptx"
    target = virtual.real  # PTX names its own architecture sm_, too
    source.write_text(
        f".version {isa}\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"
    )
    command = [str(ptxas), f"-arch={real}", str(source), "-o", str(folder / "k.cubin")]
    return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode == 0


def _check_families(ptxas: Path, version: str, isa: str, folder: Path) -> None:
    """ptxas takes PTX of a family for its members, and for nothing else."""
    row = find_toolkit_row(_version_of(ptxas))
    assert row is not None
    assert str(row.version) == version
    plain = [arch for arch in row.archs if arch.suffix is Suffix.PLAIN]
    for head in (arch.virtual for arch in row.archs if arch.suffix is Suffix.FAMILY):
        served = {a.capability for a in plain if _assembles(ptxas, isa, head, a, folder)}
        known = {arch.capability for arch in plain}
        assert served == set(family_members(head.capability)) & known, str(head)


def _version_of(ptxas: Path) -> CudaVersion:
    text = subprocess.run(
        [str(ptxas), "--version"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    found = re.search(r"release (\d+\.\d+)", text)
    assert found is not None
    return CudaVersion.parse(found[1])


@pytest.mark.toolkit
def test_the_families_are_those_of_ptxas_13_0(
    packaged_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    ptxas = packaged_tool("ptxas")
    version = _version_of(ptxas)
    if str(version) != "13.0":
        pytest.skip(f"the ptxas of this environment is {version}")
    _check_families(ptxas, "13.0", "9.0", tmp_path)


@pytest.mark.tools
@pytest.mark.parametrize(
    ("folder", "version", "isa"), [("ptxas-12.9", "12.9", "8.8"), ("nvcc-13.5", "13.5", "9.5")]
)
def test_the_families_are_those_of_other_ptxas(
    other_tool: Callable[[str, str], Path], tmp_path: Path, folder: str, version: str, isa: str
) -> None:
    _check_families(other_tool(folder, "ptxas"), version, isa, tmp_path)
