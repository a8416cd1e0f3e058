"""The second, independent reader of device code: NVIDIA's own cuobjdump.

Its plain dump is read, which keeps the suffix ``f`` (``-lelf`` drops it) and
disassembles nothing. cuobjdump never says which images are relocatable; the
sections of the host file do.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO

from archbuild.binary.dump import Dump, Head, Member, parse_dump, parse_heads
from archbuild.binary.outline import Form, Outline, Part, holds_fatbin, read_head, read_outline
from archbuild.errors import BinaryError, BlindReaderError, ToolError
from archbuild.model.image import Compression, DeviceFile, Image, ImageKind, Linkage, Region

#: Seconds; torch's libtorch_cuda.so (480 MB) takes 12 from a cold disk.
TIMEOUT = 600.0
#: Bytes of text: libtorch_cuda.so gives 0.3 MB, its symbols 20 MB.
_MAX_TEXT = 1 << 30
_NOTHING = "does not contain device code"
_GET = "Get one that works: pip install nvidia-cuda-cuobjdump"
_AGAIN = "Build or download the file again."


@dataclass(frozen=True)
class _Call:
    """A cuobjdump, the file it is shown and what a person calls that file."""

    cuobjdump: str
    path: str
    name: str
    timeout: float


def read_with_cuobjdump(
    path: str | Path,
    cuobjdump: str,
    *,
    everything: bool = False,
    kernels: bool = False,
    name: str | None = None,
    timeout: float = TIMEOUT,
) -> DeviceFile:
    """Read which images a file holds.

    All executable images come as one region and all relocatable ones as
    another (in an archive: of each member), because cuobjdump doesn't tell
    where a region ends.

    Args:
        path: A library, object, archive, executable, cubin or fatbin.
        cuobjdump: The cuobjdump to call.
        everything: Also the relocatable images of a file that has executable
            ones, which cuobjdump hides otherwise (``-all``).
        kernels: Also the names of the kernels; takes twice as long.
        name: What a person calls the file; the path where not given.
        timeout: Seconds.

    Returns:
        The images. No region: there is no device code.

    Raises:
        BlindReaderError: If the file is sound and cuobjdump cannot see into it.
        BinaryError: If the file is truncated, damaged, or of no known kind.
        ToolError: If cuobjdump cannot be run, hangs, crashes or prints what
            nobody can read.
    """
    name = str(path) if name is None else name
    outline = read_outline(Path(path), name)
    _refuse_strangers(outline, Path(path), name)
    call = _Call(cuobjdump, str(Path(path).absolute()), name, timeout)
    reader = f"cuobjdump {read_version(cuobjdump)}"
    if outline.form is Form.CUBIN:
        return DeviceFile(name, (Region((_read_cubin(call, kernels=kernels),)),), reader)
    options = ["-all"] * everything + ["-symbols"] * kernels
    dump = _dump(call, options)
    if dump is None:
        _refuse_blindness(outline, Path(path), name)
        return DeviceFile(name, (), reader)
    if outline.form is Form.FATBIN:
        regions: tuple[Region, ...] = _bare_regions(call, dump)
    else:
        regions = _regions(call, dump, outline, everything=everything)
    return DeviceFile(name, regions, reader, dump.unknown)


@lru_cache(maxsize=8)
def read_version(cuobjdump: str) -> str:
    """The full version of a cuobjdump, ``13.5.37``.

    Raises:
        ToolError: If it cannot be run, or is something else.
    """
    code, out, _ = _run([cuobjdump, "--version"], 20.0, cuobjdump)
    match = re.search(r"\bV(\d+\.\d+\.\d+)\b", out)
    if code != 0 or match is None:
        raise ToolError(f"{cuobjdump} does not answer --version as a cuobjdump does.", _GET)
    return match[1]


def _refuse_strangers(outline: Outline, path: Path, name: str) -> None:
    if outline.form is Form.ZIP:
        raise BinaryError(f"{name} is a zip archive; cuobjdump reads only what lies in it.")
    if outline.form is Form.OTHER:
        head = read_head(path, name)
        if head.startswith(b"version https://git-lfs"):
            raise BinaryError(
                f"{name} is the pointer of a file in Git LFS, not the file.", "Run: git lfs pull"
            )
        raise BinaryError(
            f"{name} is no library, object, archive, cubin or fatbin; it begins with {head[:8]!r}.",
            "Name a file that a compiler or linker wrote.",
        )


def _refuse_blindness(outline: Outline, path: Path, name: str) -> None:
    """It found nothing: say so only where that is a verdict."""
    if outline.form in (Form.PE, Form.COFF) and os.name != "nt":
        raise BlindReaderError(
            f"{name} is a {outline.form.value}, into which cuobjdump sees only on Windows.",
            "Verify it on Windows, where cuobjdump can read it.",
        )
    if holds_fatbin(path, [(0, outline.size)]):
        raise BlindReaderError(
            f"{name} holds a fatbin outside the section of its own, where cuobjdump looks.",
            "Verify the .fatbin file which was embedded.",
        )


def _dump(call: _Call, options: list[str]) -> Dump | None:
    """One dump, None where cuobjdump says that there is no device code."""
    code, out, messages = _run([call.cuobjdump, *options, call.path], call.timeout, call.name)
    if code == 255 and _NOTHING in messages + out:
        return None
    if code != 0:
        raise _failure(call, code, messages + out)
    dump = parse_dump(out, call.path)
    if not dump.images:
        raise ToolError(
            f"{call.cuobjdump} printed nothing about {call.name} that can be understood.", _GET
        )
    return dump


def _failure(call: _Call, code: int, text: str) -> BinaryError | ToolError:
    match = re.search(r"^cuobjdump (?:fatal|error) *: *(.+?)\.?$", text, re.MULTILINE)
    if code < 0:
        number = -code
        names = {s.value: s.name for s in signal.Signals}
        message = f"cuobjdump crashed ({names.get(number, number)}) while it read {call.name}."
        return ToolError(message, _AGAIN)
    if match is None:
        return ToolError(f"{call.cuobjdump} failed with status {code} on {call.name}.", _GET)
    reason = match[1].replace(call.path, call.name)
    return BinaryError(f"cuobjdump cannot read {call.name}: {reason}.", _AGAIN)


def _regions(call: _Call, dump: Dump, outline: Outline, *, everything: bool) -> tuple[Region, ...]:
    """The images of each member, executable ones first and then relocatable ones."""
    members = dump.members
    parts: tuple[Part | None, ...] = outline.parts
    if len(parts) != len(members):
        parts = (None,) * len(members)
    mixed = everything and any(p and p.has_executable and p.has_relocatable for p in parts)
    plain = _dump(call, []) if mixed else None
    if plain is not None and len(plain.members) != len(members):
        raise ToolError(f"{call.cuobjdump} shows {call.name} differently each time.", _GET)
    regions: list[Region] = []
    for index, (member, part) in enumerate(zip(members, parts, strict=True)):
        shown = plain.members[index] if plain else member
        regions += _member_regions(member, part, shown)
    return tuple(regions)


def _member_regions(member: Member, part: Part | None, shown: Member) -> Iterator[Region]:
    """Split at the last executable image: ``-all`` prints those first (13.5).

    Args:
        member: All the images to tell apart.
        part: The sections of the file that holds them, None where unknown.
        shown: What the dump without ``-all`` shows of it.
    """
    if part is None or not (part.has_executable or part.has_relocatable):
        groups = [(Linkage.UNKNOWN, member.images)]
    else:
        count = len(shown.images) if part.has_executable else 0
        groups = [
            (Linkage.EXECUTABLE, member.images[:count]),
            (Linkage.RELOCATABLE, member.images[count:]),
        ]
    for linkage, images in groups:
        if images:
            yield Region(tuple(_linked(image, linkage) for image in images), None, linkage)


def _linked(image: Image, linkage: Linkage) -> Image:
    """The image with its linkage; PTX made for a device link stays relocatable."""
    if image.linkage is Linkage.RELOCATABLE:
        return image
    return replace(image, linkage=linkage)


def _bare_regions(call: _Call, dump: Dump) -> tuple[Region, ...]:
    """A .fatbin has no sections: only the cubins themselves tell their linkage."""
    heads = [head.linkage for head in _heads(call)]
    cubins = sum(image.kind is ImageKind.SASS for image in dump.images)
    unmatched = len(heads) != cubins
    queue = iter([Linkage.UNKNOWN] * cubins if unmatched else heads)
    images = tuple(
        _linked(image, next(queue) if image.kind is ImageKind.SASS else Linkage.EXECUTABLE)
        for image in dump.images
    )
    return (Region(images, None, Linkage.UNKNOWN),)


def _read_cubin(call: _Call, *, kernels: bool) -> Image:
    """A bare cubin: the plain dump prints nothing of it (13.5)."""
    heads = _heads(call)
    if len(heads) != 1:
        raise ToolError(f"{call.cuobjdump} prints no header of the cubin {call.name}.", _GET)
    image = Image(ImageKind.SASS, heads[0].arch, heads[0].linkage, compression=Compression.NONE)
    if not kernels:
        return image
    _, out, _ = _run([call.cuobjdump, "-symbols", call.path], call.timeout, call.name)
    # The rows are those of an entry, so an entry's header makes them readable.
    named = parse_dump(f"Fatbin elf code:\narch = {image.arch}\n{out.lstrip()}", call.path)
    return replace(image, kernels=named.images[0].kernels or ())


def _heads(call: _Call) -> tuple[Head, ...]:
    with tempfile.TemporaryFile() as out:
        command = [call.cuobjdump, "-elf", call.path]
        code, messages = _run_into(out, command, call.timeout, call.name)
        if code != 0:
            raise _failure(call, code, messages)
        return parse_heads(line.decode("utf-8", "replace") for line in out)


def _run(command: list[str], timeout: float, name: str) -> tuple[int, str, str]:
    """The status, standard output and standard error of a command."""
    with tempfile.TemporaryFile() as out:
        code, messages = _run_into(out, command, timeout, name)
        return code, out.read().decode("utf-8", "replace"), messages


def _run_into(out: IO[bytes], command: list[str], timeout: float, name: str) -> tuple[int, str]:
    """Run a command into a file, which is bounded and cannot fill up as a pipe can."""
    with tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C"},
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ToolError(f"{command[0]} cannot be run: {reason}.", _GET) from None
        try:
            _wait(process, out, timeout, f"{command[0]}, given {name},")
        finally:
            _kill(process)
        out.seek(0)
        err.seek(0)
        return process.returncode, err.read(1 << 16).decode("utf-8", "replace")


def _wait(process: subprocess.Popen[bytes], out: IO[bytes], timeout: float, who: str) -> None:
    end = time.monotonic() + timeout
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, min(1.0, end - time.monotonic())))
            return
        if time.monotonic() >= end:
            raise ToolError(f"{who} did not end within {timeout:g} s.", _GET)
        if os.fstat(out.fileno()).st_size > _MAX_TEXT:
            raise ToolError(f"{who} printed more than {_MAX_TEXT >> 20} MiB.", _GET)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process with its children, where it still runs."""
    if process.poll() is not None:
        return
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
