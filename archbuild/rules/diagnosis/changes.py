"""What changed on a machine since a record of it: facts one by one, and the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from archbuild.model.diagnosis import Diagnosis, Report
from archbuild.model.machine import Gpu, Machine


class Topic(Enum):
    """What a change is about, the nearest to the root of things first."""

    GPU = "gpu"
    DRIVER = "driver"
    DRIVER_FILES = "driver files"
    CONTAINER = "container"
    SYSTEM = "system"
    PYTHON = "python"
    TORCH = "torch"
    PACKAGE = "package"
    LIBRARY = "library"
    TOOLKIT = "toolkit"
    VARIABLE = "variable"
    TRIAL = "trial"


@dataclass(frozen=True)
class Change:
    """One fact that is another now.

    Args:
        topic: What it is about.
        name: Of what: a GPU, a package, a library, a variable.
        before: What the old record says; None: it was not there.
        after: What is so now; None: it is gone.
    """

    topic: Topic
    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Changes:
    """What is another since the old record.

    Args:
        facts: Of the machine, by topic.
        new: Findings that the old record did not give.
        gone: Findings that it gave.
        unasked: Topics of which one of the two tells nothing, so that nothing can be
            said of them.
        taken: The day of the old record; None: it does not tell.
    """

    facts: tuple[Change, ...] = ()
    new: tuple[Diagnosis, ...] = ()
    gone: tuple[Diagnosis, ...] = ()
    unasked: tuple[Topic, ...] = ()
    taken: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether all that both tell of is the same."""
        return not (self.facts or self.new or self.gone)


#: The facts of one topic by name; None: the record does not tell.
_Facts = Mapping[str, str] | None


def compare_machines(
    old: Machine, new: Machine, before: Report | None = None, after: Report | None = None
) -> Changes:
    """What changed between two records of a machine.

    Args:
        old: As it was.
        new: As it is.
        before: The judgement on the one; None: findings are not compared.
        after: The judgement on the other.
    """
    facts: list[Change] = []
    unasked: list[Topic] = []
    for topic, tell in _TOPICS:
        then, now = tell(old), tell(new)
        if then is None or now is None:
            # What neither tells is missed by nobody.
            unasked += [topic] if then is not now else []
        else:
            facts += _differences(topic, then, now)
    return Changes(
        tuple(facts),
        _only_in(after, before),
        _only_in(before, after),
        tuple(unasked),
        old.taken,
    )


def _differences(topic: Topic, then: Mapping[str, str], now: Mapping[str, str]) -> Iterable[Change]:
    for name in dict.fromkeys((*then, *now)):
        if then.get(name) != now.get(name):
            yield Change(topic, name, then.get(name), now.get(name))


def _only_in(report: Report | None, other: Report | None) -> tuple[Diagnosis, ...]:
    if report is None or other is None:
        return ()
    known = {_key(finding) for finding in other.findings}
    return tuple(finding for finding in report.findings if _key(finding) not in known)


def _key(finding: Diagnosis) -> tuple[str, str | None, frozenset[str]]:
    """What makes two findings one and the same, whatever their words."""
    return finding.code, finding.file, frozenset(finding.gpus)


def _told(pairs: Iterable[tuple[str, object | None]]) -> dict[str, str]:
    return {name: str(value) for name, value in pairs if value is not None}


def _gpus(machine: Machine) -> _Facts:
    return {f"{gpu.name} {gpu.uuid}".strip(): _gpu(gpu) for gpu in machine.gpus}


def _gpu(gpu: Gpu) -> str:
    """What matters of a GPU, in the words of CUDA: its capability, and whether CUDA sees it."""
    seen = {True: "visible", False: "hidden", None: ""}[gpu.visible]
    words = (str(gpu.capability or "?"), seen, "MIG" if gpu.mig else "", *gpu.errors)
    return ", ".join(filter(None, words))


def _driver(machine: Machine) -> _Facts:
    driver = machine.driver
    if driver is None:
        return {}
    return _told([("driver", driver.release), ("CUDA", driver.cuda)])


def _driver_files(machine: Machine) -> _Facts:
    if machine.surroundings is None:
        return None
    files = machine.surroundings.driver_files
    return _told(
        [
            ("kernel module", files.kernel_release),
            ("kernel module on the disk", files.module_on_disk),
            ("libcuda", files.library_release),
        ]
    )


def _container(machine: Machine) -> _Facts:
    if machine.surroundings is None:
        return None
    found = machine.surroundings.container
    if found is None:
        return {}
    kind = found.kind.value
    return _told(
        [
            ("container", kind),
            ("GPU mapped", found.gpu_mapped),
            ("driver mapped", found.driver_mapped),
            ("mode", found.mode),
            ("CUDA of the image", found.image_cuda),
        ]
    )


def _system(machine: Machine) -> _Facts:
    around = machine.surroundings
    if around is None:
        return None
    return _told(
        [
            ("system", around.distribution),
            ("kernel", around.kernel),
            ("glibc", around.glibc),
            ("L4T", around.l4t),
            ("WSL", "WSL" if around.wsl else None),
        ]
    )


def _python(machine: Machine) -> _Facts:
    return {"Python": machine.python, "processor": machine.processor}


def _torch(machine: Machine) -> _Facts:
    torch = machine.torch
    if torch is None:
        return {}
    return _told([("torch", torch.version), ("CUDA of torch", torch.cuda)])


def _packages(machine: Machine) -> _Facts:
    installed = machine.installed
    if installed is None:
        return None
    versions = {one.name: one.version for one in installed.packages}
    versions |= {one.name: one.version for one in installed.distributions}
    # torch has a topic of its own.
    return {name: version for name, version in versions.items() if name != "torch"}


def _libraries(machine: Machine) -> _Facts:
    installed = machine.installed
    if installed is None:
        return None
    loaded = {
        one.soname: " ".join(filter(None, (one.path or one.trouble or "?", one.version)))
        for one in installed.loaded
    }
    return {**loaded, **_told([("cuDNN", installed.cudnn)])}


def _toolkits(machine: Machine) -> _Facts:
    return {kit.root: kit.release for kit in machine.toolkits}


def _variables(machine: Machine) -> _Facts:
    return dict(machine.variables)


def _trials(machine: Machine) -> _Facts:
    installed = machine.installed
    if installed is None or not installed.trials:
        return None
    return {
        f"{one.name} {one.gpu}": " ".join(
            filter(None, (one.outcome.value, str(one.error) if one.error is not None else ""))
        )
        for one in installed.trials
    }


_TOPICS: tuple[tuple[Topic, Callable[[Machine], _Facts]], ...] = (
    (Topic.GPU, _gpus),
    (Topic.DRIVER, _driver),
    (Topic.DRIVER_FILES, _driver_files),
    (Topic.CONTAINER, _container),
    (Topic.SYSTEM, _system),
    (Topic.PYTHON, _python),
    (Topic.TORCH, _torch),
    (Topic.PACKAGE, _packages),
    (Topic.LIBRARY, _libraries),
    (Topic.TOOLKIT, _toolkits),
    (Topic.VARIABLE, _variables),
    (Topic.TRIAL, _trials),
)
