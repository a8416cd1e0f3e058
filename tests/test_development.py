"""One virtual architecture for all: which images stay, which are compiled on their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.binary.reader import read
from archbuild.errors import UsageError
from archbuild.model.arch import Suffix
from archbuild.model.gencode import Gencode, render_gencodes
from archbuild.rules.selecting.development import describe_development, develop, wants_development
from tests.projects import Light, clean_environment


def gencodes(text: str) -> tuple[Gencode, ...]:
    """``80>80 80>86 90>ptx 90a>90a`` and so on; a lone ``80`` is ``80>80``."""
    found: list[Gencode] = []
    for word in text.split():
        virtual, _, code = word.partition(">")
        code = code or virtual
        named = f"compute_{virtual}" if code == "ptx" else code
        named = named if named[0].isalpha() else f"sm_{named}"
        found += Gencode.parse(f"arch=compute_{virtual},code={named}")
    return tuple(found)


@pytest.mark.parametrize(
    ("whole", "development"),
    [
        # The lowest number, not the lowest text.
        ("100 120 90 90>ptx", "90>100 90>120 90 90>ptx"),
        ("75 80 86 90 100 120 120>ptx", "75 75>80 75>86 75>90 75>100 75>120 75>ptx"),
        # PTX below every real one: the GPUs that it alone reaches stay.
        ("90 80>ptx", "80>90 80>ptx"),
        ("90>ptx 80 100>ptx", "80>ptx 80"),
        # No PTX was asked for, so there is none.
        ("80 90", "80 80>90"),
        # An a or f keeps its own, and doesn't count for the lowest.
        ("90a 80 90", "90a 80 80>90"),
        ("90a 100f 120", "90a 100f 120"),
        ("100f>100f 100f>103 110 120", "100f>100f 100f>103 110 110>120"),
        ("75 120a 120a>ptx 86>ptx", "75 120a 120a>ptx 75>ptx"),
        # Somebody's own pairs.
        ("80>86 89 90a", "80>86 80>89 90a"),
        ("80>90a 90", "80>90a 80>90"),
        ("80>86 86", "80>86"),
        # LTO-IR is made from what is compiled for the same number.
        ("75>lto_75 80 90", "75>lto_75 80 80>90"),
        ("90", "90"),
        ("90a", "90a"),
        ("80>ptx", "80>ptx"),
        ("", ""),
    ],
)
def test_what_is_compiled(whole: str, development: str) -> None:
    before, after = gencodes(whole), gencodes(development)
    assert develop(before) == after
    assert develop(after) == after


_NUMBERS = ["75", "80", "86", "87", "90", "90a", "100", "100f", "103", "110", "120", "120a"]


@given(st.lists(st.tuples(st.sampled_from(_NUMBERS), st.booleans()), unique=True))
def test_every_image_and_every_gpu_stays(asked: list[tuple[str, bool]]) -> None:
    before = gencodes(" ".join(f"{n}>ptx" if ptx else n for n, ptx in asked))
    after = develop(before)
    real = {g.target for g in before if g.code.is_real}
    assert {g.target for g in after if g.code.is_real} == real
    plain = [g.virtual for g in after if g.virtual.suffix is Suffix.PLAIN]
    assert len(set(plain)) <= 1
    assert all(g.virtual.capability <= g.code.capability for g in after)
    lowest = [
        min(
            (g.code for g in some if g.code.is_virtual and g.code.suffix is Suffix.PLAIN),
            default=None,
        )
        for some in (before, after)
    ]
    assert (lowest[0] is None) == (lowest[1] is None)
    assert lowest[0] is None or lowest[1] is None or lowest[1] <= lowest[0]


def test_a_person_is_told_what_it_changes() -> None:
    before = gencodes("90a 80 100 120 120>ptx")
    first, second, third = describe_development(before, develop(before))
    assert "compute_80 is compiled once and assembled for sm_80, sm_100, sm_120" in first
    assert "__CUDA_ARCH__ is 800" in first
    assert second == "Compiled as in a whole build: sm_90a."
    assert "compute_80 instead of compute_120" in third


@pytest.mark.parametrize("text", ["90", "90a 100f", ""])
def test_nothing_to_save_is_said(text: str) -> None:
    before = gencodes(text)
    (sentence,) = describe_development(before, develop(before))
    assert "nothing to save" in sentence


@pytest.mark.parametrize(
    ("asked", "variable", "wanted"),
    [
        (None, None, False),
        (None, "", False),
        (None, "1", True),
        (None, " ON ", True),
        (None, "0", False),
        (True, "0", True),
        (False, "1", False),
        (False, "perhaps", False),
    ],
)
def test_who_decides(asked: bool | None, variable: str | None, wanted: bool) -> None:
    assert wants_development(asked, variable) is wanted


def test_a_variable_that_is_neither_yes_nor_no() -> None:
    with pytest.raises(UsageError, match="ARCHBUILD_DEV is 'sm_90', which is neither"):
        wants_development(None, "sm_90")


KERNEL = """
__global__ void k(int* x) {
#ifdef __CUDA_ARCH__
  x[threadIdx.x] = __CUDA_ARCH__;
#endif
}
"""


def compile_(nvcc: Path, folder: Path, pairs: tuple[Gencode, ...], *more: str) -> str:
    source = folder / "k.cu"
    source.write_text(KERNEL)
    out = folder / "k.fatbin"
    command = [str(nvcc), "-fatbin", *render_gencodes(pairs), *more, "-o", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.toolkit
@pytest.mark.parametrize(
    "text",
    [
        "75 80 86 90 100 120 120>ptx",
        "80 86 87 88 89 90 90a 100 103 103a 110 110a 120a 120 121f",
    ],
)
def test_nvcc_makes_every_image_of_it(nvcc: Path, tmp_path: Path, text: str) -> None:
    pairs = develop(gencodes(text))
    compile_(nvcc, tmp_path, pairs)
    (file,) = read(tmp_path / "k.fatbin", kernels=True)
    assert {image.arch for image in file.images} == {pair.target for pair in pairs}
    assert all(image.kernels for image in file.images)


@pytest.mark.toolkit
def test_nvcc_compiles_once_and_the_code_is_that_of_the_lowest(nvcc: Path, tmp_path: Path) -> None:
    whole = gencodes("75 80 86 90 100 120 120>ptx")
    for pairs, compiles in ((whole, 6), (develop(whole), 1)):
        said = compile_(nvcc, tmp_path, pairs, "--dryrun")
        assert said.count('/cicc" ') == compiles
    compile_(nvcc, tmp_path, develop(whole))
    (file,) = read(tmp_path / "k.fatbin", details=True)
    made_from = {str(image.arch): str(image.virtual) for image in file.images if image.virtual}
    assert made_from == {f"sm_{n}": "compute_75" for n in (75, 80, 86, 90, 100, 120)}


@pytest.mark.torch
@pytest.mark.toolkit
def test_a_development_build_is_marked_and_verify_fails_it(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    project = Light().write(tmp_path / "p")
    done = project.build(TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0", ARCHBUILD_DEV="1")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "__CUDA_ARCH__ is 800" in said
    assert project.library
    (file,) = read(project.library, details=True)
    assert {(str(one.arch), str(one.virtual)) for one in file.images} == {
        (f"sm_{number}", "compute_80") for number in (80, 86, 90)
    }
    manifest = project.library.parent / "_C.archbuild.json"
    assert json.loads(manifest.read_text())["development"] is True
    refused = verify(project.library)
    assert refused.returncode == 1
    assert "V271" in refused.stdout
    assert verify(project.library, "--allow-dev").returncode == 0
    whole = project.build(TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert json.loads(manifest.read_text())["development"] is False
    assert verify(project.library).returncode == 0


def verify(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "archbuild", "verify", *map(str, words)],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
