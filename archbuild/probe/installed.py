"""What is installed that holds or loads device code, as one value."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from archbuild.errors import ArchbuildError
from archbuild.model.host import HostCompiler, HostFloor, HostLimits
from archbuild.model.installed import HostCompilerFit, Installed, LoadedLibrary
from archbuild.model.machine import Toolkit, TorchBuild
from archbuild.probe.distributions import cudnn_version, list_distributions
from archbuild.probe.host_compiler import (
    find_host_compilers,
    query_default_host,
    read_host_limits,
    read_torch_standard,
)
from archbuild.probe.installations import list_installations, package_folders
from archbuild.probe.loading import query_loaded
from archbuild.probe.packages import read_packages
from archbuild.probe.places import this_processor
from archbuild.rules.selecting.host_compiler import is_too_new, is_too_old
from archbuild.rules.selecting.host_packages import host_floor


def query_installed(
    *,
    toolkits: Sequence[Toolkit] = (),
    torch: TorchBuild | None = None,
    environ: Mapping[str, str] | None = None,
    search_path: Iterable[str] | None = None,
    vendor: bool = False,
) -> Installed:
    """Read the packages of this environment, and ask for the host compiler.

    Args:
        toolkits: Those of the machine, the first of which would build.
        torch: The torch of this environment.
        environ: The environment variables; None: this process's.
        search_path: Where packages lie; None: this process's.
        vendor: Whether NVIDIA's own libraries are read as well.
    """
    env = os.environ if environ is None else environ
    folders = package_folders(sys.path if search_path is None else search_path)
    installations = list_installations(folders)
    # A child process is waited for, meanwhile the libraries are read.
    loaded: list[LoadedLibrary] = []
    question = threading.Thread(target=_add_loaded, args=(loaded, env, folders))
    question.start()
    try:
        distributions = list_distributions(installations)
        packages = read_packages(installations, vendor=vendor)
        host = _host_fit(toolkits[0], torch, env) if toolkits else None
    finally:
        question.join()
    major = torch.cuda.major if torch is not None and torch.cuda is not None else None
    return Installed(
        packages=packages,
        distributions=distributions,
        loaded=tuple(loaded),
        host=host,
        cudnn=_cudnn_in_use(loaded, cudnn_version(distributions, major)),
    )


def _add_loaded(
    rows: list[LoadedLibrary], environ: Mapping[str, str], folders: Sequence[Path]
) -> None:
    # Of what a thread raises nobody would be told but standard error.
    with suppress(ArchbuildError, OSError, ValueError):
        rows.extend(query_loaded(environ=environ, packages=folders))


def _cudnn_in_use(loaded: Iterable[LoadedLibrary], packaged: str | None) -> str | None:
    """The cuDNN that would be loaded; that of the packages, where nothing else is known.

    A package's version has one number more than the library's own function tells.
    """
    told = (row.version for row in loaded if row.soname.startswith("libcudnn.so"))
    version = next((v for v in told if v is not None and "." in v), None)
    if version is None or f"{packaged}.".startswith(f"{version}."):
        return packaged
    return version


def _host_fit(
    toolkit: Toolkit, torch: TorchBuild | None, environ: Mapping[str, str]
) -> HostCompilerFit:
    """nvcc's own choice if it fits, else the newest of those on PATH that does."""
    limits = read_host_limits(toolkit)
    floor = host_floor(read_torch_standard(torch), torch.version) if torch is not None else None
    most = f"gcc {limits.gcc}" if limits.gcc is not None else None
    default = query_default_host()
    if _fits(default, limits, floor):
        return HostCompilerFit(default.command, _version(default), most)
    places = map(Path, environ.get("PATH", os.defpath).split(os.pathsep))
    found = find_host_compilers(places, this_processor())
    fitting = [host for host in found if _fits(host, limits, floor)]
    others = tuple(_told(host) for host in (default, *found) if host.found and host not in fitting)
    best = max(fitting, key=lambda host: host.major or 0, default=None)
    if best is None:
        return HostCompilerFit(None, None, most, tuple(dict.fromkeys(others)))
    return HostCompilerFit(best.command, _version(best), most, tuple(dict.fromkeys(others)))


def _fits(host: HostCompiler, limits: HostLimits, floor: HostFloor | None) -> bool:
    return host.found and not is_too_new(host, limits) and not is_too_old(host, floor)


def _version(host: HostCompiler) -> str | None:
    return str(host.major) if host.major is not None else None


def _told(host: HostCompiler) -> str:
    return f"{host.command} ({host.family} {host.major})"
