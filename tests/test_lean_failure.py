"""What the compilers say where the lean headers lack something, and what is made of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archbuild.rules.building.lean_failure import explain_lean_failure, needs_full

# As nvcc 13.0 prints them, shortened.
BINDING = """\
ops.cu(2): error: this declaration has no storage class or type specifier
  PYBIND11_MODULE(_C, m) { m.def("f", [](int x) { return x; }, "x"); }
  ^

ops.cu(2): error: identifier "_C" is undefined
  PYBIND11_MODULE(_C, m) { m.def("f", [](int x) { return x; }, "x"); }
                  ^
"""
LIBRARY = """\
ops.cu(24): error: this declaration has no storage class or type specifier
  TORCH_LIBRARY_IMPL(foo, CUDA, m) { m.impl("f", &f); }
  ^

ops.cu(24): error: identifier "foo" is undefined
  TORCH_LIBRARY_IMPL(foo, CUDA, m) { m.impl("f", &f); }
                     ^
"""
LINEAR = """\
ops.cu(4): error: name followed by "::" must be a class or namespace name
  static torch::nn::Linear lin;
                ^
"""
PY = """\
ops.cu(3): error: name followed by "::" must be a class or namespace name
  void f(py::object x) {}
         ^
"""
BLOCKED = """\
ops.cu(11): error: no instance of function template "torch::kaiser_window" matches the argument list
            argument types are: (int)
    auto v = torch::kaiser_window(3);
             ^
archbuild/lean/archbuild/names.h(221): note #3326-D: function template "torch::kaiser_window" does
  template <typename = void> void kaiser_window(archbuild_lean::NotInLeanHeaders);
"""
LIST = """\
ops.cu(15): error: incomplete type "at::ITensorListRef" (aka "c10::IListRef<at::Tensor>") is not \
allowed
    at::ITensorListRef r(x);
                       ^
"""
BRACES = """\
ops.cu(48): error: list-initialization of an object type "const at::ITensorListRef" is not allowed \
because the type is incomplete
"""


def member(scope: str, name: str, kind: str = "") -> str:
    return f'ops.cu(9): error: namespace "{scope}" has no member {kind}"{name}"\n'


@pytest.mark.parametrize(
    ("output", "name", "header"),
    [
        (BINDING, "PYBIND11_MODULE", "torch/csrc/utils/pybind.h"),
        (PY, "py::object", "torch/csrc/utils/pybind.h"),
        (member("pybind11", "object"), "pybind11::object", "torch/csrc/utils/pybind.h"),
        (LIBRARY, "TORCH_LIBRARY_IMPL", "torch/library.h"),
        (member("torch", "Library"), "torch::Library", "torch/library.h"),
        (LINEAR, "torch::nn::Linear", "torch/nn.h"),
        (
            member("torch::autograd", "Function", "class "),
            "torch::autograd::Function",
            "torch/csrc/autograd/custom_function.h",
        ),
        (member("at::indexing", "None"), "at::indexing::None", "ATen/TensorIndexing.h"),
        ('ops.cu(8): error: identifier "Slice" is undefined\n', "Slice", "ATen/TensorIndexing.h"),
        (member("at", "svd"), "at::svd", "ATen/ops/svd.h"),
        (member("torch", "stft"), "torch::stft", "ATen/ops/stft.h"),
        # at:: has it as well, but without requires_grad.
        (BLOCKED, "torch::kaiser_window", "torch/types.h"),
        (LIST, "at::ITensorListRef", "ATen/core/IListRef.h"),
        (member("at", "parallel_for"), "at::parallel_for", "ATen/Parallel.h"),
        ('error: incomplete type "c10::IValue" is not allowed', "IValue", "ATen/core/ivalue.h"),
        (
            'error: incomplete type "c10::List<at::Tensor>" is not allowed',
            "List<at::Tensor>",
            "ATen/core/List.h",
        ),
        # g++ and clang, in the host's pass.
        ("ops.cu:3:1: error: 'svd' is not a member of 'at'", "at::svd", "ATen/ops/svd.h"),
        (
            "ops.cu:3:1: error: \u2018svd\u2019 is not a member of \u2018at\u2019",
            "at::svd",
            "ATen/ops/svd.h",
        ),
        ("error: 'PyObject' was not declared in", "PyObject", "torch/csrc/python_headers.h"),
        ("error: 'py' has not been declared", "py", "torch/csrc/utils/pybind.h"),
        ("error: use of undeclared identifier 'py'", "py", "torch/csrc/utils/pybind.h"),
        ("error: no member named 'svd' in namespace 'at'", "at::svd", "ATen/ops/svd.h"),
    ],
)
def test_the_header_is_named(output: str, name: str, header: str) -> None:
    said = explain_lean_failure(output)
    assert needs_full(output)
    assert said is not None
    assert name in said
    assert f"<{header}>" in said
    assert "turn lean_headers off" in said


def test_a_binding_belongs_into_a_cpp_file() -> None:
    said = explain_lean_failure(BINDING)
    assert said is not None
    assert "Move the binding into a .cpp file" in said
    # Names that only follow from the missing macro aren't told.
    assert "_C" not in said


def test_several_headers_in_the_order_of_the_source() -> None:
    said = explain_lean_failure(LINEAR + LIBRARY + member("torch", "Library") + LIST)
    assert said is not None
    assert "Include <torch/nn.h>, <torch/library.h>, <ATen/core/IListRef.h>, or" in said
    assert "torch::Library" not in said


@pytest.mark.parametrize(
    "output",
    [
        'ops.cu(3): error: identifier "my_own_thing" is undefined\n',
        BRACES,
        'error: no operator "<<" matches these operands',
        'error: "kFloat32" is ambiguous',
        "In file included from lean/archbuild/kernels.h:50,\nlean/archbuild/functions.h:9:10: "
        "fatal error: ATen/ops/abs.h: No such file or directory",
        "error: no matching function for call to 'f'",
    ],
)
def test_what_nobody_can_name_is_tried_with_the_full_headers(output: str) -> None:
    said = explain_lean_failure(output)
    assert needs_full(output)
    assert said is not None
    assert "turn lean_headers off" in said


@pytest.mark.parametrize(
    "output",
    [
        "",
        'ops.cu(2): error: expected a ";"\n  int x\n       ^\n',
        "ptxas error   : Entry function '_Z1kPf' uses too much shared data",
        "nvcc fatal   : Unsupported gpu architecture 'compute_70'",
        "Killed",
        "ops.cu:1:10: fatal error: my/own.h: No such file or directory",
        "fatal error: error writing to x.ii: No space left on device",
        "ld: undefined reference to `foo'",
        'ops.cu(9): warning #177-D: variable "p" was declared but never referenced',
    ],
)
def test_what_no_header_cures(output: str) -> None:
    assert not needs_full(output)
    assert explain_lean_failure(output) is None


_PIECES = st.sampled_from([BINDING, LINEAR, PY, BLOCKED, LIST, '"', "::", "\n", " ", "^", "\u2018"])


@given(st.lists(_PIECES | st.text(max_size=20)).map("".join))
def test_any_text_is_read(output: str) -> None:
    assert (explain_lean_failure(output) is None) is (not needs_full(output))
