"""Toolkits made of shell scripts that answer as nvcc does."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import write_script

ARCHS = "'compute_75','compute_80','compute_90a','sm_75','sm_80','sm_90a'"

_USAGE = """\
--gpu-architecture <arch>  (-arch)
        -arch=all         build for all supported architectures (sm_*)
        Allowed values for this option:  'all','native',{archs},
        'lto_75'.

--gpu-code <code>,...      (-code)
        Allowed values for this option:  {archs}.

--maxrregcount <amount>    (-maxrregcount)
        For 'sm_10' there was once another limit.
"""


def write_nvcc(path: Path, version: str = "13.0", *, archs: str = ARCHS, top: str = "") -> Path:
    """An nvcc at this path; ``top`` is what --dryrun states, by default its own root.

    It uses what the shell itself can do, so that it works with an empty PATH.
    """
    here = path.parent
    usage = _USAGE.format(archs=archs)
    return write_script(
        path,
        'case "$1" in\n'
        f"--version) echo 'Cuda compilation tools, release {version}, V{version}.88';;\n"
        f'--help) echo "{usage}";;\n'
        f"--dryrun) echo '#$ _HERE_={here}' >&2; echo '#$ TOP={top or f'{here}/..'}' >&2;;\n"
        "*) exit 9;;\n"
        "esac\n",
    )


def write_wrapper(path: Path, target: Path) -> Path:
    """A script that calls the program at another path."""
    return write_script(path, f'exec {target} "$@"\n')


def write_cuobjdump(path: Path, version: str = "13.0") -> Path:
    """A cuobjdump that only knows its version."""
    line = f"Cuda compilation tools, release {version}, V{version}.1"
    return write_script(path, f"echo '{line}'\n")
