"""Every rule about code on a machine, and what they could not find out."""

from __future__ import annotations

from archbuild.model.machine import Machine
from archbuild.rules.covering.code import Standing, gpu_kinds
from archbuild.rules.diagnosis.code_findings import main_files, split_ran
from archbuild.rules.diagnosis.code_kinds import CODE_KINDS
from archbuild.rules.diagnosis.code_packages import cover, files_in_use, torch_package
from archbuild.rules.diagnosis.engine import Rule
from archbuild.rules.diagnosis.library_rules import check_distributions, check_loaded
from archbuild.rules.diagnosis.no_torch import check_no_torch
from archbuild.rules.diagnosis.package_rules import (
    check_built_for,
    check_cudnn,
    check_packages,
    check_readable,
)
from archbuild.rules.diagnosis.toolkit_rules import check_toolkit
from archbuild.rules.diagnosis.torch_rules import check_torch
from archbuild.rules.diagnosis.trial_rules import check_jit_variables, check_trials

__all__ = ["CODE_KINDS", "CODE_RULES", "code_unknown"]

CODE_RULES: tuple[Rule, ...] = (
    check_torch,
    check_no_torch,
    check_cudnn,
    check_packages,
    check_readable,
    check_built_for,
    check_loaded,
    check_distributions,
    check_toolkit,
    check_trials,
    check_jit_variables,
)


def code_unknown(machine: Machine) -> tuple[tuple[str, str], ...]:
    """What of torch can't be said, so that its silence is no sign that all is well.

    Returns:
        ``("torch", reason)`` or nothing.
    """
    torch, package = machine.torch, torch_package(machine)
    if machine.installed is None or torch is None or torch.cuda is None:
        return ()
    if package is None:
        return (("torch", "its libraries were not read"),)
    if not files_in_use(package, machine):
        troubles = [f"{file.path}: {file.trouble}" for file in package.files if file.trouble]
        return (("torch", next(iter(troubles), "no library with device code was found")),)
    stood = [cover(package, kind, machine) for kind in gpu_kinds(machine)]
    _, unknown = split_ran(main_files(stood, Standing.UNKNOWN), machine)
    reasons = [file.verdict.reason for file in unknown if file.verdict is not None]
    return (("torch", reasons[0]),) if reasons else ()
