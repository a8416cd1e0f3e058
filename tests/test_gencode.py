"""-gencode values: read as nvcc reads them, written in one form and order."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.model.arch import Arch, Stage, Suffix, ptx, sass
from archbuild.model.gencode import Gencode, render_gencodes

numbers = st.sampled_from(["75", "86", "90", "90a", "100", "100f", "103a", "120f", "121"])
gencodes = st.builds(Gencode, numbers.map(ptx), st.one_of(numbers.map(sass), numbers.map(ptx)))

# Both orders of the keys and blanks behind the comma: nvcc 13.0 takes them.
ACCEPTED = [
    ("arch=compute_90,code=sm_90", ["sm_90"]),
    ("code=sm_90,arch=compute_90", ["sm_90"]),
    ("arch=compute_90, code=sm_90", ["sm_90"]),
    ("arch=compute_90,code=[sm_90,compute_90]", ["sm_90", "compute_90"]),
    ("code=[sm_90,compute_90],arch=compute_90", ["sm_90", "compute_90"]),
]
REFUSED = [
    "",
    "compute_90",
    "arch=compute_90",
    "code=sm_90",
    "arch=compute_90,code=",
    "arch=,code=sm_90",
    "arch=sm_90,code=sm_90",
    "arch=compute_90,code=[]",
    "arch=compute_90,code=sm_90,code=sm_100",
    "arch=compute_90,arch=compute_90,code=sm_90",
    "arch=compute_90,code=sm_9",
    "arch=COMPUTE_90,code=sm_90",
    "arch=compute_090,code=sm_090",
]


@pytest.mark.parametrize(("value", "codes"), ACCEPTED)
def test_a_value_is_read(value: str, codes: list[str]) -> None:
    found = Gencode.parse(value)
    assert [str(g.code) for g in found] == codes
    assert {str(g.virtual) for g in found} == {"compute_90"}


def test_the_quotes_of_a_shell_are_dropped() -> None:
    assert len(Gencode.parse('arch=compute_90,code=\\"sm_90,compute_90\\"'.replace("\\", ""))) == 2
    assert Gencode.parse("'arch=compute_90,code=sm_90'") == (Gencode(ptx("90"), sass("90")),)


@pytest.mark.parametrize("value", REFUSED)
def test_anything_else_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"no -gencode value|no architecture|wants a virtual"):
        Gencode.parse(value)


@pytest.mark.toolkit
@pytest.mark.parametrize("value", [value for value, _ in ACCEPTED] + REFUSED)
def test_nvcc_takes_what_is_read_and_nothing_that_is_refused(
    nvcc: Path, tmp_path: Path, value: str
) -> None:
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k() {}\n")
    command = [str(nvcc), "--dryrun", "-gencode", value, "-c", str(source)]
    done = subprocess.run(command, check=False, capture_output=True, cwd=tmp_path, timeout=60)
    assert (done.returncode == 0) == (value in dict(ACCEPTED))


@pytest.mark.parametrize(
    ("virtual", "code", "target"),
    [
        ("compute_90", "sm_90", "sm_90"),
        ("compute_80", "sm_86", "sm_86"),
        ("compute_90a", "sm_90a", "sm_90a"),
        ("compute_100f", "sm_103", "sm_103f"),
        ("compute_100f", "sm_103a", "sm_103a"),
        ("compute_100f", "lto_100", "lto_100f"),
        ("compute_90", "compute_90", "compute_90"),
    ],
)
def test_the_suffix_of_the_image_comes_from_the_virtual_side(
    virtual: str, code: str, target: str
) -> None:
    assert str(Gencode(Arch.parse(virtual), Arch.parse(code)).target) == target


@given(gencodes)
def test_a_flag_is_one_word_that_reads_back(gencode: Gencode) -> None:
    name, _, value = gencode.flag.partition("=")
    assert name == "-gencode"
    assert gencode.flag.split() == [gencode.flag]
    assert Gencode.parse(value) == (gencode,)


@given(st.lists(gencodes, max_size=6))
def test_the_order_does_not_depend_on_how_it_was_asked(wanted: list[Gencode]) -> None:
    assert render_gencodes(wanted) == render_gencodes(reversed(wanted))


def test_sass_comes_upwards_and_ptx_behind_it() -> None:
    targets = [ptx("120"), sass("120"), sass("90a"), ptx("90"), sass("90"), sass("100")]
    flags = render_gencodes(Gencode.for_target(target) for target in targets)
    codes = [flag.rpartition("=")[2] for flag in flags]
    assert codes == ["sm_90", "sm_90a", "sm_100", "sm_120", "compute_90", "compute_120"]


@given(numbers)
def test_a_target_is_made_from_its_own_virtual_side(number: str) -> None:
    gencode = Gencode.for_target(sass(number))
    assert gencode.virtual == ptx(number)
    assert gencode.target == sass(number)
    assert gencode.code.stage is Stage.REAL
    assert gencode.code.suffix in Suffix
