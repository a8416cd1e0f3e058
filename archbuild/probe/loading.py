"""Which of NVIDIA's libraries a process here would really load, and from where.

The loader of the system does the search itself, in a child process: stand-ins with
the needs and the search paths of torch's libraries are loaded in torch's order, and
what has been mapped is read back. torch is never imported, and no GPU is needed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from archbuild.model.installed import LoadedLibrary
from archbuild.probe.loading_places import Places, find_places
from archbuild.probe.loading_plan import (
    DRIVER,
    FAMILY,
    Step,
    needs_of,
    plan_steps,
    soname_of,
    split,
)
from archbuild.probe.process import Outcome, run_limited

#: Seconds for the libraries that are loaded together.
TIMEOUT = 5.0
# Each time what failed is asked again in smaller pieces: together, each by itself, what
# it needs; twice more for others that hang.
_ROUNDS = 6
# Characters of an error that are kept.
_LONGEST = 2000
# CUDA_ERROR_STUB_LIBRARY
_STUB = 34
_NO_FILE = re.compile(r"(\S+\.so[\d.]*): cannot open shared object file")
_NO_PRELOAD = re.compile(r"object '([^']+)' from LD_PRELOAD cannot be preloaded \(([^)]*)\)")


@dataclass(frozen=True)
class _Answer:
    """What a child told.

    Args:
        errors: The loader's words by the number of the step.
        stuck: The step or library that it did not come back from.
        mapped: Names under which libraries were found, and their files.
        versions: By such a name.
        init: What cuInit gave, by such a name.
        outcome: How the child ended.
        done: Whether it came to its end.
    """

    outcome: Outcome
    errors: dict[int, str] = field(default_factory=dict)
    stuck: int | str | None = None
    mapped: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    init: dict[str, int | None] = field(default_factory=dict)
    done: bool = False


def query_loaded(
    *,
    environ: Mapping[str, str] | None = None,
    packages: Sequence[Path] | None = None,
    timeout: float = TIMEOUT,
) -> tuple[LoadedLibrary, ...]:
    """The CUDA libraries that a process which imports torch would load in this environment.

    Without torch only the driver's library is asked for. Linux only: elsewhere there
    is nothing to tell, and nothing is returned.

    Args:
        environ: The environment of the process; None: this one's.
        packages: Folders of packages, in their order; None: those on ``sys.path``.
        timeout: Seconds for one child; a library that hangs costs a few of them.

    Returns:
        The libraries by name, the driver's first. One that can't be loaded has its
        ``trouble``.
    """
    if not sys.platform.startswith("linux"):
        return ()
    env = dict(os.environ if environ is None else environ)
    folders = tuple(map(Path, filter(None, sys.path))) if packages is None else tuple(packages)
    torch = next((f / "torch" for f in folders if (f / "torch" / "lib").is_dir()), None)
    places = find_places(env, folders, torch)
    steps, answer = _ask_until_clear(plan_steps(torch, folders), env, places, timeout)
    rows = {**_mapped(answer, places), **_preloads(answer, places)}
    for row in _troubled(steps, answer, places):
        before = rows.get(row.soname)
        rows[row.soname] = row if before is None else replace(before, trouble=row.trouble)
    return tuple(sorted(rows.values(), key=lambda r: (r.soname != DRIVER, r.soname.casefold())))


def _ask_until_clear(
    steps: tuple[Step, ...], env: Mapping[str, str], places: Places, timeout: float
) -> tuple[tuple[Step, ...], _Answer]:
    """Ask; what fails is asked again in smaller pieces, so that the rest is told."""
    answer = _ask(steps, env, timeout)
    for _ in range(_ROUNDS):
        refined = tuple(_refine(steps, answer, places))
        if refined == steps:
            break
        steps, answer = refined, _ask(refined, env, timeout)
    return steps, answer


def _ask(steps: Sequence[Step], env: Mapping[str, str], timeout: float) -> _Answer:
    orders = [(number, step.order()) for number, step in enumerate(steps) if not step.trouble]
    plan = json.dumps({"steps": [order for _, order in orders]})
    script = str(Path(__file__).with_name("ask_loader.py"))
    outcome = run_limited([sys.executable, "-I", "-S", script, plan], timeout=timeout, env=env)
    return _parse(outcome, [number for number, _ in orders])


def _parse(outcome: Outcome, numbers: Sequence[int]) -> _Answer:
    """What a child printed; a line that is none of its own is left out."""
    answer = _Answer(outcome)
    for line in outcome.stdout.splitlines():
        try:
            said = json.loads(line)
            answer = _add(answer, said, numbers)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue
    return answer


def _add(answer: _Answer, said: dict[str, object], numbers: Sequence[int]) -> _Answer:
    mapped = said.get("mapped")
    if isinstance(mapped, list):
        answer = replace(answer, mapped={str(n): str(p) for n, p in mapped} | answer.mapped)
    if "begin" in said:
        return replace(answer, stuck=numbers[int(str(said["begin"]))])
    if "end" in said:
        number, error = numbers[int(str(said["end"]))], said["error"]
        errors = {} if error is None else {number: _words(str(error))}
        return replace(answer, stuck=None, errors={**answer.errors, **errors})
    if "asking" in said:
        return replace(answer, stuck=str(said["asking"]))
    if "version" in said:
        versions = {**answer.versions, str(said["of"]): str(said["version"])}
        return replace(answer, stuck=None, versions=versions)
    if "init" in said:
        code = said["init"]
        init = {**answer.init, str(said["of"]): code if isinstance(code, int) else None}
        return replace(answer, stuck=None, init=init)
    return replace(answer, stuck=None, done=True) if said.get("done") else answer


def _words(text: str) -> str:
    """The loader's words, which name two paths or three, in one printable line."""
    return "".join(c if c.isprintable() else "?" for c in text.strip())[:_LONGEST]


