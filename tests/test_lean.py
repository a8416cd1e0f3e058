"""The lean headers: in any order with torch's own, with the same outcome, and remembered."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from archbuild.build.lean import (
    LeanMemory,
    explain_lean_failure,
    has_lean_headers,
    lean_flags,
    lean_include_dir,
    needs_full,
    read_lean_memory,
    write_lean_memory,
)

SOURCES = Path(__file__).parent / "data" / "lean"
NAMES = lean_include_dir() / "archbuild" / "names.h"


def test_the_flags_lead_to_the_headers() -> None:
    define, include = lean_flags()
    assert define == "-DARCHBUILD_LEAN_HEADERS=1"
    folder = Path(include.removeprefix("-I"))
    assert (folder / "torch" / "extension.h").is_file()
    assert (folder / "torch" / "all.h").is_file()


def test_they_need_include_next() -> None:
    assert has_lean_headers("linux")
    assert not has_lean_headers("win32")


@pytest.mark.parametrize("header", sorted(lean_include_dir().rglob("*.h")), ids=lambda p: p.name)
def test_they_warn_of_nothing_in_projects_that_warn_of_all(header: Path) -> None:
    """include_next, for one, is an extension that -Wpedantic reports outside system headers."""
    assert "#pragma GCC system_header\n" in header.read_text()


# --- what is remembered -----------------------------------------------------------------------


def test_a_source_is_remembered_as_it_was(tmp_path: Path) -> None:
    source, folder = tmp_path / "a b.cu", tmp_path / "build" / "x"
    source.write_text("one")
    write_lean_memory(folder, LeanMemory().with_full(str(source), "2.14.1"))
    memory = read_lean_memory(folder)
    assert memory.needs_full(str(source), "2.14.1")
    assert not memory.needs_full(str(source), "2.15.0")
    assert not memory.needs_full(str(tmp_path / "other.cu"), "2.14.1")
    source.write_text("two")
    assert not memory.needs_full(str(source), "2.14.1")
    source.unlink()
    assert not memory.needs_full(str(source), "2.14.1")


def test_sources_are_added_and_none_is_lost(tmp_path: Path) -> None:
    memory = LeanMemory()
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text(name)
        memory = memory.with_full(str(tmp_path / name), "2.14.1")
    write_lean_memory(tmp_path, memory)
    assert read_lean_memory(tmp_path) == memory
    assert len(memory.sources) == 2
    assert [path.name for path in tmp_path.glob("lean-headers*")] == ["lean-headers.json"]


def test_a_source_that_cannot_be_read_is_not_remembered(tmp_path: Path) -> None:
    memory = LeanMemory()
    assert memory.with_full(str(tmp_path / "absent.cu"), "2.14.1") is memory
    assert memory.with_full("a\0b.cu", "2.14.1") is memory


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema": "archbuild.lean-headers/2", "sources": {"a": "b"}}',
        '{"schema": "archbuild.lean-headers/1", "sources": ["a"]}',
        '{"schema": "archbuild.lean-headers/1"}',
        "\ufffe",
        "[" * 100_000,
    ],
)
def test_a_damaged_memory_is_an_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "lean-headers.json").write_text(
        text, encoding="utf-16" if "\ufffe" in text else None
    )
    assert read_lean_memory(tmp_path) == LeanMemory()


def test_what_is_no_digest_is_left_out(tmp_path: Path) -> None:
    text = '{"schema": "archbuild.lean-headers/1", "sources": {"a": 1, "b": "c"}}'
    (tmp_path / "lean-headers.json").write_text(text)
    assert read_lean_memory(tmp_path) == LeanMemory({"b": "c"})


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    write_lean_memory(tmp_path / "file" / "x", LeanMemory({"a": "b"}))
    assert read_lean_memory(tmp_path / "file" / "x") == LeanMemory()


# --- with the installed torch -----------------------------------------------------------------


@pytest.fixture(scope="module")
def torch_root() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("there is no torch in this environment")
    return Path(spec.origin).parent


def include_flags(torch_root: Path, nvcc: Path) -> list[str]:
    include = torch_root / "include"
    own = include / "torch" / "csrc" / "api" / "include"
    folders = [include, own, nvcc.parents[1] / "include", sysconfig.get_path("include")]
    return [f"-I{folder}" for folder in folders]


FLAGS = ("-std=c++20", "--expt-relaxed-constexpr", "--extended-lambda", "-DTORCH_EXTENSION_NAME=_C")


def run(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
        env={k: v for k, v in os.environ.items() if not k.startswith("NVCC_")},
    )


def device_pass(
    source: Path, out: Path, nvcc: Path, torch_root: Path, *, lean: bool
) -> subprocess.CompletedProcess[str]:
    flags = [*(lean_flags() if lean else ()), *FLAGS, *include_flags(torch_root, nvcc)]
    return run([str(nvcc), "-cubin", "-arch=sm_80", *flags, "-o", str(out), str(source)])


@pytest.mark.torch
def test_every_factory_of_torch_is_there_or_cannot_be_called(torch_root: Path) -> None:
    """at::'s ones forget requires_grad: none may be found in place of torch's."""
    place = torch_root / "include/torch/csrc/autograd/generated/variable_factories.h"
    theirs = re.findall(r"^inline at::Tensor (\w+)\(", place.read_text(), re.MULTILINE)
    text = NAMES.read_text()
    there = re.findall(r"^ARCHBUILD_FACTORY\((\w+),", text, re.MULTILINE)
    missing = re.findall(r"^ARCHBUILD_MISSING\((\w+)\)", text, re.MULTILINE)
    assert len(theirs) > 80
    assert set(theirs) == {*there, *missing, "tensor", "from_blob"}
    counts = {name: theirs.count(name) for name in there}
    assert {name: there.count(name) for name in there} == counts | {"rand_like": 1, "randn_like": 1}


@pytest.mark.torch
def test_every_function_has_a_header(torch_root: Path) -> None:
    text = (lean_include_dir() / "archbuild" / "functions.h").read_text()
    named = re.findall(r"#include <(ATen/ops/\w+\.h)>", text)
    assert len(named) == len(set(named)) > 150
    assert [name for name in named if not (torch_root / "include" / name).is_file()] == []
    # Neither of these types is complete without what the lean headers leave out.
    heavy = re.compile(r"I(?:Opt)?TensorListRef|c10::List<")
    assert [n for n in named if heavy.search((torch_root / "include" / n).read_text())] == []


USES = f'#include "{SOURCES / "uses.inc"}"\n'
AFTER = """\
#include <torch/extension.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>
#include <ATen/DeviceGuard.h>
#include <ATen/TensorIndexing.h>
#include <torch/types.h>
"""
BEFORE = """\
#include <torch/types.h>
#include <torch/torch.h>
#include <torch/all.h>
#include <torch/extension.h>
"""
CURED = """\
#ifndef ARCHBUILD_LEAN_HEADERS
#error "the macro is not visible"
#endif
using namespace torch::indexing;
at::Tensor f(at::Tensor t) { return t.index({Slice(), 0}) + torch::hann_window(3); }
c10::Device d(at::TensorList t) { return *at::device_of(t); }
TORCH_LIBRARY(lean, m) { m.def("f", &f); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, "x"); }
"""
MIXED = """\
using namespace at;
Device one(const Tensor& t) { return *device_of(t); }
Device some(TensorList t) { return *device_of(t); }
namespace torch { Tensor like(Tensor t) { return torch::empty_like(t, kFloat32); } }
"""


@pytest.mark.torch
@pytest.mark.toolkit
@pytest.mark.parametrize(
    "text",
    ["#include <torch/torch.h>\n" + USES, AFTER + USES + CURED, BEFORE + USES + MIXED],
    ids=["alone", "torch's own after", "torch's own before"],
)
def test_they_bear_torchs_own_headers_beside_them(
    text: str, tmp_path: Path, nvcc: Path, torch_root: Path
) -> None:
    source = tmp_path / "k.cu"
    source.write_text(text)
    done = device_pass(source, tmp_path / "k.cubin", nvcc, torch_root, lean=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.torch
@pytest.mark.toolkit
def test_a_binding_fails_with_the_cure(tmp_path: Path, nvcc: Path, torch_root: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "#include <torch/extension.h>\nstruct A : torch::autograd::Function<A> {};\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.doc() = "x"; }\n'
    )
    done = device_pass(source, tmp_path / "k.cubin", nvcc, torch_root, lean=True)
    assert done.returncode != 0
    assert needs_full(done.stdout + done.stderr)
    said = explain_lean_failure(done.stdout + done.stderr)
    assert said is not None
    assert "torch::autograd::Function, PYBIND11_MODULE are missing" in said
    assert "<torch/csrc/utils/pybind.h>" in said


@pytest.mark.torch
@pytest.mark.toolkit
def test_device_code_is_that_of_the_full_headers(
    tmp_path: Path, nvcc: Path, torch_root: Path
) -> None:
    """One of them; benchmarks/lean_images.py compares all."""
    for lean in (True, False):
        out = tmp_path / f"{lean}.cubin"
        done = device_pass(SOURCES / "cell.cu", out, nvcc, torch_root, lean=lean)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "True.cubin").read_bytes() == (tmp_path / "False.cubin").read_bytes()


@pytest.mark.torch
@pytest.mark.toolkit
@pytest.mark.skipif(sys.platform != "linux", reason="links as Linux does")
def test_factories_do_on_the_host_what_torchs_do(
    tmp_path: Path, nvcc: Path, torch_root: Path
) -> None:
    library = torch_root / "lib"
    link = [f"-L{library}", f"-Wl,-rpath,{library}", "-lc10", "-ltorch_cpu", "-ltorch"]
    said = {}
    for header, more in (("torch/extension.h", lean_flags()), ("torch/types.h", ())):
        out = tmp_path / header.replace("/", "_")
        define = f"-DARCHBUILD_TEST_HEADER=<{header}>"
        words = ["g++", "-std=c++20", define, *more, *include_flags(torch_root, nvcc)]
        built = run([*words, str(SOURCES / "values.cpp"), "-o", str(out), *link])
        assert built.returncode == 0, built.stderr
        done = run([str(out)])
        assert done.returncode == 0, done.stderr
        said[header] = done.stdout
    assert "zeros double [2, 3] [3, 1] 11" in said["torch/extension.h"]
    assert said["torch/extension.h"] == said["torch/types.h"]
