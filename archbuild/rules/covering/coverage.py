"""The rule of the house: whether device code runs on a GPU with a driver.

Three questions, each answered for one destination: of one image
(:func:`runs`), of one region, in which the driver takes one image of several
(:func:`cover_region`), and of a file (:func:`cover_file`). What is not known
stays unknown: it never turns into yes or no.

Sources: CUDA C++ Programming Guide, Application Compatibility and Compute
Capabilities; CUDA Compatibility, minor-version compatibility; the acceptance of
ptxas 11.8 to 13.5; the choice within a region as measured by others on sm_89.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from archbuild.facts.drivers import cuda_for_isa
from archbuild.model.arch import Arch, ComputeCapability, Suffix
from archbuild.model.coverage import (
    Cause,
    Destination,
    DeviceCoverage,
    DriverFloor,
    Floors,
    Outcome,
    RegionCoverage,
    Tegra,
    Verdict,
)
from archbuild.model.image import DeviceFile, Flag, Image, ImageKind, Linkage, Region
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion
from archbuild.rules.covering.drivers import device_floor, ptx_floor, sass_floor
from archbuild.rules.covering.fit import NOTHING_FITS, Fit, Traits, fit_image, judge_driver


def runs(
    image: Image,
    capability: ComputeCapability,
    driver: Driver | None = None,
    *,
    windows: bool = False,
    tegra: Tegra = Tegra.UNDOCUMENTED,
) -> Verdict:
    """Whether one image runs on a device with a driver.

    Args:
        image: One entry of a fatbin.
        capability: The device's.
        driver: Its release, its CUDA version or both; None: one is assumed
            that knows the device and the image.
        windows: Whether the driver is one for Windows, as it is inside WSL.
        tegra: How to take SASS between Tegra and other chips, for which NVIDIA
            documents nothing.

    Examples:
        >>> from archbuild.model.arch import sass
        >>> image = Image(ImageKind.SASS, sass("86"))
        >>> runs(image, ComputeCapability(8, 9)).outcome.value
        'native'
        >>> print(runs(image, ComputeCapability(8, 0)).reason)
        sm_86 does not run on 8.0: code goes upwards only.
    """
    return _judge(image, Destination(capability, driver, windows, tegra), image.toolkit)


def _judge(image: Image, destination: Destination, built: CudaVersion | None) -> Verdict:
    traits = Traits(image.kind, image.linkage, image.arch, image.isa, built)
    return _judge_traits(traits, destination)


# A library has thousands of images and a handful of kinds of them.
@lru_cache(maxsize=4096)
def _judge_traits(traits: Traits, destination: Destination) -> Verdict:
    return judge_driver(fit_image(traits, destination), traits, destination)


def toolkit_of(region: Region) -> CudaVersion | None:
    """The CUDA that made a region's images, by what they tell; None if none does.

    One nvcc makes the whole of a region, and stamps its own ISA on its PTX.
    """
    told = next((i.toolkit for i in region.images if i.toolkit is not None), None)
    if told is not None:
        return told
    isas = [i.isa for i in region.images if i.kind is ImageKind.PTX and i.isa is not None]
    return cuda_for_isa(max(isas)) if isas else None


def choose(region: Region, destination: Destination) -> tuple[Image, ...]:
    """The image of a region that the driver takes.

    It drops what cannot run on the device, prefers a cubin to PTX, then the
    nearest architecture, then an entry without the flag 0x1000000, then the
    first cubin and the last PTX. What it has taken and then refuses does not
    make it take another.

    Returns:
        One image, several where no fact names the winner (``sm_90`` beside
        ``sm_90a``), none where nothing fits. Where images are among them whose
        fit is unknown, the winner is unknown too.
    """
    images = region.images
    fits = [_fit(image, region.linkage, destination) for image in images]
    sure = [i for i, fit in enumerate(fits) if fit is Fit.YES]
    maybe = [i for i, fit in enumerate(fits) if fit is Fit.UNKNOWN]
    for kind in (ImageKind.SASS, ImageKind.PTX):
        taken = _take([i for i in sure + maybe if images[i].kind is kind], images)
        if taken:
            return taken
    return tuple(images[i] for i in maybe)


def _take(numbers: list[int], images: tuple[Image, ...]) -> tuple[Image, ...]:
    """Of images of one kind that fit, what the driver takes."""
    return tuple(images[i] for i in sorted(_one_per_suffix(_nearest(numbers, images), images)))


def _choose_ptx(region: Region, destination: Destination) -> tuple[Image, ...]:
    """What the driver compiles where it has no SASS to take, or is told to take none."""
    images = region.images
    numbers = [i for i, image in enumerate(images) if image.kind is ImageKind.PTX]
    fitting = [i for i in numbers if _fit(images[i], region.linkage, destination) is not Fit.NO]
    return _take(fitting, images)


def _fit(image: Image, section: Linkage, destination: Destination) -> Fit:
    linkage = section if section is Linkage.RELOCATABLE else image.linkage
    return _fit_kind(image.kind, linkage, image.arch, destination)


@lru_cache(maxsize=4096)
def _fit_kind(kind: ImageKind, linkage: Linkage, arch: Arch | None, place: Destination) -> Fit:
    return fit_image(Traits(kind, linkage, arch), place).fit


def _nearest(numbers: list[int], images: tuple[Image, ...]) -> list[int]:
    """Those of the highest capability; those of unknown architecture always."""
    known = [arch.capability for i in numbers if (arch := images[i].arch) is not None]
    top = max(known, default=None)
    return [i for i in numbers if (arch := images[i].arch) is None or arch.capability == top]


def _one_per_suffix(numbers: list[int], images: tuple[Image, ...]) -> list[int]:
    """Of images with one and the same architecture, the one which the driver takes."""
    taken: dict[Arch | None, int] = {}
    for i in sorted(numbers, key=lambda i: _tie(i, images[i])):
        taken.setdefault(images[i].arch, i)
    return list(taken.values())


def _tie(index: int, image: Image) -> tuple[bool, int]:
    return image.has(Flag.NEW_SASS), -index if image.kind is ImageKind.PTX else index


def cover_region(region: Region, destination: Destination, index: int = 0) -> RegionCoverage:
    """What becomes of a region, and of every kernel in it, on a device.

    Args:
        region: One fatbin.
        destination: The device and its driver.
        index: The number of the region in its file.
    """
    chosen = choose(region, destination)
    verdict = _region_verdict(region, chosen, destination)
    served, absent, undecided = _split_kernels(region, chosen, verdict)
    return RegionCoverage(
        index,
        region.offset,
        verdict,
        chosen,
        served,
        absent,
        undecided,
        not chosen and is_made_for_others(region),
    )


def _region_verdict(region: Region, chosen: tuple[Image, ...], destination: Destination) -> Verdict:
    built = toolkit_of(region)
    verdicts = [_judge(image, destination, image.toolkit or built) for image in chosen]
    if not verdicts:
        return _nothing_fits(region, destination)
    if len({verdict.outcome for verdict in verdicts}) == 1:
        return verdicts[0]
    names = " and ".join(str(image.arch or "an unknown entry") for image in chosen)
    reason = f"It is not known which of {names} the driver takes on {destination.capability}."
    return Verdict(Outcome.UNKNOWN, Cause.NOT_KNOWN, reason)


def _nothing_fits(region: Region, destination: Destination) -> Verdict:
    verdicts = [_judge(image, destination, image.toolkit) for image in region.images]
    by_driver = (Cause.DEVICE_TOO_NEW, Cause.DEVICE_RETIRED)
    telling = next((v for v in verdicts if v.cause in by_driver), None)
    if telling is not None:
        return telling
    if is_empty(region) is None:
        reason = f"Nothing fits {destination.capability}, but its kernels were not read."
        return Verdict(Outcome.UNKNOWN, Cause.NOT_KNOWN, reason)
    causes = {verdict.cause for verdict in verdicts}
    linked = region.linkage is not Linkage.RELOCATABLE and Cause.ARCHITECTURE in causes
    cause = Cause.ARCHITECTURE if linked else Cause.NOT_LOADABLE
    held = ", ".join(dict.fromkeys(_image_words(image, region.linkage) for image in region.images))
    reason = f"No image fits {destination.capability}: it holds {held or 'none'}."
    return Verdict(Outcome.NO, cause, reason, NOTHING_FITS)


def _image_words(image: Image, section: Linkage) -> str:
    name = str(image.arch) if image.arch is not None else "an unknown architecture"
    if image.kind not in (ImageKind.SASS, ImageKind.PTX):
        return f"{image.kind.value} of {name}"
    return f"relocatable {name}" if Linkage.RELOCATABLE in (image.linkage, section) else name


def _split_kernels(
    region: Region, chosen: tuple[Image, ...], verdict: Verdict
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The kernels of a region: served as the verdict says, absent, undecided."""
    lists = dict.fromkeys(image.kernels for image in region.images if image.kernels)
    names = tuple(dict.fromkeys(name for kernels in lists for name in kernels))
    if not verdict.runs or not chosen:
        return names, (), ()
    if any(image.kernels is None for image in chosen):
        return (), (), names
    if all(image.kernels == names for image in chosen):
        return names, (), ()
    held = [frozenset(image.kernels or ()) for image in chosen]
    everywhere, somewhere = frozenset.intersection(*held), frozenset.union(*held)
    return (
        tuple(name for name in names if name in everywhere),
        tuple(name for name in names if name not in somewhere),
        tuple(name for name in names if name in somewhere and name not in everywhere),
    )


