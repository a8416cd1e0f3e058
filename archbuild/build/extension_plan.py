"""What one extension passes to nvcc, and what its objects and library must hold."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archbuild.model.arch import Arch
from archbuild.model.gencode import Gencode, render_gencodes
from archbuild.model.machine import Machine
from archbuild.rules.nvcc_flags import NvccFlags, parse_nvcc_flags
from archbuild.rules.selection import Selection, select_own

CompileArgs = Mapping[str, Sequence[str]] | Sequence[str]

_RELOCATABLE = ("-dc", "--device-c", "-rdc=true", "--relocatable-device-code=true")
_LTO = ("-dlto", "--dlink-time-opt")


@dataclass(frozen=True)
class ExtensionPlan:
    """One extension, planned.

    Args:
        name: The extension's.
        args: ``extra_compile_args`` with the architectures in it, by language.
        selection: What is built, and why.
        relocatable: Whether its device code needs a device link (``-rdc``).
        object_targets: What each object made from a .cu must hold.
        library_targets: What the library must hold.
        notes: What a person should be told, one sentence each.
    """

    name: str
    args: Mapping[str, tuple[str, ...]]
    selection: Selection
    relocatable: bool
    object_targets: tuple[Arch, ...]
    library_targets: tuple[Arch, ...]
    notes: tuple[str, ...] = ()


def plan_extension(
    name: str,
    compile_args: CompileArgs,
    wanted: Selection,
    machine: Machine,
    *,
    host: str | None = None,
) -> ExtensionPlan:
    """Put the architectures into an extension's flags, compile and device link alike.

    Args:
        name: The extension's name.
        compile_args: Its ``extra_compile_args``: one list, or one by language.
        wanted: What the project as a whole is built for.
        machine: For ``-arch=native`` among the extension's own flags.
        host: A host compiler for nvcc, where it must not choose its own.

    Returns:
        The plan. The extension's own ``-gencode`` and ``-arch`` win over
        ``wanted``, and are written out one by one.

    Raises:
        UsageError: If its own architecture flags make no sense.
        UnsupportedTargetError: If nvcc can't build what they ask for.
    """
    args = _by_language(compile_args)
    own = parse_nvcc_flags(args["nvcc"], f"the nvcc flags of {name}")
    selection, notes = wanted, []
    if own.names_archs:
        where = f"the own flags of {name}"
        selection = select_own(own, machine, wanted.compiler, where)
        notes.append(f"{name}: its own -gencode or -arch flags win.")
    relocatable = any(flag in _RELOCATABLE for flag in _joined(args["nvcc"]))
    library = selection.targets
    if relocatable and any(target.is_virtual for target in library):
        library = tuple(target for target in library if target.is_real)
        notes.append(
            f"{name}: a device link (-rdc) leaves no PTX, so GPUs newer than its SASS "
            "are not served."
        )
    args["nvcc"] = (*own.rest, *_host_words(own, host), *render_gencodes(selection.gencodes))
    if "nvcc_dlink" in args:
        args["nvcc_dlink"] = _link_words(args["nvcc_dlink"], args["nvcc"], selection, host)
    return ExtensionPlan(
        name, args, selection, relocatable, selection.targets, library, tuple(notes)
    )


def _by_language(compile_args: CompileArgs) -> dict[str, tuple[str, ...]]:
    """One tuple for each language; a plain list goes to both compilers, as torch does it."""
    if isinstance(compile_args, Mapping):
        found = {language: tuple(flags) for language, flags in compile_args.items()}
        return {"cxx": (), "nvcc": (), **found}
    return {"cxx": tuple(compile_args), "nvcc": tuple(compile_args)}


def _joined(flags: Sequence[str]) -> list[str]:
    """Flags with the value of ``-rdc`` joined to it by an equals sign."""
    pairs = zip(flags, (*flags[1:], ""), strict=True)
    longs = ("-rdc", "--relocatable-device-code")
    return [f"{flag}={value}" if flag in longs else flag for flag, value in pairs]


def _host_words(own: NvccFlags, host: str | None) -> tuple[str, ...]:
    return () if host is None or own.ccbin is not None else ("-ccbin", host)


def _link_words(
    flags: Sequence[str], compile_flags: Sequence[str], selection: Selection, host: str | None
) -> tuple[str, ...]:
    """The flags of the device link, which makes SASS only.

    torch adds ``-dlto`` by itself, which nvcc refuses beside plain SASS; it
    stays only where the extension compiles to LTO-IR.
    """
    parsed = parse_nvcc_flags(flags, "the flags of the device link")
    lto = any(flag in _LTO for flag in compile_flags) or any(
        gencode.code.stage.value == "lto" for gencode in selection.gencodes
    )
    rest = [flag for flag in parsed.rest if lto or flag not in _LTO]
    real = [Gencode(g.target.real.virtual, g.target.real) for g in selection.gencodes]
    kept = [g for g, s in zip(real, selection.gencodes, strict=True) if not s.code.is_virtual]
    return (*rest, *_host_words(parsed, host), *render_gencodes(dict.fromkeys(kept)))


def is_cuda_source(path: str) -> bool:
    """Whether nvcc compiles it: ``.cu`` and ``.cuh``, as torch has it."""
    return os.path.splitext(path)[1] in (".cu", ".cuh")  # noqa: PTH122
