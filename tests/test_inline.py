"""The sources that ``load_inline`` writes."""

from __future__ import annotations

from typing import Any

import pytest

from archbuild.build.inline import CPP_NAME, CUDA_NAME, inline_sources
from archbuild.errors import UsageError


@pytest.mark.parametrize(
    ("functions", "line"),
    [
        ("f", '  m.def("f", torch::wrap_pybind_function(f), "f");'),
        (["f"], '  m.def("f", torch::wrap_pybind_function(f), "f");'),
        ({"f": "what it does"}, '  m.def("f", torch::wrap_pybind_function(f), "what it does");'),
        # torch would write this as it is, and the compiler would refuse it.
        ({"f": 'a "b"\n\\c??='}, r'torch::wrap_pybind_function(f), "a \"b\"\n\\c\?\?=");'),
    ],
)
def test_functions_are_bound(functions: Any, line: str) -> None:
    text = inline_sources(["int f();"], "", functions)[CPP_NAME]
    assert line in text
    assert text.index("int f();") < text.index("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {")


def test_headers_come_first_unless_the_caller_brings_them() -> None:
    sources = inline_sources("a", ["b", "c"], None)
    assert sources[CPP_NAME] == "#include <torch/extension.h>\na\n"
    assert sources[CUDA_NAME].splitlines() == [
        "#include <torch/types.h>",
        "#include <cuda.h>",
        "#include <cuda_runtime.h>",
        "b",
        "c",
    ]
    bare = inline_sources("a", ["b"], ["f"], implicit_headers=False, error_handling=False)
    assert bare[CUDA_NAME] == "b\n"
    assert bare[CPP_NAME].splitlines()[2] == '  m.def("f", f, "f");'


def test_the_callers_lists_stay_as_they_are() -> None:
    """torch puts its headers into them, so that a second call includes them twice."""
    cpp, cuda = ["a"], ["b"]
    inline_sources(cpp, cuda, ["f"])
    assert (cpp, cuda) == (["a"], ["b"])


def test_other_functions_are_refused() -> None:
    with pytest.raises(UsageError, match="functions is of type int"):
        inline_sources("", "", 3)
