"""What each CUDA Toolkit builds, and the newest host compilers it takes.

For planning without a toolkit at hand: where there is an nvcc, ask that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from archbuild.model.arch import Arch, sass
from archbuild.model.version import CudaVersion


@dataclass(frozen=True)
class ToolkitRow:
    """One release of the CUDA Toolkit.

    Args:
        version: The release.
        archs: The real architectures that it builds, upwards.
        max_gcc: The newest major version of gcc that nvcc takes on Linux.
        max_clang: The newest major version of clang that nvcc takes.
        source: Where both were read.
        date: When they were read there.
        verified: Whether the tools themselves said so; otherwise it is from
            NVIDIA's documents and was not held against a tool.
    """

    version: CudaVersion
    archs: tuple[Arch, ...]
    max_gcc: int
    max_clang: int
    source: str
    date: date
    verified: bool


def _archs(numbers: str) -> tuple[Arch, ...]:
    return tuple(sorted(sass(number) for number in numbers.split()))


def _releases(
    archs: tuple[Arch, ...], releases: str, *, verified: bool = True
) -> tuple[ToolkitRow, ...]:
    """Rows of releases with the same architectures, ``version:gcc:clang``."""
    read = "ptxas --help and crt/host_config.h of the published packages"
    source = read if verified else "NVIDIA's installation guide and release notes"
    rows = []
    for release in releases.split():
        version, gcc, clang = release.split(":")
        hosts = int(gcc), int(clang)
        row = ToolkitRow(
            CudaVersion.parse(version), archs, *hosts, source, date(2026, 11, 30), verified
        )
        rows.append(row)
    return tuple(rows)


_CUDA_10 = _archs("30 32 35 37 50 52 53 60 61 62 70 72 75")
_CUDA_11_0 = _archs("35 37 50 52 53 60 61 62 70 72 75 80")
_CUDA_11_1 = _CUDA_11_0 + _archs("86")
_CUDA_11_4 = _CUDA_11_1 + _archs("87")
_CUDA_11_8 = _CUDA_11_4 + _archs("89 90")
_CUDA_12_0 = _archs("50 52 53 60 61 62 70 72 75 80 86 87 89 90 90a")
_CUDA_12_8 = _CUDA_12_0 + _archs("100 100a 101 101a 120 120a")
_CUDA_12_9 = (
    _CUDA_12_0
    + _archs("100 100f 100a 101 101f 101a 103 103f 103a")
    + (_archs("120 120f 120a 121 121f 121a"))
)
_CUDA_13_0 = _archs("75 80 86 87 88 89 90 90a 100 100f 100a 103 103f 103a") + (
    _archs("110 110f 110a 120 120f 120a 121 121f 121a")
)
_CUDA_13_4 = tuple(sorted((*_CUDA_13_0, *_archs("107 107f 107a"))))

# 12.7 was never released.
TOOLKITS = (
    *_releases(_CUDA_10, "10.0:7:6 10.1:8:8 10.2:8:8", verified=False),
    *_releases(_CUDA_11_0, "11.0:9:9", verified=False),
    *_releases(_CUDA_11_1, "11.1:10:10 11.2:10:11 11.3:10:11", verified=False),
    *_releases(_CUDA_11_4, "11.4:11:12 11.5:11:12 11.6:11:13", verified=False),
    *_releases(_CUDA_11_4, "11.7:11:13"),
    *_releases(_CUDA_11_8, "11.8:11:14"),
    *_releases(_CUDA_12_0, "12.0:12:14 12.1:12:15 12.2:12:16 12.3:12:16"),
    *_releases(_CUDA_12_0, "12.4:13:17 12.5:13:17 12.6:13:18"),
    *_releases(_CUDA_12_8, "12.8:14:19"),
    *_releases(_CUDA_12_9, "12.9:14:19"),
    *_releases(_CUDA_13_0, "13.0:15:20 13.1:15:21 13.2:15:21 13.3:15:21"),
    *_releases(_CUDA_13_4, "13.4:16:22 13.5:16:22"),
)

_BY_VERSION = {row.version: row for row in TOOLKITS}


def find_toolkit_row(version: CudaVersion) -> ToolkitRow | None:
    """The row of this release; None where it is not known."""
    return _BY_VERSION.get(version)


def toolkits_that_build(arch: Arch) -> tuple[CudaVersion, ...]:
    """The releases that can make code for an architecture, upwards.

    Args:
        arch: Real or virtual: a release that builds ``sm_90a`` compiles
            ``compute_90a`` as well.
    """
    return tuple(row.version for row in TOOLKITS if arch.real in row.archs)
