"""The CUDA sources of an extension: which are built, for what, and what the library holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from archbuild.build.extension_plan import ExtensionPlan, is_cuda_source
from archbuild.errors import UnsupportedTargetError
from archbuild.model.arch import Arch
from archbuild.model.gencode import Gencode, render_gencodes
from archbuild.model.source import Source
from archbuild.rules.selecting.buildable import require_all_buildable, require_buildable
from archbuild.rules.selecting.development import describe_development, develop
from archbuild.rules.selecting.nvcc_flags import parse_nvcc_flags
from archbuild.rules.selecting.request import Compiler
from archbuild.rules.selecting.sources import ServedSource, serve_source


@dataclass(frozen=True)
class PlannedSource:
    """One CUDA source.

    Args:
        source: As setup.py or pyproject.toml has it.
        served: What it is compiled for, or why it is left out.
    """

    source: Source
    served: ServedSource


@dataclass(frozen=True)
class SourcesPlan:
    """All CUDA sources of an extension.

    Args:
        sources: Those that are built and those that are left out, in order.
        hosts: Sources for the host compiler that say what they are meant for: they are
            compiled if that is wanted.
        extension: The extension's plan, with what these sources make of it.
        notes: What a person should be told, one sentence each.
        warnings: What a person should look at, one sentence each.
    """

    sources: tuple[PlannedSource, ...]
    extension: ExtensionPlan
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    hosts: tuple[PlannedSource, ...] = ()

    @property
    def built(self) -> tuple[PlannedSource, ...]:
        """Those that are compiled."""
        return tuple(one for one in self.sources if one.served.gencodes)

    @property
    def left_out(self) -> tuple[PlannedSource, ...]:
        """Those that serve nothing that is wanted."""
        planned = (*self.sources, *self.hosts)
        return tuple(one for one in planned if not one.served.gencodes)

    @property
    def defines(self) -> tuple[str, ...]:
        """The macros that stand for sources which are built."""
        built = [one for one in (*self.sources, *self.hosts) if one.served.gencodes]
        return tuple(dict.fromkeys(one.source.define for one in built if one.source.define))

    def gencodes_of(self, path: str) -> tuple[Gencode, ...]:
        """What a source is compiled for; of one that isn't planned, all that is wanted."""
        found = next((one for one in self.sources if one.source.path == path), None)
        return found.served.gencodes if found else self.extension.gencodes

    def targets_of(self, path: str) -> tuple[Arch, ...]:
        """The images that the object of a source must hold."""
        gencodes = (*self.gencodes_of(path), *self.extension.selection.inherited)
        return ordered_targets(gencodes)

    def flags_of(self, path: str, flags: Sequence[str]) -> tuple[str, ...]:
        """nvcc's flags with the architectures of one source in the place of the extension's."""
        gencodes = self.gencodes_of(path)
        if gencodes == self.extension.gencodes:
            return tuple(flags)
        return (*parse_nvcc_flags(flags).rest, *render_gencodes(gencodes))


def ordered_targets(gencodes: Sequence[Gencode]) -> tuple[Arch, ...]:
    """The images that gencodes leave, SASS upwards, then PTX."""
    found = {gencode.target for gencode in gencodes}
    return tuple(sorted(found, key=lambda arch: (arch.is_virtual, arch)))


def plan_sources(
    extension: ExtensionPlan, sources: Sequence[Source], *, development: bool = False
) -> SourcesPlan:
    """What each CUDA source is compiled for.

    Args:
        extension: The extension's plan.
        sources: All its sources, patterns expanded.
        development: Whether one virtual architecture serves all real ones.

    Raises:
        UsageError: If a source that is required serves nothing that is wanted.
        UnsupportedTargetError: If nvcc can't build what a source is for, or no CUDA
            source serves anything that is wanted.
    """
    wanted = extension.gencodes
    served = [
        PlannedSource(
            one,
            serve_source(one.archs, wanted, path=one.path, required=one.required),
        )
        for one in sources
    ]
    planned = [one for one in served if is_cuda_source(one.source.path)]
    hosts = tuple(one for one in served if not is_cuda_source(one.source.path))
    for one in planned:
        if one.source.archs is not None:
            where = f"archs of {one.source.path}"
            _require(one.served.targets, where, extension.selection.compiler)
    if planned and not any(one.served.gencodes for one in planned):
        reasons = "; ".join(f"{one.source.path}: {one.served.left_out}" for one in planned)
        raise UnsupportedTargetError(
            f"No CUDA source of {extension.name} would be built: {reasons}.",
            "Add an architecture that one of them is meant for.",
        )
    notes: tuple[str, ...] = ()
    if development:
        notes = describe_development(wanted, develop(wanted))
        planned = [_developed(one) for one in planned]
        extension = _with_gencodes(extension, develop(wanted))
    warnings = tuple(
        f"{one.source.path} is left out: {one.served.left_out}."
        for one in (*planned, *hosts)
        if one.served.left_out
    )
    targets = _library_targets(planned, extension)
    extension = replace(extension, library_targets=targets)
    return SourcesPlan(tuple(planned), extension, notes, warnings, hosts)


def _with_gencodes(extension: ExtensionPlan, gencodes: Sequence[Gencode]) -> ExtensionPlan:
    flags = (*parse_nvcc_flags(extension.args["nvcc"]).rest, *render_gencodes(gencodes))
    args = {**extension.args, "nvcc": flags}
    return replace(extension, gencodes=tuple(gencodes), args=args)


def _require(targets: Sequence[Arch], where: str, compiler: Compiler) -> None:
    require_all_buildable(targets, where, compiler)
    for target in targets:
        require_buildable(target, f"{target.dotted} in {where}", compiler)


def _developed(one: PlannedSource) -> PlannedSource:
    return replace(one, served=replace(one.served, gencodes=develop(one.served.gencodes)))


def _library_targets(
    planned: Sequence[PlannedSource], extension: ExtensionPlan
) -> tuple[Arch, ...]:
    """What the library holds: what its objects hold, or what their device link leaves of that."""
    gencodes = [g for one in planned for g in one.served.gencodes]
    objects = ordered_targets((*gencodes, *extension.selection.inherited))
    if not planned or not extension.relocatable:
        return objects or extension.library_targets
    real = dict.fromkeys(target.real for target in objects if not target.is_virtual)
    return tuple(real) or extension.library_targets
