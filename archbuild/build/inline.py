"""The sources of ``load_inline``, from the texts that the caller passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from archbuild.errors import UsageError

CPP_NAME = "main.cpp"
CUDA_NAME = "cuda.cu"
_CPP_HEADERS = ("torch/extension.h",)
_CUDA_HEADERS = ("torch/types.h", "cuda.h", "cuda_runtime.h")


def inline_sources(
    cpp: str | Sequence[str],
    cuda: str | Sequence[str],
    functions: object,
    *,
    implicit_headers: bool = True,
    error_handling: bool = True,
) -> dict[str, str]:
    """The text of each source by its file's name, the binding first.

    Args:
        cpp: C++: one text or several, which are put together.
        cuda: The same for nvcc.
        functions: Names of C++ functions to bind, or names with their descriptions;
            None binds nothing.
        implicit_headers: Whether torch's headers are included first.
        error_handling: Whether torch's wrapper turns its own errors into Python's.

    Raises:
        UsageError: If ``functions`` is neither a list nor a dict.
    """
    binding = () if functions is None else _binding(_described(functions), error_handling)
    headers = (_CPP_HEADERS, _CUDA_HEADERS) if implicit_headers else ((), ())
    return {
        CPP_NAME: _text(headers[0], (*_texts(cpp), *binding)),
        CUDA_NAME: _text(headers[1], _texts(cuda)),
    }


def _texts(texts: str | Sequence[str]) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts


def _text(headers: Iterable[str], texts: Iterable[str]) -> str:
    return "\n".join([*(f"#include <{header}>" for header in headers), *texts, ""])


def _described(functions: object) -> Mapping[str, str]:
    if isinstance(functions, str):
        return {functions: functions}
    if isinstance(functions, Mapping):
        return functions
    if isinstance(functions, (list, tuple)):
        return {name: name for name in functions}
    raise UsageError(
        f"functions is of type {type(functions).__name__}.",
        "Pass a list of names, or a dict from names to descriptions.",
    )


def _binding(functions: Mapping[str, str], error_handling: bool) -> Sequence[str]:
    wrapper = "torch::wrap_pybind_function({})" if error_handling else "{}"
    lines = [
        f"  m.def({_literal(name)}, {wrapper.format(name)}, {_literal(said)});"
        for name, said in functions.items()
    ]
    return ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"]


def _literal(text: str) -> str:
    """A text as C++ writes it: a description may hold quotes and line breaks."""
    signs = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "?": "\\?"}
    return '"' + "".join(signs.get(sign, sign) for sign in text) + '"'