def is_empty(region: Region) -> bool | None:
    """Whether a region holds neither kernels nor device variables; None: not read."""
    answers = [image.is_empty for image in region.images]
    if any(image.kernels or image.variables for image in region.images):
        return False
    return None if None in answers else True


def can_load(image: Image, region: Region) -> bool:
    """Whether a driver can load an image of this region as it is.

    What lies in the section of relocatable code is waiting for a device link,
    whatever the image says of itself.
    """
    return image.is_loadable and region.linkage is not Linkage.RELOCATABLE


def loadable_images(region: Region) -> list[Image]:
    """The images of a region that a driver can load as they are."""
    return [image for image in region.images if can_load(image, region)]


def live_regions(file: DeviceFile) -> list[Region]:
    """The regions with something to load, but for those known to be empty."""
    return [region for region in file.regions if is_live(region)]


def is_live(region: Region) -> bool:
    """Whether it holds something to load, and is not known to be empty."""
    return bool(loadable_images(region)) and not is_empty(region)


def is_made_for_others(region: Region) -> bool:
    """Whether all that can be loaded of it is arch- or family-specific."""
    archs = [image.arch for image in loadable_images(region)]
    return bool(archs) and all(a is not None and a.suffix is not Suffix.PLAIN for a in archs)


def cover_file(file: DeviceFile, destination: Destination) -> DeviceCoverage:
    """What a whole file does on a device; empty regions are left out.

    Args:
        file: With its regions, kernels read or not.
        destination: The device and its driver.
    """
    judged = [(i, region) for i, region in enumerate(file.regions) if not is_empty(region)]
    regions = tuple(cover_region(region, destination, i) for i, region in judged)
    return DeviceCoverage(destination, regions, _floors(judged, regions, destination))


def _floors(
    judged: list[tuple[int, Region]],
    covered: tuple[RegionCoverage, ...],
    destination: Destination,
) -> Floors:
    sass, ptx = [], []
    for (_, region), coverage in zip(judged, covered, strict=True):
        for image in coverage.chosen:
            if image.kind is ImageKind.SASS:
                built = image.toolkit or toolkit_of(region)
                sass.append(sass_floor(built, windows=destination.windows))
        ptx += [
            ptx_floor(image.isa, windows=destination.windows)
            for image in _choose_ptx(region, destination)
        ]
    return Floors(_highest(sass), _highest(ptx), device_floor(destination))


def _highest(floors: Iterable[DriverFloor | None]) -> DriverFloor | None:
    """The highest floor; None where there is none, or one of them is unknown."""
    known = list(floors)
    if None in known:
        return None
    return max((f for f in known if f is not None), key=lambda floor: floor.cuda, default=None)
