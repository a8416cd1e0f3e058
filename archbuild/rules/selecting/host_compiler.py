"""Which host compiler nvcc is told to use, and whether it takes that one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from archbuild.errors import BuildError, UsageError
from archbuild.model.host import HostChoice, HostCompiler, HostFloor, HostLimits, NamedHost
from archbuild.model.machine import Machine
from archbuild.rules.selecting.nvcc_flags import NvccFlags, parse_nvcc_variable

#: With one of these nvcc takes a host compiler that it doesn't know.
ANY_HOST_FLAGS = ("-allow-unsupported-compiler", "--allow-unsupported-compiler")

_WRAPPERS = ("ccache", "sccache", "distcc", "icecc")

# These name the compiler of the other sources; nvcc may have another one.
_NOT_NVCCS = ("CXX", "CC")

_OWN = "the nvcc flags"

_WHY = {
    "NVCC_APPEND_FLAGS": "nvcc takes the last -ccbin, and reads that variable last",
    _OWN: "a flag comes before variables, and NVCC_PREPEND_FLAGS before flags",
    "NVCC_PREPEND_FLAGS": "nvcc puts it among its flags, which come before variables",
    "NVCC_CCBIN": "nvcc itself reads that variable",
    "CUDAHOSTCXX": "that variable is meant for nvcc",
    "CXX": "it names a C++ compiler",
}


def named_host_compilers(own: NvccFlags, machine: Machine) -> tuple[NamedHost, ...]:
    """The host compilers that somebody named, the strongest word first.

    ``-ccbin`` in NVCC_APPEND_FLAGS, among the extension's flags, and in
    NVCC_PREPEND_FLAGS, of which nvcc takes the last; NVCC_CCBIN; CUDAHOSTCXX,
    which CMake hands to nvcc; CXX, which compiles the other sources; CC. torch
    would check CXX and hand CC to nvcc.

    Args:
        own: The extension's own nvcc flags.
        machine: With the variables.

    Raises:
        UsageError: If a quote in one of the variables is never closed.
    """
    found = {
        "NVCC_APPEND_FLAGS": _ccbin(machine, "NVCC_APPEND_FLAGS"),
        _OWN: own.ccbin,
        "NVCC_PREPEND_FLAGS": _ccbin(machine, "NVCC_PREPEND_FLAGS"),
        # One path each; it may hold blanks.
        "NVCC_CCBIN": machine.variable("NVCC_CCBIN"),
        "CUDAHOSTCXX": machine.variable("CUDAHOSTCXX"),
    }
    named = [NamedHost(name, command, (command,)) for name, command in found.items() if command]
    for name in _NOT_NVCCS:
        words = _words(machine.variable(name), name)
        compilers = [word for word in words if word.rsplit("/", 1)[-1] not in _WRAPPERS]
        if compilers:
            named.append(NamedHost(name, compilers[0], words))
    return tuple(named)


def _ccbin(machine: Machine, name: str) -> str | None:
    return parse_nvcc_variable(machine.variable(name), name).ccbin


def _words(value: str | None, name: str) -> tuple[str, ...]:
    """``ccache g++ -m64`` in words."""
    try:
        return tuple(shlex.split(value)) if value else ()
    except ValueError as error:
        raise UsageError(f"{name} cannot be split into words: {error}.") from None


def allows_any_host(own: NvccFlags, machine: Machine) -> bool:
    """Whether somebody told nvcc to take a host compiler that it doesn't know."""
    names = ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS")
    added = [parse_nvcc_variable(machine.variable(name), name).rest for name in names]
    words = {word for flags in (own.rest, *added) for word in flags}
    return not words.isdisjoint(ANY_HOST_FLAGS)


def is_too_new(host: HostCompiler, limits: HostLimits) -> bool:
    """Whether nvcc refuses a compiler for its version; one that nobody knows it may take."""
    limit = {"gcc": limits.gcc, "clang": limits.clang}.get(host.family)
    return limit is not None and host.major is not None and host.major > limit


