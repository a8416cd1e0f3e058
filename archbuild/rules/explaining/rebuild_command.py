"""The commands that build the binary that failed again, for the GPUs here as well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from archbuild.model.arch import Arch, Stage, Suffix
from archbuild.model.image import DeviceFile
from archbuild.model.machine import Machine
from archbuild.rules.covering.coverage import loadable_images
from archbuild.rules.covering.reach import nearest_real, nearest_virtual
from archbuild.rules.explaining.circumstances import Builder, Circumstances, Origin
from archbuild.rules.explaining.code_verdict import CodeVerdict
from archbuild.rules.rebuilding.variables import find_package_row
from archbuild.rules.selecting.archlist import render_arch_list
from archbuild.rules.selecting.buildable import toolkit_cure
from archbuild.rules.selecting.torch_match import toolkit_cure as toolkit_for_torch


def wanted_archs(
    files: Iterable[DeviceFile], failing: Iterable[CodeVerdict], machine: Machine | None
) -> tuple[Arch, ...]:
    """What to build: what the files hold now, and what the GPUs need that they fail on.

    What the nvcc of the machine can't build is left out where it is there now, and what
    serves the same GPU stands for it where it is needed; if nothing does, it stays, and
    :func:`missing_toolkit` says so. PTX that was there stays.

    Args:
        files: Of the binary.
        failing: What fails where.
        machine: With its toolkits; without one everything is taken to be buildable.
    """
    known = frozenset(machine.toolkit.archs) if machine and machine.toolkit else frozenset()
    held = _held(files)
    needed = {
        Arch(Stage.REAL, verdict.place.capability)
        for verdict in failing
        if verdict.place.capability is not None
    }
    wanted = {_nearest(arch, known) for arch in needed}
    kept = {arch for arch in held if not known or arch in known}
    wanted |= {arch for arch in kept if not _clashes(arch, wanted)}
    # torch can't say PTX without the machine code of the same number.
    wanted |= {arch.real for arch in wanted if arch.is_virtual}
    return tuple(sorted(wanted))


def _held(files: Iterable[DeviceFile]) -> set[Arch]:
    return {
        image.arch
        for file in files
        for region in file.regions
        for image in loadable_images(region)
        if image.arch is not None and image.arch.stage is not Stage.LTO
    }


def _nearest(arch: Arch, known: frozenset[Arch]) -> Arch:
    if not known or arch in known:
        return arch
    near = nearest_real(known, arch.capability)
    return near or nearest_virtual(known, arch.capability) or arch


def _clashes(arch: Arch, wanted: Iterable[Arch]) -> bool:
    """Whether nvcc refuses it beside another: a plain architecture and its family."""
    pair = {Suffix.PLAIN, Suffix.FAMILY}
    return any(
        other.capability == arch.capability and {other.suffix, arch.suffix} == pair
        for other in wanted
    )


def rebuild_commands(circumstances: Circumstances, archs: Sequence[Arch]) -> tuple[str, ...]:
    """The commands to paste, the first one first; none where nothing says what to build.

    Args:
        circumstances: With the origin of the binary.
        archs: What to build, at least one.
    """
    origin, machine = circumstances.origin, circumstances.machine
    windows = machine is not None and machine.system == "win32"
    setting = _setting(archs, origin, windows=windows)
    if origin.source is not None:
        folder = quoted(origin.source, windows=windows)
        build = f"{setting}pip wheel --no-build-isolation --no-deps -w dist {folder}"
        return (build, *_after(origin, circumstances))
    if origin.name is None:
        return ()
    build = (
        f"{setting}pip install --no-build-isolation --no-deps --force-reinstall --no-cache-dir "
        f"--no-binary {origin.name} {_requirement(origin)}"
    )
    return (_rebuild(origin, circumstances, archs), build) if origin.installed else (build,)


def _rebuild(origin: Origin, circumstances: Circumstances, archs: Sequence[Arch]) -> str:
    """Our own command; it takes this machine's GPUs where no others are named."""
    if circumstances.here:
        return f"archbuild rebuild {origin.name}"
    return f'archbuild rebuild {origin.name} --arch "{render_arch_list(archs)}"'


def _after(origin: Origin, circumstances: Circumstances) -> tuple[str, ...]:
    """How to see that it has become right, and how to install it."""
    wheels = f"dist/{_stem(origin.name)}*.whl"
    devices = dict.fromkeys(str(p.capability) for p in circumstances.places if p.capability)
    check = f'archbuild verify {wheels} --runs-on "{", ".join(devices)}"'
    install = f"pip install --no-deps --force-reinstall {wheels}"
    return ((check,) if devices else ()) + ((install,) if origin.installed else ())


def _stem(name: str | None) -> str:
    return "" if name is None else re.sub(r"[-_.]+", "_", name)


_PUBLIC = re.compile(r"[\d.]+(?:(?:a|b|rc|\.?post|\.?dev)\d+)?")


def _requirement(origin: Origin) -> str:
    """The package of this version; without what stands behind ``+``, which no index knows."""
    public = (origin.version or "").partition("+")[0]
    return f"{origin.name}=={public}" if _PUBLIC.fullmatch(public) else str(origin.name)


def _setting(archs: Sequence[Arch], origin: Origin, *, windows: bool) -> str:
    """The variables that a build takes its architectures from, before a command."""
    real = [arch for arch in archs if arch.is_real]
    values = {"TORCH_CUDA_ARCH_LIST": render_arch_list(archs)}
    if origin.builder is Builder.CMAKE:
        values = {"CUDAARCHS": ";".join(map(_cmake_name, archs))}
    row = find_package_row(origin.name) if origin.name is not None else None
    if row is not None and row.lists and not row.with_torch:
        values = {}
    for variable in row.lists if row is not None else ():
        values[variable.name] = variable.value(real)
    values |= dict(row.fixed) if row is not None else {}
    if windows:
        return "".join(f'set "{name}={value}" && ' for name, value in values.items())
    return "".join(f"{name}={_double_quoted(value)} " for name, value in values.items())


def _double_quoted(value: str) -> str:
    return f"'{value}'" if '"' in value else f'"{value}"'


def _cmake_name(arch: Arch) -> str:
    return f"{arch.number}-{'virtual' if arch.is_virtual else 'real'}"


_SAFE = re.compile(r"[\w@%+=:,./~-]+", re.ASCII)


def quoted(path: str, *, windows: bool = False) -> str:
    r"""A path as a shell takes it, as one word.

    Examples:
        >>> quoted("my project"), quoted("a'b"), quoted("my project", windows=True)
        ("'my project'", "'a'\\''b'", '"my project"')
    """
    if _SAFE.fullmatch(path):
        return path
    if windows:
        return f'"{path}"'
    return "'" + path.replace("'", "'\\''") + "'"


def missing_toolkit(machine: Machine | None, archs: Iterable[Arch]) -> str | None:
    """How to get the nvcc that the commands need; None: it is there, or it is not known.

    Args:
        machine: Where they are pasted.
        archs: What they build.
    """
    if machine is None:
        return None
    if machine.toolkit is None:
        cuda = machine.torch.cuda if machine.torch is not None else None
        if cuda is None:
            return 'pip install "archbuild[toolkit]"'
        return toolkit_for_torch(cuda).removeprefix("Install the toolkit: ")
    lost = [arch for arch in archs if arch not in machine.toolkit.archs]
    return toolkit_cure(lost[0]) if lost else None
