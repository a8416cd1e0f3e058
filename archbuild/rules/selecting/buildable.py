"""Whether an nvcc can build a target, and what would serve where it can't."""

from __future__ import annotations

from collections.abc import Iterable

from archbuild.errors import UnsupportedTargetError
from archbuild.model.arch import Arch, Stage, Suffix
from archbuild.rules.covering.reach import nearest_real, nearest_virtual
from archbuild.rules.selecting.request import Compiler

# The tables are loaded where they are used: most lists need none of them, and a command
# has to start quickly.
# ruff: noqa: PLC0415


def current_name(target: Arch, compiler: Compiler) -> Arch:
    """The target under the number which this nvcc has for its chip: 10.1 is 11.0 in CUDA 13.

    Args:
        target: Any target; all but those of a renamed chip come back as they are.
        compiler: Decides which of the two numbers is known.
    """
    if target in compiler.archs:
        return target
    from archbuild.facts.architectures import RENAMED

    for row in RENAMED:
        renamed = Arch(target.stage, row.new, target.suffix)
        if target.capability == row.old and renamed in compiler.archs:
            return renamed
    return target


def require_buildable(target: Arch, wanted: str, compiler: Compiler) -> None:
    """Refuse a target that was asked for and that this nvcc can't build.

    Args:
        target: What was asked for.
        wanted: Where, for the message: ``8.9 in --arch``.
        compiler: What has to build it.

    Raises:
        UnsupportedTargetError: Naming the nearest target that would serve, and
            the toolkits that could build this one.
    """
    if _is_buildable(target, compiler):
        return
    advice = tuple(_renamed(target, compiler)) or (
        *_nearest(target, compiler),
        toolkit_cure(target),
    )
    message = f"{compiler.origin} cannot build {target} ({wanted})."
    raise UnsupportedTargetError(message, " ".join(advice))


def require_all_buildable(targets: Iterable[Arch], source: str, compiler: Compiler) -> None:
    """Refuse several targets of one list at once, so that a person need not try them in turn.

    Args:
        targets: What the list asks for.
        source: Where the list stands: ``TORCH_CUDA_ARCH_LIST``.
        compiler: What has to build them.

    Raises:
        UnsupportedTargetError: If it can't build two or more of them; for one
            alone :func:`require_buildable` has more to say.
    """
    lost = [target for target in dict.fromkeys(targets) if not _is_buildable(target, compiler)]
    if len(lost) < 2:
        return
    names = ", ".join(map(str, lost))
    cures = " ".join(dict.fromkeys(map(toolkit_cure, lost)))
    raise UnsupportedTargetError(
        f"{compiler.origin} cannot build {names} (in {source}).",
        f"Take them out of the list, or take another CUDA: {cures}",
    )


def _is_buildable(target: Arch, compiler: Compiler) -> bool:
    # LTO-IR is made from what cicc compiles for the same number.
    return (target.virtual if target.stage is Stage.LTO else target) in compiler.archs


def toolkit_cure(target: Arch) -> str:
    """Which CUDA releases build a target, as one sentence."""
    from archbuild.facts.toolkits import TOOLKITS, toolkits_that_build

    versions = toolkits_that_build(target)
    if not versions:
        return f"No CUDA release known to archbuild builds {target}."
    first, last = versions[0], versions[-1]
    if last == TOOLKITS[-1].version:
        return f"{target.dotted} needs CUDA {first} or newer."
    if first == TOOLKITS[0].version:
        return f"{target.dotted} needs CUDA {last} or older."
    releases = f"{first} to {last}" if first != last else f"{first}"
    return f"{target.dotted} needs CUDA {releases}."


def _renamed(target: Arch, compiler: Compiler) -> Iterable[str]:
    from archbuild.facts.architectures import RENAMED

    for row in RENAMED:
        old = Arch(target.stage, row.old, target.suffix)
        if target.capability == row.new and old in compiler.archs:
            yield (
                f"Before CUDA {row.since} this chip ({row.chip}) is called {row.old}: "
                f"ask for {old.dotted}, or use CUDA {row.since} or newer."
            )


def _nearest(target: Arch, compiler: Compiler) -> Iterable[str]:
    device = target.capability
    near = nearest_real(compiler.archs, device) if target.is_real else None
    below = nearest_virtual(compiler.archs, device)
    if near is not None:
        only = "" if target.suffix is Suffix.PLAIN else f", without what only {target.dotted} has"
        yield (
            f"{near.dotted} is the nearest that would serve: {near} runs on {device} devices{only}."
        )
    elif below is not None:
        yield (
            f"PTX would serve: with {below.dotted}+PTX the driver compiles it on {device} devices."
        )
