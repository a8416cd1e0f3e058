"""Machines made of a few files: what /proc, /sys, /dev and /etc of a real one would say."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from archbuild.model.record import decode
from archbuild.model.surroundings import Surroundings

#: An ELF file of 64 bits, as far as anybody looks at a library here.
LIBRARY = b"\x7fELF\x02\x01\x01" + bytes(57)

#: The content of files by their place below the root.
Files = dict[str, str | bytes]

DEBIAN: Files = {
    "etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n',
    "proc/1/comm": "systemd\n",
    "proc/2/comm": "kthreadd\n",
    "proc/1/cgroup": "0::/init.scope\n",
    "proc/self/cgroup": "0::/user.slice/user-1000.slice/session-2.scope\n",
    "proc/self/mountinfo": "29 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw\n",
    "proc/sys/kernel/osrelease": "6.1.0-25-amd64\n",
    "proc/modules": "ext4 737280 1 - Live 0x0000000000000000\n",
}

CLOSED_MODULE = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Sun Jul 20 05:45:19 UTC 2025\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
)
OPEN_MODULE = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build  (x@y)  Sun Jul\n"
)


def plant(
    root: Path,
    files: Mapping[str, str | bytes] | None = None,
    links: Mapping[str, str] | None = None,
) -> Path:
    """Write files and links below a root, which comes back."""
    for name, content in (files or {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    for name, target in (links or {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    return root


def card(
    root: Path,
    address: str,
    device: int,
    *,
    driver: str | None = None,
    vendor: int = 0x10DE,
    kind: int = 0x030000,
) -> None:
    """A device on the PCI bus."""
    folder = f"sys/bus/pci/devices/{address}"
    values = {"vendor": f"0x{vendor:04x}\n", "device": f"0x{device:04x}\n"}
    plant(root, {f"{folder}/{n}": v for n, v in {**values, "class": f"0x{kind:06x}\n"}.items()})
    if driver is not None:
        plant(root, links={f"{folder}/driver": f"../../../../bus/pci/drivers/{driver}"})


def driver(root: Path, release: str = "580.65.06", *, module: str = CLOSED_MODULE) -> None:
    """A whole driver with one GPU's nodes, as Debian and Ubuntu install it."""
    folder = "usr/lib/x86_64-linux-gnu"
    nodes = ("nvidia0", "nvidiactl", "nvidia-uvm")
    plant(
        root,
        {
            "proc/driver/nvidia/version": module.format(release),
            "sys/module/nvidia/version": f"{release}\n",
            f"{folder}/libcuda.so.{release}": LIBRARY,
            "etc/ld.so.cache": ldcache([("libcuda.so.1", f"/{folder}/libcuda.so.1")]),
            **{f"dev/{node}": b"" for node in nodes},
        },
        {f"{folder}/libcuda.so.1": f"libcuda.so.{release}"},
    )


def ldcache(entries: Iterable[tuple[str, str]], flags: int = 0x0303, *, old: bytes = b"") -> bytes:
    """The loader's list of libraries, of 64-bit ones for x86 where nothing else is said."""
    pairs = list(entries)
    rows, strings = b"", b""
    begin = 48 + 24 * len(pairs)
    for name, path in pairs:
        places = []
        for text in (name, path):
            places.append(begin + len(strings))
            strings += text.encode() + b"\0"
        rows += struct.pack("<iIIIQ", flags, *places, 0, 0)
    header = struct.pack("<20sII20x", b"glibc-ld.so.cache1.1", len(pairs), len(strings))
    return old + header + rows + strings


def module(**values: str) -> bytes:
    """A kernel module's file, as far as its own account of itself goes."""
    info = b"".join(f"{name}={value}".encode() + b"\0" for name, value in values.items())
    names = b"\0.modinfo\0.shstrtab\0"
    table = 64 + len(info) + len(names)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    rows = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 1, 2, 0, 64, len(info), 0, 0, 1, 0),
        (10, 3, 0, 0, 64 + len(info), len(names), 0, 0, 1, 0),
    ]
    return ident + head + info + names + b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in rows)


_AS_NOBODY = """
import json, os, sys
from pathlib import Path
from archbuild.model.record import encode
from archbuild.probe.surroundings import query_surroundings
ask = lambda: query_surroundings(root=Path(sys.argv[1]), environ={}, processor="x86_64")
ask()  # loads all that it needs, which nobody may not do later
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.stdout.write(json.dumps(encode(ask())))
"""


def seen_by_nobody(root: Path, closed: Mapping[str, int] | None = None) -> Surroundings:
    """What a user without rights sees of this machine.

    Args:
        root: The machine.
        closed: Modes that are set first, by the names below the root.
    """
    # Copied: pytest closes its temporary folders, those of an earlier run at any moment.
    with tempfile.TemporaryDirectory(prefix="archbuild-") as folder:
        Path(folder).chmod(0o755)
        copy = Path(folder) / "root"
        shutil.copytree(root, copy, symlinks=True)
        copy.chmod(0o755)
        for name, mode in (closed or {}).items():
            (copy / name).chmod(mode)
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(copy)],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    found = decode(Surroundings, json.loads(done.stdout))
    assert isinstance(found, Surroundings)
    return found