def _refine(steps: Sequence[Step], answer: _Answer, places: Places) -> Iterator[Step]:
    """The steps again, those that failed or hung in smaller pieces."""
    known = {step.what for step in steps}
    for number, step in enumerate(steps):
        stuck = answer.stuck == number and not answer.done
        error = answer.errors.get(number)
        if step.trouble or (error is None and not stuck):
            yield step
            continue
        if len(step.needed) > 1:
            yield from split(step)
            continue
        yield replace(step, trouble=answer.outcome.reason or "ended early") if stuck else step
        path = _culprit(step, error, places)
        needs = needs_of(path, step) if path is not None and path.name not in known else None
        if needs is not None:
            yield needs


def _culprit(step: Step, error: str | None, places: Places) -> Path | None:
    """The file that could not be loaded: the loader names it, or it is the one it would take."""
    named = (error or "").partition(": ")[0]
    if named.startswith("/") and "/proc/self/fd/" not in named:
        return Path(named)
    if error is not None and _NO_FILE.search(error):
        return None
    found = places.search(step.soname, step)
    return None if found is None else Path(found)


# --- rows -------------------------------------------------------------------------------------


def _mapped(answer: _Answer, places: Places) -> dict[str, LoadedLibrary]:
    rows: dict[str, LoadedLibrary] = {}
    for name, path in answer.mapped.items():
        if FAMILY.fullmatch(Path(name).name) is None:
            continue
        row = _row(name, path, answer, places)
        rows.setdefault(row.soname, row)
    return rows


def _row(name: str, path: str, answer: _Answer, places: Places) -> LoadedLibrary:
    soname = soname_of(Path(path))
    expected = places.expected(soname, path)
    both = f"{name}:{path}"
    silent = answer.stuck == name and not answer.done
    return LoadedLibrary(
        soname=soname,
        path=path,
        version=_version(path, answer.versions.get(name)),
        found_by=places.found_by(name, path),
        expected=expected,
        stub="/stubs/" in both or answer.init.get(name) == _STUB,
        compat="/compat/" in both or "/cuda-compat" in both,
        trouble=f"asked for its version, it {answer.outcome.reason}" if silent else "",
        others=tuple(other for other in places.all_of(soname) if other not in (path, expected)),
    )


def _version(path: str, told: str | None) -> str | None:
    """By the file's name where that says more than the major version."""
    match = re.search(r"\.so\.(\d+(?:\.\d+)+)$", path, re.ASCII)
    return match[1] if match and not _is_hashed(path) else told


def _is_hashed(path: str) -> bool:
    return re.search(r"-[0-9a-f]{8}\.so", path) is not None


def _troubled(steps: Sequence[Step], answer: _Answer, places: Places) -> Iterator[LoadedLibrary]:
    """Rows for what could not be loaded, in the loader's words."""
    silent = not answer.done and not answer.mapped  # The child told nothing at all.
    for number, step in enumerate(steps):
        words = step.trouble or answer.errors.get(number, "")
        if silent and not words:
            words = answer.outcome.reason
        elif len(step.needed) > 1 or _is_made_good(step, steps, answer):
            continue
        if not words:
            continue
        wanted = step.needed or (step.soname,)
        for soname in filter(FAMILY.fullmatch, wanted):
            yield _lost(soname, _culprit(step, words, places), words, places)
        missing = _NO_FILE.match(words)
        if missing and missing[1] not in wanted:
            yield _lost(missing[1], None, words, places)


def _is_made_good(step: Step, steps: Sequence[Step], answer: _Answer) -> bool:
    """Whether torch tries once more when it has loaded libraries by hand, and succeeds."""
    again = [n for n, s in enumerate(steps) if s.after_failure and s.what == step.what]
    return bool(again) and not step.after_failure and not any(n in answer.errors for n in again)


def _lost(soname: str, path: Path | None, words: str, places: Places) -> LoadedLibrary:
    if path is not None and FAMILY.fullmatch(path.name) is None:
        path = None
    found = None if path is None else os.path.realpath(path)
    mine = path is not None and soname in (path.name, soname_of(path))
    where = found if mine else None
    return LoadedLibrary(
        soname=soname,
        path=where,
        version=_version(where, None) if where else None,
        found_by=places.found_by(str(path), where) if where else None,
        expected=places.expected(soname, where),
        trouble=words,
    )


def _preloads(answer: _Answer, places: Places) -> dict[str, LoadedLibrary]:
    """What LD_PRELOAD names of NVIDIA's and the loader could not load."""
    rows = {}
    for name, words in _NO_PRELOAD.findall(answer.outcome.stderr):
        soname = Path(name).name
        if FAMILY.fullmatch(soname) and not _taken(soname, answer):
            rows[soname] = replace(_lost(soname, None, words, places), found_by="LD_PRELOAD")
    return rows


def _taken(soname: str, answer: _Answer) -> bool:
    return any(Path(name).name == soname for name in answer.mapped)
