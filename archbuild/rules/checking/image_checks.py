"""What is odd about the images of a file, whatever they are meant to run on."""

from __future__ import annotations

from collections.abc import Iterable

from archbuild.model.arch import Arch, Suffix
from archbuild.model.finding import Finding
from archbuild.model.image import Compression, DeviceFile, Flag, Image, ImageKind, Linkage
from archbuild.rules.checking.codes import (
    DEBUG_CODE,
    HEADER_DISAGREES,
    LTO_ONLY,
    NO_PTX,
    ONLY_SPECIFIC,
    RELOCATABLE_PTX,
    SUFFIXED_PTX,
    UNCOMPRESSED,
    UNKNOWN_ENTRY,
    VIRTUAL_FAR_BELOW,
    arch_names,
    finding_of,
)
from archbuild.rules.covering.coverage import (
    can_load,
    is_made_for_others,
    live_regions,
    loadable_images,
)

#: How much a finding tells one by one.
SHOWN = 10
_MIB = 1 << 20
#: Below this many bytes nobody minds that they are not compressed.
UNCOMPRESSED_FROM = _MIB

_UNREAD = (ImageKind.UNKNOWN, ImageKind.UNFINISHED, ImageKind.CONCATENATED)


def check_no_ptx(file: DeviceFile) -> Iterable[Finding]:
    """No plain PTX in a region: GPUs newer than its SASS get nothing of it."""
    regions = [region for region in live_regions(file) if not is_made_for_others(region)]
    without = [
        region for region in regions if not any(_is_plain_ptx(i) for i in loadable_images(region))
    ]
    if not without:
        return
    share = "no PTX" if len(without) == len(regions) else f"no PTX in {len(without)} of its regions"
    message = f"{file.path} has {share}: GPUs of a newer major number can't run it."
    advice = "Add PTX of the highest architecture: +PTX at the end of the list."
    yield finding_of(NO_PTX, message, file.path, advice=advice)


def _is_plain_ptx(image: Image) -> bool:
    plain = image.arch is not None and image.arch.suffix is Suffix.PLAIN
    return image.kind is ImageKind.PTX and plain


def check_only_specific(file: DeviceFile) -> Iterable[Finding]:
    """Nothing but code for single devices."""
    archs = {image.arch for region in live_regions(file) for image in loadable_images(region)}
    if archs and all(arch is not None and arch.suffix is Suffix.ARCH for arch in archs):
        names = arch_names(arch for arch in archs if arch is not None)
        message = f"{file.path} holds only {names}, which run on these devices and no other."
        advice = "Add plain architectures or the family (f), and PTX, unless that is meant."
        yield finding_of(ONLY_SPECIFIC, message, file.path, advice=advice)


def check_suffixed_ptx(file: DeviceFile) -> Iterable[Finding]:
    """PTX of which newer GPUs have no use."""
    found = {image.arch for region in live_regions(file) for image in loadable_images(region)}
    for arch in sorted(a for a in found if a is not None and a.is_virtual and a.suffix.value):
        reach = "one device" if arch.suffix is Suffix.ARCH else "one family"
        message = f"{file.path} holds {arch}: PTX with a suffix serves {reach}, no newer GPU."
        advice = f"Add compute_{arch.capability.number}, if newer GPUs are to be served."
        yield finding_of(SUFFIXED_PTX, message, file.path, arch=str(arch), advice=advice)


def check_relocatable_ptx(file: DeviceFile) -> Iterable[Finding]:
    """PTX that is there, and that no driver can load."""
    ptx = [(i, r) for r in file.regions for i in r.images if i.kind is ImageKind.PTX]
    if ptx and not any(can_load(image, region) for image, region in ptx):
        names = arch_names(image.arch for image, _ in ptx if image.arch is not None)
        message = f"All PTX of {file.path} ({names}) is relocatable: no driver can compile it."
        advice = "A device link keeps no PTX; newer GPUs need SASS, or a build without -rdc."
        yield finding_of(RELOCATABLE_PTX, message, file.path, advice=advice)


