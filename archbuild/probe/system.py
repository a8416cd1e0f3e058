"""The system around the driver: Linux in Windows, a Jetson, the distribution and its versions."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from archbuild.probe.process import first_line
from archbuild.probe.tree import Tree

_WSL_LIBRARIES = "/usr/lib/wsl/lib"


@dataclass(frozen=True)
class System:
    """What :class:`archbuild.model.surroundings.Surroundings` tells of it.

    Args:
        wsl: Whether this is WSL.
        wsl_library: The libcuda of WSL.
        jetson: The board's name; None: not a Jetson.
        l4t: The release of a Jetson's system.
        distribution: ``ubuntu 24.04``.
        kernel: Its release.
        glibc: The version of the C library that this process runs on.
    """

    wsl: bool = False
    wsl_library: str | None = None
    jetson: str | None = None
    l4t: str | None = None
    distribution: str | None = None
    kernel: str | None = None
    glibc: str | None = None


def query_system(tree: Tree, processor: str) -> System:
    """What can be read of the system.

    Args:
        tree: The machine's files.
        processor: As in :class:`archbuild.model.machine.Machine`.
    """
    kernel = kernel_release(tree)
    library = f"{_WSL_LIBRARIES}/libcuda.so.1"
    # A file of a Jetson may lie in an image for one that is being made elsewhere.
    is_arm = processor == "aarch64"
    return System(
        wsl=_is_wsl(tree, kernel),
        wsl_library=library if tree.real(library) else None,
        jetson=_board(tree) if is_arm else None,
        l4t=_l4t(tree) if is_arm else None,
        distribution=_distribution(tree),
        kernel=kernel,
        glibc=_glibc(),
    )


def kernel_release(tree: Tree) -> str | None:
    """``6.8.0-45-generic``; None where ``/proc`` does not tell."""
    return first_line(tree.text("/proc/sys/kernel/osrelease") or "") or None


def _is_wsl(tree: Tree, kernel: str | None) -> bool:
    """By the kernel's name; one that a person built may have another."""
    if "microsoft" in (kernel or "").lower():
        return True
    return tree.holds(f"{_WSL_LIBRARIES}/libdxcore.so") and tree.is_device("/dev/dxg")


# --- Jetson ---------------------------------------------------------------------------------


def _board(tree: Tree) -> str | None:
    """Its name by the device tree, which a container hides, or by the chip's own account."""
    model = _first_string(tree, "/proc/device-tree/model")
    compatible = tree.text("/proc/device-tree/compatible", quiet=True) or ""
    family = _first_string(tree, "/sys/devices/soc0/family") or ""
    is_tegra = family.lower() == "tegra" or "nvidia,tegra" in compatible
    if is_tegra or "jetson" in (model or "").lower() or tree.holds("/etc/nv_tegra_release"):
        return model or _first_string(tree, "/sys/devices/soc0/machine") or "Jetson"
    return None


def _first_string(tree: Tree, path: str) -> str | None:
    """The first of the strings in a file of the device tree, which end in a zero byte."""
    text = (tree.text(path, quiet=True) or "").partition("\0")[0]
    return first_line(text) or None


def _l4t(tree: Tree) -> str | None:
    """``# R36 (release), REVISION: 4.0, GCID: ...`` is 36.4.0."""
    text = tree.text("/etc/nv_tegra_release") or ""
    pattern = r"#\s*R(\d{1,3})\s*\(release\),\s*REVISION:\s*(\d+(?:\.\d+)*)"
    match = re.search(pattern, text, re.ASCII)
    return f"{match[1]}.{match[2]}" if match else None


# --- versions -------------------------------------------------------------------------------


def _distribution(tree: Tree) -> str | None:
    text = tree.text("/etc/os-release")
    values = parse_os_release(text or tree.text("/usr/lib/os-release") or "")
    name, version = values.get("ID", ""), values.get("VERSION_ID", "")
    return f"{name} {version}".strip() or None


def parse_os_release(text: str) -> Mapping[str, str]:
    r"""The values in the text of ``os-release``, without their quotes.

    Examples:
        >>> parse_os_release('ID=ubuntu\nVERSION_ID="24.04"\n# a comment')
        {'ID': 'ubuntu', 'VERSION_ID': '24.04'}
    """
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {name: first_line(value.strip("\"'")) for name, _, value in pairs}


def _glibc() -> str | None:
    """``glibc 2.39`` is what it calls itself; another C library has no such name."""
    with suppress(AttributeError, OSError, ValueError):
        told = os.confstr("CS_GNU_LIBC_VERSION") or ""
        match = re.fullmatch(r"glibc (\d+(?:\.\d+)+)", told.strip(), re.ASCII)
        return match[1] if match else None
    return None
