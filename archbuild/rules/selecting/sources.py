"""Which of the wanted targets a source is compiled for. Pure.

A source may have an architecture list of its own. It never adds a target: it says
which of those that the build wants the source serves, and as what.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from archbuild.errors import UnsupportedTargetError, UsageError
from archbuild.facts.architectures import family_members
from archbuild.model.arch import Arch, ComputeCapability, Suffix
from archbuild.model.gencode import Gencode
from archbuild.rules.selecting.archlist import ArchItem, parse_arch_list, render_arch_list


@dataclass(frozen=True)
class ServedSource:
    """What a source is compiled for.

    Args:
        gencodes: SASS upwards, then PTX upwards; empty where it is left out.
        left_out: Why it is left out, one clause; empty where it is not.
    """

    gencodes: tuple[Gencode, ...]
    left_out: str = ""

    @property
    def targets(self) -> tuple[Arch, ...]:
        """The images that its region will hold."""
        return tuple(dict.fromkeys(gencode.target for gencode in self.gencodes))


def serve_source(
    archs: str | None,
    wanted: Iterable[Gencode],
    *,
    path: str = "the source",
    required: bool = False,
) -> ServedSource:
    """Which of the wanted gencodes a source is compiled for.

    ``9.0a`` serves a wanted 9.0 and 9.0a, and a wanted family with 9.0 in it, and is
    built as 9.0a. ``10.0f`` serves every wanted member of its family and is built
    once. ``8.0+`` serves all that are 8.0 or newer and that no other piece of the
    list serves, as they are. ``9.0`` serves a wanted 9.0; ``compute_90`` (or the
    PTX of ``9.0+PTX``) wanted PTX of exactly that.

    Wanted PTX which no piece names goes to a source that is otherwise built and has
    a plain architecture not above it, so that it never reaches what can't compile.

    Args:
        archs: The source's own list; None: it serves all that is wanted.
        wanted: What the extension is built for.
        path: The source, for messages.
        required: Whether it is an error if it serves nothing.

    Raises:
        ArchListError: If the list can't be read.
        UsageError: If it holds a word whose meaning depends on the machine, or if
            it is required and serves nothing.
        UnsupportedTargetError: If it would be built as plain and as the family of
            one number, which nvcc refuses.

    Examples:
        >>> wanted = [Gencode.for_target(Arch.parse(n)) for n in ("sm_80", "sm_90", "compute_90")]
        >>> list(map(str, serve_source("9.0a", wanted).targets))
        ['sm_90a']
        >>> list(map(str, serve_source("9.0+", wanted).targets))
        ['sm_90', 'compute_90']
        >>> serve_source("12.0", wanted).left_out
        'it is meant for 12.0, and the build is for 8.0;9.0+PTX'
    """
    gencodes = tuple(dict.fromkeys(wanted))
    if archs is None:
        return ServedSource(gencodes)
    items = parse_source_archs(archs, path)
    found = _serve(items, gencodes)
    _refuse_plain_and_family(found, path)
    if found:
        return ServedSource(tuple(sorted(found, key=_order)))
    named = ", ".join(item.text for item in items)
    reason = f"it is meant for {named}, and the build is for {_spell(gencodes)}"
    if required:
        raise UsageError(
            f"{path} is required, but {reason}.",
            "Add one of its architectures to those of the build, or take required away.",
        )
    return ServedSource((), reason)


def parse_source_archs(archs: str, path: str) -> tuple[ArchItem, ...]:
    """A source's own architecture list, in which ``8.0+`` may stand.

    Args:
        archs: The list.
        path: The source, for messages.

    Raises:
        ArchListError: If it can't be read.
        UsageError: If it holds ``native``, ``all`` or ``all-major``.
    """
    where = f"archs of {path}"
    items = parse_arch_list(archs, where, newer=True)
    word = next((item for item in items if item.word is not None), None)
    if word is not None:
        raise UsageError(
            f"{word.text} in {where} says nothing about the source: it depends on the machine.",
            "Write what its code needs, such as 9.0a, or 8.0+ for 8.0 and newer.",
        )
    return items


def is_meant_for(archs: str | None, device: ComputeCapability) -> bool:
    """Whether a source with this list would be compiled, were the device wanted.

    Args:
        archs: The list; None: it is meant for all.
        device: The GPU's capability.

    Raises:
        ArchListError: If the list can't be read.
    """
    wanted = Gencode.for_target(Arch.parse(f"sm_{device.number}"))
    return bool(serve_source(archs, [wanted]).gencodes)


def _serve(items: Sequence[ArchItem], wanted: Sequence[Gencode]) -> list[Gencode]:
    named = [target for item in items if not item.newer for target in item.targets]
    floors = [item.targets[0].capability for item in items if item.newer]
    found: list[Gencode] = []
    rest: list[Gencode] = []
    for gencode in wanted:
        mine = [built for own in named for built in _by_name(own, gencode)]
        found += mine
        rest += [] if mine else [gencode]
    low = min(floors, default=None)
    found += [g for g in rest if low is not None and g.target.capability >= low]
    plain = [a.capability for a in named if a.is_real and a.suffix is Suffix.PLAIN]
    if found and plain:
        found += [g for g in rest if _is_tail(g) and g.target.capability >= min(plain)]
    return list(dict.fromkeys(found))


def _is_tail(gencode: Gencode) -> bool:
    return gencode.target.is_virtual and gencode.target.suffix is Suffix.PLAIN


def _by_name(own: Arch, wanted: Gencode) -> list[Gencode]:
    """What a piece of the source's list makes of one wanted gencode; nothing, or one."""
    target = wanted.target
    if target.is_virtual:
        # A plain number is as good as its PTX where nothing else is wanted of it.
        return [wanted] if own in (target, target.real) and _is_named(own, target) else []
    if own.is_virtual:
        return []
    if own.suffix is Suffix.PLAIN:
        return [wanted] if target.real == own else []
    if _devices(own).isdisjoint(_devices(target)):
        return []
    return [Gencode.for_target(Arch(target.stage, own.capability, own.suffix))]


def _is_named(own: Arch, target: Arch) -> bool:
    return own.is_virtual or target.suffix is Suffix.PLAIN


def _devices(arch: Arch) -> frozenset[ComputeCapability]:
    """The devices that code of this name is asked for."""
    members = family_members(arch.capability) if arch.suffix is Suffix.FAMILY else ()
    return frozenset((arch.capability, *members))


def _refuse_plain_and_family(found: Iterable[Gencode], path: str) -> None:
    targets = {gencode.target for gencode in found}
    for target in sorted(targets):
        family = Arch(target.stage, target.capability, Suffix.FAMILY)
        if target.suffix is Suffix.PLAIN and family in targets:
            raise UnsupportedTargetError(
                f"{path} would be built for {target} and {family}, and nvcc refuses both at once.",
                f"Take {target.dotted} from its architectures: {family.dotted} serves it too.",
            )


def _spell(wanted: Iterable[Gencode]) -> str:
    """The wanted targets as a list that a person could have typed."""
    targets = {gencode.target for gencode in wanted}
    named = [render_arch_list(t for t in targets if t.is_real or t.is_virtual)]
    named += [str(t) for t in sorted(targets) if not (t.is_real or t.is_virtual)]
    return ";".join(filter(None, named)) or "nothing"


def _order(gencode: Gencode) -> tuple[bool, Arch, Arch]:
    return gencode.code.is_virtual, gencode.code, gencode.virtual
