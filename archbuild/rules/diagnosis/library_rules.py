"""The CUDA libraries that would be loaded: the right ones, once, from the right place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from archbuild.model.diagnosis import Confidence, Diagnosis, Evidence
from archbuild.model.installed import Distribution, LoadedLibrary
from archbuild.model.machine import Machine
from archbuild.rules.diagnosis import loading_kinds as kinds
from archbuild.rules.diagnosis.cures import reinstall
from archbuild.rules.diagnosis.kind import Kind, diagnosis_of
from archbuild.rules.diagnosis.search_path import without_folder

# The driver's own library: its stubs and its compat packages are findings about the driver.
_DRIVER = re.compile(r"libcuda\.so|nvcuda\.dll|libnvidia-")
_MAJOR = re.compile(r"-cu(\d+)$")


def check_loaded(machine: Machine) -> Iterator[Diagnosis]:
    """Libraries that another one hides, that are missing, or that come from elsewhere."""
    installed = machine.installed
    for library in installed.loaded if installed is not None else ():
        if not _DRIVER.match(library.soname):
            yield from _check_library(library, machine)


def _check_library(library: LoadedLibrary, machine: Machine) -> Iterator[Diagnosis]:
    moved = library.expected is not None and library.path not in (None, library.expected)
    if moved and library.trouble:
        yield _elsewhere(kinds.SHADOWED, library, machine)
    elif library.trouble:
        yield _missing(library, machine)
    elif moved and not _same_release(library, machine):
        yield _elsewhere(kinds.ELSEWHERE, library, machine)


def _elsewhere(kind: Kind, library: LoadedLibrary, machine: Machine) -> Diagnosis:
    seen = [Evidence(library.soname, library.trouble)] if library.trouble else []
    return diagnosis_of(
        kind,
        evidence=[
            *seen,
            Evidence(library.found_by or "loader", library.path or ""),
            Evidence("package", library.expected or ""),
        ],
        commands=_without_it(library, machine),
        file=library.path,
        soname=library.soname,
        version=library.version or "",
        path=library.path or "",
        expected=library.expected or "",
        found_by=library.found_by or "",
    )


def _without_it(library: LoadedLibrary, machine: Machine) -> tuple[str, ...]:
    """LD_LIBRARY_PATH without the folder of the wrong library, where that led to it."""
    if library.path is None or library.found_by != "LD_LIBRARY_PATH":
        return ()
    return without_folder(machine, library.path)


def _same_release(library: LoadedLibrary, machine: Machine) -> bool:
    """Whether the environment's own is of the same release, so that it doesn't matter."""
    installed = machine.installed
    if library.version is None or installed is None:
        return False
    stem = re.sub(r"^lib|\.so.*$", "", library.soname).lower()
    names = {_stem(d.name): d.version for d in installed.distributions}
    expected = names.get(_PACKAGES.get(stem, stem))
    return expected is not None and _begins(library.version, expected)


#: The packages that bring libraries of another name.
_PACKAGES = {
    "cudart": "cudaruntime",
    "nvrtc": "cudanvrtc",
    "cublaslt": "cublas",
    "cupti": "cudacupti",
}


def _stem(name: str) -> str:
    return _MAJOR.sub("", name.lower().removeprefix("nvidia-")).replace("-", "")


def _begins(one: str, other: str) -> bool:
    """Whether two versions agree as far as both are told."""
    parts = list(zip(one.split("."), other.split("."), strict=False))
    return len(parts) > 1 and all(left == right for left, right in parts)


def _missing(library: LoadedLibrary, machine: Machine) -> Diagnosis:
    torch = machine.torch
    installed = machine.installed
    stem = re.sub(r"^lib|\.so.*$", "", library.soname).lower()
    wanted = _PACKAGES.get(stem, stem)
    brought = [
        (d.name, d.version)
        for d in (installed.distributions if installed is not None else ())
        if _stem(d.name) == wanted
    ]
    again = brought or ([("torch", torch.version)] if torch is not None else [])
    return diagnosis_of(
        kinds.MISSING,
        evidence=(Evidence(library.soname, library.trouble),),
        commands=[reinstall(*again[0]).replace(" --no-deps", "")] if again else (),
        file=library.path,
        soname=library.soname,
        trouble=library.trouble.removeprefix(f"{library.soname}: ").rstrip("."),
    )


# --- packages that stand in each other's way ------------------------------------------------------


def check_distributions(machine: Machine) -> Iterator[Diagnosis]:
    """Packages that own the same files, and packages that are there more than once."""
    installed = machine.installed
    if installed is None:
        return
    yield from _check_shared(installed.distributions, machine)
    yield from _check_twice(installed.distributions)


def _check_shared(found: tuple[Distribution, ...], machine: Machine) -> Iterator[Diagnosis]:
    sharing = [d for d in found if d.same_files]
    if not sharing:
        return
    torch = machine.torch
    major = str(torch.cuda.major) if torch is not None and torch.cuda is not None else None
    alien = [d for d in sharing if _is_alien(d, major)]
    kept = [d for d in sharing if d not in alien]
    commands = []
    if alien and kept:
        again = " ".join(f"{d.name}=={d.version}" for d in kept)
        commands = [
            f"pip uninstall -y {' '.join(d.name for d in alien)}",
            f"pip install --force-reinstall --no-deps {again}",
        ]
    yield diagnosis_of(
        kinds.SAME_FILES,
        confidence=Confidence.LIKELY,
        evidence=[Evidence(f"{d.name} {d.version}", ", ".join(d.same_files)) for d in sharing],
        commands=commands,
        file=sharing[0].folder or None,
        names=", ".join(d.name for d in sharing),
    )


def _is_alien(distribution: Distribution, major: str | None) -> bool:
    """Whether its name tells another CUDA than torch's."""
    named = _MAJOR.search(distribution.name.lower())
    return major is not None and named is not None and named[1] != major


def _check_twice(found: Iterable[Distribution]) -> Iterator[Diagnosis]:
    places: dict[str, list[Distribution]] = {}
    for distribution in found:
        places.setdefault(distribution.name.lower(), []).append(distribution)
    for name, there in places.items():
        if len(there) < 2:
            continue
        yield diagnosis_of(
            kinds.TWICE,
            evidence=[Evidence(d.folder or name, d.version) for d in there],
            commands=(
                *[f"pip uninstall -y {name}" for _ in there],
                reinstall(name, there[0].version),
            ),
            file=there[0].folder or None,
            name=name,
            count=str(len(there)),
            places=", ".join(f"{d.version} ({d.folder})" for d in there),
        )