def is_too_old(host: HostCompiler, floor: HostFloor | None) -> bool:
    """Whether torch's headers refuse a compiler for its version."""
    if floor is None or host.major is None:
        return False
    least = {"gcc": floor.gcc, "clang": floor.clang}.get(host.family)
    return least is not None and host.major < least


def check_host_compiler(
    host: HostCompiler,
    limits: HostLimits,
    toolkit: str,
    *,
    any_version: bool = False,
    cure: str = "",
) -> None:
    """Refuse a host compiler that is missing or newer than nvcc takes.

    Args:
        host: The compiler that nvcc would call.
        limits: Of the toolkit's ``crt/host_config.h``.
        toolkit: For the message, ``CUDA 13.0``.
        any_version: Only that there is one; somebody answers for its version.
        cure: How to install one that fits.

    Raises:
        BuildError: With both versions and the cure.
    """
    if not host.found:
        raise BuildError(
            f"The host compiler {host.command} was not found, and nvcc needs one.",
            f"{cure or 'Install a C++ compiler'}, or name one: CXX=g++, NVCC_CCBIN.",
        )
    if any_version or not is_too_new(host, limits):
        return
    limit = limits.gcc if host.family == "gcc" else limits.clang
    program = f"{'g++' if host.family == 'gcc' else 'clang++'}-{limit}"
    raise BuildError(
        f"{host.command} is {host.family} {host.major}; {toolkit} takes {host.family} {limit} "
        f"at most ({limits.source}).",
        f"{cure or f'Install {host.family} {limit} or older'} and name it: "
        f"CXX={program}, or NVCC_CCBIN; or answer for it yourself: "
        "-allow-unsupported-compiler among the nvcc flags.",
    )


def is_settled(
    named: Sequence[NamedHost],
    default: HostCompiler,
    limits: HostLimits,
    floor: HostFloor | None,
    *,
    any_version: bool = False,
) -> bool:
    """Whether the choice is made without a look at what else is installed."""
    first = next((host for host in named if not _set_aside(host, limits, any_version)), None)
    if first is not None:
        return True
    return default.found and (
        any_version or not (is_too_new(default, limits) or is_too_old(default, floor))
    )


def select_host_compiler(
    candidates: Sequence[HostCompiler],
    limits: HostLimits,
    toolkit: str,
    *,
    default: HostCompiler,
    named: Sequence[NamedHost] = (),
    floor: HostFloor | None = None,
    any_version: bool = False,
    cure: str = "",
) -> HostChoice:
    """Choose the host compiler of nvcc.

    What was named for nvcc stands, or is an error. So does CXX or CC, unless it
    is too new for nvcc: then the other sources keep it. With nothing named,
    nvcc's own choice stands if it fits; else the newest that fits among those
    installed is taken, a g++ before a clang++.

    Args:
        candidates: Those installed; not looked at where :func:`is_settled`.
        limits: Of the toolkit's ``crt/host_config.h``.
        toolkit: For messages, ``CUDA 13.0``.
        default: What nvcc would call by itself.
        named: Those that somebody named, the strongest first, each asked what it is.
        floor: What torch's headers want.
        any_version: Somebody answers for the version.
        cure: How to install one that fits.

    Returns:
        The choice, with a warning where it is too old for torch's headers,
        where others were named, and where CXX could not be followed.

    Raises:
        BuildError: If what was named for nvcc is missing or too new, or none fits.
    """
    asides = [host for host in named if _set_aside(host, limits, any_version)]
    first = next((host for host in named if host not in asides), None)
    if first is not None:
        compiler = _asked(first)
        check_host_compiler(compiler, limits, toolkit, any_version=any_version, cure=cure)
        conflict = _conflict([host for host in named if host not in asides], first)
        choice = HostChoice(first.command, f"{first.name} names it", conflict)
    else:
        compiler, choice = _unnamed(
            candidates, limits, toolkit, default, floor, any_version=any_version, cure=cure
        )
    said = (*_age(compiler, floor), *choice.warnings)
    aside = tuple(_aside(host, compiler, limits, toolkit) for host in asides[:1])
    return HostChoice(choice.path, choice.reason, (*aside, *said))


