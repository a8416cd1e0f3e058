"""Lean headers in real builds: a source that needs more, and what happens then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.projects import Light

pytestmark = [pytest.mark.torch, pytest.mark.toolkit]

# A binding in a .cu file: pybind11 is in torch/extension.h and not in the lean headers.
BINDING = """
#include <torch/extension.h>
__global__ void set(float* x) { *x = 1; }
void run(torch::Tensor x) { set<<<1, 1>>>(x.data_ptr<float>()); }
PYBIND11_MODULE(_C, m) { m.def("run", &run); }
"""


def test_a_source_that_needs_more_than_the_lean_headers(tmp_path: Path) -> None:
    """With True one sentence names the cure; with "auto" the full ones, and it is remembered."""
    pytest.importorskip("torch", reason="torch is not installed")
    project = Light("lean_headers=True", kernels=(), sources={"own.cu": BINDING}).write(
        tmp_path / "p"
    )
    setup = project.folder / "setup.py"
    setup.write_text(setup.read_text().replace("'module.cpp', ", ""))
    refused = project.build(TORCH_CUDA_ARCH_LIST="9.0")
    assert refused.returncode != 0
    last = refused.stderr.strip().splitlines()[-1]
    assert last.startswith("error: archbuild: ")
    assert "lean_headers" in last
    assert "own.cu" in last or ".cpp" in last
    assert project.library is None
    setup.write_text(setup.read_text().replace("lean_headers=True", 'lean_headers="auto"'))
    done = project.build(TORCH_CUDA_ARCH_LIST="9.0")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "own.cu needs more than the lean headers" in said
    assert project.library
    told = json.loads((project.library.parent / "_C.archbuild.json").read_text())
    assert told["lean_headers"] is False
    again = project.build(TORCH_CUDA_ARCH_LIST="9.0")
    assert again.returncode == 0
    assert "needs more" not in again.stdout + again.stderr
    assert "is up to date" in again.stdout
