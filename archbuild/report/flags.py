"""A selection as the words that nvcc, torch, CMake or a shell take."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence

from archbuild.model.arch import Arch, Suffix
from archbuild.model.gencode import render_gencodes
from archbuild.model.machine import Toolkit
from archbuild.rules.selecting.archlist import render_arch_list
from archbuild.rules.selecting.selection import Selection

TYPE_CHECKING = False  # by name known to type checkers; typing itself is slow to load
if TYPE_CHECKING:
    from archbuild.rules.selecting.fleet import Outlook

FORMATS = ("nvcc", "torch", "cmake", "env", "json")
SCHEMA = "archbuild.flags/1"


def render_flags(
    selection: Selection,
    style: str,
    *,
    link: bool = False,
    outlooks: Sequence[Outlook] = (),
) -> str:
    """The selection in one of :data:`FORMATS`, without a newline at the end.

    Args:
        selection: What to build.
        style: One of :data:`FORMATS`.
        link: For ``nvcc`` and ``json``: add what linking a shared library needs.
        outlooks: For ``json``: what the build will do on recorded machines.
    """
    if style == "json":
        import json  # noqa: PLC0415  (no other format needs it)

        return json.dumps(flags_document(selection, link=link, outlooks=outlooks), indent=2)
    if style == "torch":
        return torch_list(selection)
    if style == "cmake":
        return (
            f"-DCMAKE_CUDA_ARCHITECTURES={cmake_list(selection)} "
            f"-DTORCH_CUDA_ARCH_LIST={torch_list(selection)}"
        )
    if style == "env":
        return "\n".join(_exports(selection))
    return " ".join(nvcc_words(selection, link=link))


def nvcc_words(selection: Selection, *, link: bool = False) -> list[str]:
    """The words for nvcc; with ``link`` also what ``nvcc -shared`` needs."""
    words = render_gencodes(selection.gencodes)
    return words + link_words(selection.compiler.toolkit) if link else words


def link_words(toolkit: Toolkit | None) -> list[str]:
    """What nvcc needs to compile and link a shared library with this toolkit.

    The packages keep their libraries in ``lib``, where nvcc does not look by
    itself; and a shared library wants position-independent host code.
    """
    folders = [f"-L{folder}" for folder in toolkit.lib] if toolkit is not None else []
    return folders if os.name == "nt" else ["-Xcompiler=-fPIC", *folders]


def torch_list(selection: Selection) -> str:
    """The value of TORCH_CUDA_ARCH_LIST."""
    return render_arch_list(_loadable(selection))


def cmake_list(selection: Selection) -> str:
    """The value of CMAKE_CUDA_ARCHITECTURES: each with ``-real`` or ``-virtual``."""
    return ";".join(_cmake_name(target) for target in _loadable(selection))


def _loadable(selection: Selection) -> tuple[Arch, ...]:
    """The targets but LTO-IR, which NVCC_APPEND_FLAGS can add and no list can name."""
    return tuple(t for t in selection.targets if t.is_real or t.is_virtual)


def _cmake_name(target: Arch) -> str:
    return f"{target.number}-{'virtual' if target.is_virtual else 'real'}"


def _exports(selection: Selection) -> Iterable[str]:
    values = {"TORCH_CUDA_ARCH_LIST": torch_list(selection), "CUDAARCHS": cmake_list(selection)}
    toolkit = selection.compiler.toolkit
    if toolkit is not None:
        values |= {"CUDA_HOME": toolkit.root, "CUDACXX": toolkit.nvcc}
    yield from (f"export {name}={shlex.quote(value)}" for name, value in values.items())
    # CMake links a program before it knows of any flag, and nvcc looks in lib64 alone, which
    # the packages don't have; what the person has set stays.
    unknown = [
        folder for folder in (toolkit.lib if toolkit else ()) if not folder.endswith("lib64")
    ]
    if unknown and os.name != "nt":
        folders = shlex.quote(os.pathsep.join(unknown))
        yield f'export LIBRARY_PATH={folders}"${{LIBRARY_PATH:+:$LIBRARY_PATH}}"'


def flags_document(
    selection: Selection, *, link: bool = False, outlooks: Sequence[Outlook] = ()
) -> dict[str, object]:
    """The selection as what ``--format json`` prints; its schema ships beside."""
    from archbuild.model.record import encode  # noqa: PLC0415  (as json above)

    toolkit = selection.compiler.toolkit
    choices = [
        {
            "flag": choice.gencode.flag,
            "virtual": str(choice.gencode.virtual),
            "code": str(choice.gencode.code),
            "target": str(choice.gencode.target),
            "reason": choice.reason,
        }
        for choice in selection.choices
    ]
    document = {
        "schema": SCHEMA,
        "source": selection.source,
        "gencodes": choices,
        "inherited": [gencode.flag for gencode in selection.inherited],
        "targets": [str(target) for target in selection.targets],
        "nvcc": " ".join(nvcc_words(selection, link=link)),
        "torch": torch_list(selection),
        "cmake": cmake_list(selection),
        "cuda": str(selection.compiler.version),
        "toolkit": encode(toolkit),
        "warnings": list(selection.warnings),
        "notes": list(selection.notes),
    }
    if outlooks:
        from archbuild.report.fleet import outlook_documents  # noqa: PLC0415  (as json above)

        document["machines"] = outlook_documents(outlooks)
    return document


def render_reasons(selection: Selection) -> str:
    """One line for each gencode, with why it is there."""
    width = max(len(str(choice.gencode.target)) for choice in selection.choices)
    lines = [f"{c.gencode.target!s:<{width}}  {c.reason}" for c in selection.choices]
    lines += [
        f"{g.target!s:<{width}}  added by NVCC_PREPEND_FLAGS or NVCC_APPEND_FLAGS"
        for g in selection.inherited
    ]
    head = f"Asked for by {selection.source}; decided by {selection.compiler.origin}."
    return "\n".join([head, *lines])


# torch 2.14.1, torch/utils/cpp_extension.py, read 2026-11-30.
_TORCH_TAKES = (
    "3.5 3.7 5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5 8.0 8.6 8.7 8.9 9.0 9.0a 10.0 10.0a 10.3 10.3a "
    "10.7 10.7a 11.0 11.0a 12.0 12.0a 12.1 12.1a"
)


def torch_refuses(selection: Selection) -> tuple[str, ...]:
    """What torch's own parser of TORCH_CUDA_ARCH_LIST does not take of the list.

    torch 2.14 knows no ``f``, neither 8.8 nor 10.1, and no PTX without SASS of
    the same number; archbuild reads them all.
    """
    return tuple(
        item
        for item in torch_list(selection).split(";")
        if item.removesuffix("+PTX") not in _TORCH_TAKES.split()
    )


def new_to_cmake(selection: Selection) -> tuple[str, ...]:
    """What CMake takes only from 3.31.10 and from 4.0.2 on: the ``f`` architectures.

    Tried with 3.25.1, 3.26.4, 3.28.4, 3.31.6, 3.31.10, 4.0.0, 4.0.2, 4.0.3, 4.1.3
    and 4.4.5 on 2026-11-30; ``90a-real`` was taken by all.
    """
    targets = _loadable(selection)
    return tuple(_cmake_name(target) for target in targets if target.suffix is Suffix.FAMILY)
