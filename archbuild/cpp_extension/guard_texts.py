"""The texts of a package's guards, from the device code of its libraries."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from archbuild.binary.reader import read
from archbuild.build.beside import guard_path, manifest_path
from archbuild.model.manifest_record import parse_manifest
from archbuild.rules.checking.guard_table import GuardRow, guard_row, render_guard


def guard_texts(command: Any) -> Iterator[tuple[Path, str]]:
    """The guards of all packages whose libraries a ``build_ext`` has just built.

    Args:
        command: The command.

    Yields:
        Where each stands, and its text.

    Raises:
        ArchbuildError: If a library or a manifest can't be read.
    """
    template = Path(__file__).parents[1].joinpath("guard.py").read_text(encoding="utf-8")
    rows: dict[Path, list[GuardRow]] = {}
    for path, row in _rows(command):
        rows.setdefault(path, []).append(row)
    for path, found in rows.items():
        yield path, render_guard(template, found, _rebuild(command.distribution))


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
