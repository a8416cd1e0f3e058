"""The host compiler for a build on this machine: ask, then choose."""

from __future__ import annotations

import os
from dataclasses import replace

from archbuild.model.host import HostChoice, HostCompiler, HostFloor, NamedHost
from archbuild.model.machine import Machine, Toolkit
from archbuild.probe.host_compiler import (
    find_host_compilers,
    query_default_host,
    query_host_compiler,
    read_distribution,
    read_host_limits,
    read_torch_standard,
)
from archbuild.rules.selecting.host_compiler import (
    allows_any_host,
    check_abi,
    is_settled,
    named_host_compilers,
    select_host_compiler,
)
from archbuild.rules.selecting.host_packages import host_cure, host_floor
from archbuild.rules.selecting.nvcc_flags import NvccFlags


def choose_host_compiler(flags: NvccFlags, machine: Machine, toolkit: Toolkit) -> HostChoice:
    """Choose what nvcc calls for the host's code, asking no more compilers than needed.

    Args:
        flags: The extension's own nvcc flags.
        machine: With the variables that name compilers, and torch.
        toolkit: Whose nvcc will run.

    Returns:
        The choice.

    Raises:
        BuildError: If what somebody named is not there, or newer than nvcc
            takes, or none that is installed fits.
        UsageError: If a quote in one of the variables is never closed.
    """
    named = tuple(
        replace(host, compiler=query_host_compiler(host.command))
        for host in named_host_compilers(flags, machine)
    )
    default = query_default_host()
    limits, floor = read_host_limits(toolkit), _floor(machine)
    any_version = allows_any_host(flags, machine)
    settled = is_settled(named, default, limits, floor, any_version=any_version)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    candidates = () if settled else find_host_compilers(folders, machine.processor)
    choice = select_host_compiler(
        candidates,
        limits,
        f"CUDA {toolkit.version}",
        default=default,
        named=named,
        floor=floor,
        any_version=any_version,
        cure=host_cure(limits, read_distribution(), machine.processor),
    )
    asked = [default, *candidates, *(host.compiler for host in named if host.compiler)]
    return replace(choice, warnings=(*choice.warnings, *_abi(choice, named, asked)))


def _floor(machine: Machine) -> HostFloor | None:
    torch = machine.torch
    return host_floor(read_torch_standard(torch), torch.version) if torch is not None else None


def _abi(
    choice: HostChoice, named: tuple[NamedHost, ...], asked: list[HostCompiler]
) -> tuple[str, ...]:
    """What may not fit between nvcc's side and the compiler of the other sources."""
    cxx = next((host for host in named if host.name == "CXX"), None)
    if choice.path is None and cxx is None:
        return ()
    theirs = (cxx.compiler if cxx else None) or query_host_compiler("c++")
    wanted = asked[0].command if choice.path is None else choice.path
    nvccs = next((host for host in asked if host.command == wanted), asked[0])
    return check_abi(theirs, nvccs, cxx.words if cxx else ())
