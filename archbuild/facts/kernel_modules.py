"""NVIDIA's two kernel modules, and how distributions name the driver's packages.

From some generation on a GPU needs the open module, and up to another one the
proprietary module; those between run with either.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from archbuild.model.arch import ComputeCapability


@dataclass(frozen=True)
class FlavourRow:
    """Which kernel module GPUs need.

    Args:
        first: From this capability on, this one included.
        open: Whether the open module serves them.
        proprietary: Whether the proprietary module serves them.
        source: Where it is written.
        date: When it was read there.
    """

    first: ComputeCapability
    open: bool
    proprietary: bool
    source: str
    date: date


@dataclass(frozen=True)
class PackageRow:
    """How a distribution installs the driver.

    Args:
        distribution: As ``/etc/os-release`` names it.
        command: To paste. ``{branch}`` is a place for the branch; without one the
            distribution has one driver, its newest.
        open_command: The same with the open kernel module; None: the same command.
        library: What installs libcuda by itself; None: it comes with the driver.
        rebuild: What builds the kernel module for the kernel that runs.
        early: What writes the first file system anew, after modules were forbidden.
        source: Where it is written.
        date: When it was read there.
    """

    distribution: str
    command: str
    open_command: str | None
    library: str | None
    rebuild: str
    early: str
    source: str
    date: date


_READ = date(2026, 12, 1)
_GUIDE = "NVIDIA's driver installation guide, kernel modules"


def _flavour(first: str, *, is_open: bool, proprietary: bool) -> FlavourRow:
    return FlavourRow(ComputeCapability.parse(first), is_open, proprietary, _GUIDE, _READ)


FLAVOURS = (
    _flavour("3.0", is_open=False, proprietary=True),
    _flavour("7.5", is_open=True, proprietary=True),
    _flavour("10.0", is_open=True, proprietary=False),
)

#: Branches that Ubuntu and NVIDIA keep packages of for years; others come and go.
KEPT_BRANCHES = (470, 535, 550, 570, 580)

_APT = "sudo apt install nvidia-driver-{branch}"
_DKMS = "sudo dkms autoinstall"
_INITRAMFS = "sudo update-initramfs -u"
_DRACUT = "sudo dracut --force"

PACKAGES = (
    PackageRow(
        "ubuntu",
        _APT,
        f"{_APT}-open",
        "sudo apt install libnvidia-compute-{branch}",
        f"sudo apt install linux-headers-$(uname -r) && {_DKMS}",
        _INITRAMFS,
        "Ubuntu server documentation, NVIDIA drivers",
        _READ,
    ),
    PackageRow(
        "debian",
        "sudo apt install nvidia-driver",
        "sudo apt install nvidia-open-kernel-dkms nvidia-driver",
        "sudo apt install libcuda1",
        f"sudo apt install linux-headers-$(uname -r) && {_DKMS}",
        _INITRAMFS,
        "Debian wiki, NvidiaGraphicsDrivers",
        _READ,
    ),
    PackageRow(
        "fedora",
        "sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda",
        None,
        "sudo dnf install xorg-x11-drv-nvidia-cuda",
        "sudo akmods --force",
        _DRACUT,
        "RPM Fusion, Howto/NVIDIA",
        _READ,
    ),
    *(
        PackageRow(
            name,
            "sudo dnf module install nvidia-driver:{branch}-dkms",
            "sudo dnf module install nvidia-driver:open-dkms",
            "sudo dnf install nvidia-driver-cuda-libs",
            f"sudo dnf install kernel-devel-$(uname -r) && {_DKMS}",
            _DRACUT,
            "NVIDIA's driver installation guide, Red Hat Enterprise Linux",
            _READ,
        )
        for name in ("rhel", "rocky", "almalinux", "centos")
    ),
    PackageRow(
        "arch",
        "sudo pacman -S --needed nvidia-utils",
        "sudo pacman -S --needed nvidia-open nvidia-utils",
        "sudo pacman -S --needed nvidia-utils",
        _DKMS,
        "sudo mkinitcpio -P",
        "Arch Linux wiki, NVIDIA",
        _READ,
    ),
)

_BY_DISTRIBUTION = {row.distribution: row for row in PACKAGES}


def find_flavour(capability: ComputeCapability) -> FlavourRow | None:
    """Which kernel module this GPU needs; None before the table."""
    rows = [row for row in FLAVOURS if row.first <= capability]
    return max(rows, key=lambda row: row.first, default=None)


def find_packages(distribution: str | None) -> PackageRow | None:
    """How this distribution installs the driver; None where it is not known.

    Args:
        distribution: Name and version, ``ubuntu 24.04``.
    """
    return _BY_DISTRIBUTION.get((distribution or "").partition(" ")[0].lower())
