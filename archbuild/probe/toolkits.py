"""The CUDA Toolkits of this machine, the one that fits best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from archbuild.errors import ToolError, UsageError
from archbuild.model.arch import Arch
from archbuild.model.machine import Absence, Toolkit, TorchBuild
from archbuild.model.version import CudaVersion
from archbuild.probe import nvcc as nvcc_says
from archbuild.probe.nvcc import Location
from archbuild.probe.places import Places
from archbuild.probe.process import Outcome, run_together
from archbuild.probe.toolkit_layout import beside, include_folders, lib_folders
from archbuild.probe.toolkit_search import (
    ENVIRONMENT,
    EXPLICIT,
    STEP_NAMES,
    Candidate,
    Look,
    look_at_folder,
    search,
)

#: Seconds for each question to an nvcc.
TIMEOUT = 5.0


# Asks several programs at once.
_Ask = Callable[[list[list[str]]], tuple[Outcome, ...]]


@dataclass(frozen=True)
class _Answer:
    """What one nvcc says of itself."""

    version: CudaVersion
    release: str
    archs: tuple[Arch, ...]


def find_toolkits(
    *,
    environ: Mapping[str, str] | None = None,
    torch: TorchBuild | None = None,
    explicit: str | None = None,
    timeout: float = TIMEOUT,
    places: Places | None = None,
    only_best: bool = False,
) -> tuple[tuple[Toolkit, ...], tuple[Absence, ...]]:
    """Every toolkit with an nvcc that answers.

    Args:
        environ: The environment variables; None: this process's.
        torch: The installed torch, whose CUDA decides the order.
        explicit: The folder that a person asked for; it comes first.
        timeout: Seconds for each question to an nvcc.
        places: Where to look; None: on this machine.
        only_best: Leave it at one that no other can outrank, where there is one.

    Returns:
        The toolkits, best match first, and what was looked for in vain or
        passed over, with the reason.

    Raises:
        UsageError: If ``explicit`` is no folder of a toolkit.
        ToolError: If the nvcc in ``explicit`` does not work.
    """
    places = places or Places.here(environ)
    looks = list(search(places))
    if explicit is not None:
        looks.insert(0, _look_at_explicit(explicit, places))
    candidates = [candidate for look in looks for candidate in look.candidates]
    if only_best and not _is_named(candidates):
        packaged = [c for c in candidates if c.found_by == ENVIRONMENT]
        toolkits, _ = _read_all(packaged, places, timeout)
        best = [t for t in toolkits if not misfit(t.version, torch.cuda if torch else None)]
        if best:
            return tuple(best), ()
    toolkits, failures = _read_all(candidates, places, timeout)
    if explicit is not None and not any(EXPLICIT in t.found_by for t in toolkits):
        reason = next((a.reason for a in failures if a.what == EXPLICIT), "it did not answer")
        raise ToolError(f"{EXPLICIT} {explicit}: {reason}.", _EXPLICIT_ADVICE)
    ranked = rank_toolkits(toolkits, torch.cuda if torch else None)
    absences = (
        *(Absence(look.step, look.wrong) for look in looks if look.wrong),
        *(Absence(c.found_by, c.note) for c in candidates if c.note),
        *failures,
        *passed_over(ranked, torch, places),
        *([] if ranked else [_nothing(looks, torch)]),
    )
    return ranked, absences


def _is_named(candidates: list[Candidate]) -> bool:
    """Whether a person named a toolkit, which then has to be taken or passed over aloud."""
    named = (EXPLICIT, "CUDA_HOME", "CUDA_PATH")
    return any(candidate.found_by in named for candidate in candidates)


_EXPLICIT_ADVICE = "Give it a folder with a working bin/nvcc, such as /usr/local/cuda-13.0."


def _look_at_explicit(explicit: str, places: Places) -> Look:
    look = look_at_folder(explicit, EXPLICIT, places)
    if look.wrong:
        raise UsageError(f"{look.wrong}.", _EXPLICIT_ADVICE)
    return look


def _read_all(
    candidates: list[Candidate], places: Places, timeout: float
) -> tuple[list[Toolkit], list[Absence]]:
    """The toolkits behind these candidates, each once however many ways lead to it."""
    env = nvcc_says.question_env(places.environ)
    ask: _Ask = partial(run_together, timeout=timeout, env=env)
    located, answers = _ask_all(list(dict.fromkeys(c.nvcc for c in candidates)), ask, places)
    roots = _roots(located.values())
    failures: list[Absence] = []
    led: dict[str, list[str]] = {}
    for candidate in candidates:
        found = located[candidate.nvcc]
        outcome = found if isinstance(found, str) else answers[roots[found.root].nvcc]
        if isinstance(outcome, str):
            failures.append(Absence(candidate.found_by, f"{candidate.nvcc} {outcome}"))
        elif isinstance(found, Location):
            led.setdefault(found.root, []).append(candidate.found_by)
    toolkits = [
        _toolkit(roots[root], answer, tuple(dict.fromkeys(by)), places)
        for root, by in led.items()
        if isinstance(answer := answers[roots[root].nvcc], _Answer)
    ]
    return toolkits, failures


def _roots(located: Iterable[Location | str | None]) -> dict[str, Location]:
    """One location for each root, that of the first path which leads there."""
    roots: dict[str, Location] = {}
    for found in located:
        if isinstance(found, Location):
            roots.setdefault(found.root, found)
    return roots


def _ask_all(
    paths: list[str], ask: _Ask, places: Places
) -> tuple[dict[str, Location | str], dict[str, _Answer | str]]:
    """Where each path leads, and what the nvccs there say; or why that cannot be told.

    Those whose location the files tell are asked together with the dry runs of
    the others; most often no nvcc is left to ask after that.
    """
    by_files = {path: nvcc_says.locate_by_files(Path(path)) for path in paths}
    unknown = [path for path, location in by_files.items() if location is None]
    known = [at.nvcc for at in _roots(by_files.values()).values()]
    commands = [nvcc_says.dryrun_command(path, windows=places.is_windows) for path in unknown]
    outcomes = ask(commands + _questions(known))
    dryruns = dict(zip(unknown, outcomes, strict=False))
    located = {path: at or _told(path, dryruns[path]) for path, at in by_files.items()}
    rest = [at.nvcc for at in _roots(located.values()).values() if at.nvcc not in known]
    answers = _answers(known, outcomes[len(unknown) :]) | _answers(rest, ask(_questions(rest)))
    return located, answers


def _told(path: str, dryrun: Outcome) -> Location | str:
    # It may end badly for want of a host compiler, and has told the root by then.
    location = nvcc_says.parse_dryrun(path, dryrun.stdout + dryrun.stderr)
    return location or nvcc_says.broken(dryrun, "its --dryrun names no root")


def _questions(nvccs: list[str]) -> list[list[str]]:
    return [[nvcc, option] for nvcc in nvccs for option in ("--version", "--help")]


def _answers(nvccs: list[str], outcomes: tuple[Outcome, ...]) -> dict[str, _Answer | str]:
    pairs = zip(outcomes[::2], outcomes[1::2], strict=True)
    return {nvcc: _answer(*pair) for nvcc, pair in zip(nvccs, pairs, strict=True)}


def _answer(version: Outcome, usage: Outcome) -> _Answer | str:
    says = nvcc_says.parse_version(version.stdout) if version.ok else None
    if says is None:
        return nvcc_says.broken(version, "its --version names no release")
    archs = nvcc_says.parse_archs(usage.stdout)
    if not archs:
        return nvcc_says.broken(usage, "its --help names no architecture")
    return _Answer(*says, archs)


def _toolkit(
    location: Location, answer: _Answer, found_by: tuple[str, ...], places: Places
) -> Toolkit:
    root = Path(location.root)
    return Toolkit(
        root=location.root,
        nvcc=location.nvcc,
        version=answer.version,
        release=answer.release,
        archs=answer.archs,
        found_by=tuple(sorted(found_by, key=STEP_NAMES.index)),
        cuobjdump=beside(location.nvcc, "cuobjdump", places),
        include=include_folders(root, places.processor),
        lib=lib_folders(root, places.processor),
    )


def rank_toolkits(toolkits: Iterable[Toolkit], cuda: CudaVersion | None) -> tuple[Toolkit, ...]:
    """Order toolkits by how well they fit; pure.

    A person's explicit choice is first. Then the same CUDA as torch's, the
    same major version, any other. Among those that fit equally, the order of
    :data:`STEP_NAMES` decides, then the order in which they were found.

    Args:
        toolkits: In the order in which they were found.
        cuda: The CUDA that torch was built with; None: every one fits equally.
    """

    def key(toolkit: Toolkit) -> tuple[bool, int, int]:
        source = min(map(STEP_NAMES.index, toolkit.found_by))
        return EXPLICIT not in toolkit.found_by, misfit(toolkit.version, cuda), source

    return tuple(sorted(toolkits, key=key))


def misfit(version: CudaVersion, cuda: CudaVersion | None) -> int:
    """How badly a toolkit fits torch's CUDA: 0 the same, 1 the same major version, 2 not."""
    if cuda is None or version == cuda:
        return 0
    return 1 if version.major == cuda.major else 2


