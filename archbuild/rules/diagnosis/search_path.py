"""Which variable led the loader to a library, and the variable without that folder; pure."""

from __future__ import annotations

from collections.abc import Iterator

from archbuild.model.machine import Machine
from archbuild.rules.diagnosis.shell import set_variable, unset_variable

_PATH = "LD_LIBRARY_PATH"


def without_folder(machine: Machine, path: str) -> tuple[str, ...]:
    """The command that takes a library's folder out of LD_LIBRARY_PATH; nothing if it isn't there.

    Args:
        machine: With the variable.
        path: The library's file.
    """
    listed = [folder for folder in (machine.variable(_PATH) or "").split(":") if folder]
    kept = [folder for folder in listed if not leads_to(folder, path)]
    if len(kept) == len(listed):
        return ()
    return (
        set_variable(machine, _PATH, ":".join(kept)) if kept else unset_variable(machine, _PATH),
    )


def leads_to(folder: str, path: str) -> bool:
    """Whether a folder of a search path is that of a file, links to it left aside.

    A folder of stubs is known by its name: ``/usr/local/cuda/lib64/stubs`` is a link to
    ``/usr/local/cuda-12.4/targets/x86_64-linux/lib/stubs``.
    """
    wanted = path.rpartition("/")[0]
    folder = folder.rstrip("/")
    if folder == wanted:
        return True
    last = wanted.rpartition("/")[2]
    return last in ("stubs", "compat") and folder.rpartition("/")[2] == last


def variable_of(machine: Machine, path: str) -> str | None:
    """The variable that leads to a library's folder; None: none does."""
    listed = (machine.variable(_PATH) or "").split(":")
    return _PATH if any(folder and leads_to(folder, path) for folder in listed) else None


def folders_named(machine: Machine, *names: str) -> Iterator[str]:
    """Folders of LD_LIBRARY_PATH whose last part is one of these."""
    for folder in (machine.variable(_PATH) or "").split(":"):
        if folder.rstrip("/").rpartition("/")[2] in names:
            yield folder
