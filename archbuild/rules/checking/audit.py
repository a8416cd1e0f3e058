"""Every check that needs nothing but the file, in one call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from archbuild.model.finding import Finding
from archbuild.model.image import DeviceFile
from archbuild.rules.checking import image_checks, kernel_checks, targets

CHECKS: tuple[Callable[[DeviceFile], Iterable[Finding]], ...] = (
    targets.check_hip,
    kernel_checks.check_no_kernels,
    kernel_checks.check_device_link,
    image_checks.check_lto_only,
    image_checks.check_relocatable_ptx,
    image_checks.check_no_ptx,
    image_checks.check_only_specific,
    image_checks.check_suffixed_ptx,
    kernel_checks.check_kernels_missing,
    kernel_checks.check_not_registered,
    kernel_checks.check_empty_images,
    image_checks.check_virtual_far_below,
    image_checks.check_headers,
    image_checks.check_unknown_entries,
    image_checks.check_debug_code,
    image_checks.check_uncompressed,
)


#: Those about what newer GPUs and others get of it.
REACH_CHECKS = (
    image_checks.check_no_ptx,
    image_checks.check_only_specific,
    image_checks.check_suffixed_ptx,
)


def audit(file: DeviceFile, deliberate: Collection[int] = ()) -> tuple[Finding, ...]:
    """What is odd about a file's device code, whatever it is meant to run on.

    Args:
        file: With its kernels read or not; a check that needs them says nothing
            where they were not.
        deliberate: Regions that are known to be for some GPUs alone on purpose.
    """
    others = tuple(r for i, r in enumerate(file.regions) if i not in deliberate)
    rest = replace(file, regions=others) if deliberate else file
    return tuple(
        finding for check in CHECKS for finding in check(rest if check in REACH_CHECKS else file)
    )
