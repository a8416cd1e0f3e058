"""From an installed package and a machine to the commands that build it again."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from archbuild.errors import NotKnownError, UsageError
from archbuild.model.arch import Arch
from archbuild.model.build import Resources
from archbuild.model.installed import CodePackage
from archbuild.model.machine import Machine
from archbuild.rules.rebuilding.variables import PackageRow, find_package_row
from archbuild.rules.selecting.selection import Selection
from archbuild.rules.selecting.torch_match import toolkit_cure

#: Bytes that one nvcc takes for a source with torch's headers, one pass at a time.
MEMORY_PER_JOB = 4 << 30


@dataclass(frozen=True)
class RebuildPlan:
    """What would be done.

    Args:
        package: The name.
        version: The version that is installed.
        source: What pip is given: ``flash-attn==2.7.4``, a folder, ``git+https://...``.
        archs: What it is built for.
        environment: Variables for the build, name and value.
        pip: Options of ``pip wheel`` beside the source.
        notes: What a person should know before it starts, one sentence each.
        origin: What ``direct_url.json`` is to say afterwards: what it said before, or the
            source that a person named; None: it came from an index.
    """

    package: str
    version: str
    source: str
    archs: tuple[Arch, ...]
    environment: tuple[tuple[str, str], ...]
    pip: tuple[str, ...]
    notes: tuple[str, ...] = ()
    origin: str | None = None

    def build_words(self, folder: str) -> tuple[str, ...]:
        """The arguments of pip that leave a wheel in a folder."""
        return ("wheel", *self.pip, "-w", folder, self.source)

    def install_words(self, folder: str) -> tuple[str, ...]:
        """The arguments of pip that install the wheel in a folder, with no trace of that."""
        words = ("--force-reinstall", "--no-deps", "--no-index", "--find-links", folder)
        return ("install", *words, self.package)

    def commands(self, folder: str = "rebuilt") -> tuple[str, ...]:
        """The whole as commands for a shell, one after the other."""
        set_ = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.environment)
        wheels = f"{shlex.quote(folder)}/*.whl"
        devices = ", ".join(str(arch.capability) for arch in self.archs)
        return (
            f"{set_} pip {shlex.join(self.build_words(folder))}",
            f'archbuild verify {wheels} --runs-on "{devices}"',
            f"pip {shlex.join(self.install_words(folder))}",
        )


def plan_rebuild(
    package: CodePackage,
    machine: Machine,
    selection: Selection,
    resources: Resources,
) -> RebuildPlan:
    """Work out how a package is built again for these architectures.

    Args:
        package: As it is installed.
        machine: With its toolkit and torch.
        selection: What to build for.
        resources: What the build may use.

    Raises:
        UsageError: If pip can't build this package.
        NotKnownError: If there is no toolkit to build with.
    """
    row = find_package_row(package.name)
    if row is not None and row.refused:
        raise UsageError(
            f"{package.name} can't be built again by pip: {row.refused}.",
            "archbuild recommend names the versions whose wheels fit these GPUs.",
        )
    if machine.toolkit is None:
        cuda = machine.torch.cuda if machine.torch is not None else None
        reason = machine.absence("toolkit") or "no nvcc was found"
        raise NotKnownError(
            f"{package.name} can't be built again here: {reason}.",
            toolkit_cure(cuda) if cuda else 'Install one: pip install "archbuild[toolkit]"',
        )
    archs = _archs(selection, row, package.name)
    source, note = _source(package)
    with_torch = package.requires_torch or (row is not None and row.with_torch)
    return RebuildPlan(
        package.name,
        package.version,
        source,
        archs,
        tuple(_environment(row, archs, machine.toolkit.root, resources)),
        _pip(package, source, with_torch=with_torch),
        tuple(filter(None, (note, *_notes(package, machine, with_torch=with_torch)))),
        _origin(package.direct_url, source),
    )


def _origin(direct_url: str | None, source: str) -> str | None:
    if not direct_url or direct_url.lstrip().startswith("{"):
        return direct_url
    url = source if "://" in source else "file://" + quote(source.replace("\\", "/"))
    return json.dumps({"url": url, "dir_info": {}})


def _archs(selection: Selection, row: PackageRow | None, name: str) -> tuple[Arch, ...]:
    real = tuple(arch for arch in selection.targets if arch.is_real)
    least = row.least if row is not None else None
    kept = tuple(arch for arch in real if least is None or arch.capability.major >= least)
    if not kept:
        wanted = ", ".join(str(arch.capability) for arch in real) or "no GPU"
        raise UsageError(
            f"{name} serves GPUs of {least}.0 and newer, and here is {wanted}.",
            "No build of it will run on these GPUs.",
        )
    return kept


def _environment(
    row: PackageRow | None, archs: Sequence[Arch], root: str, resources: Resources
) -> Iterator[tuple[str, str]]:
    yield "TORCH_CUDA_ARCH_LIST", ";".join(arch.dotted for arch in archs)
    for variable in row.lists if row is not None else ():
        yield variable.name, variable.value(archs)
    yield "CUDA_HOME", root
    yield "MAX_JOBS", str(_jobs(resources))
    yield from row.fixed if row is not None else ()


def _jobs(resources: Resources) -> int:
    """Jobs that fit: each nvcc of a package compiles one architecture after the other."""
    if resources.memory is None:
        return resources.processors
    return max(1, min(resources.processors, resources.memory // MEMORY_PER_JOB))


def _pip(package: CodePackage, source: str, *, with_torch: bool) -> tuple[str, ...]:
    """No cached wheel, no published one; the torch that is here, not one of its own."""
    open_ = ("--no-build-isolation",) if with_torch else ()
    from_index = ("--no-binary", package.name) if "==" in source else ()
    return ("--no-deps", "--no-cache-dir", *open_, *from_index)


def _source(package: CodePackage) -> tuple[str, str]:
    """What pip is given, and what is to be said of it."""
    if not package.direct_url:
        return f"{package.name}=={_public(package.version)}", ""
    told = _direct(package.direct_url)
    if told is None:
        raise NotKnownError(
            f"Where {package.name} was installed from can't be read: {package.direct_url:.80}.",
            f"Name its source: archbuild rebuild {package.name} --source FOLDER",
        )
    if told.partition("#")[0].endswith(".whl"):
        raise NotKnownError(
            f"{package.name} was installed from a wheel, {told:.200}, and not from its source.",
            f"Name that: archbuild rebuild {package.name} --source FOLDER",
        )
    if told.startswith("git+") and "@" not in told.rpartition("/")[2]:
        return told, "It was installed from a branch, which may have moved on."
    return told, ""


def _public(version: str) -> str:
    """A version without its local part, which no index knows: ``2.7.4+cu12torch2.6``."""
    return version.partition("+")[0]


def _direct(text: str) -> str | None:
    """What ``direct_url.json`` says, as pip takes it; a plain address stays as it is."""
    try:
        told = json.loads(text)
    except ValueError:
        return _folder(text) if re.match(r"[a-z][a-z+]*://|/", text) else None
    if not isinstance(told, dict) or not isinstance(told.get("url"), str):
        return None
    address, info = told["url"], told.get("vcs_info")
    below = told.get("subdirectory")
    below = f"#subdirectory={below}" if isinstance(below, str) and below else ""
    if isinstance(info, dict):
        commit = info.get("commit_id") or info.get("requested_revision")
        at = f"@{commit}" if isinstance(commit, str) else ""
        return f"{info.get('vcs', 'git')}+{address}{at}{below}"
    return f"{_folder(address)}{below}"


def _folder(address: str) -> str:
    """A ``file://`` address as a path."""
    parts = urlsplit(address)
    if parts.scheme != "file":
        return address
    path = unquote(parts.path)
    drive = re.match(r"/[A-Za-z]:", path)
    return path[1:].replace("/", "\\") if drive else path


def _notes(package: CodePackage, machine: Machine, *, with_torch: bool) -> Iterator[str]:
    if package.installer == "conda":
        yield (
            f"{package.name} is conda's: pip's wheel will lie beside it. Remove conda's first: "
            f"conda remove --force {package.name}"
        )
    if package.editable:
        yield f"{package.name} is an editable install; the rebuilt wheel takes its place."
    if with_torch and machine.torch is not None:
        yield (
            "It is built without isolation, against the torch that is here "
            f"({machine.torch.version}): what its build needs has to be installed, at least "
            "pip install setuptools wheel ninja packaging"
        )
