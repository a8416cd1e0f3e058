"""What device code there is, for programs: ``report/schemas/show.json``."""

from __future__ import annotations

import json

from archbuild.model.image import DeviceFile, Flag, Image, Kernel, Region
from archbuild.rules.checking.oddities import oddities
from archbuild.rules.comparing.tally import Tally, tally
from archbuild.services.show import Kernels, ShowReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

SCHEMA = "archbuild.show/1"


def show_json(report: ShowReport) -> str:
    """The report as JSON, in one line, since a library can have thousands of images."""
    return json.dumps(show_document(report), ensure_ascii=True)


def show_document(report: ShowReport) -> dict[str, Any]:
    """What :func:`show_json` writes, as data."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "paths": list(report.paths),
        "files": [_file(file, report.kernels) for file in report.files],
        "errors": [str(error) for error in report.errors],
    }
    if report.kernels is not None:
        document["pattern"] = report.kernels.pattern
        document["demangler"] = report.kernels.demangler
    return document


def _file(file: DeviceFile, kernels: Kernels | None) -> dict[str, Any]:
    return {
        "path": file.path,
        "format": file.format.value if file.format is not None else None,
        "size": file.size,
        "hip": file.hip,
        "reader": file.reader,
        "odd": list(oddities(file)),
        "architectures": [_tally(row) for row in tally(file.regions)],
        "regions": [_region(region, kernels) for region in file.regions],
    }


def _tally(row: Tally) -> dict[str, Any]:
    return {
        "kind": row.kind.value,
        "arch": _word(row.arch),
        "isa": _isa(row.isa),
        "linkage": row.linkage.value,
        "images": row.images,
        "size": row.size,
        "stored": row.stored,
    }


def _region(region: Region, kernels: Kernels | None) -> dict[str, Any]:
    return {
        "offset": region.offset,
        "linkage": region.linkage.value,
        "section": region.section,
        "member": region.member,
        "images": [_image(image, kernels) for image in region.images],
    }


def _image(image: Image, kernels: Kernels | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": image.kind.value,
        "arch": _word(image.arch),
        "isa": _isa(image.isa),
        "linkage": image.linkage.value,
        "offset": image.offset,
        "size": image.size,
        "stored": image.stored,
        "compression": image.compression.value,
        "debug": image.has(Flag.DEBUG),
        "flags": image.flags,
        "identifier": image.identifier,
        "options": image.options,
    }
    if kernels is not None:
        told["kernels"] = _names(image.kernels, kernels)
        told["empty"] = image.is_empty
    if kernels is not None and image.details is not None:
        told["details"] = [_kernel(k) for k in image.details if k.name in kernels.names]
    return told


def _names(held: Iterable[str] | None, kernels: Kernels) -> list[str] | None:
    return None if held is None else [name for name in held if name in kernels.names]


def _kernel(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "binding": kernel.binding.value,
        "size": kernel.size,
        "registers": kernel.registers,
        "shared": kernel.shared,
    }


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _isa(isa: tuple[int, int] | None) -> str | None:
    return None if isa is None else f"{isa[0]}.{isa[1]}"
