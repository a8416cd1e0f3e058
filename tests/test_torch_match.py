"""Whether torch and nvcc fit: never silently CPU-only, never of two majors."""

from __future__ import annotations

import pytest

from archbuild.errors import ArchbuildError, BuildError, NoToolkitError, NoTorchError
from archbuild.model.machine import Machine
from archbuild.model.version import CudaVersion
from archbuild.rules.selecting.torch_match import check_torch_match, toolkit_cure
from tests.machines import machine, torch_build


def test_the_same_version_passes_in_silence() -> None:
    assert check_torch_match(machine("13.0", torch=torch_build("13.0"))) is None


def test_another_minor_passes_with_a_warning() -> None:
    said = check_torch_match(machine("13.5", torch=torch_build("13.0")))
    assert said is not None
    for part in ("CUDA 13.5", "/opt/cuda-13.5/bin/nvcc", "torch 2.14.1 of CUDA 13.0"):
        assert part in said


_NO_NVCC = machine(None, torch=torch_build("13.0"), absences=[("toolkit", "looked at PATH")])


@pytest.mark.parametrize(
    ("subject", "error", "parts"),
    [
        (machine("13.0"), NoTorchError, ["torch is not installed", "pip install torch", "cu130"]),
        (
            machine("13.0", torch=torch_build(None)),
            NoTorchError,
            [
                "2.14.1",
                "/env/torch",
                "without CUDA",
                "CUDA 13.0 (/opt/cuda-13.0/bin/nvcc)",
                "cu130",
            ],
        ),
        (machine(None, torch=torch_build(None)), NoTorchError, ["there is no nvcc here either"]),
        (_NO_NVCC, NoToolkitError, ["CUDA 13.0", "/env/torch", "looked at PATH", "[cu130]"]),
        (machine(None, torch=torch_build("12.9")), NoToolkitError, ["no nvcc of CUDA 12", "conda"]),
        (
            machine("12.9", torch=torch_build("13.0")),
            BuildError,
            [
                "torch 2.14.1 (/env/torch) is of CUDA 13.0",
                "CUDA 12.9 (/opt/cuda-12.9/bin/nvcc)",
                'pip install "archbuild[cu130]"',
                "cu129",
            ],
        ),
        (
            machine("13.0", torch=torch_build("12.9")),
            BuildError,
            [
                "is of CUDA 12.9",
                "CUDA 13.0 (/opt/cuda-13.0/bin/nvcc)",
                "cuda-toolkit=12.9",
                "cu130",
            ],
        ),
    ],
    ids=["no-torch", "cpu-torch", "neither", "no-nvcc", "no-nvcc-12", "old-nvcc", "old-torch"],
)
def test_what_does_not_fit_is_one_error_with_the_cure(
    subject: Machine, error: type[ArchbuildError], parts: list[str]
) -> None:
    with pytest.raises(error) as caught:
        check_torch_match(subject)
    assert type(caught.value) is error
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("cuda", "cure"),
    [
        ((13, 0), "archbuild[cu130]"),
        ((13, 2), "archbuild[cu132]"),
        ((13, 5), "cuda-toolkit[nvcc,cccl]==13.5.*"),
        ((12, 4), "cuda-toolkit=12.4"),
    ],
)
def test_the_cure_names_what_exists(cuda: tuple[int, int], cure: str) -> None:
    """There is an extra for two versions, packages from CUDA 13 on, and conda before."""
    assert cure in toolkit_cure(CudaVersion(*cuda))
