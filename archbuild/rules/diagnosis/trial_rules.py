"""What was really run on the GPUs, and the variables that switch JIT."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from archbuild.facts.cuda_errors import find_cuda_error
from archbuild.model.diagnosis import Diagnosis, Evidence
from archbuild.model.installed import Trial, TrialOutcome
from archbuild.model.machine import Gpu, Machine
from archbuild.rules.covering.code import FileStanding, Standing, gpu_kinds, stand, with_ptx_alone
from archbuild.rules.diagnosis import loading_kinds as kinds
from archbuild.rules.diagnosis.code_packages import (
    cover,
    gpu_words,
    held_words,
    name_gpus,
    packages_to_judge,
    torch_package,
    uuids_of,
)
from archbuild.rules.diagnosis.cures import set_variable
from archbuild.rules.diagnosis.kind import Kind, diagnosis_of

#: A kernel or its image is not there: through the runtime, and the driver API.
IMAGE_ERRORS = (209, 98, 500)
#: PTX is too new, does not compile, has no compiler, or may not be compiled.
JIT_ERRORS = (222, 218, 221, 223)
# These ask on purpose for what need not be there.
_PROBES = ("forced jit", "no jit")

_Fits = Callable[[Trial], bool]


def check_trials(machine: Machine) -> Iterator[Diagnosis]:
    """One finding for each GPU and kind of failure."""
    installed = machine.installed
    trials = installed.trials if installed is not None else ()
    for uuid in dict.fromkeys(trial.gpu for trial in trials):
        here = [trial for trial in trials if trial.gpu == uuid]
        gpu = next((gpu for gpu in machine.gpus if gpu.uuid == uuid), None)
        gpu = gpu or Gpu(uuid, uuid, None)
        for kind, fits in _KINDS:
            failed = [trial for trial in here if fits(trial)]
            if failed and not (kind is kinds.NO_JIT and is_set(machine, "CUDA_DISABLE_PTX_JIT")):
                yield _finding(kind, failed, gpu, machine)


def _is_image(trial: Trial) -> bool:
    failed = trial.outcome is TrialOutcome.FAILED and trial.name not in _PROBES
    return failed and trial.error in IMAGE_ERRORS


def _is_jit(trial: Trial) -> bool:
    asked = trial.name == "forced jit" or trial.name not in _PROBES
    return asked and trial.outcome is TrialOutcome.FAILED and trial.error in JIT_ERRORS


def _is_other(trial: Trial) -> bool:
    failed = trial.outcome is TrialOutcome.FAILED and trial.name not in _PROBES
    return failed and trial.error not in (*IMAGE_ERRORS, *JIT_ERRORS)


def _ended(outcome: TrialOutcome) -> _Fits:
    return lambda trial: trial.outcome is outcome


_KINDS: tuple[tuple[Kind, _Fits], ...] = (
    (kinds.IMAGE_MISSING, _is_image),
    (kinds.CRASHED, _ended(TrialOutcome.CRASHED)),
    (kinds.TIMED_OUT, _ended(TrialOutcome.TIMED_OUT)),
    (kinds.FAILED, _is_other),
    (kinds.NO_JIT, _is_jit),
)


def _finding(kind: Kind, failed: list[Trial], gpu: Gpu, machine: Machine) -> Diagnosis:
    errors = tuple(dict.fromkeys(trial.error for trial in failed if trial.error is not None))
    return diagnosis_of(
        kind,
        evidence=[Evidence(f"{t.name} {gpu.uuid}", _said(t)) for t in failed],
        commands=_commands(kind, failed, machine),
        errors=errors,
        gpus=(gpu.uuid,),
        trials=", ".join(trial.name for trial in failed),
        devices=name_gpus([gpu]),
        error=", ".join(map(error_words, errors)),
        said=next((trial.said for trial in failed if trial.said), "").rstrip("."),
        archs=str(gpu.capability or "?"),
        others=_others(failed, machine),
    )


def _others(failed: list[Trial], machine: Machine) -> str:
    """The GPUs on which the same trials passed."""
    names = {trial.name for trial in failed}
    trials = machine.installed.trials if machine.installed is not None else ()
    passed = {t.gpu for t in trials if t.name in names and t.outcome is TrialOutcome.PASSED}
    return name_gpus(gpu for gpu in machine.gpus if gpu.uuid in passed)


def _commands(kind: Kind, failed: list[Trial], machine: Machine) -> tuple[str, ...]:
    """What a person can do: build for all GPUs, or ask what the error means here."""
    if kind is kinds.IMAGE_MISSING:
        known = sorted(kind.capability for kind in gpu_kinds(machine))
        listed = f'"{";".join(map(str, known))}+PTX"'
        return (set_variable("TORCH_CUDA_ARCH_LIST", listed, machine),) if known else ()
    said = next((trial.said for trial in failed if trial.said), "")
    return kind.commands or ((f"archbuild explain {shlex.quote(said)}",) if said else ())


def _said(trial: Trial) -> str:
    number = f" {trial.error}" if trial.error is not None else ""
    return f"{trial.outcome.value}{number}: {trial.said}".rstrip(": ")


def error_words(number: int) -> str:
    """``209 cudaErrorNoKernelImageForDevice``."""
    row = find_cuda_error(number)
    return f"{number} {row.name}" if row is not None else str(number)


# --- variables that switch JIT --------------------------------------------------------------------


def is_set(machine: Machine, name: str) -> bool:
    """Whether a variable that switches is on: set, and not to 0."""
    return (machine.variable(name) or "0").strip() != "0"


def check_jit_variables(machine: Machine) -> Iterator[Diagnosis]:
    """JIT switched off where it is needed, or forced where there is no PTX."""
    if is_set(machine, "CUDA_DISABLE_PTX_JIT"):
        yield from _about(kinds.JIT_DISABLED, _by_jit_alone(machine))
    if is_set(machine, "CUDA_FORCE_PTX_JIT"):
        yield from _about(kinds.JIT_FORCED, _without_ptx(machine))


_Named = list[tuple[str, FileStanding]]


def _about(kind: Kind, found: _Named) -> Iterator[Diagnosis]:
    if found:
        places = list(dict.fromkeys(stood.kind for _, stood in found))
        yield diagnosis_of(
            kind,
            evidence=[Evidence(s.file.path, held_words([s.file])) for _, s in found],
            gpus=uuids_of(places),
            names=", ".join(dict.fromkeys(name for name, _ in found)),
            devices=gpu_words(places),
        )


def _standings(machine: Machine) -> Iterator[tuple[str, FileStanding]]:
    """torch and the packages that need it or stand alone, by their main libraries."""
    torch = torch_package(machine)
    for package in (*([torch] if torch is not None else []), *packages_to_judge(machine)):
        for kind in gpu_kinds(machine):
            stood = cover(package, kind, machine)
            if stood.main is not None:
                yield package.name, stood.main


def _by_jit_alone(machine: Machine) -> _Named:
    return [(name, s) for name, s in _standings(machine) if s.standing is Standing.JIT]


def _without_ptx(machine: Machine) -> _Named:
    """Those that run as they are, and would not from their PTX."""
    found = []
    for name, stood in _standings(machine):
        bare = stand(with_ptx_alone(stood.file), stood.kind, machine)
        served = stood.standing in (Standing.SERVED, Standing.PART)
        if served and bare.standing not in (Standing.JIT, Standing.REFUSED, Standing.UNKNOWN):
            found.append((name, stood))
    return found
