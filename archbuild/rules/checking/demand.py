"""What a person asks of a binary: options, and the project's policy besides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from archbuild.errors import UsageError
from archbuild.model.arch import Arch
from archbuild.model.config import Config
from archbuild.model.coverage import Destination, Tegra
from archbuild.model.machine import Driver, Machine
from archbuild.rules.covering.drivers import parse_driver
from archbuild.rules.covering.places import Member, Place, fleet_places
from archbuild.rules.selecting.archlist import render_arch_list
from archbuild.rules.selecting.expectation import Expectation, expect, find_devices

#: Nobody asked for any image.
NOTHING = Expectation()
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_POLICY = "[tool.archbuild.verify]"


@dataclass(frozen=True)
class Options:
    """What was typed; None: nothing.

    Args:
        targets: Exact images.
        runs_on: Devices.
        driver: The devices' driver, a release.
        driver_cuda: The same, by the CUDA version that it serves.
        allow_jit: Whether PTX will do.
        exact: Whether more than the targets is as wrong as less.
        strict: Whether warnings fail.
        size_budget: The most bytes, ``100MB``.
        tegra: How to take SASS between Tegra and other chips.
        allow_dev: Whether a development build will do.
        machines: Recorded machines, each with its own driver.
    """

    targets: str | None = None
    runs_on: str | None = None
    driver: str | None = None
    driver_cuda: str | None = None
    allow_jit: bool = True
    exact: bool = False
    strict: bool = False
    size_budget: str | None = None
    tegra: Tegra = Tegra.UNDOCUMENTED
    allow_dev: bool = False
    machines: tuple[Member, ...] = ()


@dataclass(frozen=True)
class Demand:
    """What every file is held against.

    Args:
        expected: The exact images, and who asked for them.
        destinations: The devices, each with its driver.
        allow_jit: Whether PTX will do.
        exact: Whether more than the targets is as wrong as less.
        strict: Whether warnings fail.
        size_budget: The most bytes; None: any number.
        heeds_manifests: Whether the manifest beside a library goes before
            ``expected``, which then comes from variables or pyproject.
        allow_dev: Whether a development build will do.
        places: The GPUs of recorded machines; those of known capability are among
            the destinations.
        members: The names of those machines, also of those without a GPU.
        tegra: How those take what NVIDIA doesn't document.
    """

    expected: Expectation = NOTHING
    destinations: tuple[Destination, ...] = ()
    allow_jit: bool = True
    exact: bool = False
    strict: bool = False
    size_budget: int | None = None
    heeds_manifests: bool = False
    allow_dev: bool = False
    places: tuple[Place, ...] = ()
    members: tuple[str, ...] = ()
    tegra: Tegra = Tegra.UNDOCUMENTED

    @property
    def targets(self) -> tuple[Arch, ...]:
        """The exact images."""
        return self.expected.targets

    @property
    def is_empty(self) -> bool:
        """Whether nobody said what the file should be."""
        return not (self.targets or self.destinations or self.size_budget is not None)

    def column_of(self, place: Place) -> int | None:
        """Which of the destinations a place is; None: its capability is not known."""
        destination = place.destination(self.tegra)
        return None if destination is None else self.destinations.index(destination)


def make_demand(options: Options, machine: Machine, config: Config) -> Demand:
    """What to check: the first source that says something, and the policy besides.

    Where devices are named but no targets, variables and pyproject's ``archs`` are
    not looked at: an option wins over them. The policy's devices are added to
    those of the options; its driver serves where the options name none.

    Args:
        options: What was typed.
        machine: For variables, ``native``, and what ``all`` means.
        config: The project's table.

    Raises:
        UsageError: If a list, a version or a size can't be read.
    """
    policy = config.verify
    devices = options.runs_on is not None or bool(options.machines)
    typed = devices and options.targets is None
    expected = NOTHING if typed else _expect(options, machine, config)
    driver = parse_driver(options.driver, options.driver_cuda, "--driver")
    usual = parse_driver(policy.driver, policy.driver_cuda, _POLICY)
    budget = options.size_budget if options.size_budget is not None else policy.size_budget
    places = _places(options.machines, driver)
    of_places = (place.destination(options.tegra) for place in places)
    where = "--size-budget" if options.size_budget is not None else f"size-budget of {_POLICY}"
    return Demand(
        expected=expected,
        destinations=_once(
            *_destinations(options.runs_on, "--runs-on", driver or usual, machine, options.tegra),
            *_destinations(policy.runs_on, _POLICY, driver or usual, machine, options.tegra),
            *of_places,
        ),
        allow_jit=options.allow_jit and policy.allow_jit,
        exact=options.exact or policy.exact,
        strict=options.strict or policy.strict,
        size_budget=None if budget is None else parse_size(budget, where),
        heeds_manifests=options.targets is None and not devices,
        allow_dev=options.allow_dev,
        places=places,
        members=tuple(member.name for member in options.machines),
        tegra=options.tegra,
    )


def _once(*destinations: Destination | None) -> tuple[Destination, ...]:
    return tuple(dict.fromkeys(d for d in destinations if d is not None))


def _places(machines: Sequence[Member], driver: Driver | None) -> tuple[Place, ...]:
    """The GPUs of all machines; a driver that was typed is asked for in place of theirs."""
    if not machines:
        return ()
    places = fleet_places(machines)
    return places if driver is None else tuple(replace(p, driver=driver) for p in places)


def _expect(options: Options, machine: Machine, config: Config) -> Expectation:
    return expect(machine, option=options.targets, config=config.archs)


def _destinations(
    text: str | None, source: str, driver: Driver | None, machine: Machine, tegra: Tegra
) -> Iterable[Destination]:
    """The devices of a list; those of this machine have this machine's driver."""
    if text is None:
        return
    here = {gpu.capability for gpu in machine.gpus} if "native" in text.lower() else set()
    for device in find_devices(text, source, machine):
        own = driver or (machine.driver if device in here else None)
        yield Destination(device, own, tegra=tegra)


def spell_targets(targets: str | Iterable[Arch | str] | None) -> str | None:
    """Targets as one architecture list, whether they came as values or as text."""
    if targets is None or isinstance(targets, str):
        return targets
    return ";".join(t if isinstance(t, str) else render_arch_list([t]) for t in targets)


def parse_size(text: str, where: str) -> int:
    """A number of bytes: ``100MB`` (of 1000 x 1000), ``100MiB`` (of 1024 x 1024), ``5000``.

    Args:
        text: What was typed.
        where: Where, for the message.

    Raises:
        UsageError: If it is no size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{where} is {text!r:.40}, which is no size.", "Write 100MB or 95MiB.")
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** _POWERS[match[2].lower()])


def parse_tegra(text: str) -> Tegra:
    """How to take what NVIDIA doesn't document: ``yes``, ``no`` or ``undocumented``.

    Raises:
        UsageError: If it is none of the three.
    """
    words = {"yes": Tegra.RUNS, "no": Tegra.FAILS, "undocumented": Tegra.UNDOCUMENTED}
    if text not in words:
        raise UsageError(f"tegra is {text!r:.40}.", "Say yes, no or undocumented.")
    return words[text]