def _unnamed(
    candidates: Sequence[HostCompiler],
    limits: HostLimits,
    toolkit: str,
    default: HostCompiler,
    floor: HostFloor | None,
    *,
    any_version: bool,
    cure: str,
) -> tuple[HostCompiler, HostChoice]:
    """nvcc's own choice, or the best of those installed."""
    usable = default.found and (any_version or not is_too_new(default, limits))
    if usable and not is_too_old(default, floor):
        return default, HostChoice(None, "nvcc's own choice")
    fitting = [
        host
        for host in candidates
        if host.found and host.major and not (is_too_new(host, limits) or is_too_old(host, floor))
    ]
    best = max(fitting, key=lambda host: (host.family == "gcc", host.major or 0), default=None)
    if best is not None:
        why = "is missing" if not default.found else "is too old" if usable else "is too new"
        reason = f"the newest of those installed that fits; nvcc's own choice {why}"
        return best, HostChoice(best.command, f"{_what(best)}: {reason}")
    check_host_compiler(default, limits, toolkit, any_version=any_version, cure=cure)
    return default, HostChoice(None, "nvcc's own choice")


def _asked(host: NamedHost) -> HostCompiler:
    return host.compiler or HostCompiler(host.command, "unknown", None)


def _set_aside(host: NamedHost, limits: HostLimits, any_version: bool) -> bool:
    """Whether it is meant for the other sources, and nvcc would refuse it."""
    refused = not any_version and is_too_new(_asked(host), limits)
    return host.name in _NOT_NVCCS and refused


def _what(host: HostCompiler) -> str:
    known = host.major is not None
    return f"{host.command} ({host.family} {host.major})" if known else host.command


# --- what a person should know ---------------------------------------------------------------


def _age(host: HostCompiler, floor: HostFloor | None) -> tuple[str, ...]:
    if floor is None or not is_too_old(host, floor):
        return ()
    least = floor.gcc if host.family == "gcc" else floor.clang
    return (f"{_what(host)} is too old: {floor.why}, which is {host.family} {least} or newer.",)


def _aside(host: NamedHost, chosen: HostCompiler, limits: HostLimits, toolkit: str) -> str:
    refused = _asked(host)
    limit = limits.gcc if refused.family == "gcc" else limits.clang
    return (
        f"{host.name} names {_what(refused)}, and {toolkit} takes {refused.family} {limit} at "
        f"most: nvcc calls {_what(chosen)}, the other sources keep {host.command}."
    )


def _conflict(named: Sequence[NamedHost], winner: NamedHost) -> tuple[str, ...]:
    """One sentence where others were named that are another compiler or version."""
    first = _asked(winner)
    others = [
        f"{host.name} names {_what(_asked(host))}"
        for host in named
        if (_asked(host).family, _asked(host).major) != (first.family, first.major)
    ]
    if not others:
        return ()
    why = _WHY.get(winner.name, "nothing stronger is set")
    return (
        f"{winner.name} names {_what(first)} and {', '.join(others)}: nvcc takes "
        f"{winner.command}, because {why}.",
    )


def check_abi(cxx: HostCompiler, nvccs: HostCompiler, words: Sequence[str] = ()) -> tuple[str, ...]:
    """Where code of the C++ compiler and of nvcc's host compiler may not fit together.

    An older g++ beside a newer one that links is sound: a newer libstdc++ serves
    both. The other way round is not.

    Args:
        cxx: What compiles the other sources, and links.
        nvccs: What nvcc calls.
        words: What CXX says, options included.

    Returns:
        One sentence each.
    """
    if "-stdlib=libc++" in words:
        return (
            f"{cxx.command} is told to use libc++, and nvcc's {nvccs.command} and torch use "
            "libstdc++: a std::string of the one is none of the other. Drop -stdlib=libc++.",
        )
    newer = (
        cxx.family == nvccs.family == "gcc"
        and cxx.major is not None
        and nvccs.major is not None
        and nvccs.major > cxx.major
    )
    if not newer:
        return ()
    return (
        f"nvcc's {_what(nvccs)} is newer than {_what(cxx)}, which links: if symbols of "
        f"GLIBCXX are missing then or at import, compile all with one: CXX={nvccs.command}.",
    )
