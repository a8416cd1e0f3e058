"""Puts the guard into a package: one small file that says why its code does not run."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from archbuild.build.beside import guard_path
from archbuild.probe.writing import write_whole

_log = logging.getLogger(__name__)


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
    # Here: it reads device code, and most packages want no guard.
    from archbuild.cpp_extension.guard_texts import guard_texts  # noqa: PLC0415

    for path, text in guard_texts(command):
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
