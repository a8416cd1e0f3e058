"""What is odd about the kernels of a file: here and not there, or nowhere."""

from __future__ import annotations

from collections.abc import Iterable

from archbuild.model.arch import Arch
from archbuild.model.finding import Finding
from archbuild.model.image import DeviceFile, Image, ImageKind, Linkage, Region
from archbuild.rules.checking.codes import (
    EMPTY_IMAGE,
    KERNEL_MISSING,
    NO_KERNELS,
    NOT_LINKED,
    NOT_REGISTERED,
    arch_names,
    finding_of,
)
from archbuild.rules.covering.coverage import can_load, is_empty, live_regions, loadable_images

#: How much a finding tells one by one.
SHOWN = 10


def check_kernels_missing(file: DeviceFile) -> Iterable[Finding]:
    """Kernels that one image of a region has and another lacks, each by itself.

    An image without any kernel is left to :func:`check_empty_images`.
    """
    for index, region in enumerate(file.regions):
        read = [image for image in loadable_images(region) if image.kernels]
        if len({image.kernels for image in read}) < 2:
            continue
        every = dict.fromkeys(name for image in read for name in image.kernels or ())
        for image in read:
            held = frozenset(image.kernels or ())
            lacking = [name for name in every if name not in held]
            yield from (_kernel_missing(file, index, image, name) for name in lacking)


def _kernel_missing(file: DeviceFile, index: int, image: Image, name: str) -> Finding:
    arch = None if image.arch is None else str(image.arch)
    message = f"{file.path}: {name} is not in {arch or 'an image'}, though its region has it."
    told = (f"region {index}",)
    advice = "Compile it for every architecture of its source, unless it is meant for some alone."
    return finding_of(
        KERNEL_MISSING, message, file.path, arch=arch, kernel=name, evidence=told, advice=advice
    )


def check_not_registered(file: DeviceFile) -> Iterable[Finding]:
    """Kernels that the host never makes known, so that their launch ends in error 98."""
    unnamed = frozenset(file.unnamed or ())
    regions = live_regions(file) if unnamed else ()
    lists = dict.fromkeys(i.kernels for r in regions for i in loadable_images(r) if i.kernels)
    kernels = dict.fromkeys(name for names in lists for name in names or ())
    for name in (name for name in kernels if name in unnamed):
        message = f"{file.path}: the host never registers {name}: a launch ends in error 98."
        advice = "Look for __CUDA_ARCH__ in host code around its launch; all kernels must be seen."
        yield finding_of(NOT_REGISTERED, message, file.path, kernel=name, advice=advice)


def check_empty_images(file: DeviceFile) -> Iterable[Finding]:
    """Images without kernels beside images with some, by architecture.

    What it lacks are kernels: device variables alone don't make it whole.
    """
    places: dict[Arch | None, list[str]] = {}
    for index, region in enumerate(file.regions):
        images = loadable_images(region)
        kernels = {name for image in images for name in image.kernels or ()}
        for image in images if kernels else ():
            if image.kernels == ():
                lacking = f"region {index}: kernels of other images: {len(kernels)}"
                places.setdefault(image.arch, []).append(lacking)
    for arch, told in places.items():
        name = None if arch is None else str(arch)
        message = f"{file.path}: {name or 'an image'} is empty where others have kernels."
        advice = "Look for an #if on __CUDA_ARCH__ that leaves nothing for it."
        shown = tuple(told[:SHOWN])
        yield finding_of(EMPTY_IMAGE, message, file.path, arch=name, evidence=shown, advice=advice)


def check_no_kernels(file: DeviceFile) -> Iterable[Finding]:
    """Device code without a single kernel or variable."""
    if file.images and all(is_empty(region) for region in file.regions):
        message = f"{file.path} holds device code ({arch_names(file.targets)}) but no kernel."
        advice = "A library of host code needs none; else look why nothing was compiled."
        yield finding_of(NO_KERNELS, message, file.path, advice=advice)


def check_device_link(file: DeviceFile) -> Iterable[Finding]:
    """Relocatable code which no device link has made loadable; once, for the plainest reason."""
    link = "Link the device code: nvcc -dlink, or dlink=True in the extension."
    waiting = _waiting(file)
    if file.wanting:
        count = len(file.wanting)
        message = f"{file.path} was never device-linked: symbols of the link missing: {count}."
        told = file.wanting[:SHOWN]
        yield finding_of(NOT_LINKED, message, file.path, evidence=told, advice=link)
    elif file.images and all(_is_waiting(i, r) for r in file.regions for i in r.images):
        message = f"All device code of {file.path} is relocatable: no GPU can load it as it is."
        yield finding_of(NOT_LINKED, message, file.path, advice=link)
    elif waiting and _is_empty_link(file):
        names = arch_names(waiting)
        message = f"The device link of {file.path} is empty, though {names} wait for it."
        advice = "Give the device link the same -gencode flags as the compile."
        yield finding_of(NOT_LINKED, message, file.path, advice=advice)


def _is_waiting(image: Image, region: Region) -> bool:
    relocatable = Linkage.RELOCATABLE in (image.linkage, region.linkage)
    return relocatable and image.kind is not ImageKind.LTOIR


def _waiting(file: DeviceFile) -> set[Arch]:
    """The architectures of relocatable SASS with kernels."""
    return {
        image.arch
        for region in file.regions
        for image in region.images
        if image.arch is not None
        and image.kernels
        and image.kind is ImageKind.SASS
        and not can_load(image, region)
    }


def _is_empty_link(file: DeviceFile) -> bool:
    linked = [region for region in file.regions if loadable_images(region)]
    return bool(linked) and all(is_empty(region) for region in linked)
