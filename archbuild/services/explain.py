"""What does this error mean here, for this package, and what cures it?"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from archbuild.binary.reader import iter_files
from archbuild.errors import ArchbuildError, BinaryError, UnreadableError, UsageError
from archbuild.model.machine import Machine
from archbuild.probe.failed_library import libraries_of
from archbuild.probe.machine import query_machine
from archbuild.probe.package_origin import find_distribution, find_origin, with_source
from archbuild.rules.covering.drivers import parse_driver
from archbuild.rules.diagnosis.all_rules import diagnose_machine
from archbuild.rules.explaining.answer import Explained
from archbuild.rules.explaining.circumstances import (
    Circumstances,
    named_places,
    places_with,
)
from archbuild.rules.explaining.explain import explain_text
from archbuild.rules.explaining.known import Join
from archbuild.rules.explaining.log_lines import lines_that_matter
from archbuild.rules.explaining.phrases import note_text
from archbuild.rules.explaining.recognize import Recognized, package_in_text, recognize

#: Bytes of a file whose kernels are read in any case, as verify does.
SMALL = 16 << 20
#: Kernels whose names are made readable.
MOST_READABLE = 200
#: Errors for which it matters which kernels there are.
_OF_KERNELS = (98, 500)
#: What programs raise for an error of CUDA, of the loader or of a build.
_RAISED = (RuntimeError, OSError, ImportError, AssertionError, ValueError)


@dataclass(frozen=True)
class ExplainReport:
    """The answer, with what is needed to show it.

    Args:
        answer: The answer.
        circumstances: What it was made of.
        names: Readable names of the kernels that are missing, by their mangled ones.
    """

    answer: Explained
    circumstances: Circumstances
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 where it can be explained, 4 where not."""
        return self.answer.exit_code


def explain(
    text: str | None = None,
    *,
    log: Iterable[bytes] | None = None,
    package: str | None = None,
    file: str | Path | None = None,
    source: str | Path | None = None,
    gpu: str | None = None,
    driver: str | None = None,
    driver_cuda: str | None = None,
    machine: Machine | None = None,
) -> ExplainReport:
    """What an error means on this machine, or on another one.

    Args:
        text: What was printed.
        log: A log in place of it, in pieces; of any size.
        package: The installed package that failed.
        file: The wheel, library or folder that failed.
        source: The folder of its source, for a command that builds it again; None: the
            current folder, where it is the source of that package.
        gpu: The GPUs in place of the machine's, ``"RTX 3090, 12.0"``.
        driver: The release of their driver, ``"570.124"``.
        driver_cuda: The same by the CUDA that it serves, ``"12.8"``.
        machine: A recorded machine in place of this one.

    Returns:
        The answer; ``exit_code`` says whether there is one.

    Raises:
        UsageError: If an argument can't be read, or nothing is to be explained.
        BinaryError: If the binary can't be read.

    Examples:
        >>> told = explain("invalid device function", file="tests/data/classic.so", gpu="7.5")
        >>> told.answer.errors
        (98, 209)
    """
    if package is not None and file is not None:
        raise UsageError("--package and --file were both given.", "Name what failed once.")
    known = text if log is None else lines_that_matter(log)
    if known is None and package is None and file is None:
        raise UsageError("explain was given nothing to explain.", "Paste the error, or pipe a log.")
    recognized = recognize(known or "")
    named = package if package is not None else None if file is None else str(file)
    question = _Question(gpu, driver, driver_cuda, machine, packages=named is None)
    circumstances = replace(question.circumstances(), suspect=_suspect(known or ""))
    if named is not None:
        origin = find_origin(named, installed=package is not None)
        circumstances = replace(circumstances, origin=with_source(origin, source))
        try:
            circumstances = _with_binary(circumstances, [named], recognized)
        except ArchbuildError:
            if package is None or origin.installed:
                raise
            missing = UnreadableError(
                f"There is no package {package} here.", "Take the name that pip list has."
            )
            # That it is missing may be the very reason of the error.
            if recognized.first is None and recognized.build is None:
                raise missing from None
            circumstances = replace(circumstances, unread=(str(missing),))
    answer = explain_text(recognized, circumstances)
    return ExplainReport(answer, circumstances, _readable(answer.kernels))


@dataclass(frozen=True)
class _Question:
    """Where the error came up, as a person named it."""

    gpu: str | None = None
    driver: str | None = None
    driver_cuda: str | None = None
    machine: Machine | None = None
    packages: bool = True

    def circumstances(self) -> Circumstances:
        """GPUs, driver and machine; what was named is not asked."""
        driver = parse_driver(self.driver, self.driver_cuda)
        if self.gpu is not None:
            machine = self.machine or query_machine(gpus=False)
            windows = machine.system == "win32"
            return Circumstances(named_places(self.gpu, driver, windows=windows), machine=machine)
        machine = self.machine or query_machine(deep=True, packages=self.packages)
        findings = diagnose_machine(machine).findings
        places = places_with(machine, driver)
        return Circumstances(places, machine=machine, here=True, findings=findings)


