"""Commands that put a driver right, by the distribution; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archbuild.facts.architectures import find_capability_row
from archbuild.facts.drivers import find_device_row, last_branch
from archbuild.facts.kernel_modules import (
    KEPT_BRANCHES,
    PackageRow,
    find_flavour,
    find_packages,
)
from archbuild.model.arch import ComputeCapability
from archbuild.model.machine import Machine
from archbuild.rules.diagnosis.sight import around, container_of

RESTART = "sudo reboot"


@dataclass(frozen=True)
class Window:
    """Which drivers serve GPUs.

    Args:
        least: The first branch; None: not known, or any.
        most: The last branch; None: none is announced.
        open: Whether the open kernel module serves them.
        proprietary: Whether the proprietary one does.
    """

    least: int | None = None
    most: int | None = None
    open: bool = True
    proprietary: bool = True

    @property
    def is_empty(self) -> bool:
        """Whether no driver at all serves them."""
        crossed = self.least is not None and self.most is not None and self.least > self.most
        return crossed or not (self.open or self.proprietary)

    def __str__(self) -> str:
        least = f">= {self.least}" if self.least is not None else ""
        most = f"<= {self.most}" if self.most is not None else ""
        flavour = "" if self.open and self.proprietary else f" ({self.flavour})"
        return f"{', '.join(filter(None, (least, most)))}{flavour}".strip()

    @property
    def flavour(self) -> str:
        """The kernel module to take."""
        return "open" if self.open else "proprietary"


def window_of(capabilities: Iterable[ComputeCapability]) -> Window:
    """The drivers that serve all GPUs of these capabilities on Linux."""
    found = list(capabilities)
    least = [branch for c in found if (branch := _least(c)) is not None]
    most = [branch for c in found if (branch := _most(c)) is not None]
    flavours = [row for c in found if (row := find_flavour(c)) is not None]
    return Window(
        max(least, default=None),
        min(most, default=None),
        all(row.open for row in flavours),
        all(row.proprietary for row in flavours),
    )


def _least(capability: ComputeCapability) -> int | None:
    row = find_device_row(capability)
    return None if row is None else row.branch


def _most(capability: ComputeCapability) -> int | None:
    row = find_capability_row(capability)
    return None if row is None or row.tegra else last_branch(row.generation)


def install_driver(machine: Machine, window: Window) -> tuple[str, ...]:
    """What installs a driver that serves these GPUs; nothing where that is not known.

    Args:
        machine: With its distribution.
        window: The drivers that serve the GPUs.
    """
    row = _packages(machine)
    if row is None or window.is_empty:
        return ()
    branch = _branch(window)
    template = row.open_command if window.open and row.open_command else row.command
    if branch is None or ("{branch}" not in template and window.most is not None):
        return ()
    return template.replace("{branch}", str(branch)), RESTART


def _packages(machine: Machine) -> PackageRow | None:
    """Of this system, where a driver can be installed in it at all."""
    elsewhere = container_of(machine) is not None or around(machine).wsl
    if machine.system != "linux" or elsewhere or around(machine).jetson is not None:
        return None
    return find_packages(around(machine).distribution)


def _branch(window: Window) -> int | None:
    """The newest one in the window of which packages are kept."""
    fitting = [
        branch
        for branch in KEPT_BRANCHES
        if branch >= (window.least or 0) and branch <= (window.most or branch)
    ]
    return max(fitting, default=None)


def install_library(machine: Machine, branch: int | None) -> tuple[str, ...]:
    """What installs the driver's library for CUDA by itself."""
    row = _packages(machine)
    if row is None or row.library is None:
        return ()
    if "{branch}" in row.library and branch is None:
        return ()
    return (row.library.replace("{branch}", str(branch)),)


def build_module(machine: Machine) -> tuple[str, ...]:
    """What builds the kernel module for the kernel that runs, and loads it."""
    row = _packages(machine)
    built = (row.rebuild,) if row is not None else ("sudo dkms autoinstall",)
    return (*built, "sudo modprobe nvidia")


def forbid_nouveau(machine: Machine) -> tuple[str, ...]:
    """What keeps nouveau from being loaded when the machine starts."""
    row = _packages(machine)
    forbid = (
        r"printf 'blacklist nouveau\noptions nouveau modeset=0\n' | "
        "sudo tee /etc/modprobe.d/blacklist-nouveau.conf"
    )
    return (forbid, *((row.early,) if row is not None else ()), RESTART)
