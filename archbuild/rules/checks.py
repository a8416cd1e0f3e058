"""What is in a file against what should be: images x expectation -> findings.

Pure. The codes are stable: a build, a script or a waiver may rely on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from archbuild.model.arch import Arch
from archbuild.model.finding import Finding, Severity
from archbuild.model.image import DeviceFile, Image, ImageKind, Linkage


@dataclass(frozen=True)
class Code:
    """One kind of finding about binaries.

    Args:
        code: ``V201``.
        severity: How much it weighs.
        title: A few words, for lists of codes.
    """

    code: str
    severity: Severity
    title: str


NO_DEVICE_CODE = Code("V200", Severity.ERROR, "no device code")
TARGET_MISSING = Code("V201", Severity.ERROR, "target missing")
NOT_LINKED = Code("V202", Severity.ERROR, "device link missing")
SURPLUS = Code("V203", Severity.NOTE, "surplus target")
UNKNOWN_ENTRY = Code("V204", Severity.WARNING, "unknown entry")
HIP_CODE = Code("V205", Severity.ERROR, "HIP code, not CUDA")
NOT_SEEN = Code("V206", Severity.ERROR, "not readable by this reader")
NO_WHEEL = Code("V207", Severity.NOTE, "a zip archive but no wheel")
LTO_ONLY = Code("V208", Severity.ERROR, "LTO-IR only")

#: Every code that verify can give.
CODES = (
    NO_DEVICE_CODE,
    TARGET_MISSING,
    NOT_LINKED,
    SURPLUS,
    UNKNOWN_ENTRY,
    HIP_CODE,
    NOT_SEEN,
    NO_WHEEL,
    LTO_ONLY,
)


class Sight(Enum):
    """What a reader could make of a file."""

    CUDA = "cuda"
    HIP = "hip"
    NOTHING = "nothing"
    BLIND = "blind"


@dataclass(frozen=True)
class Seen:
    """A file after a reader's look.

    Args:
        path: The file.
        sight: What the look amounts to.
        file: What the reader saw; None where it could not see.
        reason: Why it could not see.
        advice: What could.
    """

    path: str
    sight: Sight
    file: DeviceFile | None = None
    reason: str = ""
    advice: str = ""

    @classmethod
    def of(cls, file: DeviceFile, *, has_hip: bool) -> Seen:
        """A file that could be read."""
        empty = Sight.HIP if has_hip else Sight.NOTHING
        return cls(file.path, Sight.CUDA if file.images else empty, file)

    @classmethod
    def blind(cls, path: str, reason: str, advice: str) -> Seen:
        """A file into which the reader cannot see."""
        return cls(path, Sight.BLIND, None, reason, advice)


@dataclass(frozen=True)
class FileVerdict:
    """One file against the targets.

    Args:
        path: The file.
        present: Targets that it holds, ready to load.
        missing: Targets that it doesn't hold.
        surplus: What it holds besides.
        note: What else there is to say; empty where there is nothing.
        judged: False for a file that has no CUDA code or cannot be seen into.
    """

    path: str
    present: tuple[Arch, ...] = ()
    missing: tuple[Arch, ...] = ()
    surplus: tuple[Arch, ...] = ()
    note: str = ""
    judged: bool = True


def judge_file(seen: Seen, targets: Iterable[Arch]) -> FileVerdict:
    """Hold one file against the targets.

    Every target must be there exactly: plain, ``a`` and ``f`` are different,
    and only what a driver can load counts. Images known to be without kernels
    are no surplus: they serve nothing and do no harm.

    Args:
        seen: The file.
        targets: What it must hold.
    """
    wanted = frozenset(targets)
    if seen.file is None or seen.sight is not Sight.CUDA:
        return FileVerdict(seen.path, note=_unjudged(seen), judged=False)
    loadable = seen.file.targets
    surplus = frozenset(i.arch for i in _loadable(seen.file) if i.arch and i.kernels != ())
    return FileVerdict(
        seen.path,
        present=tuple(sorted(wanted & loadable)),
        missing=tuple(sorted(wanted - loadable)),
        surplus=tuple(sorted(surplus - wanted)),
        note=_unusual(seen.file),
    )


def _loadable(file: DeviceFile) -> list[Image]:
    return [image for image in file.images if image.is_loadable]


def _unjudged(seen: Seen) -> str:
    notes = {
        Sight.HIP: "HIP, not CUDA",
        Sight.BLIND: "cannot be seen by this reader",
        Sight.NOTHING: "no device code",
    }
    return notes.get(seen.sight, "")


def _unusual(file: DeviceFile) -> str:
    """Why nothing of a file with images can be loaded."""
    if _loadable(file):
        return ""
    if all(image.kind is ImageKind.LTOIR for image in file.images):
        return "LTO-IR only"
    if all(_needs_link(image) for image in file.images):
        return "relocatable only"
    return "nothing that can be loaded"


def _needs_link(image: Image) -> bool:
    return image.linkage is Linkage.RELOCATABLE or image.kind is ImageKind.LTOIR


def check_targets(files: Sequence[Seen], targets: Sequence[Arch], path: str) -> tuple[Finding, ...]:
    """Everything wrong with these files, in their order.

    Args:
        files: Every file that can hold device code.
        targets: What each file with device code must hold.
        path: The wheel, the folder or the one file that they come from.
    """
    findings = [finding for seen in files for finding in _check_file(seen, targets)]
    return (*_check_whole(files, path), *findings)


def _check_whole(files: Sequence[Seen], path: str) -> list[Finding]:
    """Whether there is any device code at all; blind spots forbid to say so."""
    sights = {seen.sight for seen in files}
    if sights & {Sight.CUDA, Sight.BLIND}:
        return []
    if Sight.HIP in sights:
        paths = tuple(seen.path for seen in files if seen.sight is Sight.HIP)
        return [
            _finding(
                HIP_CODE,
                f"{path} holds HIP, not CUDA: {_count(paths, 'file')} with code for AMD's GPUs, "
                "and none for NVIDIA's.",
                path,
                evidence=paths,
                advice="Verify the CUDA build of this package.",
            )
        ]
    looked = _count(files, "file") if files else "no file that could hold any"
    return [
        _finding(
            NO_DEVICE_CODE,
            f"{path} holds no device code at all (looked at: {looked}).",
            path,
            evidence=tuple(seen.path for seen in files)[:20],
            advice="Look whether the build went to the CPU only: no nvcc, or no GPU at build time.",
        )
    ]


def _count(items: Sequence[object], what: str) -> str:
    return f"{len(items)} {what}{'' if len(items) == 1 else 's'}"


def _check_file(seen: Seen, targets: Sequence[Arch]) -> Iterable[Finding]:
    if seen.sight is Sight.BLIND:
        yield _finding(NOT_SEEN, seen.reason, seen.path, advice=seen.advice)
    if seen.file is None or seen.sight is not Sight.CUDA:
        return
    verdict = judge_file(seen, targets)
    yield from (_missing(seen.file, arch) for arch in verdict.missing)
    yield from _check_linkage(seen.file, verdict)
    if verdict.surplus:
        yield _surplus(seen.file, verdict)
    for note in seen.file.notes:
        message = f"{seen.path} holds something that {seen.file.reader} or archbuild doesn't know."
        yield _finding(UNKNOWN_ENTRY, message, seen.path, evidence=(note,))


def _missing(file: DeviceFile, arch: Arch) -> Finding:
    there = [image for image in file.images if image.arch == arch]
    reason = "; it is there as code that still needs a device link" if there else ""
    finding = _finding(
        TARGET_MISSING,
        f"{file.path} has no {arch}{reason}.",
        file.path,
        evidence=(f"holds: {', '.join(map(str, sorted(file.targets))) or 'nothing loadable'}",),
        advice="Build it again for this target, or take the target from the list.",
    )
    return replace(finding, arch=str(arch))


def _check_linkage(file: DeviceFile, verdict: FileVerdict) -> Iterable[Finding]:
    if verdict.note == "relocatable only":
        yield _finding(
            NOT_LINKED,
            f"All device code of {file.path} is relocatable, and no GPU can load it as it is.",
            file.path,
            advice="Link the device code: nvcc -dlink, or dlink=True in the extension.",
        )
    elif verdict.note == "LTO-IR only":
        yield _finding(
            LTO_ONLY,
            f"{file.path} holds nothing but LTO-IR, which no GPU runs.",
            file.path,
            advice="Link it with nvcc -dlto and the real architectures.",
        )


def _surplus(file: DeviceFile, verdict: FileVerdict) -> Finding:
    names = ", ".join(map(str, verdict.surplus))
    hint = ""
    if {str(arch) for arch in verdict.surplus} <= {"sm_52", "sm_75"}:
        hint = (
            "nvcc -shared adds an empty image for its default architecture where the link is "
            "given none: pass the -gencode flags to the link, too."
        )
    return _finding(SURPLUS, f"{file.path} also holds {names}.", file.path, advice=hint)


def check_container(description: str, path: str) -> tuple[Finding, ...]:
    """A note, where the container is something unusual.

    Args:
        description: One sentence; empty where it is nothing unusual.
        path: The container.
    """
    return (_finding(NO_WHEEL, description, path),) if description else ()


def _finding(
    code: Code,
    message: str,
    file: str | None = None,
    *,
    evidence: tuple[str, ...] = (),
    advice: str = "",
) -> Finding:
    return Finding(code.code, code.severity, message, file, evidence=evidence, advice=advice)


def lacks_every_target(seen: Seen, targets: Iterable[Arch]) -> bool:
    """Whether a closer look pays: a file with code for none of the targets.

    It may hold only the empty image that ``nvcc -shared`` adds to a library of
    host code, and then there is nothing to judge.
    """
    return seen.file is not None and bool(seen.file.images) and not seen.file.targets & {*targets}


def without_empty_images(seen: Seen) -> Seen:
    """The file as one without device code, if its kernels are known and it has none."""
    if seen.file is None or any(image.kernels != () for image in seen.file.images):
        return seen
    return Seen(seen.path, Sight.NOTHING, seen.file)
