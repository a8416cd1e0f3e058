"""Images, regions and files in a few words, for the tests of the rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from archbuild.model.arch import Arch, ComputeCapability, ptx, sass
from archbuild.model.coverage import Destination
from archbuild.model.finding import Finding
from archbuild.model.image import DeviceFile, Image, ImageKind, Linkage, Region
from archbuild.model.machine import Driver
from archbuild.model.version import CudaVersion, DriverRelease


def cap(text: str) -> ComputeCapability:
    return ComputeCapability.parse(text)


def driver(release: str | None = None, cuda: str | None = None) -> Driver:
    return Driver(
        DriverRelease.parse(release) if release else None,
        CudaVersion.parse(cuda) if cuda else None,
    )


def on(device: str, found: Driver | None = None, **more: Any) -> Destination:
    return Destination(cap(device), found, **more)


def _kernels(names: str | None, more: dict[str, Any]) -> dict[str, Any]:
    """The two fields of what was read; None: neither kernels nor variables were."""
    held = None if names is None else tuple(names.split())
    return {"kernels": held, "variables": None if held is None else 0, **more}


def real(number: str, kernels: str | None = None, toolkit: str | None = None, **more: Any) -> Image:
    """SASS, with kernels as ``"a b"``; ``""`` is empty, None was not read."""
    built = CudaVersion.parse(toolkit) if toolkit else None
    return Image(ImageKind.SASS, sass(number), toolkit=built, **_kernels(kernels, more))


def virtual(
    number: str, kernels: str | None = None, isa: tuple[int, int] | None = (8, 0), **more: Any
) -> Image:
    """PTX, with kernels as for :func:`real`."""
    return Image(ImageKind.PTX, ptx(number), isa=isa, **_kernels(kernels, more))


def lto(number: str = "90", kernels: str | None = None) -> Image:
    return Image(ImageKind.LTOIR, Arch.parse(f"lto_{number}"), **_kernels(kernels, {}))


def relocatable(image: Image) -> Image:
    values = {**image.__dict__, "linkage": Linkage.RELOCATABLE}
    return Image(**values)


def region(*images: Image, **more: Any) -> Region:
    return Region(images, **more)


def file(*regions: Region, path: str = "x.so", **more: Any) -> DeviceFile:
    return DeviceFile(path, regions, more.pop("reader", "native"), **more)


#: Two regions with nothing to be said of them.
GOOD = file(
    region(real("80", "k"), real("90", "k"), virtual("90", "k")),
    region(real("80", "m"), real("90", "m"), virtual("90", "m")),
)


def codes(findings: Iterable[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def one(findings: Iterable[Finding], code: str) -> Finding:
    """The one finding of this code; fails where there are none or more."""
    listed = list(findings)
    found = [finding for finding in listed if finding.code == code]
    assert len(found) == 1, codes(listed)
    return found[0]
