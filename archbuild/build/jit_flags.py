"""The flags with which torch's ``load`` compiles and links, as data."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from archbuild.build.link_edge import LinkWords
from archbuild.build.torch_flags import with_standard
from archbuild.errors import UsageError


@dataclass(frozen=True)
class JitFlags:
    """What a caller of ``load`` passes, each flag one word.

    Args:
        cxx: For the host compiler.
        nvcc: For nvcc.
        link: For the linker.
        include: Folders of headers, absolute.
    """

    cxx: tuple[str, ...] = ()
    nvcc: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    include: tuple[str, ...] = ()


@dataclass(frozen=True)
class TorchSide:
    """What torch brings to a build.

    Args:
        cxx: The words that call the host compiler.
        standard: The C++ standard that it adds, ``c++20``.
        nvcc: Flags that it gives to nvcc always.
        include: Its folders of headers, CUDA's and Python's among them.
        lib: The folder of its own libraries.
        cuda_lib: Folders of CUDA's libraries.
    """

    cxx: tuple[str, ...]
    standard: str
    nvcc: tuple[str, ...]
    include: tuple[str, ...]
    lib: str
    cuda_lib: tuple[str, ...]


def split_flags(flags: Iterable[str] | None, name: str) -> tuple[str, ...]:
    r"""Flags as a shell would split them, since torch hands them to one.

    Args:
        flags: As the caller gave them: one of them may hold several words.
        name: The argument, for messages.

    Raises:
        UsageError: If a quote is never closed, or it is no list of texts.

    Examples:
        >>> split_flags(["-O2 -g", "-DGREETING='\"a b\"'"], "extra_cflags")
        ('-O2', '-g', '-DGREETING="a b"')
    """
    if isinstance(flags, str):
        raise UsageError(f"{name} is one text, {flags!r:.60}.", f"Pass a list: {name}=[...].")
    words: list[str] = []
    for flag in flags or ():
        try:
            words += shlex.split(str(flag))
        except ValueError as error:
            raise UsageError(
                f"{flag!r:.60} in {name} cannot be split into words: {error}."
            ) from None
    return tuple(words)


def split_folders(folders: Iterable[str] | None) -> tuple[str, ...]:
    """Folders of headers, absolute: the compiler runs elsewhere."""
    return tuple(str(Path(str(folder).strip()).absolute()) for folder in folders or ())


def compile_words(
    name: str, flags: JitFlags, torch: TorchSide, *, standalone: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The host compiler with its flags, and nvcc's flags.

    Args:
        name: The module's, as its source finds it in ``TORCH_EXTENSION_NAME``.
        flags: The caller's; the architectures are among those of nvcc.
        torch: What torch brings.
        standalone: Whether a program is built.
    """
    module = (f"-DTORCH_EXTENSION_NAME={name}", "-DTORCH_API_INCLUDE_EXTENSION_H")
    about = () if standalone else module
    own = (f"-I{folder}" for folder in flags.include)
    system = (word for folder in torch.include for word in ("-isystem", folder))
    common = (*about, *own, *system)
    # The caller's own standard comes after torch's and wins, as the compiler reads them.
    cxx = (*torch.cxx, *common, "-fPIC", f"-std={torch.standard}", *flags.cxx)
    nvcc = with_standard(flags.nvcc, torch.standard)
    return cxx, (*common, *torch.nvcc, "--compiler-options", "-fPIC", *nvcc)


def link_words(flags: JitFlags, torch: TorchSide, *, standalone: bool) -> LinkWords:
    """How a library, or a program, is linked with torch's libraries.

    Args:
        flags: The caller's.
        torch: What torch brings.
        standalone: Whether a program is linked.
    """
    kind = () if standalone else ("-shared",)
    folders = (torch.lib, *torch.cuda_lib)
    found_by = [f"-Wl,-rpath,{folder}" for folder in folders]  # a program has to find them itself
    last: Sequence[str] = found_by if standalone else ["-ltorch_python"]
    after = (
        *flags.link,
        f"-L{torch.lib}",
        *("-lc10", "-lc10_cuda", "-ltorch_cpu", "-ltorch_cuda", "-ltorch"),
        *last,
        *(f"-L{folder}" for folder in torch.cuda_lib),
        "-lcudart",
    )
    return LinkWords((*torch.cxx, *kind), after)
