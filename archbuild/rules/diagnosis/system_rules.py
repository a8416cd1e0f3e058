"""WSL and Jetson: systems whose driver is not that of a Linux machine.

Each rule answers with its finding, or with None.
"""

from __future__ import annotations

from archbuild.model.diagnosis import Diagnosis, Evidence
from archbuild.model.machine import Machine
from archbuild.rules.diagnosis import surrounding_kinds as kinds
from archbuild.rules.diagnosis.kind import diagnosis_of
from archbuild.rules.diagnosis.sight import (
    around,
    container_of,
    errors_of,
    files_of,
    source_evidence,
)

_WSL_FOLDER = "/usr/lib/wsl/"
_TEGRA_FOLDERS = ("/tegra/", "/nvidia/", "/tegra-egl/")
# From here on the system of a Jetson has the driver of other machines.
_COMMON_DRIVER = 38


def wsl_driver(machine: Machine) -> Diagnosis | None:
    """A driver for Linux that was installed in WSL, and hides that of Windows."""
    place, first = around(machine), next(iter(files_of(machine).libraries), "")
    outside = not first.startswith(_WSL_FOLDER) and "/compat/" not in first
    if not place.wsl or container_of(machine) is not None or not first or not outside:
        return None
    expected = place.wsl_library or f"{_WSL_FOLDER}lib/libcuda.so.1"
    return diagnosis_of(
        kinds.WSL_DRIVER,
        evidence=[Evidence("ldconfig", first), *source_evidence(machine)],
        commands=(f"dpkg -S {first}", f"sudo apt purge {_packages(machine)}", "sudo ldconfig"),
        errors=errors_of(machine, kinds.WSL_DRIVER),
        file=first,
        library=first,
        expected=expected,
    )


def _packages(machine: Machine) -> str:
    """The packages of the driver alone: nothing of the toolkit is in the way."""
    release = files_of(machine).library_release
    if release is None:
        return "nvidia-driver-BRANCH libnvidia-compute-BRANCH"
    return f"nvidia-driver-{release.branch} libnvidia-compute-{release.branch}"


def wsl_no_gpu(machine: Machine) -> Diagnosis | None:
    """WSL to which Windows hands no GPU."""
    place, files = around(machine), files_of(machine)
    if not place.wsl or container_of(machine) is not None:
        return None
    has_node = "/dev/dxg" in files.device_nodes
    if has_node and (place.wsl_library or files.libraries):
        return None
    missing = "/dev/dxg" if not has_node else f"{_WSL_FOLDER}lib/libcuda.so.1"
    return diagnosis_of(
        kinds.WSL_NO_GPU,
        evidence=[Evidence(missing, "not there"), *source_evidence(machine)],
        errors=errors_of(machine, kinds.WSL_NO_GPU),
        missing=missing,
    )


def jetson_driver(machine: Machine) -> Diagnosis | None:
    """A driver for desktops on a Jetson whose system has one of its own."""
    place, files = around(machine), files_of(machine)
    first = next(iter(files.libraries), "")
    if place.jetson is None or files.library_release is None or container_of(machine) is not None:
        return None
    own = any(folder in first for folder in _TEGRA_FOLDERS)
    if own or _l4t_major(place.l4t) >= _COMMON_DRIVER:
        return None
    expected = next((p for p in files.libraries if any(f in p for f in _TEGRA_FOLDERS)), "")
    return diagnosis_of(
        kinds.JETSON_DRIVER,
        evidence=[Evidence("ldconfig", first), *source_evidence(machine)],
        errors=errors_of(machine, kinds.JETSON_DRIVER),
        file=first,
        library=first,
        expected=expected or "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1",
        board=place.jetson,
    )


def _l4t_major(l4t: str | None) -> int:
    major = (l4t or "").partition(".")[0]
    return int(major) if major.isdecimal() else 0
