"""Which host compiler nvcc is told to use, and whether it takes that one."""

from __future__ import annotations

import shlex

from archbuild.errors import BuildError, UsageError
from archbuild.model.host import HostCompiler, HostLimits
from archbuild.model.machine import Machine
from archbuild.rules.nvcc_flags import NvccFlags, parse_nvcc_variable

_WRAPPERS = ("ccache", "sccache", "distcc", "icecc")


def named_host_compiler(own: NvccFlags, machine: Machine) -> str | None:
    """The host compiler that somebody named for nvcc, the strongest word first.

    ``-ccbin`` in NVCC_APPEND_FLAGS, among the extension's flags, and in
    NVCC_PREPEND_FLAGS, of which nvcc takes the last; NVCC_CCBIN; CXX, which
    compiles the other sources; CC. torch would check CXX and hand CC to nvcc.

    Args:
        own: The extension's own nvcc flags.
        machine: With the variables.

    Returns:
        A command or path; None where nvcc chooses by itself.

    Raises:
        UsageError: If a quote in one of the variables is never closed.
    """
    added = {
        name: parse_nvcc_variable(machine.variable(name), name).ccbin
        for name in ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS")
    }
    named = (
        added["NVCC_APPEND_FLAGS"],
        own.ccbin,
        added["NVCC_PREPEND_FLAGS"],
        machine.variable("NVCC_CCBIN"),  # one path; it may hold blanks
        *(_compiler_word(machine.variable(name), name) for name in ("CXX", "CC")),
    )
    return next((command for command in named if command), None)


def _compiler_word(value: str | None, name: str) -> str | None:
    """The compiler in ``ccache g++ -m64``, without wrappers and options."""
    try:
        words = shlex.split(value) if value else []
    except ValueError as error:
        raise UsageError(f"{name} cannot be split into words: {error}.") from None
    compilers = [w for w in words if w.rsplit("/", 1)[-1] not in _WRAPPERS]
    return compilers[0] if compilers else None


def allows_any_host(own: NvccFlags, machine: Machine) -> bool:
    """Whether somebody told nvcc to take a host compiler that it doesn't know."""
    names = ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS")
    added = [parse_nvcc_variable(machine.variable(name), name).rest for name in names]
    words = {word for flags in (own.rest, *added) for word in flags}
    return not words.isdisjoint(("-allow-unsupported-compiler", "--allow-unsupported-compiler"))


def check_host_compiler(
    host: HostCompiler, limits: HostLimits, toolkit: str, *, any_version: bool = False
) -> None:
    """Refuse a host compiler that is missing or newer than nvcc takes.

    Args:
        host: The compiler that nvcc would call.
        limits: Of the toolkit's ``crt/host_config.h``.
        toolkit: For the message, ``CUDA 13.0``.
        any_version: Only that there is one; somebody answers for its version.

    Raises:
        BuildError: With both versions and the cure.
    """
    if not host.found:
        raise BuildError(
            f"The host compiler {host.command} was not found, and nvcc needs one.",
            "Install a C++ compiler, or name one: CXX=g++, NVCC_CCBIN.",
        )
    limit = {"gcc": limits.gcc, "clang": limits.clang}.get(host.family)
    if any_version or host.major is None or limit is None or host.major <= limit:
        return
    raise BuildError(
        f"{host.command} is {host.family} {host.major}; {toolkit} takes {host.family} {limit} "
        f"at most ({limits.source}).",
        f"Install {host.family} {limit} or older and name it: "
        f"CXX={'g++' if host.family == 'gcc' else 'clang++'}-{limit}, or NVCC_CCBIN; or answer for "
        "it yourself: -allow-unsupported-compiler among the nvcc flags.",
    )
