"""Which control groups this process is in, as folders, from its own up to the topmost visible."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# A line of mountinfo has fewer than 40 fields and /proc/self/cgroup fewer than 20 lines;
# what is much longer is something else.
_LIMIT = 1 << 20

# Where systemd and container runtimes mount them; for a process that may not see /proc.
_USUAL = {
    2: ("sys/fs/cgroup", "sys/fs/cgroup/unified"),
    "memory": ("sys/fs/cgroup/memory",),
    "cpu": ("sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"),
}


@dataclass(frozen=True)
class Group:
    """One control group that limits this process.

    Args:
        folder: Where its files lie.
        version: 1 or 2.
        name: Its path below the mount, for people; ``/`` for the topmost.
    """

    folder: Path
    version: int
    name: str

    def read(self, file: str) -> str | None:
        """The text of one of its files; None where there is none to read."""
        return read_text(self.folder / file)

    def number(self, file: str) -> int | None:
        """The number in one of its files; None for ``max`` and for anything else."""
        return whole(self.read(file))

    def entry(self, file: str, name: str) -> int | None:
        """The number behind a name in a file of ``name number`` lines."""
        for line in (self.read(file) or "").splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return whole(value)
        return None


@dataclass(frozen=True)
class _Mount:
    """One mounted hierarchy: which part of it is visible, and where."""

    top: PurePosixPath
    point: Path
    kind: int | str


def read_text(path: Path) -> str | None:
    """The text of a file of the kernel's; None where there is none to read."""
    try:
        with path.open("rb") as file:
            return file.read(_LIMIT).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def whole(text: str | None) -> int | None:
    """A whole number, perhaps negative; None for anything else."""
    text = (text or "").strip()
    return int(text) if re.fullmatch(r"-?\d{1,20}", text, re.ASCII) else None


def find_groups(controller: str, root: Path = Path("/")) -> tuple[Group, ...]:
    """The groups of this process that can hold a limit, its own first.

    Args:
        controller: ``memory`` or ``cpu``.
        root: The folder that holds ``proc`` and ``sys``.

    Returns:
        Those of version 2, then those of version 1, each from the process's
        own up to the topmost that is visible here. Parents outside of a
        container are visible to nobody in it.
    """
    paths = _paths(read_text(root / "proc/self/cgroup") or "")
    found: dict[Path, Group] = {}
    for mount in _mounts(root, controller):
        own = paths.get(mount.kind, PurePosixPath("/"))
        for group in _chain(mount, own):
            found.setdefault(group.folder, group)
    return tuple(found.values())


def _paths(text: str) -> dict[int | str, PurePosixPath]:
    """``/proc/self/cgroup``: the path by version 2 or by controller of version 1."""
    paths: dict[int | str, PurePosixPath] = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not path.startswith("/"):
            continue
        if number == "0" and not controllers:
            paths[2] = PurePosixPath(path)
        else:
            paths.update(dict.fromkeys(controllers.split(","), PurePosixPath(path)))
    return paths


def _mounts(root: Path, controller: str) -> list[_Mount]:
    mounts = list(_mounted(read_text(root / "proc/self/mountinfo") or "", root, controller))
    if not mounts:
        mounts = [
            _Mount(PurePosixPath("/"), root / place, kind)
            for kind in (2, controller)
            for place in _USUAL.get(kind, ())
        ]
    return sorted(mounts, key=lambda mount: mount.kind != 2)


def _mounted(text: str, root: Path, controller: str) -> Iterator[_Mount]:
    """The hierarchies in ``/proc/self/mountinfo`` that this controller may be in."""
    for line in text.splitlines():
        fields, _, tail = line.partition(" - ")
        words, kind = fields.split(" "), tail.split(" ")
        if len(words) < 6 or len(kind) < 3:
            continue
        top, point = PurePosixPath(_unescape(words[3])), _unescape(words[4]).lstrip("/")
        if kind[0] == "cgroup2":
            yield _Mount(top, root / point, 2)
        elif kind[0] == "cgroup" and controller in kind[-1].split(","):
            yield _Mount(top, root / point, controller)


def _unescape(text: str) -> str:
    r"""A path in mountinfo, where a blank is written ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _chain(mount: _Mount, own: PurePosixPath) -> Iterator[Group]:
    """A group and those above it, as far as the mount shows them.

    Where the path is not below what is mounted (another namespace: ``/../x``,
    or a container's files bound over the host's), the mount itself is the
    nearest group that can be seen.
    """
    try:
        below = own.relative_to(mount.top)
    except ValueError:
        below = PurePosixPath()
    if ".." in below.parts:
        below = PurePosixPath()
    version = 2 if mount.kind == 2 else 1
    for place in (below, *below.parents):
        yield Group(mount.point / place, version, f"/{place}" if place.parts else "/")
