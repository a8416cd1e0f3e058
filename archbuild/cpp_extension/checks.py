"""What has to be true of an extension and of the toolchain before anything is compiled."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from archbuild.build.extension_plan import (
    ExtensionPlan,
)
from archbuild.build.memory import fingerprint, is_remembered, remember
from archbuild.build.verification import VerifyMode
from archbuild.errors import BuildError
from archbuild.model.gencode import render_gencodes
from archbuild.model.machine import Machine, Toolkit
from archbuild.probe.host_compiler import query_host_compiler, read_host_limits
from archbuild.rules.host_compiler import (
    allows_any_host,
    check_host_compiler,
    named_host_compiler,
)
from archbuild.rules.nvcc_flags import NvccFlags, parse_nvcc_flags
from archbuild.rules.selection import Selection
from archbuild.services.select import Selected
from archbuild.services.smoke import smoke

_log = logging.getLogger(__name__)

_GET_CUOBJDUMP = 'Get it with: pip install "nvidia-cuda-cuobjdump>=13.2"'


def log_selection(selection: Selection) -> None:
    """Say what will be built, why, and what a person should look at."""
    compiler = selection.compiler
    _log.info("archbuild: %s, asked for by %s", compiler.origin, selection.source)
    for choice in selection.choices:
        _log.info("archbuild:   %s  (%s)", choice.gencode.target, choice.reason)
    for note in selection.notes:
        _log.info("archbuild: note: %s", note)
    for warning in selection.warnings:
        _log.warning("archbuild: %s", warning)


def own_flags(extension: Any) -> NvccFlags:
    """The nvcc flags of an extension, taken apart.

    Raises:
        UsageError: If nvcc would refuse them.
    """
    args = extension.extra_compile_args
    flags = args.get("nvcc", ()) if isinstance(args, dict) else args
    return parse_nvcc_flags(flags, f"the nvcc flags of {extension.name}")


def says_native(extension: Any) -> bool:
    """Whether this extension alone asks for the GPUs of this machine."""
    archs = getattr(extension, "archs", None) or ""
    return "native" in archs.lower() or "native" in own_flags(extension).words


def checked_host_compiler(flags: NvccFlags, chosen: Selected) -> str | None:
    """The host compiler that somebody named, held against the toolkit.

    Returns:
        None where nvcc chooses by itself.

    Raises:
        BuildError: If it is not there, or newer than nvcc takes.
    """
    host = named_host_compiler(flags, chosen.machine)
    toolkit = chosen.selection.compiler.toolkit
    if os.name != "nt" and toolkit is not None:
        any_version = allows_any_host(flags, chosen.machine)
        compiler = query_host_compiler(host or "g++")
        limits = read_host_limits(toolkit)
        check_host_compiler(compiler, limits, f"CUDA {toolkit.version}", any_version=any_version)
    return host


def refuse_same_object(extension: Any) -> None:
    """Two sources of one name and folder would overwrite each other's object."""
    seen: dict[str, str] = {}
    for source in extension.sources:
        stem = os.path.splitext(source)[0]  # noqa: PTH122
        if stem in seen:
            raise BuildError(
                f"{seen[stem]} and {source} of {extension.name} would both be compiled to "
                f"{stem}.o.",
                "Rename one of them.",
            )
        seen[stem] = source


def object_files(sources: Sequence[str], compiler: Any, folder: str) -> list[Path]:
    """Where setuptools puts the objects of these sources, in the same order."""
    return [Path(name) for name in compiler.object_filenames(sources, output_dir=folder)]


def require_cuobjdump(machine: Machine, mode: VerifyMode) -> str | None:
    """The second reader for the check, as far as ARCHBUILD_VERIFY wants one."""
    if mode is VerifyMode.OFF:
        _log.warning("archbuild: ARCHBUILD_VERIFY=off: nothing proves what is in this build.")
        return None
    if machine.cuobjdump is not None:
        return machine.cuobjdump
    said = "there is no cuobjdump here, so archbuild's own reader alone checks this build."
    if mode is VerifyMode.REQUIRE:
        raise BuildError(f"ARCHBUILD_VERIFY=require: {said}", _GET_CUOBJDUMP)
    _log.warning("archbuild: %s %s", said, _GET_CUOBJDUMP)
    return None


def prove_toolchain(
    toolkit: Toolkit, plans: Sequence[ExtensionPlan], cuobjdump: str, machine: Machine
) -> None:
    """Build and check the smoke kernel for these targets, unless that was done before."""
    for gencodes in dict.fromkeys(plan.selection.gencodes for plan in plans):
        words = [toolkit.release, *render_gencodes(gencodes), *map(repr, machine.variables)]
        name = fingerprint([toolkit.nvcc, cuobjdump], words)
        if is_remembered("smoke", name):
            continue
        report = smoke(toolkit, gencodes, cuobjdump=cuobjdump, gpus=(), run=False)
        if not report.ok:
            raise BuildError(
                "The smoke kernel could not be built and checked, so nothing else was tried: "
                f"{report.reason}",
                "Try it by itself: archbuild smoke",
            )
        remember("smoke", name)
        _log.info("archbuild: the smoke kernel holds every target")
