"""Which libcuda is loaded: a stub, one of cuda-compat, an old copy, one of another release."""

from __future__ import annotations

import re
from dataclasses import dataclass

from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.machine import Machine
from archbuild.model.version import DriverRelease
from archbuild.rules.diagnosis import driver_kinds
from archbuild.rules.diagnosis import surrounding_kinds as kinds
from archbuild.rules.diagnosis.driver_cures import RESTART, install_driver, window_of
from archbuild.rules.diagnosis.kind import Kind, diagnosis_of
from archbuild.rules.diagnosis.search_path import folders_named, variable_of, without_folder
from archbuild.rules.diagnosis.sight import (
    CUDA,
    MISMATCH,
    NVML,
    SMI,
    around,
    card_words,
    code_of,
    container_of,
    driver_library,
    files_of,
    gpu_words,
    source,
    source_evidence,
)

_STUB, _DRIVER_MISMATCH, _NO_COMPAT = 34, 803, 804
_NAMED = re.compile(r"\S*libcuda\.so\S*")


@dataclass(frozen=True)
class _Library:
    """The libcuda that is loaded, as far as it is known.

    Args:
        path: Its file; empty: not known.
        version: Its release.
        found_by: What led to it.
        expected: The driver's own.
    """

    path: str
    version: str = ""
    found_by: str = ""
    expected: str = ""


def _loaded(machine: Machine) -> _Library:
    """By the process that loaded it, else by what the driver's answer names."""
    tried = driver_library(machine)
    expected = next((p for p in files_of(machine).libraries if "/compat/" not in p), "")
    if tried is not None and tried.path is not None:
        own = tried.expected or (expected if expected != tried.path else "")
        return _Library(tried.path, tried.version or "", tried.found_by or "", own)
    answer = source(machine, CUDA)
    named = _NAMED.search(answer.said) if answer is not None else None
    path = named[0] if named is not None else ""
    return _Library(path, "", variable_of(machine, path) or "" if path else "", expected)


def stub(machine: Machine) -> Diagnosis | None:
    """A stub, which has the driver's functions and does nothing."""
    tried = driver_library(machine)
    if code_of(machine, CUDA) != _STUB and not (tried is not None and tried.stub):
        return None
    found = _loaded(machine)
    folder = next(folders_named(machine, "stubs"), "")
    path = found.path or (f"{folder}/libcuda.so.1" if folder else "libcuda.so.1")
    return _finding(kinds.STUB, found, path, machine)


def compat(machine: Machine) -> Diagnosis | None:
    """A library of cuda-compat on a GPU, or with a driver, that it is not for."""
    found, code = _loaded(machine), code_of(machine, CUDA)
    tried = driver_library(machine)
    is_compat = "/compat/" in found.path or (tried is not None and tried.compat)
    if code != _NO_COMPAT and not (code == _DRIVER_MISMATCH and is_compat):
        return None
    release = files_of(machine).kernel_release
    return _finding(
        kinds.COMPAT,
        found,
        found.path or "libcuda.so.1",
        machine,
        errors=(code,),
        cards=card_words(around(machine).cards) or gpu_words(machine.gpus),
        release=str(release or ""),
    )


def other_library(machine: Machine) -> Diagnosis | None:
    """A libcuda from elsewhere than the system, of another release than the kernel module."""
    found = _loaded(machine)
    loaded = files_of(machine).kernel_release
    if code_of(machine, CUDA) != _DRIVER_MISMATCH or loaded is None or not found.path:
        return None
    if found.path in files_of(machine).libraries or _release(found.path) in (None, loaded):
        return None
    return _finding(kinds.OTHER_LIBRARY, found, found.path, machine, release=str(loaded))


def _release(path: str) -> DriverRelease | None:
    try:
        return DriverRelease.parse(path.rpartition("libcuda.so.")[2])
    except ValueError:
        return None


def _finding(
    kind: Kind,
    found: _Library,
    path: str,
    machine: Machine,
    errors: tuple[int, ...] | None = None,
    **values: str,
) -> Diagnosis:
    variable = found.found_by if found.found_by.startswith("LD_") else ""
    listed = machine.variable(variable) if variable else None
    seen = [Evidence(variable, listed)] if variable and listed else []
    return diagnosis_of(
        kind,
        confidence=Confidence.CERTAIN if found.path else Confidence.LIKELY,
        evidence=[*source_evidence(machine, CUDA), *seen, Evidence("libcuda.so.1", path)],
        commands=without_folder(machine, path) or (f"grep -rn {_folder(path)} /etc/ld.so.conf*",),
        errors=errors,
        file=path,
        more=values,
        library=path,
        version=found.version,
        found_by=found.found_by,
        expected=found.expected,
    )


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or path


def mismatch(machine: Machine) -> Diagnosis | None:
    """Library and kernel module of two releases, as after an update or of two installations."""
    files = files_of(machine)
    told = MISMATCH in (code_of(machine, NVML), code_of(machine, SMI))
    told = told or code_of(machine, CUDA) == _DRIVER_MISMATCH
    if container_of(machine) is not None and files.kernel_release == files.library_release:
        return None
    if not told or around(machine).wsl:
        return None
    disk, library = files.module_on_disk, files.library_release
    fits = disk is not None and disk == library
    differs = disk is not None and library is not None and disk != library
    return diagnosis_of(
        driver_kinds.MISMATCH,
        evidence=[*_releases(machine), *source_evidence(machine)],
        commands=_again(machine) if differs else (RESTART,),
        library=str(library or ""),
        loaded=str(files.kernel_release or ""),
        fits=str(disk) if fits else "",
        disk=str(disk) if differs else "",
    )


def _again(machine: Machine) -> tuple[str, ...]:
    cards = [c.capability for c in around(machine).cards if c.capability is not None]
    return ("ls -l /usr/lib/*/libcuda.so.*", *install_driver(machine, window_of(cards)))


def _releases(machine: Machine) -> list[Evidence]:
    files = files_of(machine)
    named = {
        "/proc/driver/nvidia/version": files.kernel_release,
        "modinfo nvidia": files.module_on_disk,
    }
    seen = [Evidence(name, str(release)) for name, release in named.items() if release is not None]
    if files.libraries:
        seen.append(Evidence(files.libraries[0], str(files.library_release or "no release")))
    return seen
