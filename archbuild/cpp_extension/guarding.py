"""Puts the guard into a package: one small file that says why its code does not run."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from archbuild.binary.reader import read
from archbuild.build.manifest import manifest_path
from archbuild.model.manifest_record import parse_manifest
from archbuild.probe.writing import write_whole
from archbuild.rules.checking.guard_table import GuardRow, guard_row, render_guard

_log = logging.getLogger(__name__)


def guard_path(library: Path, name: str) -> Path:
    """Where the guard of a library stands: one for all libraries of a package.

    Args:
        library: The library.
        name: The full name of its extension, ``pkg._C``.
    """
    package, _, module = name.rpartition(".")
    own = "_archbuild_guard.py" if package else f"_{module}_archbuild_guard.py"
    return library.with_name(own)


def write_guards(command: Any) -> None:
    """Write the guards of all packages whose libraries a ``build_ext`` has just built.

    Args:
        command: The command; nothing is done where it doesn't ask for guards.

    Raises:
        ArchbuildError: If a library or a manifest can't be read.
        OSError: If a guard can't be written.
    """
    if not command.guard:
        for extension in command.extensions:
            remove_guard(command, extension)
        return
    template = Path(__file__).parents[1].joinpath("guard.py").read_text(encoding="utf-8")
    rows: dict[Path, list[GuardRow]] = {}
    for path, row in _rows(command):
        rows.setdefault(path, []).append(row)
    for path, found in rows.items():
        text = render_guard(template, found, _rebuild(command.distribution))
        write_whole(path, text.encode())
        _log.info("archbuild: %s says why the device code does not run, where it does not", path)


def remove_guard(command: Any, extension: Any) -> None:
    """Take away the guard of an earlier build, which would say what is no longer true."""
    name = command.get_ext_fullname(extension.name)
    package = command.get_finalized_command("build_py")
    in_build = guard_path(Path(command.build_lib, command.get_ext_filename(name)), name)
    in_source = Path(package.get_package_dir(name.rpartition(".")[0]), in_build.name)
    for path in (in_build, in_source):
        if path.is_file() and "class GuardError(RuntimeError)" in path.read_text("utf-8"):
            path.unlink()
            _log.info("archbuild: %s is of an earlier build: removed", path)


def _rows(command: Any) -> Iterator[tuple[Path, GuardRow]]:
    for extension in command.extensions:
        name = command.get_ext_fullname(extension.name)
        library = Path(command.build_lib, command.get_ext_filename(name))
        beside = manifest_path(library)
        if beside.exists():
            manifest = parse_manifest(beside.read_text(encoding="ascii"), os.fspath(beside))
            (file,) = read(library, kernels=True)
            row = guard_row(library.name, manifest.targets, file, manifest)
            yield guard_path(library, name), row


def _rebuild(distribution: Any) -> str:
    name, version = distribution.get_name(), distribution.get_version()
    words = "pip install --force-reinstall --no-deps --no-cache-dir --no-build-isolation"
    wanted = shlex.quote(f"{name}=={version}")
    return f'TORCH_CUDA_ARCH_LIST="{{archs}}" {words} --no-binary {shlex.quote(name)} {wanted}'
