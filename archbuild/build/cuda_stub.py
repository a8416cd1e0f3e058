"""A libcuda.so for the linker alone, where neither toolkit nor system has one.

``-lcuda`` is the driver's library, which a machine that builds need not have.
System toolkits bring a stub of it in ``lib64/stubs``; NVIDIA's packages bring
none. A stub of our own defines every function that the toolkit's ``cuda.h``
names and does nothing; the extension then asks for ``libcuda.so.1``, which is
the driver's. The stub lies in the build's folder and never ships.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from archbuild.errors import BuildError
from archbuild.model.machine import Toolkit
from archbuild.probe.process import first_line, run_limited

_NAME = "libcuda.so"
_SONAME = "libcuda.so.1"
_FUNCTION = re.compile(r"\bcu[A-Z]\w*")
# cuda.h pastes these to the name of a function, by the default stream that is asked for.
_PASTED = re.compile(r"__CUDA_API_(PTDS|PTSZ)\((cu[A-Z]\w*)\)")
_HEADERS = ("cuda.h", "cudaEGL.h", "cudaGL.h", "cudaProfiler.h", "cudaVDPAU.h")
# Seconds; it compiles a few thousand empty functions in less than one.
_PATIENCE = 120.0


def cuda_link_folder(
    words: Iterable[str],
    library_dirs: Sequence[str],
    toolkit: Toolkit,
    place: Path,
    host_compiler: str,
) -> str | None:
    """The folder for ``-L`` with which ``-lcuda`` links.

    Args:
        words: The libraries of an extension, and the words of its own for the linker.
        library_dirs: Where the linker looks already.
        toolkit: Whose stub is taken, where it has one.
        place: The folder in which to make one otherwise, in the build's own.
        host_compiler: The command that links, a word or several.

    Returns:
        None where ``-lcuda`` isn't asked for, or is found without help.

    Raises:
        BuildError: If the stub can't be made.
    """
    if not asks_for_driver(words) or _holds(library_dirs):
        return None
    stubs = stub_folder(toolkit)
    if stubs is not None:
        return stubs
    if os.name == "nt" or linker_finds_driver(library_dirs, host_compiler):
        return None
    return str(make_cuda_stub(place, host_compiler, toolkit).parent)


def needs_cuda_stub(
    words: Iterable[str],
    library_dirs: Sequence[str],
    toolkit: Toolkit,
    host_compiler: str = "g++",
) -> bool:
    """Whether ``-lcuda`` is asked for, and nothing here has a libcuda.so to link with.

    Args:
        words: The libraries of an extension, and the words of its own for the linker.
        library_dirs: Where the linker looks already.
        toolkit: Whose folders of stubs are looked into.
        host_compiler: The command that links, a word or several.
    """
    if os.name == "nt" or not asks_for_driver(words):
        return False
    found = _holds(library_dirs) or stub_folder(toolkit) is not None
    return not found and not linker_finds_driver(library_dirs, host_compiler)


def asks_for_driver(words: Iterable[str]) -> bool:
    """Whether these libraries, or words for the linker, name the driver's library."""
    return any(word in ("cuda", "-lcuda", f"-l:{_NAME}") for word in words)


def stub_folder(toolkit: Toolkit) -> str | None:
    """The folder of the toolkit's own stub of libcuda; None where it has none."""
    root = Path(toolkit.root)
    parents = [*map(Path, toolkit.lib), root / "lib64", root / "lib"]
    parents += sorted(root.glob("targets/*/lib"))
    folders = [str(parent / "stubs") for parent in parents]
    return next((folder for folder in folders if _holds([folder])), None)


def linker_finds_driver(library_dirs: Sequence[str], host_compiler: str) -> bool:
    """Ask the linker itself, which alone knows where it looks."""
    folders = [f"-L{folder}" for folder in library_dirs]
    command = [*shlex.split(host_compiler), "-shared", "-nostdlib", "-o", os.devnull]
    return run_limited([*command, *folders, "-lcuda"], timeout=_PATIENCE).ok


def make_cuda_stub(place: Path, host_compiler: str, toolkit: Toolkit) -> Path:
    """Make the stub; one that is right already stays.

    Functions that are missing would matter: with ``--no-undefined`` the link
    fails, and with ``--as-needed``, which is Ubuntu's default, the extension
    would not ask for the driver's library.

    Args:
        place: The folder to make it in.
        host_compiler: The command that links, a word or several.
        toolkit: Whose ``cuda.h`` and the like name the functions.

    Returns:
        The stub, ``libcuda.so``.

    Raises:
        BuildError: If it can't be made.
    """
    library, source = place / _NAME, place / "cuda_stub.c"
    text = render_stub(driver_functions(_read_headers(toolkit)))
    try:
        if library.exists() and source.exists() and source.read_text() == text:
            return library
        place.mkdir(parents=True, exist_ok=True)
        made = place / f".{os.getpid()}.c"
        made.write_text(text)
        _compile(made, library, host_compiler)
        made.replace(source)
    except OSError as error:
        raise BuildError(
            f"{place} cannot be written: {error.strerror}.",
            "It holds a stub of libcuda.so for the linker; free the place, or make it writable.",
        ) from None
    return library


def driver_functions(header: str) -> tuple[str, ...]:
    """The functions of the driver that a ``cuda.h`` names, each as the linker sees it.

    Args:
        header: The text of ``cuda.h``, and of others of the driver's.

    Returns:
        All identifiers of their form, sorted; a few too many do no harm.
    """
    names = set(_FUNCTION.findall(header))
    names |= {f"{name}_{suffix.lower()}" for suffix, name in _PASTED.findall(header)}
    return tuple(sorted(names))


def render_stub(functions: Iterable[str]) -> str:
    """The C source of a stub that defines these functions."""
    lines = [f"int {name}(void) {{ return 100; }}" for name in functions]
    return "\n".join(["/* For the linker alone; the driver's own is loaded. */", *lines, ""])


def _compile(source: Path, library: Path, host_compiler: str) -> None:
    made = source.with_suffix(".so")
    flags = ["-shared", "-fPIC", "-nostdlib", "-w", f"-Wl,-soname,{_SONAME}"]
    command = [*shlex.split(host_compiler), *flags, "-o", str(made), "-x", "c", str(source)]
    answer = run_limited(command, timeout=_PATIENCE)
    if not answer.ok:
        source.unlink(missing_ok=True)
        said = first_line(answer.stderr) or answer.reason
        raise BuildError(
            f"No stub of libcuda.so for -lcuda could be made with {host_compiler}: {said}",
            "Name the folder of a libcuda.so in library_dirs, such as a toolkit's lib64/stubs.",
        )
    made.replace(library)


def _read_headers(toolkit: Toolkit) -> str:
    texts = []
    for folder in toolkit.include:
        for name in _HEADERS:
            file = Path(folder) / name
            if file.is_file():
                texts.append(file.read_text(encoding="utf-8", errors="replace"))
    return "\n".join(texts)


def _holds(folders: Iterable[str]) -> bool:
    return any((Path(folder) / _NAME).exists() for folder in folders)