def check_lto_only(file: DeviceFile) -> Iterable[Finding]:
    """Regions of nothing but LTO-IR, but for those that a device link has taken up.

    What it links stays in the library as well, in the section of relocatable
    code; a unit that it left out shows by its symbol, which is then missing.
    """
    linked = not file.wanting and any(loadable_images(region) for region in live_regions(file))
    regions = [
        region
        for region in file.regions
        if region.images
        and all(_is_lto(image) for image in region.images)
        and not (linked and region.linkage is Linkage.RELOCATABLE)
    ]
    if regions:
        share = f"{len(regions)} of {len(file.regions)} regions"
        message = f"{file.path} holds nothing but LTO-IR in {share}: no GPU runs that."
        advice = "Link it with nvcc -dlto and the real architectures."
        yield finding_of(LTO_ONLY, message, file.path, advice=advice)


def _is_lto(image: Image) -> bool:
    return image.kind is ImageKind.LTOIR


def check_virtual_far_below(file: DeviceFile) -> Iterable[Finding]:
    """SASS assembled from PTX of an older major number."""
    pairs = {(i.arch, i.virtual) for i in file.images if i.kind is ImageKind.SASS}
    for real, virtual in sorted((r, v) for r, v in pairs if r is not None and v is not None):
        if virtual.capability.major < real.capability.major:
            message = (
                f"{file.path}: {real} was assembled from {virtual} and lacks all that is newer."
            )
            advice = f"Compile it from its own: -gencode=arch={real.virtual},code={real}."
            yield finding_of(VIRTUAL_FAR_BELOW, message, file.path, arch=str(real), advice=advice)


def check_headers(file: DeviceFile) -> Iterable[Finding]:
    """Entries whose header says one architecture and the image another."""
    odd = {(i.arch, i.inner) for i in file.images if _disagrees(i.arch, i.inner)}
    for arch, inner in sorted((a, b) for a, b in odd if a is not None and b is not None):
        message = f"{file.path}: an entry is called {arch}, but what lies in it is {inner}."
        advice = "The driver goes by the header; make the file again with one toolkit."
        yield finding_of(HEADER_DISAGREES, message, file.path, arch=str(arch), advice=advice)


def _disagrees(arch: Arch | None, inner: Arch | None) -> bool:
    if arch is None or inner is None:
        return False
    # A cubin need not tell its suffix (CUDA 13), so a plain one is no contradiction.
    suffixes = inner.suffix is not Suffix.PLAIN and inner.suffix is not arch.suffix
    return inner.capability != arch.capability or suffixes


def check_unknown_entries(file: DeviceFile) -> Iterable[Finding]:
    """Entries of a kind, with flags or of an architecture that nobody knows yet."""
    odd = [image for image in file.images if _is_unknown(image)]
    if odd:
        told = tuple(_entry_words(image) for image in odd[:SHOWN])
        message = f"{file.path} holds {len(odd)} entries that archbuild doesn't know."
        advice = "A newer archbuild may know them; what they run on is not known."
        yield finding_of(UNKNOWN_ENTRY, message, file.path, evidence=told, advice=advice)


def _is_unknown(image: Image) -> bool:
    nameless = image.arch is None and image.kind is not ImageKind.INDEX
    return image.kind in _UNREAD or nameless or bool(image.unknown_flags)


def _entry_words(image: Image) -> str:
    number = "" if image.number is None else f" {image.number:#x}"
    flags = "" if image.flags is None else f", flags {image.flags:#x}"
    place = "" if image.offset is None else f" at {image.offset:#x}"
    return f"kind {image.kind.value}{number}, {image.arch or 'no architecture'}{flags}{place}"


def check_debug_code(file: DeviceFile) -> Iterable[Finding]:
    """Device code compiled with -G."""
    debug = [image for image in file.images if image.has(Flag.DEBUG)]
    if debug:
        names = arch_names(image.arch for image in debug if image.arch is not None)
        message = f"{file.path} holds debug code ({names}), which is several times slower."
        yield finding_of(DEBUG_CODE, message, file.path, advice="Build it without -G.")


def check_uncompressed(file: DeviceFile) -> Iterable[Finding]:
    """Much device code that lies there as it is."""
    plain = [i for i in file.images if i.compression is Compression.NONE and i.stored]
    total = sum(image.stored or 0 for image in plain)
    if total >= UNCOMPRESSED_FROM:
        message = f"{file.path} holds {total / _MIB:.1f} MiB of device code without compression."
        advice = "nvcc --compress-mode=size makes it smaller (CUDA 12.8 and newer)."
        yield finding_of(UNCOMPRESSED, message, file.path, advice=advice)
