"""Does this binary hold these targets? Read it, hold it against them, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from archbuild.binary.cuobjdump import read_version, read_with_cuobjdump
from archbuild.binary.outline import read_outline
from archbuild.binary.wheel import Candidate, describe_container, iter_candidates
from archbuild.errors import BlindReaderError, UsageError
from archbuild.model.arch import Arch
from archbuild.model.finding import Finding, has_errors
from archbuild.rules.checks import (
    NOT_SEEN,
    FileVerdict,
    Seen,
    check_container,
    check_targets,
    judge_file,
    lacks_every_target,
    without_empty_images,
)


@dataclass(frozen=True)
class VerifyReport:
    """What verify found.

    Args:
        paths: What was verified, as the person named it.
        targets: What every file with device code must hold.
        files: Every file that could hold device code.
        findings: What is wrong or worth a note.
        ok: Whether nothing is wrong.
        reader: Who read the files, ``"cuobjdump 13.5.37"``.
    """

    paths: tuple[str, ...]
    targets: tuple[Arch, ...]
    files: tuple[FileVerdict, ...]
    findings: tuple[Finding, ...]
    ok: bool
    reader: str

    @property
    def exit_code(self) -> int:
        """0 nothing wrong; 3 something could not be read; 1 something is wrong."""
        if any(finding.code == NOT_SEEN.code for finding in self.findings):
            return 3
        return 0 if self.ok else 1


def verify_targets(
    paths: str | Path | Sequence[str | Path],
    targets: Sequence[Arch],
    *,
    cuobjdump: str,
    file_glob: str | None = None,
    strict: bool = False,
) -> VerifyReport:
    """Whether every file with device code holds every target.

    Args:
        paths: Libraries, objects, archives, wheels or folders, one or several;
            each must hold device code.
        targets: What they must hold, exactly.
        cuobjdump: The cuobjdump to read with.
        file_glob: Only files whose name, or whole path, matches.
        strict: Warnings fail as well.

    Raises:
        UsageError: If no path or no target is given, or no file matches the glob.
        BinaryError: If something cannot be read to its end.
        ToolError: If cuobjdump fails.
    """
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    wanted = tuple(sorted(set(targets)))
    if not given:
        raise UsageError("verify was given nothing to verify.", "Name a library or a wheel.")
    if not wanted:
        raise UsageError("verify was given no target.", "Name some: --targets 8.6,9.0")
    looks = [_Look(wanted, cuobjdump, file_glob, len(given) > 1).at(path) for path in given]
    findings = tuple(finding for look in looks for finding in look.findings)
    seen = [one for look in looks for one in look.seen]
    if file_glob is not None and not seen:
        names = ", ".join(map(str, given))
        raise UsageError(f"No file in {names} matches {file_glob!r}.", "Look at the names first.")
    return VerifyReport(
        tuple(map(str, given)),
        wanted,
        tuple(judge_file(one, wanted) for one in seen),
        findings,
        not has_errors(findings, strict=strict),
        f"cuobjdump {read_version(cuobjdump)}",
    )


@dataclass(frozen=True)
class _Looked:
    """What was seen in one path."""

    seen: tuple[Seen, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class _Look:
    """How to look: at which files, for what, with what."""

    targets: tuple[Arch, ...]
    cuobjdump: str
    file_glob: str | None
    several: bool

    def at(self, path: str | Path) -> _Looked:
        """Look at every file in a path that can hold device code."""
        name = str(path)
        notes = check_container(describe_container(path), name)
        seen = tuple(
            _read(candidate, self.targets, self.cuobjdump)
            for candidate in self._candidates(path)
            if self.file_glob is None or _matches(candidate.name, self.file_glob)
        )
        if self.file_glob is not None and not seen:
            return _Looked((), notes)
        return _Looked(seen, (*notes, *check_targets(seen, self.targets, name)))

    def _candidates(self, path: str | Path) -> Iterator[Candidate]:
        """With several paths a member's name says which wheel it is from."""
        for candidate in iter_candidates(path):
            inside = not candidate.name.startswith(str(path))
            name = f"{path}/{candidate.name}" if inside and self.several else candidate.name
            yield Candidate(name, candidate.real)


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(PurePosixPath(name).name, pattern)


def _read(candidate: Candidate, targets: Sequence[Arch], cuobjdump: str) -> Seen:
    """Read one file; with its kernels where that decides whether there is anything to judge."""
    has_hip = read_outline(candidate.real, candidate.name).has_hip
    try:
        file = read_with_cuobjdump(candidate.real, cuobjdump, name=candidate.name)
        seen = Seen.of(file, has_hip=has_hip)
        if lacks_every_target(seen, targets):
            closer = read_with_cuobjdump(
                candidate.real, cuobjdump, kernels=True, name=candidate.name
            )
            return without_empty_images(Seen.of(closer, has_hip=has_hip))
    except BlindReaderError as error:
        return Seen.blind(candidate.name, error.message, error.advice)
    return seen
