"""The plan of one extension: from its sources and flags to every command, with no compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from archbuild.build.dryrun import Script, fill
from archbuild.build.passes import (
    CostOf,
    cl_edge,
    device_link_edge,
    host_edge,
    pass_edges,
    whole_edge,
)
from archbuild.build.platform import POSIX, Platform
from archbuild.build.response import shortened
from archbuild.model.build import BuildPlan, Cost, Edge, Step
from archbuild.rules.selecting.nvcc_flags import parse_nvcc_flags

#: What is between a source and its name in the build folder.
OBJECTS = "obj"
_LINKED = "device-link"


@dataclass(frozen=True)
class CudaUnit:
    """One source for nvcc.

    Args:
        source: Relative to the root, or absolute where it lies outside.
        flags: All of nvcc's flags, its gencodes among them.
    """

    source: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class HostUnit:
    """One source for the host compiler.

    Args:
        source: Relative to the root, or absolute where it lies outside.
        command: The compiler and its flags.
        after: Flags that come after the source.
    """

    source: str
    command: tuple[str, ...]
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class BuildRequest:
    """What is to be built.

    Args:
        name: The extension's.
        root: The folder that commands run in, absolute.
        folder: Where objects are kept, relative to the root where it lies below it.
        nvcc: The compiler, absolute.
        units: The sources, in the order in which the linker takes their objects.
        device_link: nvcc's flags for a device link; None: there is none.
        launcher: Words before each compiler.
        tools: Files of the compilers: a change of one compiles everything again.
        named_nvcc: What is called in nvcc's place and as a whole, as torch's
            ``PYTORCH_NVCC`` has it; empty: nvcc itself.
        linking_nvcc: What is called for the device link; None: what compiles.
        torch: The torch whose headers are compiled; None without torch.
        depends: Files whose change compiles everything again: setuptools' ``depends``.
        tool_stamps: What tells this state of the compilers from any other.
        platform: What the compilers are called on.
    """

    name: str
    root: str
    folder: str
    nvcc: str
    units: tuple[CudaUnit | HostUnit, ...]
    device_link: tuple[str, ...] | None = None
    launcher: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    named_nvcc: tuple[str, ...] = ()
    linking_nvcc: str | None = None
    torch: str | None = None
    depends: tuple[str, ...] = ()
    tool_stamps: str = ""
    platform: Platform = POSIX

    @property
    def whole(self) -> bool:
        """Whether nvcc is called as a whole: something stands before it, or it calls cl."""
        return self.platform.is_windows or self.cached

    @property
    def cached(self) -> bool:
        """Whether a cache may answer; also what PYTORCH_NVCC names is mostly one."""
        return bool(self.launcher or self.named_nvcc)

    @property
    def nvcc_words(self) -> tuple[str, ...]:
        """The words that call nvcc as a whole."""
        return (*self.launcher, *(self.named_nvcc or (self.nvcc,)))


def no_estimate(_source: str, _step: Step, _passes: int) -> Cost:
    """The cost of a pass of which nothing is known."""
    return Cost(1.0, 256 << 20)


def plan_build(
    request: BuildRequest,
    scripts: Mapping[tuple[str, ...], Script | None],
    cost_of: CostOf = no_estimate,
) -> BuildPlan:
    """Every edge of one extension.

    Args:
        request: What is to be built.
        scripts: nvcc's passes by its flags; where one is missing or None, nvcc is
            called as a whole.
        cost_of: What a step will take for a source.
    """
    edges: list[Edge] = []
    objects: list[str] = []
    for unit in request.units:
        obj = object_path(request.folder, request.root, unit.source, request.platform)
        edges += _edges(unit, obj, request, scripts, cost_of)
        objects.append(obj)
    if request.device_link is not None:
        edges.append(_device_link(request, request.device_link, objects))
        objects.extend(edges[-1].outputs)
    folder = str(request.platform.path(request.root, request.folder))
    stamped = tuple(_stamped(edge, request) for edge in edges)
    return BuildPlan(request.name, request.root, folder, stamped, tuple(objects), request.cached)


def _stamped(edge: Edge, request: BuildRequest) -> Edge:
    """The edge, which runs again with other compilers, and with another torch if it reads headers.

    Times of files don't tell it: packages of conda and Debian keep the times at which they
    were made, so that what was installed just now can be older than the objects.
    """
    torch = request.torch if edge.depfile else None
    stamps = " ".join(filter(None, [request.tool_stamps, torch]))
    return replace(edge, inputs=(*edge.inputs, *request.depends), made_with=stamps)


def _device_link(request: BuildRequest, flags: Sequence[str], objects: Sequence[str]) -> Edge:
    linker = (request.linking_nvcc,) if request.linking_nvcc else request.named_nvcc
    words = linker or (request.nvcc,)
    made = f"{request.folder}/{_LINKED}{request.platform.object_suffix}"
    edge = device_link_edge((*words, *flags), objects, made)
    return shortened(edge, len(words)) if request.platform.is_windows else edge


def _edges(
    unit: CudaUnit | HostUnit,
    obj: str,
    request: BuildRequest,
    scripts: Mapping[tuple[str, ...], Script | None],
    cost_of: CostOf,
) -> Iterator[Edge]:
    if isinstance(unit, HostUnit):
        yield _host(unit, obj, request, cost_of)
        return
    script = None if request.whole else scripts.get(unit.flags)
    if script is None:
        yield _whole(unit, obj, request, cost_of)
        return
    absolute = PurePath(request.root, unit.source).as_posix()
    # Beside the object, not in a folder of its name: a source may be called `a.cu` and a
    # folder of the project `a.cu.passes`, but no object ends in anything but `.o`.
    filled = fill(script, unit.source, absolute, f"{obj}.passes", obj)
    yield from pass_edges(filled, unit.source, (*script.tools, request.nvcc), cost_of)


def _host(unit: HostUnit, obj: str, request: BuildRequest, cost_of: CostOf) -> Edge:
    command, more = (*request.launcher, *unit.command), request.tools
    if not request.platform.is_windows:
        return host_edge(command, unit.after, unit.source, obj, more_inputs=more, cost_of=cost_of)
    edge = cl_edge(command, unit.after, unit.source, obj, more_inputs=more, cost_of=cost_of)
    return shortened(edge, len(request.launcher) + 1)


def _whole(unit: CudaUnit, obj: str, request: BuildRequest, cost_of: CostOf) -> Edge:
    edge = whole_edge(
        (*request.nvcc_words, *unit.flags),
        unit.source,
        obj,
        more_inputs=(*request.tools, request.nvcc),
        cost_of=cost_of,
        passes=_count_passes(unit.flags),
    )
    return shortened(edge, len(request.nvcc_words)) if request.platform.is_windows else edge


def _count_passes(flags: Sequence[str]) -> int:
    """For how many virtual architectures nvcc compiles with these flags."""
    return len({gencode.virtual for gencode in parse_nvcc_flags(flags).gencodes}) or 1


def object_path(folder: str, root: str, source: str, platform: Platform = POSIX) -> str:
    """Where the object of a source lies: below the build folder as the source below the root.

    The source's own suffix stays, so that ``a.cu`` and ``a.cpp`` do not meet.

    Args:
        folder: The build folder.
        root: The root of the project, absolute.
        source: Relative to the root, or absolute.
        platform: Whose paths these are.
    """
    path = platform.path(source)
    if path.is_absolute():
        try:
            path = path.relative_to(root)
        except ValueError:
            drive = [part for part in re.split(r"[\\/:]+", path.drive) if part]
            path = platform.path("__outside", *drive, *path.parts[1:])
    parts = ["__up" if part == ".." else part for part in path.parts]
    return "/".join([folder, OBJECTS, *parts]) + platform.object_suffix


def flags_of(units: Sequence[CudaUnit | HostUnit]) -> tuple[tuple[str, ...], ...]:
    """The different sets of nvcc's flags, each once: a dry run tells for one what it is for all."""
    return tuple(dict.fromkeys(unit.flags for unit in units if isinstance(unit, CudaUnit)))
