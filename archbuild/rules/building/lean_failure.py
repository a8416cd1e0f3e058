"""Why a source failed with the lean headers, from what the compiler printed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LeanRow:
    """Names that torch/extension.h declares and the lean headers don't.

    Args:
        pattern: The name with its namespaces, as the compiler or the source writes it.
        header: What declares it, for ``#include``.
    """

    pattern: str
    header: str


_TORCH = r"(?:torch::|at::|c10::)?"

#: Read off the headers of torch 2.14.1; the first that fits a whole name wins.
LEAN_ROWS = (
    LeanRow(r"PYBIND11_\w+|(?:py|pybind11)(?:::.*)?", "torch/csrc/utils/pybind.h"),
    LeanRow(r"THPVariable\w*", "torch/csrc/autograd/python_variable.h"),
    LeanRow(r"PyObject|Py[A-Z]\w*_\w+|Py_\w+", "torch/csrc/python_headers.h"),
    LeanRow(r"TORCH_LIBRARY\w*", "torch/library.h"),
    LeanRow(rf"{_TORCH}(?:Library|CppFunction|dispatch|schema)", "torch/library.h"),
    LeanRow(rf"{_TORCH}(?:CustomClassHolder|class_)", "torch/custom_class.h"),
    LeanRow(
        rf"{_TORCH}autograd::(?:Function|AutogradContext|variable_list)",
        "torch/csrc/autograd/custom_function.h",
    ),
    LeanRow(rf"{_TORCH}autograd(?:::.*)?", "torch/csrc/autograd/variable.h"),
    LeanRow(rf"{_TORCH}(?:indexing(?:::.*)?|Slice|Ellipsis|TensorIndex)", "ATen/TensorIndexing.h"),
    LeanRow(rf"{_TORCH}nn(?:::.*)?", "torch/nn.h"),
    LeanRow(rf"{_TORCH}optim(?:::.*)?", "torch/optim.h"),
    LeanRow(rf"{_TORCH}jit(?:::.*)?", "torch/script.h"),
    LeanRow(rf"{_TORCH}fft(?:::.*)?", "torch/fft.h"),
    LeanRow(rf"{_TORCH}special(?:::.*)?", "torch/special.h"),
    LeanRow(rf"{_TORCH}sparse(?:::.*)?", "torch/sparse.h"),
    LeanRow(rf"{_TORCH}IValue", "ATen/core/ivalue.h"),
    LeanRow(rf"{_TORCH}List(?:<.*>)?", "ATen/core/List.h"),
    LeanRow(rf"{_TORCH}Dict(?:<.*>)?", "ATen/core/Dict.h"),
    LeanRow(rf"{_TORCH}I(?:Opt)?(?:TensorListRef|ListRef)(?:<.*>)?", "ATen/core/IListRef.h"),
    LeanRow(rf"{_TORCH}device_of", "ATen/DeviceGuard.h"),
    LeanRow(rf"{_TORCH}(?:parallel_for|parallel_reduce|[gs]et_num_threads)", "ATen/Parallel.h"),
    LeanRow(r"RECORD_FUNCTION\w*|(?:at::)?RecordFunction", "ATen/record_function.h"),
)

# The words for a name that nobody declared, each a shape that other headers can cure. A
# missing semicolon is none of them, nor is anything that ptxas or the system says.
_CURABLE = re.compile(
    # nvcc's front end
    r'" is undefined|has no member|name followed by "::" must be|is not a template'
    r"|incomplete type|is incomplete|definition is missing"
    r"|matches the argument list|matches these operands"
    r"|no storage class or type specifier|no suitable (?:user-defined conversion|constructor)"
    r'|" is ambiguous|not a type name|no operator "'
    # g++ and clang
    r"|(?:was not|has not been) declared|is not a member of|does not name a|undeclared identifier"
    r"|no (?:member|type|template) named|no match(?:ing)? |unknown type name|is ambiguous"
    # our own headers, with a torch that lacks one of theirs
    r"|archbuild/(?:kernels|functions|names)\.h(?::\d+|\(\d+\)).{0,400}?No such file",
    re.DOTALL,
)

_NAMED = re.compile(
    r'namespace "(?P<scope>[\w:]+)" has no member (?:\w+ )?"(?P<member>\w+)"'
    r'|no instance of (?:\w+ )*"(?P<function>[\w:]+)'
    r'|identifier "(?P<identifier>\w+)" is undefined'
    r'|incomplete type "(?P<incomplete>[^"]+)"(?: \(aka "[^"]+"\))? is not allowed'
    # The caret stands below the name, in the line that is shown.
    r"|(?:type specifier|class or namespace name)\n(?P<line>.*)\n(?P<caret> *)\^"
    r"|[\u2018'](?P<bare>\w+)[\u2019'] (?:was not|has not been) declared"
    r"|[\u2018'](?P<part>\w+)[\u2019'] is not a member of [\u2018'](?P<whole>[\w:]+)[\u2019']"
    r"|undeclared identifier '(?P<unknown>\w+)'"
    r"|no (?:member|type|template) named '(?P<named>\w+)' in (?:namespace )?'(?P<within>[\w:]+)'"
)


def needs_full(output: str) -> bool:
    """Whether torch's full headers may cure this failure: something isn't declared.

    It rather says so once too often: the full headers then fail with the same words.

    Args:
        output: What the compiler printed.
    """
    return _CURABLE.search(output) is not None


def explain_lean_failure(output: str) -> str | None:
    """What the lean headers lack for this source, and the cure; None if they are not the cause.

    Args:
        output: What the compiler printed.
    """
    if not needs_full(output):
        return None
    names = list(dict.fromkeys(_missing_names(output)))
    blocked = set(re.findall(r"(\w+)\(archbuild_lean::NotInLeanHeaders\)", output))
    known = {name: header for name in names if (header := _header_of(name, blocked))}
    if not known:
        return _sentence(names[:3], "Include the header that declares it")
    headers = list(dict.fromkeys(known.values()))[:3]
    shown = [next(name for name in known if known[name] == header) for header in headers]
    return _sentence(shown, _cure(headers))


def _sentence(names: Sequence[str], cure: str) -> str:
    lacking = f": {', '.join(names)} {'is' if len(names) == 1 else 'are'} missing" if names else ""
    return (
        "torch/extension.h and torch/all.h stand for the parts of them that kernels use "
        f"(lean_headers){lacking}. {cure}, or turn lean_headers off for this extension."
    )


def _cure(headers: Sequence[str]) -> str:
    listed = ", ".join(f"<{header}>" for header in headers)
    if headers[0] == LEAN_ROWS[0].header:
        return (
            f"Move the binding into a .cpp file, which keeps torch's own headers, or add {listed}"
        )
    return f"Include {listed}"


def _missing_names(output: str) -> Iterator[str]:
    for match in _NAMED.finditer(output):
        found = {key: text for key, text in match.groupdict().items() if text is not None}
        if "caret" in found:
            yield from _at_caret(found["line"], len(found["caret"]))
        elif len(found) == 2:
            name = found.get("member") or found.get("part") or found["named"]
            scope = found.get("scope") or found.get("whole") or found["within"]
            yield f"{scope}::{name}"
        else:
            yield from found.values()


def _at_caret(line: str, column: int) -> Iterator[str]:
    """The name in this column, with the namespaces before it and what follows after ``::``."""
    for match in re.finditer(r"\w+(?:::\w+)*", line):
        if match.start() <= column < match.end():
            yield match[0]


def _header_of(name: str, blocked: Collection[str]) -> str | None:
    """Where a name is declared; ``blocked`` are torch's own factories, which at:: has without."""
    for row in LEAN_ROWS:
        if re.fullmatch(row.pattern, name):
            return row.header
    function = re.fullmatch(r"(?:at|torch)::(_?[a-z][a-z0-9_]*)", name)
    if function is None:
        return None
    return "torch/types.h" if function[1] in blocked else f"ATen/ops/{function[1]}.h"
