"""Every kind of finding about binaries: the codes are stable, and a page tells of each.

``docs/findings/`` has the page of a code under its name in lower case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from archbuild.model.arch import Arch
from archbuild.model.finding import Finding, Severity


@dataclass(frozen=True)
class Code:
    """One kind of finding about binaries.

    Args:
        code: ``V201``.
        severity: How much it weighs.
        title: A few words, for lists of codes.
    """

    code: str
    severity: Severity
    title: str


_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

# Whether a file is what it should be.
NO_DEVICE_CODE = Code("V200", _ERROR, "no device code")
TARGET_MISSING = Code("V201", _ERROR, "target missing")
NOT_LINKED = Code("V202", _ERROR, "device link missing")
SURPLUS = Code("V203", _NOTE, "surplus target")
UNKNOWN_ENTRY = Code("V204", _WARNING, "unknown entry")
HIP_CODE = Code("V205", _ERROR, "HIP code, not CUDA")
UNREADABLE = Code("V206", _ERROR, "cannot be read")
NO_WHEEL = Code("V207", _NOTE, "a zip archive but no wheel")
LTO_ONLY = Code("V208", _ERROR, "LTO-IR only")

# What becomes of a file on a device.
NOT_SERVED = Code("V210", _ERROR, "device not served")
REGION_NOT_SERVED = Code("V211", _ERROR, "part of the regions uncovered")
ON_PURPOSE = Code("V212", _NOTE, "made for other architectures on purpose")
JIT_NEEDED = Code("V213", _WARNING, "compiled by the driver at run time")
PTX_TOO_NEW = Code("V214", _ERROR, "PTX newer than the driver")
DRIVER_TOO_OLD = Code("V215", _ERROR, "driver older than the toolkit")
DEVICE_NOT_KNOWN = Code("V216", _ERROR, "driver doesn't serve this GPU")
UNDECIDED = Code("V217", _WARNING, "not known whether it runs")
TEGRA = Code("V218", _WARNING, "undocumented on Tegra")

# What a file holds.
NO_PTX = Code("V220", _WARNING, "no PTX for newer GPUs")
ONLY_SPECIFIC = Code("V221", _WARNING, "only architecture-specific code")
SUFFIXED_PTX = Code("V222", _WARNING, "PTX with a suffix")
KERNEL_MISSING = Code("V223", _WARNING, "kernel missing on an architecture")
NOT_REGISTERED = Code("V224", _WARNING, "kernel not registered by the host")
EMPTY_IMAGE = Code("V225", _WARNING, "empty image")
NO_KERNELS = Code("V226", _WARNING, "no kernels at all")
RELOCATABLE_PTX = Code("V227", _WARNING, "PTX only relocatable")
VIRTUAL_FAR_BELOW = Code("V228", _WARNING, "virtual architecture far below the real one")
HEADER_DISAGREES = Code("V229", _ERROR, "entry header and image disagree")
DEBUG_CODE = Code("V230", _WARNING, "debug code")
UNCOMPRESSED = Code("V231", _NOTE, "uncompressed images")

# What a package holds, and who says so.
TOO_LARGE = Code("V240", _ERROR, "over the size budget")
DRIVER_BUNDLED = Code("V241", _ERROR, "CUDA driver library bundled")
READERS_DISAGREE = Code("V250", _ERROR, "two readers disagree")
WAIVER_UNUSED = Code("V260", _WARNING, "waiver that matches nothing")

# What the manifest beside a library says.
NOT_AS_BUILT = Code("V270", _ERROR, "not the images that were built")
DEVELOPMENT = Code("V271", _ERROR, "development build")
OTHER_TORCH = Code("V272", _WARNING, "built for another torch")
OTHER_LIBRARY = Code("V273", _WARNING, "manifest of another library")
SOURCE_LEFT_OUT = Code("V274", _NOTE, "source left out")

#: Every code.
CODES = (
    NO_DEVICE_CODE,
    TARGET_MISSING,
    NOT_LINKED,
    SURPLUS,
    UNKNOWN_ENTRY,
    HIP_CODE,
    UNREADABLE,
    NO_WHEEL,
    LTO_ONLY,
    NOT_SERVED,
    REGION_NOT_SERVED,
    ON_PURPOSE,
    JIT_NEEDED,
    PTX_TOO_NEW,
    DRIVER_TOO_OLD,
    DEVICE_NOT_KNOWN,
    UNDECIDED,
    TEGRA,
    NO_PTX,
    ONLY_SPECIFIC,
    SUFFIXED_PTX,
    KERNEL_MISSING,
    NOT_REGISTERED,
    EMPTY_IMAGE,
    NO_KERNELS,
    RELOCATABLE_PTX,
    VIRTUAL_FAR_BELOW,
    HEADER_DISAGREES,
    DEBUG_CODE,
    UNCOMPRESSED,
    TOO_LARGE,
    DRIVER_BUNDLED,
    READERS_DISAGREE,
    WAIVER_UNUSED,
    NOT_AS_BUILT,
    DEVELOPMENT,
    OTHER_TORCH,
    OTHER_LIBRARY,
    SOURCE_LEFT_OUT,
)


_TITLES = {code.code: code.title for code in CODES}


def title_of(code: str) -> str:
    """A few words on a code; the code itself where it is a newer one."""
    return _TITLES.get(code, code)


def finding_of(
    code: Code,
    message: str,
    path: str,
    *,
    arch: str | None = None,
    kernel: str | None = None,
    evidence: tuple[str, ...] = (),
    advice: str = "",
) -> Finding:
    """A finding with the severity of its code."""
    return Finding(code.code, code.severity, message, path, arch, kernel, evidence, advice)


def arch_names(archs: Iterable[Arch | None]) -> str:
    """Architectures as people read them, in order; nothing twice."""
    known = sorted({arch for arch in archs if arch is not None})
    return ", ".join(map(str, known)) or "of unknown architecture"
