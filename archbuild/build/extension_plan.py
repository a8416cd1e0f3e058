"""What one extension passes to nvcc, and what its objects and library must hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from archbuild.errors import UnsupportedTargetError
from archbuild.model.arch import Arch, Stage
from archbuild.model.gencode import Gencode, render_gencodes
from archbuild.model.machine import Machine
from archbuild.rules.selecting.nvcc_flags import NvccFlags, parse_nvcc_flags
from archbuild.rules.selecting.selection import Selection, select_own

CompileArgs = Mapping[str, Sequence[str]] | Sequence[str]

#: For -rdc without a device link, which leaves a library that no driver can load.
DLINK_CURE = "Pass dlink=True to CUDAExtension."

_LTO = ("-dlto", "--dlink-time-opt")


@dataclass(frozen=True)
class ExtensionPlan:
    """One extension, planned.

    Args:
        name: The extension's.
        args: ``extra_compile_args`` with the architectures in it, by language.
        selection: What is built, and why.
        relocatable: Whether its device code needs a device link (``-rdc``).
        gencodes: What nvcc is given for each source that has no list of its own.
        object_targets: What the object of such a source must hold.
        library_targets: What the library must hold.
        notes: What a person should be told, one sentence each.
    """

    name: str
    args: Mapping[str, tuple[str, ...]]
    selection: Selection
    relocatable: bool
    gencodes: tuple[Gencode, ...]
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
        UnsupportedTargetError: If nvcc can't build what they ask for, or a
            device link could make none of it.
    """
    args = by_language(compile_args)
    own = parse_nvcc_flags(args["nvcc"], f"the nvcc flags of {name}")
    selection, notes = wanted, []
    if own.names_archs:
        where = f"the own flags of {name}"
        selection = select_own(own, machine, wanted.compiler, where)
        notes.append(f"{name}: its own -gencode or -arch flags win.")
    rest, gencodes = _without_dlto(own, selection.gencodes)
    objects = _targets((*gencodes, *selection.inherited))
    library = objects
    if own.relocatable:
        library = _linked(objects, name)
        if "nvcc_dlink" not in args:
            notes.append(f"{name}: relocatable device code without a device link. {DLINK_CURE}")
        elif any(target.is_virtual for target in objects):
            notes.append(
                f"{name}: a device link (-rdc) leaves no PTX, so GPUs newer than its SASS "
                "are not served."
            )
    args["nvcc"] = (*rest, *_host_words(own, host), *render_gencodes(gencodes))
    if "nvcc_dlink" in args:
        args["nvcc_dlink"] = _link_words(args["nvcc_dlink"], gencodes, host)
    relocatable = own.relocatable
    return ExtensionPlan(
        name, args, selection, relocatable, gencodes, objects, library, tuple(notes)
    )


def by_language(compile_args: CompileArgs) -> dict[str, tuple[str, ...]]:
    """One tuple for each language; a plain list goes to both compilers, as torch does it."""
    if isinstance(compile_args, Mapping):
        found = {language: tuple(flags) for language, flags in compile_args.items()}
        return {"cxx": (), "nvcc": (), **found}
    return {"cxx": tuple(compile_args), "nvcc": tuple(compile_args)}


def _without_dlto(
    own: NvccFlags, gencodes: Sequence[Gencode]
) -> tuple[tuple[str, ...], tuple[Gencode, ...]]:
    """The flags and gencodes in which ``-dlto`` is spelled out.

    nvcc refuses the flag beside ``-gencode``, and wants ``code=lto_90`` instead
    of ``code=sm_90``, which in turn wants ``-rdc=true`` (nvcc 13.0).
    """
    if not own.lto:
        return own.rest, tuple(gencodes)
    rest = tuple(flag for flag in own.rest if flag not in _LTO)
    rdc = () if parse_nvcc_flags(rest).relocatable else ("-rdc=true",)
    return (*rest, *rdc), tuple(
        Gencode(g.virtual, Arch(Stage.LTO, g.code.capability, g.code.suffix))
        if g.code.is_real
        else g
        for g in gencodes
    )


def _targets(gencodes: Iterable[Gencode]) -> tuple[Arch, ...]:
    found = {gencode.target for gencode in gencodes}
    return tuple(sorted(found, key=lambda arch: (arch.is_virtual, arch)))


def _linked(objects: Sequence[Arch], name: str) -> tuple[Arch, ...]:
    """What a device link makes of these images: SASS of each that is no PTX."""
    library = dict.fromkeys(target.real for target in objects if not target.is_virtual)
    if not library:
        ptx = objects[-1]
        raise UnsupportedTargetError(
            f"{name} asks for {ptx} alone, and its device link (-rdc) can leave no PTX.",
            f"Ask for SASS as well: {ptx.real.dotted}+PTX",
        )
    return tuple(library)


def _host_words(own: NvccFlags, host: str | None) -> tuple[str, ...]:
    return () if host is None or own.ccbin is not None else ("-ccbin", host)


def _link_words(
    flags: Sequence[str], gencodes: Sequence[Gencode], host: str | None
) -> tuple[str, ...]:
    """The flags of the device link, which makes SASS only.

    torch adds ``-dlto`` by itself, which nvcc refuses beside plain SASS; it
    stays only where the extension compiles to LTO-IR.
    """
    parsed = parse_nvcc_flags(flags, "the flags of the device link")
    lto = any(gencode.code.stage is Stage.LTO for gencode in gencodes)
    rest = [flag for flag in parsed.rest if flag not in _LTO]
    # Of PTX alone there is nothing to link; without any target nvcc would take its default.
    linked = [g for g in gencodes if not g.code.is_virtual] or gencodes
    real = dict.fromkeys(Gencode.for_target(g.target.real) for g in linked)
    return (*rest, *["-dlto"] * lto, *_host_words(parsed, host), *render_gencodes(real))


def is_cuda_source(path: str) -> bool:
    """Whether nvcc compiles it: ``.cu`` and ``.cuh``, as torch has it."""
    return os.path.splitext(path)[1] in (".cu", ".cuh")  # noqa: PTH122
