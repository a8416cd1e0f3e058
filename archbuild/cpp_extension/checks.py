"""What has to be true of an extension and of the toolchain before anything is compiled."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from archbuild.build.extension_plan import (
    ExtensionPlan,
)
from archbuild.build.host_choice import choose_host_compiler
from archbuild.build.memory import fingerprint, is_remembered, remember
from archbuild.build.verify_mode import VerifyMode
from archbuild.errors import BuildError
from archbuild.model.gencode import render_gencodes
from archbuild.model.machine import Machine, Toolkit
from archbuild.rules.selecting.host_compiler import ANY_HOST_FLAGS, named_host_compilers
from archbuild.rules.selecting.nvcc_flags import NvccFlags, parse_nvcc_flags
from archbuild.rules.selecting.selection import Selection
from archbuild.services.select import Selected

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
    """The host compiler that nvcc is to call, held against the toolkit and torch.

    Returns:
        For ``-ccbin``; None where nvcc's own choice stands.

    Raises:
        BuildError: If what somebody named is not there, or newer than nvcc
            takes, or none that is installed fits.
    """
    toolkit = chosen.selection.compiler.toolkit
    if os.name == "nt" or toolkit is None:
        named = named_host_compilers(flags, chosen.machine)
        return named[0].command if named else None
    choice = choose_host_compiler(flags, chosen.machine, toolkit)
    for warning in choice.warnings:
        _log.warning("archbuild: %s", warning)
    if choice.path is not None:
        _log.info("archbuild: nvcc calls %s (%s)", choice.path, choice.reason)
    return choice.path


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
    wanted = [(plan.selection.gencodes, _host_words(plan)) for plan in plans]
    for gencodes, host in dict.fromkeys(wanted):
        flags = [toolkit.release, *host, *render_gencodes(gencodes)]
        name = fingerprint([toolkit.nvcc, cuobjdump], [*flags, *map(repr, machine.variables)])
        if is_remembered("smoke", name):
            continue
        from archbuild.services.smoke import smoke  # noqa: PLC0415  (once for a toolchain)

        report = smoke(toolkit, gencodes, cuobjdump=cuobjdump, gpus=(), run=False, words=host)
        if not report.ok:
            raise BuildError(
                "The smoke kernel could not be built and checked, so nothing else was tried: "
                f"{report.reason}",
                "Try it by itself: archbuild smoke",
            )
        remember("smoke", name)
        _log.info("archbuild: the smoke kernel holds every target")


def _host_words(plan: ExtensionPlan) -> tuple[str, ...]:
    """What an extension tells nvcc about its host compiler."""
    flags = plan.args["nvcc"]
    ccbin = parse_nvcc_flags(flags, f"the nvcc flags of {plan.name}").ccbin
    allowed = [flag for flag in flags if flag in ANY_HOST_FLAGS]
    return (*(("-ccbin", ccbin) if ccbin else ()), *allowed[:1])
