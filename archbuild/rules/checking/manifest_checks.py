"""A library against the manifest beside it, and against the torch in the environment. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from archbuild.model.finding import Finding, Severity
from archbuild.model.image import DeviceFile
from archbuild.model.machine import TorchBuild
from archbuild.model.manifest import Manifest
from archbuild.rules.checking.codes import (
    DEVELOPMENT,
    NOT_AS_BUILT,
    OTHER_LIBRARY,
    OTHER_TORCH,
    SOURCE_LEFT_OUT,
    TARGET_MISSING,
    arch_names,
    finding_of,
)
from archbuild.rules.checking.intent import Intent

#: How much a finding tells one by one.
SHOWN = 10
# With these an extension asks for torch's stable ABI only, which newer torches keep.
_STABLE = ("-DTORCH_TARGET_VERSION", "-DTORCH_STABLE_ONLY")


def is_of(manifest: Manifest, path: str) -> bool:
    """Whether a manifest is that of the library beside which it lies."""
    return manifest.library == path.replace("\\", "/").rpartition("/")[2]


def check_other_library(manifest: Manifest, name: str, path: str) -> Finding:
    """A manifest that lies beside a library and was written for another.

    Args:
        manifest: What was found.
        name: Its file.
        path: The library.
    """
    message = f"{name} is the manifest of {manifest.library}, not of {path}: it was passed over."
    advice = "Build both again; a folder has room for the manifest of one build of a module."
    return finding_of(OTHER_LIBRARY, message, path, advice=advice)


def check_manifest(
    file: DeviceFile, manifest: Manifest, intent: Intent | None, *, allow_dev: bool = False
) -> tuple[Finding, ...]:
    """Everything that a file's manifest says against it.

    Args:
        file: With digests, where the reader can give them.
        manifest: The one beside it.
        intent: Where its sources are in the file; None: the reader tells no regions.
        allow_dev: Whether a development build will do.
    """
    return (
        *check_digests(file, manifest),
        *check_development(file.path, manifest, allow_dev=allow_dev),
        *(check_lost(file.path, intent) if intent is not None else ()),
        *check_left_out(file.path, manifest),
    )


def check_digests(file: DeviceFile, manifest: Manifest) -> Iterable[Finding]:
    """Whether the images are those that were built, byte for byte."""
    named = [image for image in file.images if image.arch is not None]
    if any(image.digest is None for image in named):
        return
    here = Counter((str(image.arch), str(image.digest)) for image in named)
    built = Counter((str(image.arch), image.sha256) for image in manifest.images)
    strange, gone = here - built, built - here
    if not strange and not gone:
        return
    counts = f"{sum(strange.values())} are others, {sum(gone.values())} are gone"
    message = f"{file.path} does not hold the images that its manifest was written for: {counts}."
    told = [f"{arch}: not of this build ({digest[:12]})" for arch, digest in strange]
    told += [f"{arch}: of this build, and not here ({digest[:12]})" for arch, digest in gone]
    more = (f"and {len(told) - SHOWN} more",) if len(told) > SHOWN else ()
    advice = "Build it again; what changed the library after its build changed its device code."
    evidence = (*told[:SHOWN], *more)
    yield finding_of(NOT_AS_BUILT, message, file.path, evidence=evidence, advice=advice)


def check_development(path: str, manifest: Manifest, *, allow_dev: bool) -> Iterable[Finding]:
    """A build for a quick try, with one virtual architecture for all: not to be shipped."""
    if manifest.development:
        message = f"{path} is a development build: all its code came from one virtual architecture."
        advice = "Build it again without development mode; --allow-dev lets it pass."
        finding = finding_of(DEVELOPMENT, message, path, advice=advice)
        yield replace(finding, severity=Severity.NOTE) if allow_dev else finding


def check_lost(path: str, intent: Intent) -> Iterable[Finding]:
    """Sources that were built and of which the library holds nothing."""
    for lost in intent.lost:
        names = ", ".join(source.path for source in lost.sources[:SHOWN])
        some = lost.count < len(lost.sources)
        what = f"{lost.count} of these {len(lost.sources)} sources: {names}" if some else names
        message = f"{path} holds nothing of {what} ({arch_names(lost.sources[0].targets)})."
        advice = "Look whether its object reached the linker, and build again."
        yield finding_of(TARGET_MISSING, message, path, advice=advice)


def check_left_out(path: str, manifest: Manifest) -> Iterable[Finding]:
    """Sources that serve none of the targets: a note each."""
    for source in (source for source in manifest.sources if source.left_out):
        message = f"{path} was built without {source.path}: {source.left_out}."
        advice = "Add one of its architectures to those of the build, if it should be in it."
        yield finding_of(SOURCE_LEFT_OUT, message, path, advice=advice)


def check_torch(
    path: str, manifest: Manifest, torch: TorchBuild, cxx11_abi: bool | None = None
) -> Iterable[Finding]:
    """Whether the torch in the environment is the one that a library was built for.

    Args:
        path: The library.
        manifest: Its manifest.
        torch: What is installed.
        cxx11_abi: The C++ ABI of that; None: not known.
    """
    told = tuple(_differences(manifest, torch, cxx11_abi))
    if told:
        message = (
            f"{path} was built for torch {manifest.torch}, and torch {torch.version} is installed: "
            'an import can end in "undefined symbol".'
        )
        advice = "Build it again with this torch, or install the one that it was built for."
        yield finding_of(OTHER_TORCH, message, path, evidence=told, advice=advice)


def _differences(manifest: Manifest, torch: TorchBuild, cxx11_abi: bool | None) -> Iterable[str]:
    if manifest.torch is None:
        return
    built, here = _minor(manifest.torch), _minor(torch.version)
    stable = any(flag.startswith(_STABLE) for flag in manifest.flags)
    if built != here and not (stable and _numbers(here) >= _numbers(built)):
        yield f"torch: built for {built}, installed {here}"
    if None not in (cxx11_abi, manifest.cxx11_abi) and cxx11_abi is not manifest.cxx11_abi:
        yield f"C++ ABI (_GLIBCXX_USE_CXX11_ABI): built for {manifest.cxx11_abi:d}, here the other"
    cuda = None if torch.cuda is None else str(torch.cuda)
    if manifest.torch_cuda is not None and _major(manifest.torch_cuda) != _major(cuda or ""):
        yield f"CUDA of torch: built for {manifest.torch_cuda}, installed {cuda or 'none'}"


def _minor(version: str) -> str:
    """``2.14`` of ``2.14.1+cu130``."""
    return ".".join(version.partition("+")[0].split(".")[:2])


def _major(version: str) -> str:
    return version.partition(".")[0]


def _numbers(minor: str) -> tuple[int, ...]:
    parts = minor.split(".")
    return tuple(int(part) for part in parts) if all(map(str.isdecimal, parts)) else ()