def _suspect(text: str) -> str | None:
    module = package_in_text(text)
    return find_distribution(module) if module is not None else None


def _with_binary(
    circumstances: Circumstances, paths: Sequence[str], recognized: Recognized
) -> Circumstances:
    """With what a binary holds; files of it that can't be read are told of."""
    hit = recognized.first
    kernels = hit is None or bool(set(hit.errors) & set(_OF_KERNELS))
    errors: list[ArchbuildError] = []
    files = [
        replace(found, path=_shown(found.path, path))
        for path in paths
        for found in iter_files(
            path, kernels=kernels, errors=errors, small=SMALL, names=None, notes=False
        )
    ]
    if not files:
        cure = "Name a wheel, a library or a folder, or an installed package with --package."
        raise errors[0] if errors else BinaryError(f"{paths[0]} holds no library at all.", cure)
    unread = tuple(str(error) for error in errors)
    return replace(circumstances, files=tuple(files), binary=_shown(paths[0]), unread=unread)


def _shown(name: str, path: str = "") -> str:
    """A file's name without the folder that a person named, or that packages lie in."""
    if path and os.path.isdir(path):  # noqa: PTH112 - pathlib is slow to import
        return name.removeprefix(os.path.join(path, ""))  # noqa: PTH118
    return re.split(r"[/\\](?:site|dist)-packages[/\\]", name)[-1]


def _readable(kernels: tuple[str, ...]) -> Mapping[str, str]:
    if not kernels:
        return {}
    from archbuild.probe.demangle import demangle, find_demangler  # noqa: PLC0415

    demangler = find_demangler()
    return demangle(kernels[:MOST_READABLE], demangler) if demangler is not None else {}


# --- around a call --------------------------------------------------------------------------


@contextmanager
def explained(*, file: str | Path | None = None, machine: Machine | None = None) -> Iterator[None]:
    """Add what an error means here to an error that is raised inside.

    The error itself goes on, of the same type, with the explanation as a note; Python 3.10,
    which has no notes, gets it as an error of the same type with a longer message. An error
    that is not known goes on as it is.

    Args:
        file: The library that would have failed; None: the one that the traceback leads to.
        machine: A recorded machine in place of this one.

    Examples:
        >>> try:
        ...     with explained(file="tests/data/classic.so", machine=None):
        ...         raise RuntimeError("CUDA error: PTX JIT compilation was disabled")
        ... except RuntimeError as error:
        ...     print(str(error).splitlines()[0])
        CUDA error: PTX JIT compilation was disabled
    """
    try:
        yield
    except _RAISED as error:
        note = _note(error, file, machine)
        if note is None:
            raise
        if sys.version_info >= (3, 11):
            error.add_note(note)
            raise
        longer = _longer(error, note)
        if longer is None:
            raise
        raise longer from error


def _note(error: Exception, file: str | Path | None, machine: Machine | None) -> str | None:
    """The explanation; None where there is none. Explaining must not raise anything else."""
    try:
        recognized = recognize(str(error))
        if recognized.build is None and recognized.first is None:
            return None
        circumstances = _Question(machine=machine, packages=False).circumstances()
        paths = _failed(error, recognized) if file is None else [str(file)]
        if paths:
            circumstances = _with_libraries(circumstances, paths, recognized)
        return note_text(explain_text(recognized, circumstances))
    except Exception:
        return None


def _failed(error: Exception, recognized: Recognized) -> list[str]:
    """The libraries in question: the one that the text names, else the traceback's."""
    hit = recognized.first
    if hit is None or hit.known.join not in (Join.CODE, Join.BUILD):
        return []
    named = hit.values.get("library", "")
    if named and os.path.isfile(named):  # noqa: PTH113
        return [named]
    return list(libraries_of(error))


def _with_libraries(
    circumstances: Circumstances, paths: Sequence[str], recognized: Recognized
) -> Circumstances:
    try:
        circumstances = _with_binary(circumstances, paths, recognized)
    except ArchbuildError:
        return circumstances
    module = re.split(r"[/\\.]", circumstances.binary)[0]
    origin = find_origin(find_distribution(module), installed=True)
    return replace(circumstances, origin=origin) if origin.installed else circumstances


def _longer(error: Exception, note: str) -> Exception | None:
    """An error of the same type with a longer message; None where the type won't have it."""
    try:
        return type(error)(f"{error}\n{note}")
    except Exception:
        return None
