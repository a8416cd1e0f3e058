"""Every rule about a machine, in one judgement.

Why CUDA sees no GPU is one question with one answer: the first of the ladder below that
holds. Everything else (cards, GPUs, views, sources, and what is installed) is judged each
for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from archbuild.model.diagnosis import Diagnosis, Report
from archbuild.model.finding import Severity
from archbuild.model.machine import Machine
from archbuild.rules.diagnosis import container_rules as container
from archbuild.rules.diagnosis import driver_library_rules as library
from archbuild.rules.diagnosis import driver_rules as driver
from archbuild.rules.diagnosis import system_rules as system
from archbuild.rules.diagnosis.card_rules import (
    check_cards,
    check_known_gpus,
    check_unexplained_cards,
)
from archbuild.rules.diagnosis.code_kinds import PACKAGE_UNKNOWN
from archbuild.rules.diagnosis.code_rules import CODE_KINDS, CODE_RULES, code_unknown
from archbuild.rules.diagnosis.engine import Rule, judge
from archbuild.rules.diagnosis.gpu_rules import check_gpus, check_sources
from archbuild.rules.diagnosis.kind import Kind
from archbuild.rules.diagnosis.machine_kinds import MACHINE_KINDS
from archbuild.rules.diagnosis.sight import (
    CUDA,
    around,
    broke_off,
    cuda_sees,
    files_of,
    gpu_words,
    source,
)
from archbuild.rules.diagnosis.view_rules import (
    check_mig,
    check_number,
    check_order,
    check_visible,
)

_Answer = Callable[[Machine], Diagnosis | None]

#: Why CUDA sees no GPU, the first that holds; the nearer to the cause, the earlier.
LADDER: tuple[_Answer, ...] = (
    library.stub,
    library.compat,
    system.wsl_driver,
    system.wsl_no_gpu,
    system.jetson_driver,
    container.kept_away,
    container.no_runtime,
    container.no_compute,
    container.rules_lost,
    container.not_mapped,
    container.no_libraries,
    library.other_library,
    container.own_driver,
    library.mismatch,
    driver.fabric_manager,
    driver.forbidden,
    driver.unified_memory,
    driver.no_driver,
    driver.no_card,
    driver.not_loaded,
    driver.no_cuda_library,
    driver.unexplained,
    driver.cannot_start,
)

#: What by itself explains that CUDA sees none.
_EXPLAINING: tuple[Rule, ...] = (
    check_visible,
    check_mig,
    check_gpus,
    check_cards,
    check_known_gpus,
)


def check_no_gpu(machine: Machine) -> Iterator[Diagnosis]:
    """The one reason why CUDA sees no GPU, unless a card or a GPU has told it."""
    if cuda_sees(machine) or (machine.surroundings is None and machine.gpus):
        return
    told = [finding for rule in _EXPLAINING for finding in rule(machine)]
    if any(finding.severity is Severity.ERROR for finding in told):
        return
    yield from _first(machine)


def _first(machine: Machine) -> Iterator[Diagnosis]:
    answers = (answer(machine) for answer in LADDER)
    yield from [finding for finding in answers if finding is not None][:1]


#: Every rule.
RULES: tuple[Rule, ...] = (
    check_no_gpu,
    *_EXPLAINING,
    check_unexplained_cards,
    check_order,
    check_number,
    check_sources,
    *CODE_RULES,
)

#: Every kind of finding that they make.
KINDS: tuple[Kind, ...] = (*MACHINE_KINDS, *CODE_KINDS)


def diagnose_machine(machine: Machine) -> Report:
    """The judgement on a machine.

    Args:
        machine: This one or a recorded one.

    Returns:
        The findings, the root cause first, and what could not be asked.
    """
    report = judge(machine, RULES, KINDS, (*machine_unknown(machine), *code_unknown(machine)))
    undecided = (f for f in report.findings if f.code == PACKAGE_UNKNOWN.code)
    more = tuple((dict(finding.values)["name"], finding.message) for finding in undecided)
    return replace(report, unknown=(*report.unknown, *more))


def machine_unknown(machine: Machine) -> tuple[tuple[str, str], ...]:
    """What of GPUs and driver could not be asked, so that silence is no sign that all is well.

    A machine without a sign of a GPU or a driver is known.

    Returns:
        Names such as ``"gpus"``, each with the reason.
    """
    if machine.surroundings is None:
        reason = "this record says nothing of bus, driver's files and container"
        return (("surroundings", reason), *_unread_gpus(machine))
    found: list[tuple[str, str]] = []
    asked = source(machine, CUDA)
    if broke_off(asked) and asked is not None:
        found.append(("gpus", f"{asked.source}: {asked.said or 'it did not answer'}"))
    hidden = files_of(machine).hidden
    if hidden and not cuda_sees(machine):
        found.append(("driver files", f"not to be read: {', '.join(hidden)}"))
    if not around(machine).bus_read and machine.system == "linux" and not cuda_sees(machine):
        found.append(("bus", "/sys/bus/pci cannot be read"))
    return (*found, *_unread_gpus(machine))


def _unread_gpus(machine: Machine) -> Iterator[tuple[str, str]]:
    for gpu in machine.gpus:
        if gpu.capability is None:
            reason = next(iter(gpu.errors), "no source tells its compute capability")
            yield gpu_words([gpu]), reason