def passed_over(
    ranked: tuple[Toolkit, ...], torch: TorchBuild | None, places: Places
) -> tuple[Absence, ...]:
    """A word on each toolkit that a variable names and that is not the one taken."""
    if not ranked or EXPLICIT in ranked[0].found_by:
        return ()
    return tuple(
        Absence(name, _passed_over(f"{name}={places.variable(name)}", toolkit, ranked[0], torch))
        for name in ("CUDA_HOME", "CUDA_PATH")
        for toolkit in ranked[1:]
        if name in toolkit.found_by
    )


def _passed_over(says: str, toolkit: Toolkit, best: Toolkit, torch: TorchBuild | None) -> str:
    cuda = torch.cuda if torch else None
    if torch and misfit(best.version, cuda) < misfit(toolkit.version, cuda):
        why = f"which fits torch {torch.version}"
    elif ENVIRONMENT in best.found_by:
        why = "which this environment's packages bring"
    else:
        why = f"which {best.found_by[0]} names"
    packaged = ENVIRONMENT in best.found_by
    build = ", or, for a build, uninstall nvidia-cuda-nvcc" if packaged else ""
    return (
        f"{says} (CUDA {toolkit.version}) is passed over for {best.root} (CUDA {best.version}), "
        f"{why}; to take it all the same, name it with --toolkit{build}"
    )


def _nothing(looks: list[Look], torch: TorchBuild | None) -> Absence:
    tried = ", ".join(look.tried for look in looks)
    return Absence("toolkit", f"no nvcc that works: looked at {tried}; {_cure(torch)}")


def _cure(torch: TorchBuild | None) -> str:
    cuda = torch.cuda if torch else None
    if cuda is None or cuda.major >= 13:
        wanted = f"cu{cuda.major}{cuda.minor}" if cuda else "toolkit"
        return f"pip install 'archbuild[{wanted}]' brings one"
    return (
        f"no package brings an nvcc for CUDA {cuda.major}: install CUDA {cuda} by conda "
        f"(conda install -c nvidia cuda-toolkit={cuda}) or system-wide, and set CUDA_HOME"
    )
