"""Where an nvcc may be: one step for each place, in the order of their weight."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from archbuild.probe.places import Places, below_packages, is_program, numbered

EXPLICIT = "--toolkit"
ENVIRONMENT = "environment"


@dataclass(frozen=True)
class Candidate:
    """One nvcc that a step came upon.

    Args:
        nvcc: Its path as found, perhaps a link or a wrapper script.
        found_by: The step: ``CUDA_HOME``, ``environment`` and so on.
        note: What is odd about the way it is named; may be empty.
    """

    nvcc: str
    found_by: str
    note: str = ""


@dataclass(frozen=True)
class Look:
    """What one step came upon.

    Args:
        step: Its name.
        tried: Where it looked, for the person who finds nothing.
        candidates: What it found, the best first.
        wrong: What a person has set and that leads nowhere; may be empty.
    """

    step: str
    tried: str
    candidates: tuple[Candidate, ...] = ()
    wrong: str = ""


def look_at_folder(given: str, step: str, places: Places) -> Look:
    """The toolkit in a folder that a person named.

    The root, its bin folder, the nvcc itself and a folder of packages are all
    understood.

    Args:
        given: What they wrote.
        step: Where they wrote it.
        places: The surroundings.
    """
    says = f"{step} {given}" if step == EXPLICIT else f"{step}={given}"
    root = Path(given).absolute()
    ways = ((nvcc, note) for nvcc, note in _ways(root, places) if is_program(nvcc))
    found = [Candidate(str(nvcc), step, note and f"{says} {note}") for nvcc, note in ways]
    if found:
        return Look(step, says, tuple(found[:1]))
    return Look(step, says, wrong=f"{says} {_why_nothing(given, root, places)}")


def _ways(root: Path, places: Places) -> Iterator[tuple[Path, str]]:
    program = places.program("nvcc")
    yield root / "bin" / program, ""
    yield root / program, f"is the toolkit's bin folder; other tools want {root.parent}"
    if root.name == program:
        yield root, f"is the nvcc itself; other tools want {root.parent.parent}"
    for nvcc in (*below_packages(root, program), *below_packages(root.parent, program)):
        yield nvcc, f"is a folder of packages; other tools want {nvcc.parent.parent}"


def _why_nothing(given: str, root: Path, places: Places) -> str:
    separator = ";" if places.is_windows else os.pathsep
    try:
        mode = root.stat().st_mode
    except FileNotFoundError:
        if separator in given:
            return f"holds several paths, separated by {separator!r}: name one toolkit"
        return "does not exist"
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if not stat.S_ISDIR(mode):
        return "is a file, not the folder of a toolkit"
    return f"holds no {Path('bin', places.program('nvcc'))}"


def _variable(name: str) -> Callable[[Places], Look]:
    def look(places: Places) -> Look:
        value = places.variable(name)
        if value is None:
            return Look(name, f"{name} (not set)")
        return look_at_folder(value, name, places)

    return look


def _environment(places: Places) -> Look:
    found = tuple(Candidate(str(nvcc), ENVIRONMENT) for nvcc in places.in_packages("nvcc"))
    return Look(ENVIRONMENT, "the packages of this environment", found)


def _conda(places: Places) -> Look:
    prefix = places.variable("CONDA_PREFIX")
    if prefix is None:
        return Look("conda", "conda (CONDA_PREFIX not set)")
    folder = Path(prefix, "Library", "bin") if places.is_windows else Path(prefix, "bin")
    nvcc = folder / places.program("nvcc")
    found = (Candidate(str(nvcc), "conda"),) if is_program(nvcc) else ()
    return Look("conda", f"conda ({folder})", found)


def _path(places: Places) -> Look:
    found = tuple(Candidate(str(nvcc), "PATH") for nvcc in places.on_path("nvcc"))
    return Look("PATH", "PATH", found)


def _system(places: Places) -> Look:
    if places.is_windows:
        programs = places.variable("ProgramFiles") or "C:/Program Files"
        base = Path(programs, "NVIDIA GPU Computing Toolkit", "CUDA")
        return _installed("Program Files", base / "v*", numbered(base, r"v(\d+)\.(\d+)"), places)
    # /usr/local/cuda is the administrator's choice, and so before its neighbours.
    roots = [places.local / "cuda", *numbered(places.local, r"cuda-(\d+)(?:\.(\d+))?")]
    return _installed("/usr/local", places.local / "cuda*", roots, places)


def _installed(step: str, pattern: Path, roots: list[Path], places: Places) -> Look:
    paths = (root / "bin" / places.program("nvcc") for root in roots)
    found = tuple(Candidate(str(path), step) for path in paths if is_program(path))
    return Look(step, str(pattern), found)


#: Strongest first: among toolkits that fit equally, the order here decides.
STEPS: tuple[Callable[[Places], Look], ...] = (
    _environment,
    _variable("CUDA_HOME"),
    _variable("CUDA_PATH"),
    _conda,
    _path,
    _system,
)

#: The names of the steps in the same order, that of a person's own choice first.
STEP_NAMES = (
    EXPLICIT,
    ENVIRONMENT,
    "CUDA_HOME",
    "CUDA_PATH",
    "conda",
    "PATH",
    "/usr/local",
    "Program Files",
)


def search(places: Places) -> tuple[Look, ...]:
    """Go every step."""
    return tuple(step(places) for step in STEPS)
