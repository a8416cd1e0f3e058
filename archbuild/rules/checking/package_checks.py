"""What is odd about a whole package."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from archbuild.model.finding import Finding
from archbuild.model.image import DeviceFile
from archbuild.rules.checking.codes import (
    DRIVER_BUNDLED,
    TOO_LARGE,
    finding_of,
)

_MIB = 1 << 20
# The driver's own libraries; a tool that repairs wheels adds a hash to the name.
_DRIVER = re.compile(
    r"(lib(cuda|cudadebugger|nvidia-(ml|ptxjitcompiler|nvvm))(-[0-9a-f]{6,})?\.so(\.\d+)*"
    r"|nvcuda\.dll|nvml\.dll)"
)


def check_size(path: str, size: int, budget: int, by_arch: dict[str, int]) -> Iterable[Finding]:
    """Whether a file is larger than it may be.

    Args:
        path: The wheel or library.
        size: Its bytes.
        budget: The most bytes it may have.
        by_arch: Bytes of device code of each architecture, for the evidence.
    """
    if size > budget:
        message = f"{path} is {_mib(size)}; the budget is {_mib(budget)}."
        largest = sorted(by_arch.items(), key=lambda item: (-item[1], item[0]))
        told = tuple(f"{arch}: {_mib(count)}" for arch, count in largest)
        advice = "Drop architectures that others serve, or compress: nvcc --compress-mode=size."
        yield finding_of(TOO_LARGE, message, path, evidence=told, advice=advice)


def bytes_by_arch(files: Iterable[DeviceFile]) -> dict[str, int]:
    """How many stored bytes the images of each architecture take, the most first."""
    total: Counter[str] = Counter()
    for image in (image for file in files for image in file.images):
        total[str(image.arch or "unknown")] += image.stored or 0
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def check_driver_bundled(members: Iterable[str]) -> Iterable[Finding]:
    """Libraries of the driver inside a package: they must come from the driver.

    Args:
        members: The paths in the package.
    """
    for member in members:
        name = member.replace("\\", "/").rpartition("/")[2].lower()
        if _DRIVER.fullmatch(name):
            message = f"{member} belongs to the driver and must not ship."
            advice = "Link against it and leave it out: auditwheel repair --exclude libcuda.so.1"
            yield finding_of(DRIVER_BUNDLED, message, member, advice=advice)


def _mib(count: int) -> str:
    return f"{count / _MIB:.1f} MiB"
