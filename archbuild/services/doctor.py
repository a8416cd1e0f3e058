"""Can this machine build and run? Ask it, judge it, and name one root cause."""

from __future__ import annotations

from dataclasses import dataclass, replace

from archbuild.model.diagnosis import Report
from archbuild.model.installed import Installed
from archbuild.model.machine import Machine
from archbuild.probe.machine import query_machine
from archbuild.probe.torch_library import read_torch_library
from archbuild.probe.trials import run_trials
from archbuild.rules.diagnosis.all_rules import diagnose_machine
from archbuild.rules.diagnosis.changes import Changes, compare_machines


@dataclass(frozen=True)
class Examination:
    """A machine and the judgement on it.

    Args:
        report: The judgement.
        machine: What it was made of.
        here: Whether this machine was asked; else a record was judged.
        trials: Whether kernels were run on its GPUs.
        deep: Whether packages and libraries were read.
    """

    report: Report
    machine: Machine
    here: bool = True
    trials: bool = False
    deep: bool = True


def diagnose(
    machine: Machine | None = None, *, trials: bool | None = False, deep: bool = True
) -> Examination:
    """Name what is wrong with a machine, the root cause first.

    Args:
        machine: A recorded machine; None: this one is asked.
        trials: Whether to run kernels on every GPU of this machine, in processes of
            their own; None: where CUDA sees a GPU. A record has the trials that it has.
        deep: Whether to read the packages with device code, and which libraries would
            be loaded; without it that part is not judged.

    Returns:
        The judgement and the machine.

    Examples:
        >>> examination = diagnose(Machine("linux", "x86_64", "3.12.1"))
        >>> examination.here
        False
    """
    found = query_machine(deep=deep) if machine is None else machine
    if machine is None and _wants_trials(found, trials):
        ran = run_trials(found)
        found = replace(found, installed=replace(found.installed or Installed(), trials=ran))
    tried = found.installed is not None and bool(found.installed.trials)
    return Examination(diagnose_machine(found), found, machine is None, tried, deep)


def _wants_trials(machine: Machine, trials: bool | None) -> bool:
    """Whether to run kernels; where nobody says, on what CUDA sees."""
    return any(gpu.visible for gpu in machine.gpus) if trials is None else trials


def check(machine: Machine | None = None) -> Examination:
    """The short self-test: GPUs, driver and its files, torch and its main library.

    Nothing is imported or run, no toolkit is looked for, and of packages only torch's
    main library is read.

    Args:
        machine: A recorded machine; None: this one is asked.
    """
    if machine is not None:
        return Examination(diagnose_machine(machine), machine, False, False, False)
    found = query_machine(toolkits=False, deep=True, packages=False)
    package = read_torch_library(found.torch) if found.torch is not None else None
    held = (package,) if package is not None else ()
    found = replace(found, installed=Installed(packages=held))
    return Examination(diagnose_machine(found), found, True, False, False)


def changes_since(old: Machine, examination: Examination) -> Changes:
    """What is another since an old record: facts, and the findings they bring or take.

    Args:
        old: The record.
        examination: Of the machine as it is.
    """
    before = diagnose_machine(old)
    return compare_machines(old, examination.machine, before, examination.report)
